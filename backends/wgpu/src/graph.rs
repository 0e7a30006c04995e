//! A sealed graph: its program, what it holds, what an update changes.

use std::collections::{BTreeMap, BTreeSet};

use graphreel::ServerError;
use graphreel::book::GraphClaims;
use graphreel::error::Result;
use graphreel::kernel::Kernel;
use graphreel::memory::{Access, BufferBinding, ClaimKey};
use graphreel::op::{BufferArg, GridArg, Launch, LaunchIndirect, Op, ValueArg, check};
use graphreel::recording::{NodeOp, NodeValue, ParamTable, ParamUser, Place, PlannedChange, Recording};
use graphreel::server::{GraphId, GraphUpdate, ParamUpdate};
use graphreel::sync::Arc;

use crate::builtin::Builtins;
use crate::gpu::Gpu;
use crate::lowering::{Source, lower_nodes, pack};
use crate::pages::{PageKey, Pages};
use crate::program::Program;

/// How a graph runs. The parts are dropped in this order: executable first, then claims and host bytes (C-83).
#[derive(Debug)]
pub(crate) struct Graph {
    /// The executable; `None` on the eager tier.
    pub(crate) program: Option<Program>,
    /// One past the last node of each submission.
    pub(crate) cuts: Vec<usize>,
    pub(crate) claims: GraphClaims,
    pub(crate) params: ParamTable,
    pub(crate) kernels: Vec<Kernel>,
    pub(crate) recording: Arc<Recording>,
    /// Pages that the program names, with their generations, and the pool's epoch when they were last seen right.
    pub(crate) pages: Vec<(PageKey, u64)>,
    pub(crate) epoch: u64,
}

impl Graph {
    /// Note which pages the graph lies in now.
    pub(crate) fn note_pages(&mut self, pages: &Pages, here: u64) {
        let located = self.params.buffers().iter().filter_map(|binding| pages.locate(binding, here).ok());
        let keys: BTreeSet<PageKey> = located.map(|spot| spot.page).collect();
        self.pages = keys.into_iter().filter_map(|key| Some((key, pages.generation(key)?))).collect();
        self.epoch = pages.epoch();
    }

    /// The first page that is not the one that was recorded: its key, and the generations recorded and found.
    pub(crate) fn moved(&mut self, pages: &Pages) -> Option<(PageKey, u64, u64)> {
        if self.epoch == pages.epoch() {
            return None;
        }
        let found = |key: PageKey| pages.generation(key).unwrap_or(0);
        let moved = self.pages.iter().find(|(key, recorded)| found(*key) != *recorded);
        if let Some((key, recorded)) = moved {
            return Some((*key, *recorded, found(*key)));
        }
        self.epoch = pages.epoch();
        None
    }

    /// Change parameters: all or none.
    ///
    /// # Errors
    ///
    /// `InvalidParam`, `ForeignHandle`, or what binding the new buffers answers; nothing has changed then.
    pub(crate) fn update(
        &mut self,
        gpu: &Gpu,
        pages: &Pages,
        builtins: &Builtins,
        update: &GraphUpdate,
    ) -> Result<bool> {
        let plan = self.params.plan(&self.recording, update)?;
        let touched = self.touched(&plan);
        let changed: Vec<u32> = plan.iter().map(|change| change.param).collect();
        let back: Vec<PlannedChange> = plan.iter().filter_map(|change| self.current(change)).collect();
        let rebinds = !touched.rebound.is_empty();
        self.params.apply(plan);
        if rebinds {
            let fits = self.check_rebound(gpu, &changed);
            if let Err(error) = fits.and_then(|()| self.rebind(gpu, pages, builtins, &touched.rebound)) {
                self.params.apply(back);
                return Err(error);
            }
        }
        let Some(program) = &mut self.program else { return Ok(rebinds) };
        for index in touched.scalars {
            let node = &self.recording.nodes[index as usize];
            if let NodeOp::Launch { kernel, values, .. } | NodeOp::LaunchIndirect { kernel, values, .. } = &node.op {
                program.set_scalars(index, pack(&self.kernels[*kernel as usize], values, &self.params).bytes());
            }
        }
        for index in touched.grids {
            if let NodeOp::Launch { grid, .. } = &self.recording.nodes[index as usize].op
                && let Some(groups) = self.params.node_grid(*grid)
            {
                program.set_grid(index, groups);
            }
        }
        Ok(rebinds)
    }

    /// Check the new buffers of the parameters `changed` as at a call: a plan knows their lengths, not where an operation
    /// takes a range to begin and end.
    fn check_rebound(&self, gpu: &Gpu, changed: &[u32]) -> Result<()> {
        for param in changed {
            for user in self.params.users(*param) {
                let ParamUser::Buffer { node, .. } = user else { continue };
                let Some(op) = self.operation(*node as usize) else { continue };
                check(&op, &gpu.caps, gpu.info.id).map_err(|error| ServerError::InvalidParam {
                    name: self.recording.params[*param as usize].name.clone(),
                    problem: format!("its new buffer does not fit node {node}: {error}").into(),
                })?;
            }
        }
        Ok(())
    }

    fn rebind(&mut self, gpu: &Gpu, pages: &Pages, builtins: &Builtins, nodes: &BTreeSet<u32>) -> Result<()> {
        let claims = claims(&self.recording, &self.params, self.claims.id);
        let nodes: Vec<u32> = nodes.iter().copied().collect();
        if let Some(program) = &mut self.program {
            let (recording, kernels, params) = (&*self.recording, self.kernels.as_slice(), &self.params);
            let source = Source { gpu, pages, builtins, recording, kernels, params };
            lower_nodes(source, program, &nodes)?.install(program);
        }
        self.claims = claims;
        self.note_pages(pages, gpu.info.id.0);
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
                let declared = &self.recording.params.get(change.param as usize)?.kind;
                let graphreel::recording::ParamKind::Buffer(index) = declared else { return None };
                ParamUpdate::Buffer(self.params.buffer(*index)?.clone())
            }
        };
        Some(PlannedChange { param: change.param, change: now })
    }

    /// Node `index` as an operation over live handles, for the eager tier.
    pub(crate) fn operation(&self, index: usize) -> Option<Op> {
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
}

/// Nodes that an update reaches.
#[derive(Default)]
struct Touched {
    scalars: BTreeSet<u32>,
    grids: BTreeSet<u32>,
    rebound: BTreeSet<u32>,
}

/// What a recording touches over the buffers that `params` holds now.
fn claims(recording: &Recording, params: &ParamTable, id: GraphId) -> GraphClaims {
    let mut claims: BTreeMap<ClaimKey, (BufferBinding, Access)> = BTreeMap::new();
    for used in recording.nodes.iter().flat_map(|node| &node.uses) {
        let Some(binding) = params.binding(used.place) else { continue };
        claims
            .entry(binding.claim_key())
            .and_modify(|(_, access)| *access = access.union(used.access))
            .or_insert((binding, used.access));
    }
    let inputs = recording.exposed_reads().into_iter().filter_map(|place| params.range(place));
    GraphClaims { id, claims: claims.into_values().collect(), inputs: inputs.collect() }
}
