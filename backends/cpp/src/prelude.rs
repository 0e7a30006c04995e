//! The C++ that kernels are written in: WGSL's types and functions, in parts. A text has only what a kernel uses, and what that
//! uses in turn. The parts are split where a line is blank, and told by the names that they declare.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{LazyLock, OnceLock};

use crate::dialect::SPELLINGS;
use crate::{Dialect, FloatMode};

mod item;
#[cfg(test)]
mod tests;

use item::{Item, Stands};

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
    part!("redux", &[Dialect::Cuda]),
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

/// Every item of a dialect and float mode, in the order of the text.
struct Table {
    items: Vec<Item>,
    /// Where each name is declared, and each type's overloads.
    by_name: HashMap<&'static str, Vec<usize>>,
}

impl Table {
    fn new(dialect: Dialect, floats: FloatMode) -> Self {
        let spelled = SPELLINGS.iter().map(|spelling| Item::macro_of(spelling.head, spelling.body(dialect, floats)));
        let parts = PARTS.iter().filter(|part| part.dialects.contains(&dialect));
        let declared =
            parts.flat_map(|part| item::items(part.text).into_iter().map(|item| Item { of: part.of, ..item }));
        let items: Vec<Item> = spelled.chain(declared).collect();
        let mut by_name: HashMap<&'static str, Vec<usize>> = HashMap::new();
        for (index, item) in items.iter().enumerate() {
            for name in item.names.iter().chain(&item.of) {
                by_name.entry(name).or_default().push(index);
            }
        }
        Self { items, by_name }
    }

    /// The one that is made once for each dialect and float mode.
    fn of(dialect: Dialect, floats: FloatMode) -> &'static Self {
        static TABLES: [OnceLock<Table>; 6] = [const { OnceLock::new() }; 6];
        let fast = usize::from(floats == FloatMode::Fast);
        TABLES[dialect as usize * 2 + fast].get_or_init(|| Self::new(dialect, floats))
    }

    /// Which items are needed for these names. An overload is, if its function and the type that it is for both are.
    fn closure(&self, uses: &[&'static str]) -> Vec<bool> {
        let mut wanted: HashSet<&'static str> = HashSet::new();
        let mut chosen = vec![false; self.items.len()];
        let mut queue: Vec<&'static str> = uses.to_vec();
        while let Some(name) = queue.pop() {
            let Some(places) = self.by_name.get(name) else { continue };
            if !wanted.insert(name) {
                continue;
            }
            for index in places {
                let item = &self.items[*index];
                let named = item.names.iter().any(|name| wanted.contains(name));
                // The type itself is declared in the part of its overloads.
                let typed = item.of.is_none_or(|of| wanted.contains(of) || item.names.contains(&of));
                if named && typed && !chosen[*index] {
                    chosen[*index] = true;
                    queue.extend(&item.words);
                }
            }
        }
        chosen
    }
}

/// What of the prelude a kernel needs that uses these names: functions, types or macros. Names that it does not define are left
/// aside.
pub(crate) fn text(dialect: Dialect, floats: FloatMode, uses: &[&'static str]) -> String {
    let table = Table::of(dialect, floats);
    let chosen = table.closure(uses);
    let (mut macros, mut outside, mut inside) = (String::new(), String::new(), String::new());
    let mut after_call = false;
    for (item, _) in table.items.iter().zip(chosen).filter(|(_, chosen)| *chosen) {
        match item.stands {
            Stands::Above => macros.extend([&item.text, "\n"]),
            // What the host's runtime defines is in no namespace.
            Stands::Outside => outside.extend(["\n", &item.text, "\n"]),
            Stands::Inside => {
                // Lines that only call a macro stand together.
                let is_call = item::is_call(&item.text);
                inside.extend([if is_call && after_call { "" } else { "\n" }, &item.text, "\n"]);
                after_call = is_call;
            }
        }
    }
    format!("{macros}{outside}\nnamespace wg {{\n{inside}\n}}  // namespace wg\n\n")
}
