//! Names of the generated code: the author's where C++ and its compilers leave them free, and others where they do not.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::OnceLock;

use naga::proc::{CaseInsensitiveKeywordSet, KeywordSet, NameKey, Namer};
use naga::{FastHashMap, Module};

use crate::keywords::{KEYWORDS, MACROS};

/// Beginnings that the author's names do not keep: ours, and those of macros that compilers define.
const PREFIXES: &[&str] = &[
    "wg_", "WG_", "_e", "_A", "_B", "_C", "_D", "_E", "_F", "_G", "_H", "_I", "_J", "_K", "_L", "_M", "_N", "_O", "_P",
    "_Q", "_R", "_S", "_T", "_U", "_V", "_W", "_X", "_Y", "_Z",
];

/// Give other names to members that are called as a struct is, since a struct's own members hide types from it, and to whatever is
/// called as the kernel and its namespace are.
fn rename(named: &mut FastHashMap<NameKey, String>, namer: &mut Namer, symbol: &str) {
    let types = named.iter().filter(|(key, _)| matches!(key, NameKey::Type(_)));
    let types: HashSet<String> = types.map(|(_, name)| name.clone()).collect();
    let mut taken: Vec<(&NameKey, &mut String)> = named
        .iter_mut()
        .filter(|(key, name)| match key {
            NameKey::StructMember(..) => types.contains(*name),
            _ => *name == symbol,
        })
        .collect();
    // In an order that does not change from run to run.
    taken.sort_by_cached_key(|(key, _)| format!("{key:?}"));
    taken.into_iter().for_each(|(_, name)| *name = namer.call(name));
}

/// The names of one module.
pub(crate) struct Names {
    named: FastHashMap<NameKey, String>,
    namer: RefCell<Namer>,
}

impl Names {
    /// Of a module whose kernel has this symbol.
    pub(crate) fn new(module: &Module, symbol: &str) -> Self {
        static RESERVED: OnceLock<KeywordSet> = OnceLock::new();
        let reserved = RESERVED.get_or_init(|| {
            let words = KEYWORDS.iter().chain(MACROS).chain(crate::prelude::NAMES.iter());
            words.copied().collect()
        });
        let mut namer = Namer::default();
        let mut named = FastHashMap::default();
        let none = (KeywordSet::empty(), CaseInsensitiveKeywordSet::empty());
        namer.reset(module, reserved, none.0, none.1, PREFIXES, &mut named);
        rename(&mut named, &mut namer, symbol);
        Self { named, namer: RefCell::new(namer) }
    }

    /// The name of something that the module declares.
    pub(crate) fn of(&self, key: NameKey) -> String {
        self.named.get(&key).cloned().unwrap_or_else(|| self.fresh("unnamed"))
    }

    /// A name that nothing else has, like `label`.
    pub(crate) fn fresh(&self, label: &str) -> String {
        self.namer.borrow_mut().call(label)
    }
}
