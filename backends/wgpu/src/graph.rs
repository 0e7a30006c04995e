//! A sealed graph: its program, what it holds, what an update changes.

use std::collections::BTreeSet;

use graphreel::book::{Applied, LiveRecording};
use graphreel::error::Result;
use graphreel::recording::NodeOp;
use graphreel::server::GraphUpdate;

use crate::builtin::Builtins;
use crate::gpu::Gpu;
use crate::lowering::{Source, lower_nodes};
use crate::pages::{PageKey, Pages};
use crate::program::Program;

/// How a graph runs. The parts are dropped in this order: executable first, then claims and host bytes (C-83).
#[derive(Debug)]
pub(crate) struct Graph {
    /// The executable; `None` on the eager tier.
    pub(crate) program: Option<Program>,
    /// One past the last node of each submission.
    pub(crate) cuts: Vec<usize>,
    pub(crate) live: LiveRecording,
    /// Pages that the program names, with their generations, and the pool's epoch when they were last seen right.
    pub(crate) pages: Vec<(PageKey, u64)>,
    pub(crate) epoch: u64,
}

impl Graph {
    /// Note which pages the graph lies in now.
    pub(crate) fn note_pages(&mut self, pages: &Pages, here: u64) {
        let located = self.live.params.buffers().iter().filter_map(|binding| pages.locate(binding, here).ok());
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
        let applied = self.live.apply(update, &gpu.caps, gpu.info.id)?;
        let rebinds = !applied.touched.rebound.is_empty();
        if rebinds && let Err(error) = self.rebind(gpu, pages, builtins, &applied) {
            self.live.undo(applied);
            return Err(error);
        }
        let Some(program) = &mut self.program else { return Ok(rebinds) };
        for index in &applied.touched.scalars {
            let node = &self.live.recording.nodes[*index as usize];
            if let NodeOp::Launch { kernel, values, .. } | NodeOp::LaunchIndirect { kernel, values, .. } = &node.op {
                program.set_scalars(*index, self.live.scalars(&self.live.kernels[*kernel as usize], values).bytes());
            }
        }
        for index in &applied.touched.grids {
            if let NodeOp::Launch { grid, .. } = &self.live.recording.nodes[*index as usize].op
                && let Some(groups) = self.live.params.node_grid(*grid)
            {
                program.set_grid(*index, groups);
            }
        }
        Ok(rebinds)
    }

    fn rebind(&mut self, gpu: &Gpu, pages: &Pages, builtins: &Builtins, applied: &Applied) -> Result<()> {
        let nodes: Vec<u32> = applied.touched.rebound.iter().copied().collect();
        if let Some(program) = &mut self.program {
            let source = Source { gpu, pages, builtins, live: &self.live };
            lower_nodes(source, program, &nodes)?.install(program);
        }
        self.live.renew_claims();
        self.note_pages(pages, gpu.info.id.0);
        Ok(())
    }
}
