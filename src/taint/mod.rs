//! Which failure owns which bytes (spec C, section 13).
//!
//! A replay is all or nothing, so bytes that a failed one would have written are not results. The [`Ledger`] remembers
//! them, range by range, and a read of them answers the failure.

mod intervals;
mod ledger;

pub use ledger::Ledger;

pub(crate) use ledger::Coverage;
