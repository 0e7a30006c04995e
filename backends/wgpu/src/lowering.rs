//! Turns a recording and its live buffers into a program, once, when the window is sealed; and nodes again when an update
//! puts another buffer under them.

use std::collections::HashMap;

use graphreel::book::LiveRecording;
use graphreel::error::{Result, ServerError};
use graphreel::recording::{Node, NodeOp, NodeValue, Place};

use crate::builtin::{Builtin, Builtins, GRID_BYTES, GRID_USAGE, fill_parts, guard_part};
use crate::gpu::{Gpu, resource_id};
use crate::groups::{bind, bind_entries, entry};
use crate::pages::{Pages, Spot};
use crate::pipeline::{Compiled, ScalarShape};
use crate::program::{BoundGroup, DispatchStep, Program, Step, StepGrid, StepScalars};
use crate::scalars::{self, ENTRY_BYTES, Entries, push_entry};

/// What lowering reads.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) gpu: &'a Gpu,
    pub(crate) pages: &'a Pages,
    pub(crate) builtins: &'a Builtins,
    pub(crate) live: &'a LiveRecording,
}

/// What lowering writes.
#[derive(Default)]
struct Output {
    steps: Vec<Step>,
    immediates: Vec<u8>,
    entries: Vec<u8>,
    scratch_bytes: u64,
    groups: HashMap<(u64, u32, Vec<Spot>), BoundGroup>,
}

/// Lower a whole recording.
///
/// # Errors
///
/// `OutOfMemory`, `DeviceFault`, `ForeignHandle`; `Unsupported` for more scalars than offsets reach.
pub(crate) fn lower(source: Source<'_>) -> Result<Program> {
    let mut output = Output::default();
    let mut nodes = Vec::with_capacity(source.live.recording.nodes.len());
    for node in &source.live.recording.nodes {
        let first = output.steps.len() as u32;
        source.node(node, &mut output)?;
        nodes.push(first..output.steps.len() as u32);
    }
    let gpu = source.gpu;
    let mut entries = None;
    if !output.entries.is_empty() {
        let mut made = Entries::new(gpu, output.entries.len() as u32 / ENTRY_BYTES)?;
        made.bytes = output.entries;
        entries = Some(made);
    }
    let usage = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    let scratch = match output.scratch_bytes {
        0 => None,
        bytes => Some(gpu.buffer("graphreel scratch", bytes, usage)?),
    };
    let entries_changed = entries.is_some();
    Ok(Program { steps: output.steps, nodes, immediates: output.immediates, entries, entries_changed, scratch })
}

/// Nodes lowered again, to be put in place without a chance to fail.
pub(crate) struct Relowered {
    nodes: Vec<(u32, Vec<Step>)>,
    /// Entries to overwrite: where they are, and their new bytes.
    entries: Vec<(u32, Vec<u8>)>,
    scratch: Option<wgpu::Buffer>,
}

/// Lower some nodes again over the buffers that `source.params` holds now.
///
/// # Errors
///
/// As [`lower`]; nothing has changed then.
pub(crate) fn lower_nodes(source: Source<'_>, program: &Program, nodes: &[u32]) -> Result<Relowered> {
    let mut output = Output::default();
    let mut made = Relowered { nodes: Vec::with_capacity(nodes.len()), entries: Vec::new(), scratch: None };
    for index in nodes {
        let Some(node) = source.live.recording.nodes.get(*index as usize) else { continue };
        source.node(node, &mut output)?;
        let mut steps = std::mem::take(&mut output.steps);
        let place = &program.nodes[*index as usize];
        let old = &program.steps[place.start as usize..place.end as usize];
        if steps.len() != old.len() {
            return Err(ServerError::unsupported(
                format!("rebinding a buffer of node {index}"),
                "the new range needs other steps than the recorded one; capture the graph again",
            ));
        }
        for (new, old) in steps.iter_mut().zip(old) {
            let (Step::Dispatch(new), Step::Dispatch(old)) = (new, old) else { continue };
            if let (StepScalars::Entry { offset: at, .. }, StepScalars::Entry { offset, .. }) =
                (new.scalars, old.scalars)
            {
                let bytes = output.entries[at as usize..(at + ENTRY_BYTES) as usize].to_vec();
                made.entries.push((offset, bytes));
            }
            new.scalars = old.scalars;
        }
        made.nodes.push((*index, steps));
    }
    if program.scratch.as_ref().map_or(0, wgpu::Buffer::size) < output.scratch_bytes {
        let usage = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        made.scratch = Some(source.gpu.buffer("graphreel scratch", output.scratch_bytes, usage)?);
    }
    Ok(made)
}

impl Relowered {
    /// Put everything in place.
    pub(crate) fn install(self, program: &mut Program) {
        for (index, steps) in self.nodes {
            let first = program.nodes[index as usize].start as usize;
            for (at, step) in steps.into_iter().enumerate() {
                program.steps[first + at] = step;
            }
        }
        for (offset, bytes) in self.entries {
            program.patch_entry(offset, &bytes);
        }
        if self.scratch.is_some() {
            program.scratch = self.scratch;
        }
    }
}

impl Source<'_> {
    fn node(&self, node: &Node, output: &mut Output) -> Result<()> {
        match &node.op {
            NodeOp::Launch { kernel, grid, buffers, values } => {
                let groups = self.live.params.node_grid(*grid).unwrap_or([1, 1, 1]);
                self.launch(*kernel, buffers, values, StepGrid::Direct(groups), output)
            }
            NodeOp::LaunchIndirect { kernel, counts, max, buffers, values } => {
                let grid = self.gpu.buffer("graphreel grid", GRID_BYTES, GRID_USAGE)?;
                self.guard(*counts, *max, &grid, output)?;
                self.launch(*kernel, buffers, values, StepGrid::Indirect(grid), output)
            }
            NodeOp::Copy { src, dst } => self.copy(*src, *dst, output),
            NodeOp::Fill { dst, word } => self.fill(*dst, *word, output),
            NodeOp::HostWrite { dst, host } => {
                let spot = self.locate(*dst)?;
                let bytes = self.live.recording.host.get(*host as usize).map_or(&[][..], |bytes| bytes);
                let staging = self.gpu.buffer_with("graphreel upload", bytes)?;
                let to = (self.pages.buffer(spot.page).clone(), spot.offset);
                output.steps.push(Step::Copy { from: (staging, 0), to, bytes: spot.padded() });
                Ok(())
            }
        }
    }

    fn locate(&self, place: Place) -> Result<Spot> {
        let binding = self.live.params.binding(place).ok_or_else(|| {
            ServerError::graph_state(format!("buffer {} of the recording has no bytes behind it", place.buffer))
        })?;
        self.pages.locate(&binding, self.gpu.info.id.0)
    }

    fn launch(
        &self,
        kernel: u32,
        buffers: &[Place],
        values: &[NodeValue],
        grid: StepGrid,
        output: &mut Output,
    ) -> Result<()> {
        let kernel = self.live.kernels.get(kernel as usize);
        let Some((kernel, compiled)) = kernel.and_then(|kernel| Some((kernel, kernel.compiled::<Compiled>()?))) else {
            return Err(ServerError::graph_state("the recording names a kernel that this device did not compile"));
        };
        let spots = buffers.iter().map(|place| self.locate(*place)).collect::<Result<Vec<_>>>()?;
        let variant = compiled.variant(|argument| spots[argument].page)?;
        let mut groups = Vec::with_capacity(variant.groups.len());
        for shape in &variant.groups {
            let key = (variant.id, shape.index, spots.clone());
            let bound = match output.groups.get(&key) {
                Some(bound) => bound.clone(),
                None => {
                    let group = bind(self.gpu, self.pages, shape, &spots)?;
                    let bound = BoundGroup { index: shape.index, id: resource_id(), group };
                    output.groups.insert(key, bound.clone());
                    bound
                }
            };
            groups.push(bound);
        }
        let packed = self.live.scalars(kernel, values);
        let scalars = match compiled.scalars {
            ScalarShape::None => StepScalars::None,
            ScalarShape::Uniform(group) => {
                StepScalars::Entry { group, offset: push_entry(&mut output.entries, packed.bytes())? }
            }
            ScalarShape::Immediate(_) => {
                let start = scalars::offset(output.immediates.len(), packed.bytes().len())?;
                output.immediates.extend_from_slice(packed.bytes());
                StepScalars::Immediate { start, len: packed.bytes().len() as u32 }
            }
        };
        let pipeline = (variant.id, variant.pipeline.clone());
        let mut groups = groups.into_iter();
        let group = groups.next();
        output.steps.push(Step::Dispatch(DispatchStep {
            pipeline,
            group,
            more_groups: groups.collect(),
            scalars,
            grid,
        }));
        Ok(())
    }

    fn guard(&self, counts: Place, max: [u32; 3], grid: &wgpu::Buffer, output: &mut Output) -> Result<()> {
        let spot = self.locate(counts)?;
        let (offset, bytes, scalars) = guard_part(self.gpu, spot.offset, max);
        let bound = Spot { page: spot.page, offset, bytes };
        let second = wgpu::BindGroupEntry { binding: 1, resource: grid.as_entire_binding() };
        let entries = [entry(self.pages.buffer(spot.page), 0, &bound), second];
        let group = bind_entries(self.gpu, &self.builtins.guard.layout, &entries)?;
        output.builtin(&self.builtins.guard, group, &scalars, [1, 1, 1])
    }

    fn copy(&self, src: Place, dst: Place, output: &mut Output) -> Result<()> {
        let (from, to) = (self.locate(src)?, self.locate(dst)?);
        let bytes = to.padded();
        let buffer = self.pages.buffer(to.page).clone();
        if from.page == to.page {
            output.scratch_bytes = output.scratch_bytes.max(bytes);
            output.steps.push(Step::CopyWithin { buffer, from: from.offset, to: to.offset, bytes });
        } else {
            let from = (self.pages.buffer(from.page).clone(), from.offset);
            output.steps.push(Step::Copy { from, to: (buffer, to.offset), bytes });
        }
        Ok(())
    }

    fn fill(&self, dst: Place, word: u32, output: &mut Output) -> Result<()> {
        let spot = self.locate(dst)?;
        let buffer = self.pages.buffer(spot.page);
        if word == 0 {
            output.steps.push(Step::Clear { buffer: buffer.clone(), offset: spot.offset, bytes: spot.padded() });
            return Ok(());
        }
        for part in fill_parts(self.gpu, spot.offset, spot.padded(), word) {
            let bound = Spot { page: spot.page, offset: part.offset, bytes: part.bytes };
            let group = bind_entries(self.gpu, &self.builtins.fill.layout, &[entry(buffer, 0, &bound)])?;
            output.builtin(&self.builtins.fill, group, &part.scalars, [part.groups, 1, 1])?;
        }
        Ok(())
    }
}

impl Output {
    fn builtin(&mut self, kernel: &Builtin, group: wgpu::BindGroup, scalars: &[u8], grid: [u32; 3]) -> Result<()> {
        let offset = push_entry(&mut self.entries, scalars)?;
        self.steps.push(Step::Dispatch(DispatchStep {
            pipeline: (kernel.id, kernel.pipeline.clone()),
            group: Some(BoundGroup { index: 0, id: resource_id(), group }),
            more_groups: Vec::new(),
            scalars: StepScalars::Entry { group: 1, offset },
            grid: StepGrid::Direct(grid),
        }));
        Ok(())
    }
}
