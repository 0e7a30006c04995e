//! Checks a recording that came from outside, so that nothing it says is trusted later.

use std::collections::HashSet;

use super::dependence::Dependences;
use super::dump::RecordingError;
use super::intern::grid_fits;
use super::node::{Node, NodeGrid, NodeOp, NodeValue, ParamDecl, ParamKind, Place, Recording, Use};
use super::users::roles;
use crate::kernel::Value;
use crate::memory::Access;
use crate::op::MAX_GROUPS;

type Check = Result<(), RecordingError>;

fn ensure(holds: bool, part: impl FnOnce() -> String, problem: &str) -> Check {
    if holds { Ok(()) } else { Err(RecordingError::Invalid { part: part(), problem: problem.to_owned() }) }
}

impl Recording {
    /// Whether every index, range, parameter and dependence holds.
    ///
    /// # Errors
    ///
    /// [`RecordingError::Invalid`] for the first that does not.
    pub fn validate(&self) -> Check {
        self.validate_buffers()?;
        self.validate_params()?;
        let mut dependences = Dependences::default();
        for (index, node) in self.nodes.iter().enumerate() {
            let part = |field: &str| format!("nodes[{index}].{field}");
            self.validate_op(node, &part)?;
            self.validate_uses(node, &part)?;
            let ordered = node.after.windows(2).all(|pair| pair[0] < pair[1]);
            let earlier = node.after.last().is_none_or(|last| (*last as usize) < index);
            ensure(ordered && earlier, || part("after"), "must be numbers of earlier nodes, ascending")?;
            let needed = dependences.push(&node.uses);
            let kept = needed.iter().all(|before| node.after.binary_search(before).is_ok());
            ensure(kept, || part("after"), "leaves out a node that touches the same bytes")?;
        }
        Ok(())
    }

    fn validate_buffers(&self) -> Check {
        let buffer = |param: &ParamDecl| match param.kind {
            ParamKind::Buffer(buffer) => Some(buffer as usize),
            _ => None,
        };
        let named: HashSet<usize> = self.params.iter().filter_map(buffer).collect();
        for (index, decl) in self.buffers.iter().enumerate() {
            let part = || format!("buffers[{index}]");
            ensure(decl.bytes > 0, part, "a buffer has at least one byte")?;
            ensure(decl.slot.is_none() || named.contains(&index), part, "its slot is not among the parameters")?;
        }
        Ok(())
    }

    fn validate_params(&self) -> Check {
        let mut names = HashSet::new();
        for (index, param) in self.params.iter().enumerate() {
            let part = || format!("params[{index}]");
            ensure(names.insert(&param.name), part, "names must be unique")?;
            match &param.kind {
                ParamKind::Value(value) => ensure(is_value(value), part, "not a value of its type")?,
                ParamKind::Grid { groups, max } => {
                    let fits = is_grid(*max) && grid_fits(*groups, *max);
                    ensure(fits, part, "its grid must be at least 1 and at most its maximum")?;
                }
                ParamKind::Buffer(buffer) => {
                    let slot = self.buffers.get(*buffer as usize).and_then(|decl| decl.slot.as_ref());
                    ensure(slot == Some(&param.name), part, "names no buffer with a slot of its name")?;
                }
            }
        }
        Ok(())
    }

    fn validate_op(&self, node: &Node, part: &impl Fn(&str) -> String) -> Check {
        for (role, place) in roles(&node.op) {
            ensure(
                self.contains(&place),
                || part(&format!("op ({role})")),
                "must have a byte and lie within its buffer",
            )?;
        }
        let at = || part("op");
        match &node.op {
            NodeOp::Launch { kernel, grid, values, .. } => {
                let grid = match grid {
                    NodeGrid::Fixed(groups) => is_grid(*groups),
                    NodeGrid::Param(param) => matches!(self.kind(*param), Some(ParamKind::Grid { .. })),
                };
                ensure(grid, at, "its grid must be 1 to 65535 in each dimension, or a grid parameter")?;
                self.validate_launch(*kernel, values, at)
            }
            NodeOp::LaunchIndirect { kernel, counts, max, values, .. } => {
                ensure(is_grid(*max), at, "its largest grid must be 1 to 65535 in each dimension")?;
                ensure(
                    counts.len >= 12 && counts.start % 4 == 0,
                    at,
                    "its counts must be three aligned words or more",
                )?;
                self.validate_launch(*kernel, values, at)
            }
            NodeOp::Copy { src, dst } => {
                ensure(src.len == dst.len && !src.overlaps(dst), at, "a copy needs two disjoint ranges of one length")
            }
            NodeOp::Fill { dst, .. } => {
                let whole = dst.len % 4 == 0 || self.ends_with(dst);
                ensure(dst.start % 4 == 0 && whole, at, "a fill must cover whole words, or reach its buffer's end")
            }
            NodeOp::HostWrite { dst, host } => {
                let bytes = self.host.get(*host as usize).map(|bytes| bytes.len() as u64);
                ensure(bytes == Some(dst.len), at, "its host bytes must be as many as its destination has")
            }
        }
    }

    fn validate_launch(&self, kernel: u32, values: &[NodeValue], at: impl Fn() -> String) -> Check {
        ensure((kernel as usize) < self.kernels.len(), &at, "its kernel does not exist")?;
        let valid = |value: &NodeValue| match value {
            NodeValue::Baked(value) => is_value(value),
            NodeValue::Param(param) => matches!(self.kind(*param), Some(ParamKind::Value(_))),
        };
        ensure(values.iter().all(valid), &at, "a scalar must be a value of its type, or a scalar parameter")
    }

    /// Uses must be the operation's own places, each once; what an operation is known to do must be among them.
    fn validate_uses(&self, node: &Node, part: &impl Fn(&str) -> String) -> Check {
        let places: HashSet<Place> = roles(&node.op).into_iter().map(|(_, place)| place).collect();
        let mut seen = HashSet::new();
        let own = node.uses.iter().all(|used| places.contains(&used.place) && seen.insert(used.place));
        ensure(own, || part("uses"), "must be places of the operation, each once")?;
        let uses = |place: &Place, access: Access| node.uses.contains(&Use { place: *place, access });
        let known = match &node.op {
            NodeOp::Launch { .. } => true,
            NodeOp::LaunchIndirect { counts, .. } => {
                node.uses.iter().any(|used| used.place == *counts && used.access.reads())
            }
            NodeOp::Copy { src, dst } => uses(src, Access::Read) && uses(dst, Access::Write),
            NodeOp::Fill { dst, .. } | NodeOp::HostWrite { dst, .. } => uses(dst, Access::Write),
        };
        ensure(known, || part("uses"), "must name all that the operation reads and writes")
    }

    fn contains(&self, place: &Place) -> bool {
        let Some(decl) = self.buffers.get(place.buffer as usize) else { return false };
        place.len > 0 && place.start.checked_add(place.len).is_some_and(|end| end <= decl.bytes)
    }

    fn ends_with(&self, place: &Place) -> bool {
        self.buffers.get(place.buffer as usize).is_some_and(|decl| decl.bytes == place.end())
    }

    fn kind(&self, param: u32) -> Option<&ParamKind> {
        self.params.get(param as usize).map(|param| &param.kind)
    }
}

fn is_grid(groups: [u32; 3]) -> bool {
    grid_fits(groups, [MAX_GROUPS; 3])
}

/// Whether a value has 1 to 4 components and nothing beyond them.
fn is_value(value: &Value) -> bool {
    (1..=4).contains(&value.ty().lanes) && Value::from_bytes(value.ty(), value.bytes()).as_ref() == Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{LaunchIndirect, Op};
    use crate::recording::RecordingBuilder;
    use crate::recording::fixture::{Fixture, baked, slot};

    #[test]
    fn what_a_call_takes_is_valid_when_it_comes_back() {
        let fixture = Fixture::new();
        let mut builder = RecordingBuilder::new(None);
        // A buffer whose end is no whole word, and counts at the start of a longer buffer.
        let (odd, counts) = (fixture.buffer(5), fixture.buffer(64));
        builder.push(&Op::Fill { dst: odd.into(), word: 7 }).unwrap();
        builder.push(&Op::Fill { dst: slot("odd", &fixture.buffer(6)), word: 7 }).unwrap();
        let buffers = vec![fixture.buffer(16).into(), fixture.buffer(16).into()];
        let Op::Launch(launch) = fixture.launch(buffers, vec![baked(1.0)]) else { panic!("a launch") };
        builder.push(&Op::LaunchIndirect(LaunchIndirect { launch, counts: counts.into() })).unwrap();
        let recording = builder.finish().recording;
        let back = Recording::from_json(&recording.to_json().unwrap()).unwrap();
        assert_eq!(back, *recording);
        let mut cut = back;
        cut.buffers[0].bytes = 8;
        assert!(cut.validate().is_err(), "a fill that ends within a word of its buffer");
    }
}
