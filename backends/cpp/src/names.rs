//! Names of the generated code: the author's where C++ and its compilers leave them free, and others where they do not.

use std::cell::RefCell;
use std::sync::OnceLock;

use naga::proc::{CaseInsensitiveKeywordSet, KeywordSet, NameKey, Namer};
use naga::{FastHashMap, Module};

use crate::keywords::{KEYWORDS, MACROS};

/// Beginnings that the author's names do not keep: ours, and those of macros that compilers define.
const PREFIXES: &[&str] = &[
    "wg_", "WG_", "_e", "_A", "_B", "_C", "_D", "_E", "_F", "_G", "_H", "_I", "_J", "_K", "_L", "_M", "_N", "_O", "_P",
    "_Q", "_R", "_S", "_T", "_U", "_V", "_W", "_X", "_Y", "_Z",
];

/// The names of one module.
pub(crate) struct Names {
    named: FastHashMap<NameKey, String>,
    namer: RefCell<Namer>,
}

impl Names {
    pub(crate) fn new(module: &Module) -> Self {
        static RESERVED: OnceLock<KeywordSet> = OnceLock::new();
        let reserved = RESERVED.get_or_init(|| {
            let words = KEYWORDS.iter().chain(MACROS).chain(crate::prelude::NAMES.iter());
            words.copied().collect()
        });
        let mut namer = Namer::default();
        let mut named = FastHashMap::default();
        let none = (KeywordSet::empty(), CaseInsensitiveKeywordSet::empty());
        namer.reset(module, reserved, none.0, none.1, PREFIXES, &mut named);
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
