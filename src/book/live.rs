//! A sealed recording over live handles: what every tier of every backend executes, updates and claims.

use std::collections::{BTreeMap, BTreeSet};

use super::GraphClaims;
use crate::caps::Caps;
use crate::error::{Result, ServerError};
use crate::kernel::{Kernel, PackedScalars};
use crate::memory::{Access, BufferBinding, ClaimKey, DeviceId, ManagedMemoryId};
use crate::op::{BufferArg, GridArg, Launch, LaunchIndirect, Op, ValueArg, check};
use crate::recording::{
    NodeOp, NodeValue, ParamKind, ParamTable, ParamUser, Place, PlannedChange, Recorded, Recording,
};
use crate::server::{GraphId, GraphUpdate, ParamUpdate};
use crate::sync::Arc;

/// A recording with the handles and parameter values that it runs over now.
#[derive(Debug)]
pub struct LiveRecording {
    /// What it touches; keeps its memory alive.
    pub claims: GraphClaims,
    /// Its parameters and buffers.
    pub params: ParamTable,
    /// One for each of [`Recording::kernels`].
    pub kernels: Vec<Kernel>,
    /// The recording.
    pub recording: Arc<Recording>,
}

/// Nodes that an update reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Launches with other scalars.
    pub scalars: BTreeSet<u32>,
    /// Launches with another grid.
    pub grids: BTreeSet<u32>,
    /// Nodes with another buffer.
    pub rebound: BTreeSet<u32>,
}

/// An update that was applied to the parameters, with the way back.
#[derive(Debug)]
pub struct Applied {
    /// What it reaches.
    pub touched: Touched,
    undo: Vec<PlannedChange>,
}

impl Applied {
    /// The buffers that were in the slots before.
    pub fn replaced(&self) -> Vec<BufferBinding> {
        let old = |change: &PlannedChange| match &change.change {
            ParamUpdate::Buffer(binding) => Some(binding.clone()),
            _ => None,
        };
        self.undo.iter().filter_map(old).collect()
    }
}

impl LiveRecording {
    /// The recording of a window that was sealed as `id`.
    pub fn new(id: GraphId, claims: Vec<(BufferBinding, Access)>, recorded: Recorded) -> Self {
        let claims = GraphClaims::new(id, claims, &recorded);
        let params = ParamTable::new(&recorded.recording, &recorded.buffers);
        Self { claims, params, kernels: recorded.kernels, recording: recorded.recording }
    }

    /// The memory that it holds, each once, in order.
    pub fn held(&self) -> Vec<ManagedMemoryId> {
        let mut ids: Vec<_> = self.params.buffers().iter().map(|binding| binding.memory.id()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Check an update and make it in the parameters; the executable form follows, or [`LiveRecording::undo`]. The claims
    /// are still the old ones: [`LiveRecording::renew_claims`] once the update stands.
    ///
    /// # Errors
    ///
    /// `InvalidParam` or `ForeignHandle`, with nothing changed.
    pub fn apply(&mut self, update: &GraphUpdate, caps: &Caps, device: DeviceId) -> Result<Applied> {
        let plan = self.params.plan(&self.recording, update)?;
        let applied = Applied {
            touched: self.touched(&plan),
            undo: plan.iter().filter_map(|change| self.current(change)).collect(),
        };
        let changed: Vec<u32> = plan.iter().map(|change| change.param).collect();
        self.params.apply(plan);
        if !applied.touched.rebound.is_empty()
            && let Err(error) = self.check_rebound(&changed, caps, device)
        {
            self.undo(applied);
            return Err(error);
        }
        Ok(applied)
    }

    /// Take an applied update back.
    pub fn undo(&mut self, applied: Applied) {
        self.params.apply(applied.undo);
    }

    /// Work the claims out again, after buffers have changed.
    pub fn renew_claims(&mut self) {
        let mut claims: BTreeMap<ClaimKey, (BufferBinding, Access)> = BTreeMap::new();
        for used in self.recording.nodes.iter().flat_map(|node| &node.uses) {
            let Some(binding) = self.params.binding(used.place) else { continue };
            claims
                .entry(binding.claim_key())
                .and_modify(|(_, access)| *access = access.union(used.access))
                .or_insert((binding, used.access));
        }
        let inputs = self.recording.exposed_reads().into_iter().filter_map(|place| self.params.range(place)).collect();
        self.claims = GraphClaims { id: self.claims.id, claims: claims.into_values().collect(), inputs };
    }

    /// Node `index` as an operation over live handles; `None` past the last.
    pub fn operation(&self, index: usize) -> Option<Op> {
        let node = self.recording.nodes.get(index)?;
        let arg = |place: Place| self.params.binding(place).map(BufferArg::from);
        Some(match &node.op {
            NodeOp::Launch { kernel, grid, buffers, values } => {
                let grid = self.params.node_grid(*grid)?;
                Op::Launch(self.launch(*kernel, grid, buffers, values)?)
            }
            NodeOp::LaunchIndirect { kernel, counts, max, buffers, values } => Op::LaunchIndirect(LaunchIndirect {
                launch: self.launch(*kernel, *max, buffers, values)?,
                counts: arg(*counts)?,
            }),
            NodeOp::Copy { src, dst } => Op::Copy { src: arg(*src)?, dst: arg(*dst)? },
            NodeOp::Fill { dst, word } => Op::Fill { dst: arg(*dst)?, word: *word },
            NodeOp::HostWrite { dst, host } => {
                Op::Upload { dst: arg(*dst)?, bytes: self.recording.host.get(*host as usize)?.clone() }
            }
        })
    }

    /// The scalars of a launch of `kernel`, as they are now.
    pub fn scalars(&self, kernel: &Kernel, values: &[NodeValue]) -> PackedScalars {
        PackedScalars::new(kernel.reflection(), values.iter().filter_map(|value| self.params.node_value(*value)))
    }

    fn launch(&self, kernel: u32, grid: [u32; 3], buffers: &[Place], values: &[NodeValue]) -> Option<Launch> {
        let buffers = buffers.iter().map(|place| self.params.binding(*place).map(BufferArg::from));
        let values = values.iter().map(|value| self.params.node_value(*value).map(ValueArg::Baked));
        Some(Launch {
            kernel: self.kernels.get(kernel as usize)?.clone(),
            grid: GridArg::Fixed(grid),
            buffers: buffers.collect::<Option<_>>()?,
            values: values.collect::<Option<_>>()?,
            label: None,
        })
    }

    /// Check the new buffers of the parameters `changed` as at a call: a plan knows their lengths, not where an operation
    /// takes a range to begin and end.
    fn check_rebound(&self, changed: &[u32], caps: &Caps, device: DeviceId) -> Result<()> {
        for param in changed {
            for user in self.params.users(*param) {
                let ParamUser::Buffer { node, .. } = user else { continue };
                let Some(op) = self.operation(*node as usize) else { continue };
                check(&op, caps, device).map_err(|error| ServerError::InvalidParam {
                    name: self.recording.params[*param as usize].name.clone(),
                    problem: format!("its new buffer does not fit node {node}: {error}").into(),
                })?;
            }
        }
        Ok(())
    }

    fn touched(&self, plan: &[PlannedChange]) -> Touched {
        let mut touched = Touched::default();
        for change in plan {
            for user in self.params.users(change.param) {
                match user {
                    ParamUser::Value { node, .. } => touched.scalars.insert(*node),
                    ParamUser::Grid { node } => touched.grids.insert(*node),
                    ParamUser::Buffer { node, .. } => touched.rebound.insert(*node),
                };
            }
        }
        touched
    }

    /// The change that undoes `change`.
    fn current(&self, change: &PlannedChange) -> Option<PlannedChange> {
        let now = match &change.change {
            ParamUpdate::Value(_) => ParamUpdate::Value(self.params.value(change.param)?),
            ParamUpdate::Grid(_) => ParamUpdate::Grid(self.params.grid(change.param)?),
            ParamUpdate::Buffer(_) => {
                let ParamKind::Buffer(index) = self.recording.params.get(change.param as usize)?.kind else {
                    return None;
                };
                ParamUpdate::Buffer(self.params.buffer(index)?.clone())
            }
        };
        Some(PlannedChange { param: change.param, change: now })
    }
}
