//! The executable form of a graph: every node with its pipeline, bind groups and bytes resolved.
//!
//! A replay reads it and encodes; it looks nothing up and makes nothing, so nothing can fail between two submits.

use std::ops::Range;

use crate::gpu::Gpu;
use crate::scalars::Entries;
use crate::tape::Tape;

/// A graph as steps.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) steps: Vec<Step>,
    /// The steps of each node.
    pub(crate) nodes: Vec<Range<u32>>,
    /// Immediate bytes of all steps.
    pub(crate) immediates: Vec<u8>,
    /// Scalars of steps that take them as a uniform, if there are any.
    pub(crate) entries: Option<Entries>,
    /// Whether the entries' bytes are newer than their buffer.
    pub(crate) entries_changed: bool,
    /// Through which copies within one buffer go.
    pub(crate) scratch: Option<wgpu::Buffer>,
}

/// One thing to encode.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Run a pipeline.
    Dispatch(DispatchStep),
    /// Copy between buffers.
    Copy { from: (wgpu::Buffer, u64), to: (wgpu::Buffer, u64), bytes: u64 },
    /// Copy within one buffer.
    CopyWithin { buffer: wgpu::Buffer, from: u64, to: u64, bytes: u64 },
    /// Zero a range.
    Clear { buffer: wgpu::Buffer, offset: u64, bytes: u64 },
}

/// A dispatch with all it needs.
#[derive(Clone, Debug)]
pub(crate) struct DispatchStep {
    pub(crate) pipeline: (u64, wgpu::ComputePipeline),
    /// The first bind group, in place: most kernels have one, and a replay reads every step.
    pub(crate) group: Option<BoundGroup>,
    pub(crate) more_groups: Vec<BoundGroup>,
    pub(crate) scalars: StepScalars,
    pub(crate) grid: StepGrid,
}

/// A bind group at its index.
#[derive(Clone, Debug)]
pub(crate) struct BoundGroup {
    pub(crate) index: u32,
    pub(crate) id: u64,
    pub(crate) group: wgpu::BindGroup,
}

/// Where a step's scalars are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepScalars {
    /// It has none.
    None,
    /// In [`Program::immediates`].
    Immediate { start: u32, len: u32 },
    /// In [`Program::entries`], bound at `group`.
    Entry { group: u32, offset: u32 },
}

/// Workgroups of a step.
#[derive(Clone, Debug)]
pub(crate) enum StepGrid {
    /// This many.
    Direct([u32; 3]),
    /// What a guard has put into the buffer.
    Indirect(wgpu::Buffer),
}

impl Program {
    /// Encode node `index`.
    pub(crate) fn encode(&self, index: usize, tape: &mut Tape) {
        let Some(steps) = self.nodes.get(index) else { return };
        tape.mark(index as u32);
        for step in &self.steps[steps.start as usize..steps.end as usize] {
            self.encode_step(step, tape);
        }
    }

    /// Encode all of it and throw the commands away: what wgpu would refuse is known before the first replay.
    ///
    /// # Errors
    ///
    /// `DeviceFault` with what wgpu says, or the device's loss.
    pub(crate) fn rehearse(&self, gpu: &Gpu) -> graphreel::error::Result<()> {
        let encode = || {
            let mut tape = Tape::new(&gpu.device, "graphreel rehearsal", None);
            (0..self.nodes.len()).for_each(|index| self.encode(index, &mut tape));
            drop(tape.finish(None));
        };
        gpu.scoped(encode).map_err(|caught| caught.into_fault(&gpu.monitor, "sealing a graph"))
    }

    /// Hand changed scalars to the queue, ahead of the next submission.
    pub(crate) fn write_entries(&mut self, queue: &wgpu::Queue) {
        if let Some(entries) = self.entries.as_ref().filter(|_| self.entries_changed) {
            entries.write(queue);
        }
        self.entries_changed = false;
    }

    /// Change an entry from its start on.
    pub(crate) fn patch_entry(&mut self, offset: u32, bytes: &[u8]) {
        if let Some(entries) = &mut self.entries {
            let start = offset as usize;
            entries.bytes[start..start + bytes.len()].copy_from_slice(bytes);
            self.entries_changed = true;
        }
    }

    /// Give node `index`, whose last step is its launch, these scalars.
    pub(crate) fn set_scalars(&mut self, index: u32, bytes: &[u8]) {
        match self.launch_of(index).map(|step| step.scalars) {
            Some(StepScalars::Immediate { start, len }) => {
                self.immediates[start as usize..(start + len) as usize].copy_from_slice(bytes);
            }
            Some(StepScalars::Entry { offset, .. }) => self.patch_entry(offset, bytes),
            Some(StepScalars::None) | None => {}
        }
    }

    /// Give node `index` this grid.
    pub(crate) fn set_grid(&mut self, index: u32, groups: [u32; 3]) {
        if let Some(step) = self.launch_of(index) {
            step.grid = StepGrid::Direct(groups);
        }
    }

    fn launch_of(&mut self, index: u32) -> Option<&mut DispatchStep> {
        let last = self.nodes.get(index as usize)?.end.checked_sub(1)?;
        match self.steps.get_mut(last as usize)? {
            Step::Dispatch(step) => Some(step),
            _ => None,
        }
    }

    fn encode_step(&self, step: &Step, tape: &mut Tape) {
        match step {
            Step::Dispatch(dispatch) => self.encode_dispatch(dispatch, tape),
            Step::Copy { from, to, bytes } => tape.copy((&from.0, from.1), (&to.0, to.1), *bytes),
            Step::CopyWithin { buffer, from, to, bytes } => {
                let scratch = self.scratch.as_ref().expect("lowering made one for such steps");
                tape.copy_within(buffer, *from, *to, *bytes, scratch);
            }
            Step::Clear { buffer, offset, bytes } => tape.clear(buffer, *offset, *bytes),
        }
    }

    fn encode_dispatch(&self, step: &DispatchStep, tape: &mut Tape) {
        tape.pipeline(step.pipeline.0, &step.pipeline.1);
        for bound in step.group.iter().chain(&step.more_groups) {
            tape.group(bound.index, bound.id, &bound.group);
        }
        match step.scalars {
            StepScalars::None => {}
            StepScalars::Immediate { start, len } => {
                tape.immediates(&self.immediates[start as usize..(start + len) as usize]);
            }
            StepScalars::Entry { group, offset } => {
                let entries = self.entries.as_ref().expect("lowering made them for such steps");
                tape.group_at(group, &entries.group, offset);
            }
        }
        match &step.grid {
            StepGrid::Direct(groups) => tape.dispatch(*groups),
            StepGrid::Indirect(buffer) => tape.dispatch_indirect(buffer),
        }
    }
}
