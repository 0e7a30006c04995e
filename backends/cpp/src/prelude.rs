//! The C++ that kernels are written in: WGSL's types and functions, in parts. A text has only what a kernel uses, and what that
//! uses in turn. The parts are split where a line is blank, and told by the names that they declare.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use crate::dialect::SPELLINGS;
use crate::{Dialect, FloatMode};

mod item;
#[cfg(test)]
mod tests;

use item::Item;

/// A file of declarations.
struct Part {
    text: &'static str,
    /// The dialects that have it.
    dialects: &'static [Dialect],
    /// Overloads for this type come with it, where it is used.
    of: Option<&'static str>,
}

const ALL: &[Dialect] = &[Dialect::Cuda, Dialect::Hip, Dialect::Host];
const DEVICES: &[Dialect] = &[Dialect::Cuda, Dialect::Hip];
const HOST: &[Dialect] = &[Dialect::Host];

macro_rules! part {
    ($file:literal, $dialects:expr) => {
        Part { text: include_str!(concat!("prelude/", $file, ".h")), dialects: $dialects, of: None }
    };
    ($file:literal, $dialects:expr, $of:literal) => {
        Part { text: include_str!(concat!("prelude/", $file, ".h")), dialects: $dialects, of: Some($of) }
    };
}

/// The parts as they have to follow one another: a template sees the functions of plain scalars that come before it, and those
/// of the prelude's own types wherever they are.
const PARTS: &[Part] = &[
    part!("core", ALL),
    part!("cuda", &[Dialect::Cuda]),
    part!("hip", &[Dialect::Hip]),
    part!("host", HOST),
    part!("arithmetic", ALL),
    part!("bits", ALL),
    part!("float", ALL),
    part!("half", ALL),
    part!("convert", ALL),
    part!("vec", ALL, "vec"),
    part!("convert_vec", ALL, "vec"),
    part!("geometry", ALL),
    part!("arr", ALL),
    part!("mat", ALL, "mat"),
    part!("convert_mat", ALL, "mat"),
    part!("pack", ALL),
    part!("f16", ALL, "f16"),
    part!("memory", ALL),
    part!("memory_vec", ALL, "vec"),
    part!("memory_arr", ALL, "arr"),
    part!("memory_mat", ALL, "mat"),
    part!("memory_f16", ALL, "f16"),
    part!("atomic", ALL),
    part!("workgroup", ALL),
    part!("subgroup", ALL),
    part!("ladder", DEVICES),
    part!("gathered", HOST),
    part!("collective", ALL),
];

/// Every name that the prelude defines in namespace `wg`, and every macro, in all dialects; sorted.
pub(crate) static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let items = PARTS.iter().flat_map(|part| item::items(part.text));
    let declared = items.flat_map(|item| item.names);
    let names: BTreeSet<&'static str> = declared.chain(SPELLINGS.iter().map(|spelling| spelling.name())).collect();
    names.into_iter().collect()
});

/// What of the prelude a kernel needs that uses these names: functions, types or macros. Names that it does not define are left
/// aside.
pub(crate) fn text(dialect: Dialect, floats: FloatMode, uses: &[&'static str]) -> String {
    let spellings = SPELLINGS.iter().map(|spelling| {
        let body = spelling.body(dialect, floats);
        let line = format!("#define {} {body}", spelling.head);
        (Item { names: vec![spelling.name()], words: item::words(body), text: "" }, None, line.trim_end().to_owned())
    });
    let parts = PARTS.iter().filter(|part| part.dialects.contains(&dialect));
    let declared = parts.flat_map(|part| {
        item::items(part.text).into_iter().map(|item| {
            let text = item.text.to_owned();
            (item, part.of, text)
        })
    });
    let all: Vec<(Item, Option<&'static str>, String)> = spellings.chain(declared).collect();
    let chosen = closure(&all, uses);
    let mut defines = String::new();
    let mut body = String::new();
    let mut before = "";
    for ((item, _, text), _) in all.iter().zip(&chosen).filter(|(_, chosen)| **chosen) {
        if item.text.is_empty() {
            defines.extend([text.as_str(), "\n"]);
            continue;
        }
        // Lines that only call a macro stand together.
        let together = item::is_call(before) && item::is_call(text);
        body.extend([if together { "" } else { "\n" }, text.as_str(), "\n"]);
        before = text;
    }
    format!("{defines}\nnamespace wg {{\n{body}\n}}  // namespace wg\n")
}

/// Which items are needed for these names. An overload is, if its function and the type that it is for both are.
fn closure(all: &[(Item, Option<&'static str>, String)], uses: &[&'static str]) -> Vec<bool> {
    let mut by_name: HashMap<&'static str, Vec<usize>> = HashMap::new();
    for (index, (item, of, _)) in all.iter().enumerate() {
        for name in item.names.iter().chain(of) {
            by_name.entry(name).or_default().push(index);
        }
    }
    let mut wanted: BTreeSet<&'static str> = BTreeSet::new();
    let mut chosen = vec![false; all.len()];
    let mut queue: Vec<&'static str> = uses.to_vec();
    while let Some(name) = queue.pop() {
        if !by_name.contains_key(name) || !wanted.insert(name) {
            continue;
        }
        for index in &by_name[name] {
            let (item, of, _) = &all[*index];
            let named = item.names.iter().any(|name| wanted.contains(name));
            // The type itself is declared in the part of its overloads.
            let typed = of.is_none_or(|of| wanted.contains(of) || item.names.contains(&of));
            if named && typed && !chosen[*index] {
                chosen[*index] = true;
                queue.extend(&item.words);
            }
        }
    }
    chosen
}
