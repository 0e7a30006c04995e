//! Numbers for what a recording names: buffers, kernels, host bytes and parameters, each once.

use std::collections::{BTreeMap, HashMap};

use super::node::{BufferDecl, NodeValue, ParamDecl, ParamKind, Place};
use crate::error::{Result, ServerError};
use crate::kernel::{Kernel, KernelId};
use crate::memory::{BufferBinding, ManagedMemoryId};
use crate::op::{BufferArg, Bytes, MAX_GROUPS, ValueArg};
use crate::sync::Arc;

/// Everything named so far, with the way back to an earlier state.
#[derive(Debug, Default)]
pub(super) struct Interner {
    parts: Parts,
    memories: HashMap<ManagedMemoryId, MemoryUse>,
    kernels: HashMap<KernelId, u32>,
    /// By address and length: the bytes are held, so an address stands for one content.
    host: HashMap<(usize, usize), u32>,
    params: HashMap<Arc<str>, u32>,
}

/// The tables of a recording and the handles that belong to them.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) decls: Vec<BufferDecl>,
    pub(super) buffers: Vec<BufferBinding>,
    pub(super) kernels: Vec<Kernel>,
    pub(super) host: Vec<Bytes>,
    pub(super) params: Vec<ParamDecl>,
}

/// How a recording uses one memory: as itself, or through slots on disjoint ranges (first byte to buffer number).
#[derive(Debug)]
enum MemoryUse {
    Direct(u32),
    Slots(BTreeMap<u64, u32>),
}

/// The sizes of all tables at one moment.
#[derive(Debug)]
pub(super) struct Mark {
    buffers: usize,
    kernels: usize,
    host: usize,
    params: usize,
}

/// A table's next number.
pub(super) fn number(len: usize) -> Result<u32> {
    u32::try_from(len).ok().filter(|number| *number != u32::MAX).ok_or_else(|| {
        ServerError::unsupported("a recording of 2^32 parts", "record less in one window, as several graphs")
    })
}

fn invalid(name: &Arc<str>, problem: impl Into<Arc<str>>) -> ServerError {
    ServerError::InvalidParam { name: name.clone(), problem: problem.into() }
}

impl Interner {
    pub(super) fn mark(&self) -> Mark {
        let Parts { buffers, kernels, host, params, .. } = &self.parts;
        Mark { buffers: buffers.len(), kernels: kernels.len(), host: host.len(), params: params.len() }
    }

    /// Forget what was named since `mark`.
    pub(super) fn roll_back(&mut self, mark: &Mark) {
        for binding in self.parts.buffers.drain(mark.buffers..) {
            let id = binding.memory.id();
            let keep = match self.memories.get_mut(&id) {
                Some(MemoryUse::Slots(slots)) => {
                    slots.remove(&binding.range().start);
                    !slots.is_empty()
                }
                _ => false,
            };
            if !keep {
                self.memories.remove(&id);
            }
        }
        self.parts.decls.truncate(mark.buffers);
        for kernel in self.parts.kernels.drain(mark.kernels..) {
            self.kernels.remove(&kernel.id());
        }
        for bytes in self.parts.host.drain(mark.host..) {
            self.host.remove(&host_key(&bytes));
        }
        for param in self.parts.params.drain(mark.params..) {
            self.params.remove(&param.name);
        }
    }

    pub(super) fn finish(self) -> Parts {
        self.parts
    }

    pub(super) fn kernel(&mut self, kernel: &Kernel) -> Result<u32> {
        if let Some(index) = self.kernels.get(&kernel.id()) {
            return Ok(*index);
        }
        let index = number(self.parts.kernels.len())?;
        self.kernels.insert(kernel.id(), index);
        self.parts.kernels.push(kernel.clone());
        Ok(index)
    }

    pub(super) fn host(&mut self, bytes: &Bytes) -> Result<u32> {
        if let Some(index) = self.host.get(&host_key(bytes)) {
            return Ok(*index);
        }
        let index = number(self.parts.host.len())?;
        self.host.insert(host_key(bytes), index);
        self.parts.host.push(bytes.clone());
        Ok(index)
    }

    pub(super) fn value(&mut self, arg: &ValueArg) -> Result<NodeValue> {
        match arg {
            ValueArg::Baked(value) => Ok(NodeValue::Baked(*value)),
            ValueArg::Param { name, value } => Ok(NodeValue::Param(self.param(name, ParamKind::Value(*value))?)),
        }
    }

    pub(super) fn grid_param(&mut self, name: &Arc<str>, groups: [u32; 3], max: [u32; 3]) -> Result<u32> {
        if max.iter().any(|most| !(1..=MAX_GROUPS).contains(most)) {
            return Err(invalid(name, format!("its largest grid {max:?} must be 1 to {MAX_GROUPS} in each dimension")));
        }
        if !grid_fits(groups, max) {
            return Err(invalid(
                name,
                format!("grid {groups:?} must be at least 1 and at most {max:?} in each dimension"),
            ));
        }
        self.param(name, ParamKind::Grid { groups, max })
    }

    /// The bytes of an argument in terms of the recording.
    pub(super) fn place(&mut self, arg: &BufferArg) -> Result<Place> {
        let binding = &arg.binding;
        let (range, size) = (binding.range(), binding.memory.size());
        if range.is_empty() || range.end > size {
            let problem = "a recorded range must have a byte and lie within its memory";
            return Err(ServerError::InvalidRange { op: "record", range, size, problem });
        }
        match &arg.slot {
            None => Ok(Place { buffer: self.direct(binding)?, start: range.start, len: range.end - range.start }),
            Some(name) => Ok(Place { buffer: self.slot(name, binding)?, start: 0, len: range.end - range.start }),
        }
    }

    fn direct(&mut self, binding: &BufferBinding) -> Result<u32> {
        let id = binding.memory.id();
        match self.memories.get(&id) {
            Some(MemoryUse::Direct(index)) => return Ok(*index),
            Some(MemoryUse::Slots(slots)) => {
                let slot = slots.values().next().and_then(|index| self.parts.decls.get(*index as usize)?.slot.clone());
                let name = slot.unwrap_or_else(|| "slot".into());
                return Err(invalid(
                    &name,
                    format!("its buffer {id} is also used without the slot; use it through slots only"),
                ));
            }
            None => {}
        }
        let whole =
            BufferBinding { offset_start: None, offset_end: None, size: binding.memory.size(), ..binding.clone() };
        let index = self.declare(BufferDecl { bytes: whole.size, slot: None }, whole)?;
        self.memories.insert(id, MemoryUse::Direct(index));
        Ok(index)
    }

    fn slot(&mut self, name: &Arc<str>, binding: &BufferBinding) -> Result<u32> {
        let (id, range) = (binding.memory.id(), binding.range());
        if let Some(param) = self.params.get(name) {
            return match self.parts.params[*param as usize].kind {
                ParamKind::Buffer(index) => {
                    let known = &self.parts.buffers[index as usize];
                    if (known.memory.id(), known.range()) == (id, range) {
                        Ok(index)
                    } else {
                        Err(invalid(
                            name,
                            "this slot stands for another range already; give each range a slot of its own",
                        ))
                    }
                }
                _ => Err(invalid(name, "this name is a scalar or a grid already; names are unique in a graph")),
            };
        }
        match self.memories.get(&id) {
            Some(MemoryUse::Direct(_)) => {
                let problem = format!("its buffer {id} is also used without the slot; use it through slots only");
                return Err(invalid(name, problem));
            }
            Some(MemoryUse::Slots(slots)) => {
                // Slots are disjoint, so only the last one that begins before the range's end can reach into it.
                let last = slots.range(..range.end).next_back();
                if let Some((_, other)) =
                    last.filter(|(_, other)| self.parts.buffers[**other as usize].range().end > range.start)
                {
                    let other = self.parts.decls[*other as usize].slot.as_deref().unwrap_or("slot");
                    return Err(invalid(name, format!("it shares bytes with slot `{other}`; slots must be disjoint")));
                }
            }
            None => {}
        }
        let decl = BufferDecl { bytes: range.end - range.start, slot: Some(name.clone()) };
        let index = self.declare(decl, binding.clone())?;
        match self.memories.entry(id).or_insert_with(|| MemoryUse::Slots(BTreeMap::new())) {
            MemoryUse::Slots(slots) => slots.insert(range.start, index),
            MemoryUse::Direct(_) => None,
        };
        self.param(name, ParamKind::Buffer(index))?;
        Ok(index)
    }

    fn declare(&mut self, decl: BufferDecl, binding: BufferBinding) -> Result<u32> {
        let index = number(self.parts.decls.len())?;
        self.parts.decls.push(decl);
        self.parts.buffers.push(binding);
        Ok(index)
    }

    fn param(&mut self, name: &Arc<str>, kind: ParamKind) -> Result<u32> {
        if let Some(index) = self.params.get(name) {
            let known = &self.parts.params[*index as usize].kind;
            return if *known == kind {
                Ok(*index)
            } else {
                Err(invalid(
                    name,
                    format!("declared as {} and again as {}; names are unique in a graph", text(known), text(&kind)),
                ))
            };
        }
        let index = number(self.parts.params.len())?;
        self.params.insert(name.clone(), index);
        self.parts.params.push(ParamDecl { name: name.clone(), kind });
        Ok(index)
    }
}

/// Whether each dimension is at least 1 and at most `max`.
pub(super) fn grid_fits(groups: [u32; 3], max: [u32; 3]) -> bool {
    groups.iter().zip(max).all(|(groups, max)| (1..=max).contains(groups))
}

fn host_key(bytes: &Bytes) -> (usize, usize) {
    (bytes.as_ptr().addr(), bytes.len())
}

fn text(kind: &ParamKind) -> String {
    match kind {
        ParamKind::Value(value) => format!("{value:?}"),
        ParamKind::Grid { groups, max } => format!("a grid of {groups:?}, at most {max:?}"),
        ParamKind::Buffer(_) => "a slot".to_owned(),
    }
}
