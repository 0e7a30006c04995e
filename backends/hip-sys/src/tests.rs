//! The crate against what AMD ships: its headers through a C compiler, its libraries' symbols, and its runtime where there is no
//! device; and against libraries that are none.

mod absence;
mod headers;
mod symbols;

use graphreel_compilers::hip::{Suite, Tree};
use graphreel_compilers::present;

/// The folders of AMD's that are here. `test` is said to be skipped for each that is not.
fn trees(test: &str) -> Vec<Tree> {
    Suite::ALL.into_iter().filter_map(|suite| present(test, Tree::find(suite))).collect()
}

/// The optional functions that a release does not have yet.
fn lacking(tree: &Tree) -> &'static [&'static str] {
    if tree.major() >= Some(7) { &[] } else { &["hipStreamGetId"] }
}
