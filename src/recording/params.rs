//! The current values of a graph's parameters, and updates that are made whole or not at all.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::intern::grid_fits;
use super::node::{NodeGrid, NodeValue, ParamKind, Place, Recording};
use super::users::{ParamUser, users};
use crate::error::{Result, ServerError};
use crate::kernel::Value;
use crate::memory::{BufferBinding, DeviceId, ManagedMemoryId};
use crate::server::{GraphUpdate, ParamUpdate};
use crate::sync::Arc;

/// What each parameter of one graph is set to, and which nodes it reaches.
#[derive(Debug)]
pub struct ParamTable {
    names: HashMap<Arc<str>, u32>,
    current: Vec<Current>,
    users: Vec<Vec<ParamUser>>,
    buffers: Vec<BufferBinding>,
    /// First byte to one past the last and the buffer's number. Buffers of a graph are disjoint.
    placed: HashMap<ManagedMemoryId, BTreeMap<u64, (u64, u32)>>,
}

#[derive(Clone, Copy, Debug)]
enum Current {
    Value(Value),
    Grid([u32; 3]),
    Buffer(u32),
}

/// A checked change of one parameter.
#[derive(Clone, Debug)]
pub struct PlannedChange {
    /// Index in [`Recording::params`].
    pub param: u32,
    /// The new value, of the parameter's kind.
    pub change: ParamUpdate,
}

impl ParamTable {
    /// The values as recorded. `buffers` are those of [`Recorded::buffers`](super::Recorded::buffers).
    pub fn new(recording: &Recording, buffers: &[BufferBinding]) -> Self {
        let current = |kind: &ParamKind| match kind {
            ParamKind::Value(value) => Current::Value(*value),
            ParamKind::Grid { groups, .. } => Current::Grid(*groups),
            ParamKind::Buffer(index) => Current::Buffer(*index),
        };
        let mut table = Self {
            names: (0u32..).zip(&recording.params).map(|(index, param)| (param.name.clone(), index)).collect(),
            current: recording.params.iter().map(|param| current(&param.kind)).collect(),
            users: users(recording),
            buffers: buffers.to_vec(),
            placed: HashMap::new(),
        };
        for (index, binding) in (0u32..).zip(buffers) {
            table.place(index, binding);
        }
        table
    }

    /// Check an update against the recording it is for, in time that grows with the changes alone; nothing is changed. One
    /// change for each name, its last, in order of the parameters.
    ///
    /// Alignment of a new buffer is the device's matter and not checked here.
    ///
    /// # Errors
    ///
    /// `InvalidParam` for an unknown name, another type or kind, a grid of zero or above its maximum, a buffer of another
    /// length, or one that would share bytes with another buffer of the graph once all changes are made; `ForeignHandle`
    /// for a buffer of another device.
    pub fn plan(&self, recording: &Recording, update: &GraphUpdate) -> Result<Vec<PlannedChange>> {
        let mut changes: BTreeMap<u32, &ParamUpdate> = BTreeMap::new();
        for (name, change) in &update.changes {
            let param = *self.names.get(name).ok_or_else(|| unknown(name, recording))?;
            changes.insert(param, change);
        }
        let mut bindings: BTreeMap<u32, (&Arc<str>, &BufferBinding)> = BTreeMap::new();
        for (param, change) in &changes {
            let Some(declared) = recording.params.get(*param as usize) else { continue };
            self.check(recording, &declared.name, &declared.kind, change)?;
            if let (ParamKind::Buffer(buffer), ParamUpdate::Buffer(binding)) = (&declared.kind, change) {
                bindings.insert(*buffer, (&declared.name, binding));
            }
        }
        self.check_disjoint(recording, &bindings)?;
        Ok(changes.into_iter().map(|(param, change)| PlannedChange { param, change: change.clone() }).collect())
    }

    /// Make changes that [`ParamTable::plan`] returned since the last `apply`.
    pub fn apply(&mut self, plan: Vec<PlannedChange>) {
        let mut moved = Vec::new();
        for PlannedChange { param, change } in plan {
            let Some(current) = self.current.get_mut(param as usize) else { continue };
            match (current, change) {
                (Current::Value(value), ParamUpdate::Value(new)) => *value = new,
                (Current::Grid(groups), ParamUpdate::Grid(new)) => *groups = new,
                (Current::Buffer(index), ParamUpdate::Buffer(new)) => moved.push((*index, new)),
                _ => {}
            }
        }
        // All old places go before a new one comes, so that two buffers can change places.
        for (index, _) in &moved {
            let Some(binding) = self.buffers.get(*index as usize) else { continue };
            if let Some(placed) = self.placed.get_mut(&binding.memory.id()) {
                placed.remove(&binding.range().start);
                if placed.is_empty() {
                    self.placed.remove(&binding.memory.id());
                }
            }
        }
        for (index, binding) in moved {
            self.place(index, &binding);
            if let Some(current) = self.buffers.get_mut(index as usize) {
                *current = binding;
            }
        }
    }

    /// Where parameter `param` is used, in order of the nodes.
    pub fn users(&self, param: u32) -> &[ParamUser] {
        self.users.get(param as usize).map_or(&[], Vec::as_slice)
    }

    /// The value of scalar parameter `param`.
    pub fn value(&self, param: u32) -> Option<Value> {
        match self.current.get(param as usize)? {
            Current::Value(value) => Some(*value),
            _ => None,
        }
    }

    /// The workgroups of grid parameter `param`.
    pub fn grid(&self, param: u32) -> Option<[u32; 3]> {
        match self.current.get(param as usize)? {
            Current::Grid(groups) => Some(*groups),
            _ => None,
        }
    }

    /// What stands for buffer `index` of [`Recording::buffers`] now, slot or not.
    pub fn buffer(&self, index: u32) -> Option<&BufferBinding> {
        self.buffers.get(index as usize)
    }

    /// Every buffer, in order of [`Recording::buffers`].
    pub fn buffers(&self) -> &[BufferBinding] {
        &self.buffers
    }

    /// The workgroups of a node now.
    pub fn node_grid(&self, grid: NodeGrid) -> Option<[u32; 3]> {
        match grid {
            NodeGrid::Fixed(groups) => Some(groups),
            NodeGrid::Param(param) => self.grid(param),
        }
    }

    /// A scalar of a node now.
    pub fn node_value(&self, value: NodeValue) -> Option<Value> {
        match value {
            NodeValue::Baked(value) => Some(value),
            NodeValue::Param(param) => self.value(param),
        }
    }

    /// The live bytes that a place of the recording stands for now.
    pub fn binding(&self, place: Place) -> Option<BufferBinding> {
        self.buffer(place.buffer)?.slice(place.start..place.start.checked_add(place.len)?)
    }

    /// As [`ParamTable::binding`], as memory and range.
    pub fn range(&self, place: Place) -> Option<(ManagedMemoryId, Range<u64>)> {
        let binding = self.buffer(place.buffer)?;
        let start = binding.range().start.checked_add(place.start)?;
        Some((binding.memory.id(), start..start.checked_add(place.len)?))
    }

    fn place(&mut self, index: u32, binding: &BufferBinding) {
        let range = binding.range();
        self.placed.entry(binding.memory.id()).or_default().insert(range.start, (range.end, index));
    }

    fn device(&self) -> Option<DeviceId> {
        self.buffers.first().map(|binding| binding.memory.device())
    }

    fn check(&self, recording: &Recording, name: &Arc<str>, kind: &ParamKind, change: &ParamUpdate) -> Result<()> {
        match (kind, change) {
            (ParamKind::Value(recorded), ParamUpdate::Value(value)) if recorded.ty() == value.ty() => Ok(()),
            (ParamKind::Value(recorded), ParamUpdate::Value(value)) => Err(invalid(
                name,
                format!("it is {} and was given {}; give a value of its type", recorded.ty(), value.ty()),
            )),
            (ParamKind::Grid { max, .. }, ParamUpdate::Grid(groups)) if grid_fits(*groups, *max) => Ok(()),
            (ParamKind::Grid { max, .. }, ParamUpdate::Grid(groups)) => {
                let problem = format!(
                    "grid {groups:?} must be at least 1 and at most {max:?}, its declared maximum, in each dimension; \
                     capture again with a larger maximum"
                );
                Err(invalid(name, problem))
            }
            (ParamKind::Buffer(index), ParamUpdate::Buffer(binding)) => {
                self.check_binding(recording, name, *index, binding)
            }
            (kind, change) => {
                Err(invalid(name, format!("it is {} and was given {}", kind_text(kind), change_text(change))))
            }
        }
    }

    fn check_binding(&self, recording: &Recording, name: &Arc<str>, index: u32, binding: &BufferBinding) -> Result<()> {
        if let Some(here) = self.device().filter(|here| *here != binding.memory.device()) {
            let what = format!("the buffer for graph parameter `{name}`").into();
            return Err(ServerError::ForeignHandle { what, of: binding.memory.device().0, here: here.0 });
        }
        let range = binding.range();
        if range.end > binding.memory.size() {
            let problem = format!("bytes {range:?} do not lie within its buffer of {} bytes", binding.memory.size());
            return Err(invalid(name, problem));
        }
        match recording.buffers.get(index as usize) {
            Some(decl) if decl.bytes == binding.len() => Ok(()),
            Some(decl) => {
                let problem = format!(
                    "it was recorded with {} bytes and was given {}; give a range of the same length",
                    decl.bytes,
                    binding.len()
                );
                Err(invalid(name, problem))
            }
            None => Err(invalid(name, "it belongs to another graph")),
        }
    }

    /// Whether all buffers would be disjoint once `bindings` (by buffer number) have taken their places.
    fn check_disjoint(
        &self,
        recording: &Recording,
        bindings: &BTreeMap<u32, (&Arc<str>, &BufferBinding)>,
    ) -> Result<()> {
        let mut sorted: Vec<_> =
            bindings.values().map(|(name, binding)| (binding.memory.id(), binding.range(), *name)).collect();
        sorted.sort_unstable_by_key(|(id, range, _)| (*id, range.start));
        for pair in sorted.windows(2) {
            if let [(one, first, name), (two, second, other)] = pair
                && one == two
                && first.end > second.start
            {
                return Err(shared(name, &format!("slot `{other}`")));
            }
        }
        for (id, range, name) in &sorted {
            let Some(placed) = self.placed.get(id) else { continue };
            // Placed buffers are disjoint: going back from the range's end, the first that ends before it ends the search.
            let mut overlapping = placed.range(..range.end).rev().take_while(|(_, (end, _))| *end > range.start);
            if let Some((_, (_, other))) = overlapping.find(|(_, (_, other))| !bindings.contains_key(other)) {
                return Err(shared(name, &buffer_text(recording, *other)));
            }
        }
        Ok(())
    }
}

fn invalid(name: &Arc<str>, problem: impl Into<Arc<str>>) -> ServerError {
    ServerError::InvalidParam { name: name.clone(), problem: problem.into() }
}

fn unknown(name: &Arc<str>, recording: &Recording) -> ServerError {
    let known: Vec<&str> = recording.params.iter().map(|param| &*param.name).collect();
    match known.as_slice() {
        [] => invalid(name, "the graph has no parameter; declare them at capture"),
        known => invalid(name, format!("the graph has no parameter of this name; it has: {}", known.join(", "))),
    }
}

fn shared(name: &Arc<str>, other: &str) -> ServerError {
    let problem =
        format!("its new buffer would share bytes with {other} of the graph; buffers of a graph must be disjoint");
    invalid(name, problem)
}

fn buffer_text(recording: &Recording, index: u32) -> String {
    let slot = recording.buffers.get(index as usize).and_then(|decl| decl.slot.as_deref());
    slot.map_or_else(|| format!("buffer {index}"), |slot| format!("slot `{slot}`"))
}

fn kind_text(kind: &ParamKind) -> &'static str {
    match kind {
        ParamKind::Value(_) => "a scalar",
        ParamKind::Grid { .. } => "a grid",
        ParamKind::Buffer(_) => "a slot",
    }
}

fn change_text(change: &ParamUpdate) -> &'static str {
    match change {
        ParamUpdate::Value(_) => "a scalar",
        ParamUpdate::Grid(_) => "a grid",
        ParamUpdate::Buffer(_) => "a buffer",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::fixture::{Fixture, grid_param, param, slot};
    use crate::recording::{BufferRole, NodeOp, Recorded, RecordingBuilder};

    /// `out = a * x` over slots `a` (16 bytes) and `b` (16 bytes) and a plain buffer, with a scalar and a grid parameter.
    fn recorded(fixture: &Fixture) -> (Recorded, ParamTable) {
        let mut builder = RecordingBuilder::new(None);
        let (a, b, plain) = (fixture.buffer(16), fixture.buffer(16), fixture.buffer(16));
        let grid = grid_param("rows", [2, 1, 1], [4, 1, 1]);
        let launch = fixture.launch_with(grid, vec![slot("a", &a), slot("b", &b)], vec![param("lr", 0.5)]);
        builder.push(&launch).unwrap();
        builder.push(&fixture.copy(slot("b", &b), plain.clone().into())).unwrap();
        let recorded = builder.finish();
        let table = ParamTable::new(&recorded.recording, &recorded.buffers);
        (recorded, table)
    }

    fn update(changes: Vec<(&str, ParamUpdate)>) -> GraphUpdate {
        GraphUpdate { changes: changes.into_iter().map(|(name, change)| (name.into(), change)).collect() }
    }

    fn problem(result: Result<Vec<PlannedChange>>) -> String {
        match result {
            Err(ServerError::InvalidParam { name, problem }) => format!("{name}: {problem}"),
            other => panic!("expected InvalidParam, got {other:?}"),
        }
    }

    #[test]
    fn an_update_lasts_and_reaches_its_users() {
        let fixture = Fixture::new();
        let (recorded, mut table) = recorded(&fixture);
        let new = fixture.buffer(16);
        let changes = vec![
            ("lr", ParamUpdate::Value(0.1f32.into())),
            ("rows", ParamUpdate::Grid([4, 1, 1])),
            ("b", ParamUpdate::Buffer(new.clone())),
            ("lr", ParamUpdate::Value(0.01f32.into())),
        ];
        let plan = table.plan(&recorded.recording, &update(changes)).unwrap();
        assert_eq!(plan.iter().map(|change| change.param).collect::<Vec<_>>(), [0, 2, 3]);
        let index =
            |name: &str| recorded.recording.params.iter().position(|param| &*param.name == name).unwrap() as u32;
        assert_eq!(table.value(index("lr")), Some(0.5f32.into()), "a plan changes nothing");
        table.apply(plan);
        // The last one of a name counts.
        assert_eq!(table.value(index("lr")), Some(0.01f32.into()));
        assert_eq!(table.grid(index("rows")), Some([4, 1, 1]));
        assert_eq!(table.users(index("rows")), [ParamUser::Grid { node: 0 }]);
        assert_eq!(table.users(index("lr")), [ParamUser::Value { node: 0, member: 0 }]);
        let (first, second) = (BufferRole::Binding(1), BufferRole::Source);
        let users = [ParamUser::Buffer { node: 0, role: first }, ParamUser::Buffer { node: 1, role: second }];
        assert_eq!(table.users(index("b")), users);
        let NodeOp::Copy { src, .. } = recorded.recording.nodes[1].op else { panic!("a copy") };
        assert_eq!(table.range(src), Some((new.memory.id(), 0..16)));
        assert_eq!(table.binding(src).map(|binding| binding.claim_key()), Some(new.claim_key()));
    }

    #[test]
    fn bad_changes_are_refused_by_name_and_nothing_changes() {
        let fixture = Fixture::new();
        let (recorded, table) = recorded(&fixture);
        let plan = |name: &str, change| table.plan(&recorded.recording, &update(vec![(name, change)]));
        let unknown = problem(plan("momentum", ParamUpdate::Value(0f32.into())));
        assert_eq!(unknown, "momentum: the graph has no parameter of this name; it has: rows, a, b, lr");
        assert!(problem(plan("lr", ParamUpdate::Value(1u32.into()))).starts_with("lr: it is f32 and was given u32"));
        assert!(problem(plan("lr", ParamUpdate::Grid([1; 3]))).starts_with("lr: it is a scalar and was given a grid"));
        for grid in [[0, 1, 1], [5, 1, 1], [4, 2, 1]] {
            assert!(problem(plan("rows", ParamUpdate::Grid(grid))).contains("[4, 1, 1]"), "{grid:?}");
        }
        let short = ParamUpdate::Buffer(fixture.buffer(12));
        assert!(problem(plan("a", short)).contains("recorded with 16 bytes and was given 12"));
        let foreign = Fixture::new().buffer(16);
        assert!(matches!(plan("a", ParamUpdate::Buffer(foreign)), Err(ServerError::ForeignHandle { .. })));
        let mut outside = fixture.buffer(8);
        outside.size = 16;
        assert!(problem(plan("a", ParamUpdate::Buffer(outside))).contains("do not lie within"));
        let plain = ParamUpdate::Buffer(recorded.buffers[2].clone());
        assert!(problem(plan("a", plain)).contains("share bytes with buffer 2"));
    }

    #[test]
    fn overlap_is_judged_by_the_final_state() {
        let fixture = Fixture::new();
        let (recorded, mut table) = recorded(&fixture);
        let (a, b) = (recorded.buffers[0].clone(), recorded.buffers[1].clone());
        let alone = update(vec![("a", ParamUpdate::Buffer(b.clone()))]);
        assert!(problem(table.plan(&recorded.recording, &alone)).contains("slot `b`"));
        let swap = update(vec![("a", ParamUpdate::Buffer(b.clone())), ("b", ParamUpdate::Buffer(a.clone()))]);
        let plan = table.plan(&recorded.recording, &swap).unwrap();
        table.apply(plan);
        assert_eq!(table.buffer(0).map(BufferBinding::claim_key), Some(b.claim_key()));
        // The index follows: `a` stands on b's bytes now.
        let back = update(vec![("b", ParamUpdate::Buffer(b))]);
        assert!(problem(table.plan(&recorded.recording, &back)).contains("slot `a`"));
        let wide = fixture.buffer(24);
        let halves = [wide.slice(0..16).unwrap(), wide.slice(8..24).unwrap()].map(ParamUpdate::Buffer);
        let [one, two] = halves;
        assert!(
            problem(table.plan(&recorded.recording, &update(vec![("a", one), ("b", two)]))).contains("share bytes")
        );
    }
}
