//! File to device memory: the process-wide pool against wgpu written by hand with two staging buffers that take turns, and
//! against reading the file whole and writing the buffer. The file is in the system's cache.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use graphreel::lifecycle::config::SourceSchedulerPolicy;
use graphreel::lifecycle::{SourceRead, read_source};
use graphreel::{Buffer, Deadline, Device, StreamId};
use graphreel_wgpu::WgpuServer;
use tempfile::NamedTempFile;

use crate::{Finding, median};

/// Bytes of each of the two staging buffers: the pool's pieces have as many.
const STAGED_BYTES: u64 = 4 << 20;

type Side = Result<f64, String>;

/// Seconds for `bytes` bytes of a file until they are on the device, as throughput ratios.
///
/// # Errors
///
/// What the system, wgpu or the device answered, or wrong bytes.
pub fn to_device(device: &Device, bytes: u64, rounds: u32) -> Result<Vec<Finding>, String> {
    let (file, contents) = file(bytes).map_err(text)?;
    let (ours, plain) = (device.alloc(bytes).map_err(text)?, device.alloc(bytes).map_err(text)?);
    let by_hand = device.with_server(|server: &mut WgpuServer| ByHand::new(server, bytes));
    let Some(mut by_hand) = by_hand else { return Ok(Vec::new()) };
    let (mut pool_times, mut hand_times, mut whole_times) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=rounds {
        // Each is the first as often as the other; the first round warms everything up.
        let (pool, hand) = if round % 2 == 0 {
            let pool = pooled(&ours, file.path())?;
            (pool, by_hand.run(file.path())?)
        } else {
            let hand = by_hand.run(file.path())?;
            (pooled(&ours, file.path())?, hand)
        };
        if round > 0 {
            pool_times.push(pool);
            hand_times.push(hand);
        }
    }
    // Apart from the others: what it leaves of the caches and of free memory would be held against whoever comes next.
    for _ in 0..rounds {
        whole_times.push(whole(&plain, file.path())?);
    }
    check(&ours, &contents)?;
    check(&plain, &contents)?;
    by_hand.check(device, &contents)?;
    let [pool, by_hand, whole] = [pool_times, hand_times, whole_times].map(median);
    let finding = |what: String, ours: f64, theirs: f64| {
        let figure = theirs / ours;
        Finding {
            target: "file to device",
            what: format!("{} MiB, {what}", bytes >> 20),
            sides: format!("{:.2} / {:.2} GB/s", rate(bytes, ours), rate(bytes, theirs)),
            figure,
            bound: ">= 0.9",
            kept: figure >= 0.9,
        }
    };
    Ok(vec![
        finding("against two staging buffers by hand".to_owned(), pool, by_hand),
        finding("against reading it whole and writing the buffer".to_owned(), pool, whole),
    ])
}

/// Gigabytes a second.
pub(crate) fn rate(bytes: u64, seconds: f64) -> f64 {
    bytes as f64 / seconds / 1e9
}

/// A file of so many bytes, and what it has.
pub(crate) fn file(bytes: u64) -> std::io::Result<(NamedTempFile, Vec<u8>)> {
    let contents: Vec<u8> =
        (0..bytes / 8).flat_map(|index| (index.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_le_bytes()).collect();
    let mut file = NamedTempFile::new()?;
    file.write_all(&contents)?;
    file.flush()?;
    Ok((file, contents))
}

/// By the pool, until the device has the bytes.
pub(crate) fn pooled(dst: &Buffer, path: &Path) -> Side {
    let start = Instant::now();
    let (device, read) = (dst.device(), SourceRead::new(path, 0..dst.len_bytes()));
    let policy = SourceSchedulerPolicy::default();
    let work = read_source(device, StreamId::current(), read, dst, 0, policy).map_err(text)?;
    work.wait(Deadline::NEVER).map_err(text)?;
    device.sync().map_err(text)?;
    Ok(start.elapsed().as_secs_f64())
}

/// The file whole in host memory, then one write.
fn whole(dst: &Buffer, path: &Path) -> Side {
    let start = Instant::now();
    let contents = std::fs::read(path).map_err(text)?;
    dst.write(&contents).map_err(text)?;
    dst.device().sync().map_err(text)?;
    Ok(start.elapsed().as_secs_f64())
}

/// Hold what a buffer has against the file.
pub(crate) fn check(buffer: &Buffer, contents: &[u8]) -> Result<(), String> {
    let read = buffer.read::<u8>().map_err(text)?;
    if read == contents { Ok(()) } else { Err("the bytes on the device are not the file's".to_owned()) }
}

/// A staging buffer, with the copy that reads it and word of when it is mapped again.
struct Staged {
    buffer: wgpu::Buffer,
    flying: Option<(wgpu::SubmissionIndex, Receiver<Result<(), wgpu::BufferAsyncError>>)>,
}

/// The copy as it is written by hand.
struct ByHand {
    device: wgpu::Device,
    queue: wgpu::Queue,
    staged: [Staged; 2],
    dst: wgpu::Buffer,
    bytes: u64,
}

impl ByHand {
    fn new(server: &WgpuServer, bytes: u64) -> Self {
        let (device, queue) = server.raw_device();
        let make = |size, usage, mapped_at_creation| {
            device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation })
        };
        let staged = [(); 2].map(|()| {
            let usage = wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC;
            Staged { buffer: make(STAGED_BYTES, usage, true), flying: None }
        });
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        Self { device: device.clone(), queue: queue.clone(), staged, dst: make(bytes, usage, false), bytes }
    }

    fn run(&mut self, path: &Path) -> Side {
        let start = Instant::now();
        let mut file = File::open(path).map_err(text)?;
        for (turn, at) in (0..self.bytes).step_by(STAGED_BYTES as usize).enumerate() {
            let len = STAGED_BYTES.min(self.bytes - at);
            let Staged { buffer, flying } = &mut self.staged[turn % 2];
            if let Some((copied, mapped)) = flying.take() {
                let wait = wgpu::PollType::Wait { submission_index: Some(copied), timeout: None };
                self.device.poll(wait).map_err(text)?;
                mapped.recv().map_err(text)?.map_err(text)?;
            }
            fill(buffer, len, &mut file)?;
            buffer.unmap();
            let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            encoder.copy_buffer_to_buffer(buffer, 0, &self.dst, at, len);
            let copied = self.queue.submit([encoder.finish()]);
            let (told, tells) = channel();
            buffer.map_async(wgpu::MapMode::Write, .., move |outcome| drop(told.send(outcome)));
            *flying = Some((copied, tells));
        }
        self.device.poll(wgpu::PollType::Wait { submission_index: None, timeout: None }).map_err(text)?;
        Ok(start.elapsed().as_secs_f64())
    }

    fn check(&self, device: &Device, contents: &[u8]) -> Result<(), String> {
        let wrapped = device
            .with_server(|server: &mut WgpuServer| server.wrap_buffer(StreamId::current(), self.dst.clone()))
            .ok_or("the device is not wgpu's")?
            .map_err(text)?;
        check(&device.adopt(wrapped.binding()).map_err(text)?, contents)
    }
}

/// Read the next `len` bytes of the file straight into a mapped buffer.
#[expect(unsafe_code, reason = "wgpu lends mapped memory as a pointer")]
fn fill(buffer: &wgpu::Buffer, len: u64, file: &mut File) -> Result<(), String> {
    let mut view = buffer.get_mapped_range_mut(0..len).map_err(text)?;
    let first = view.slice(..).as_raw_element_ptr();
    // SAFETY: the view has `len` bytes, which wgpu has initialised and keeps mapped while the view lives.
    let bytes = unsafe { std::slice::from_raw_parts_mut(first.as_ptr(), len as usize) };
    file.read_exact(bytes).map_err(text)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
