//! A translated entry point: code, tables, and what the slots of an invocation hold before its first instruction.

use naga::BuiltIn;

use super::inst::Inst;
use super::layout::Shape;
use super::ops::Two;
use super::subgroup::Exchange;

/// What instructions refer to by number.
#[derive(Debug, Default)]
pub(super) struct Tables {
    /// The line of each instruction.
    pub(super) lines: Vec<u32>,
    /// Constants too large to lie in the slots of every invocation.
    pub(super) constants: Vec<u64>,
    pub(super) shapes: Vec<Shape>,
    pub(super) joins: Vec<Two>,
    /// What `WAIT` waits for.
    pub(super) waits: Vec<Wait>,
    /// The name of what each index instruction goes into, in order.
    pub(super) indexed: Vec<(u32, u32)>,
    /// Names of variables, for findings; the first is for those that have none.
    pub(super) names: Vec<String>,
    /// The name of each binding, as a number.
    pub(super) bindings: Vec<u32>,
    /// Where each workgroup variable ends in slots, with its name, in order.
    pub(super) group_ends: Vec<(u32, u32)>,
}

impl Tables {
    pub(super) fn line(&self, pc: usize) -> u32 {
        self.lines.get(pc).copied().unwrap_or(0)
    }

    /// The name of what an instruction indexes; empty where it has none.
    pub(super) fn indexed_name(&self, pc: usize) -> &str {
        let found = self.indexed.binary_search_by_key(&pc, |(at, _)| *at as usize);
        let name = found.ok().and_then(|found| self.names.get(self.indexed[found].1 as usize));
        name.map_or("", String::as_str)
    }
}

/// What invocations wait for at an instruction.
#[derive(Clone, Debug)]
pub(super) enum Wait {
    /// The whole workgroup.
    Barrier { storage: bool, workgroup: bool },
    /// The subgroup, to exchange values or only to meet.
    Subgroup(Exchange),
}

/// A translated entry point.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) code: Vec<Inst>,
    /// Where the entry point begins.
    pub(super) entry: usize,
    pub(super) tables: Tables,
    /// Slots that hold the same in every invocation and are never written: zero first, then the constants.
    pub(super) pool: Vec<u64>,
    /// Slots of an invocation.
    pub(super) slots: usize,
    /// Slots of workgroup memory.
    pub(super) group: usize,
    /// The builtins that the entry point takes, and the first slot of each.
    pub(super) builtins: Vec<(BuiltIn, u32)>,
}
