//! Random programs against a model on the host: buffers that come and go, work on several streams, graphs that are captured
//! in both ways, replayed and dropped. Every word is compared.

use std::collections::BTreeMap;

use fastrand::Rng;
use graphreel::{Buffer, Capture, Config, Device, Graph, Grid, Kernel, Result, Stream};

use super::work::{ADD_INTO, SCALE, rounds};
use crate::Env;
use crate::env::kernel_on;

/// Words to which a bound slice is aligned on every backend: 256 bytes.
const ALIGN: usize = 64;

/// A range of words of a buffer, by the buffer's number in the model.
#[derive(Clone, Debug)]
struct Part {
    buffer: usize,
    start: usize,
    len: usize,
}

impl Part {
    fn overlaps(&self, other: &Self) -> bool {
        let before = |a: &Self, b: &Self| a.start + a.len <= b.start;
        self.buffer == other.buffer && !before(self, other) && !before(other, self)
    }

    fn of<'a>(&self, words: &'a mut BTreeMap<usize, Vec<u32>>) -> &'a mut [u32] {
        let all = words.get_mut(&self.buffer).expect("the model keeps every buffer");
        &mut all[self.start..self.start + self.len]
    }

    fn bind(&self, buffers: &BTreeMap<usize, Buffer>) -> Result<Buffer> {
        buffers[&self.buffer].elements::<u32>(self.start as u64..(self.start + self.len) as u64)
    }
}

/// One operation.
#[derive(Clone, Debug)]
enum Step {
    Fill(Part, u32),
    Upload(Part, Vec<u32>),
    Copy(Part, Part),
    Scale(Part, Part, u32),
    AddInto(Part, Part),
}

impl Step {
    /// What it does, on the host.
    fn apply(&self, words: &mut BTreeMap<usize, Vec<u32>>) {
        match self {
            Self::Fill(to, word) => to.of(words).fill(*word),
            Self::Upload(to, data) => to.of(words).copy_from_slice(data),
            Self::Copy(from, to) => {
                let data = from.of(words).to_vec();
                to.of(words).copy_from_slice(&data);
            }
            Self::Scale(from, to, factor) => {
                let data = from.of(words).to_vec();
                to.of(words).iter_mut().zip(data).for_each(|(word, from)| *word = from.wrapping_mul(*factor));
            }
            Self::AddInto(from, to) => {
                let data = from.of(words).to_vec();
                to.of(words).iter_mut().zip(data).for_each(|(word, from)| *word = word.wrapping_add(from));
            }
        }
    }
}

/// Where a step is sent: to a stream, or into a closure.
enum Target<'a> {
    Stream(&'a Stream),
    Closure(&'a mut Capture),
}

struct Kernels {
    scale: Kernel,
    add_into: Kernel,
}

impl Kernels {
    fn send(&self, step: &Step, buffers: &BTreeMap<usize, Buffer>, target: &mut Target<'_>) -> Result<()> {
        match (step, target) {
            (Step::Fill(to, word), Target::Stream(stream)) => stream.fill(&to.bind(buffers)?, *word),
            (Step::Fill(to, word), Target::Closure(c)) => c.fill(&to.bind(buffers)?, *word),
            (Step::Upload(to, data), Target::Stream(stream)) => stream.upload(&to.bind(buffers)?, data),
            (Step::Upload(to, data), Target::Closure(c)) => c.upload(&to.bind(buffers)?, data),
            (Step::Copy(from, to), Target::Stream(stream)) => stream.copy(&from.bind(buffers)?, &to.bind(buffers)?),
            (Step::Copy(from, to), Target::Closure(c)) => c.copy(&from.bind(buffers)?, &to.bind(buffers)?),
            (Step::Scale(from, to, factor), target) => {
                let args = (&from.bind(buffers)?, &to.bind(buffers)?, *factor);
                match target {
                    Target::Stream(stream) => stream.launch(&self.scale, Grid::stride(to.len as u64), args),
                    Target::Closure(c) => c.launch(&self.scale, Grid::stride(to.len as u64), args),
                }
            }
            (Step::AddInto(from, to), target) => {
                let args = (&from.bind(buffers)?, &to.bind(buffers)?);
                match target {
                    Target::Stream(stream) => stream.launch(&self.add_into, Grid::stride(to.len as u64), args),
                    Target::Closure(c) => c.launch(&self.add_into, Grid::stride(to.len as u64), args),
                }
            }
        }
    }
}

/// A device and what its memory should hold.
struct Model {
    rng: Rng,
    device: Device,
    kernels: Kernels,
    streams: Vec<Stream>,
    next: usize,
    buffers: BTreeMap<usize, Buffer>,
    words: BTreeMap<usize, Vec<u32>>,
    graphs: Vec<(Graph, Vec<Step>)>,
}

impl Model {
    fn new(device: Device, seed: u64) -> Self {
        let kernels = Kernels { scale: kernel_on(&device, SCALE), add_into: kernel_on(&device, ADD_INTO) };
        Self {
            rng: Rng::with_seed(seed),
            kernels,
            streams: (0..4).map(|_| device.new_stream()).collect(),
            device,
            next: 0,
            buffers: BTreeMap::new(),
            words: BTreeMap::new(),
            graphs: Vec::new(),
        }
    }

    /// A number and a length for a new buffer: mostly a slice of a page, sometimes a page of its own.
    fn reserve(&mut self) -> (usize, usize) {
        let len = if self.rng.u8(..10) == 0 { self.rng.usize(17_000..40_000) } else { self.rng.usize(1..700) };
        self.next += 1;
        (self.next, len)
    }

    fn add_buffer(&mut self) -> Result<()> {
        let (number, len) = self.reserve();
        let data: Vec<u32> = (0..len).map(|_| self.rng.u32(..)).collect();
        self.buffers.insert(number, self.device.upload(&data)?);
        self.words.insert(number, data);
        Ok(())
    }

    fn drop_buffer(&mut self) {
        let number = self.rng.choice(self.buffers.keys().copied());
        number.and_then(|number| self.buffers.remove(&number));
    }

    /// A part of a live buffer, or all of it; `len` words where that is given and there are so many.
    fn part(&mut self, numbers: &[usize], len: Option<usize>) -> Option<Part> {
        let buffer = *self.rng.choice(numbers)?;
        let size = self.words[&buffer].len();
        let start = if self.rng.bool() { 0 } else { self.rng.usize(..size) / ALIGN * ALIGN };
        let len = len.unwrap_or_else(|| if self.rng.bool() { size - start } else { self.rng.usize(1..=size - start) });
        (start + len <= size).then_some(Part { buffer, start, len })
    }

    fn step(&mut self, numbers: &[usize]) -> Option<Step> {
        let to = self.part(numbers, None)?;
        let kind = self.rng.u8(..8);
        if kind < 2 {
            let word = self.rng.u32(..);
            let data = (0..to.len).map(|index| word ^ index as u32).collect();
            return Some(if kind == 0 { Step::Fill(to, word) } else { Step::Upload(to, data) });
        }
        let from = self.part(numbers, Some(to.len)).filter(|from| !from.overlaps(&to))?;
        Some(match kind {
            2 | 3 => Step::Copy(from, to),
            4 | 5 => Step::Scale(from, to, self.rng.u32(..)),
            _ => Step::AddInto(from, to),
        })
    }

    fn eager(&mut self) -> Result<()> {
        let numbers: Vec<usize> = self.buffers.keys().copied().collect();
        let Some(step) = self.step(&numbers) else { return Ok(()) };
        let stream = &self.streams[self.rng.usize(..self.streams.len())];
        self.kernels.send(&step, &self.buffers, &mut Target::Stream(stream))?;
        step.apply(&mut self.words);
        Ok(())
    }

    /// A graph of several steps over live buffers and one of its own.
    fn capture(&mut self) -> Result<()> {
        let (scratch, len) = self.reserve();
        self.words.insert(scratch, vec![0; len]);
        let mut numbers: Vec<usize> = self.buffers.keys().copied().collect();
        numbers.push(scratch);
        let mut steps = vec![Step::Fill(Part { buffer: scratch, start: 0, len }, self.rng.u32(..))];
        steps.extend((0..self.rng.usize(1..90)).filter_map(|_| self.step(&numbers)));
        let mut buffers = self.buffers.clone();
        let kernels = &self.kernels;
        let graph = if self.rng.bool() {
            let record = |c: &mut Capture| {
                buffers.insert(scratch, c.alloc(4 * len as u64)?);
                steps.iter().try_for_each(|step| kernels.send(step, &buffers, &mut Target::Closure(c)))
            };
            self.device.capture(record)?.0
        } else {
            let owner = &self.streams[0];
            super::work::open_window(owner)?;
            buffers.insert(scratch, self.device.alloc(4 * len as u64)?);
            steps.iter().try_for_each(|step| kernels.send(step, &buffers, &mut Target::Stream(owner)))?;
            owner.end_capture()?
        };
        assert_eq!(graph.report().nodes, steps.len());
        self.graphs.push((graph, steps));
        Ok(())
    }

    fn replay(&mut self) -> Result<()> {
        if self.graphs.is_empty() {
            return Ok(());
        }
        let (graph, steps) = &self.graphs[self.rng.usize(..self.graphs.len())];
        for _ in 0..self.rng.usize(1..4) {
            graph.replay_on_stream(&self.streams[self.rng.usize(..self.streams.len())])?;
            steps.iter().for_each(|step| step.apply(&mut self.words));
        }
        Ok(())
    }

    fn compare(&mut self, number: usize) -> Result<()> {
        let stream = &self.streams[self.rng.usize(..self.streams.len())];
        let found: Vec<u32> = stream.read(&self.buffers[&number])?;
        let wrong = found.iter().zip(&self.words[&number]).position(|(found, expected)| found != expected);
        assert_eq!(wrong, None, "word of buffer {number}, which has {}", found.len());
        Ok(())
    }

    fn turn(&mut self) -> Result<()> {
        match self.rng.u8(..40) {
            0..=2 if self.buffers.len() < 12 => self.add_buffer()?,
            3..=4 if self.buffers.len() > 4 => self.drop_buffer(),
            5 if self.graphs.len() < 6 => self.capture()?,
            6..=9 => self.replay()?,
            10 if self.graphs.len() > 3 => drop(self.graphs.swap_remove(0)),
            11 => drop(self.device.trim()),
            12..=13 => {
                if let Some(number) = self.rng.choice(self.buffers.keys().copied()) {
                    self.compare(number)?;
                }
            }
            _ => self.eager()?,
        }
        Ok(())
    }
}

fn programs(env: &Env, config: &Config, seeds: std::ops::Range<u64>) -> Result<()> {
    for seed in seeds {
        let mut model = Model::new(env.open(config.clone()), seed);
        for _ in 0..4 {
            model.add_buffer()?;
        }
        for _ in 0..400 {
            model.turn()?;
        }
        for number in model.buffers.keys().copied().collect::<Vec<_>>() {
            model.compare(number)?;
        }
    }
    Ok(())
}

/// However work is grouped, whatever is dropped, the bytes are those of the program's order.
pub fn random_programs_give_the_models_bytes(env: &Env) -> Result<()> {
    programs(env, &Config::default(), 0..u64::from(rounds(6, 200)))
}

/// The same with small pages, batches and submits, and with no slot for a closure's window alone.
pub fn random_programs_give_the_models_bytes_in_tight_bounds(env: &Env) -> Result<()> {
    let config = Config {
        page_bytes: 64 << 10,
        slice_bytes_max: 4 << 10,
        batch_operations_max: 3,
        submit_nodes: Some(5),
        submits_in_flight_max: 2,
        max_streams: 3,
        max_exclusive_streams: 0,
        ..Config::default()
    };
    programs(env, &config, 1_000..1_000 + u64::from(rounds(6, 200)))
}
