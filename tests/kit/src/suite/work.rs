//! What the scenarios of `memory`, `ordering`, `field`, `peers` and `destruction` submit beside the kit's own kernels,
//! and the few steps that most of them share.

use std::time::{Duration, Instant};

use graphreel::memory::MemoryUsage;
use graphreel::{Buffer, Config, Device, DeviceKind, Graph, GraphRule, Grid, Kernel, Result, ServerError, Stream};

use crate::Env;
use crate::env::{failure, folded_on};

/// Words of a scenario's buffer: several workgroups, the last one not full.
pub(crate) const N: u64 = 1_060;

/// `o[i] = a[i] + 1`; bindings in order a, o.
pub(crate) const SUCC: &str = "
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> o: array<u32>;
@compute @workgroup_size(64)
fn succ(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < arrayLength(&o); i += groups.x * 64u) { o[i] = a[i] + 1u; }
}";

/// `o[i] = k * a[i]`; bindings in order a, o; scalar: k (u32).
pub(crate) const SCALE: &str = "
struct Scalars { k: u32 }
var<immediate> scalars: Scalars;
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> o: array<u32>;
@compute @workgroup_size(64)
fn scale(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < arrayLength(&o); i += groups.x * 64u) { o[i] = scalars.k * a[i]; }
}";

/// `o[i] += a[i]`; bindings in order a, o.
pub(crate) const ADD_INTO: &str = "
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> o: array<u32>;
@compute @workgroup_size(64)
fn add_into(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < arrayLength(&o); i += groups.x * 64u) { o[i] = o[i] + a[i]; }
}";

/// `o[i] = a[i] + 1`, after `rounds` steps of work that no compiler can leave out; bindings in order a, o; scalar: rounds.
pub(crate) const LATE: &str = "
struct Scalars { rounds: u32 }
var<immediate> scalars: Scalars;
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> o: array<u32>;
@compute @workgroup_size(64)
fn late(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < arrayLength(&o); i += groups.x * 64u) {
        var v = a[i];
        for (var round = 0u; round < scalars.rounds; round++) { v = v * 1664525u + 1013904223u; }
        var y = a[i] + 1u;
        if v == 0x9e3779b9u && a[i] == 0xffffffffu { y = v; }
        o[i] = y;
    }
}";

/// Numbers that follow from a seed and an offset; scalars: seed, offset (u32).
pub(crate) const RANDOM: &str = "
struct Scalars { seed: u32, offset: u32 }
var<immediate> scalars: Scalars;
@group(0) @binding(0) var<storage, read_write> o: array<u32>;
@compute @workgroup_size(64)
fn random(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < arrayLength(&o); i += groups.x * 64u) {
        var v = (i + scalars.offset) * 747796405u + scalars.seed;
        v = ((v >> ((v >> 28u) + 4u)) ^ v) * 277803737u;
        o[i] = (v >> 22u) ^ v;
    }
}";

/// `o[i] = 0.25 * o[i] + 0.7 * sin(a[i]) + sqrt(|a[i]|)` over f32; bindings in order a, o.
pub(crate) const CURVE: &str = "
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> o: array<f32>;
@compute @workgroup_size(64)
fn curve(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < arrayLength(&o); i += groups.x * 64u) {
        o[i] = 0.25 * o[i] + 0.7 * sin(a[i]) + sqrt(abs(a[i]));
    }
}";

/// As many workgroups as [`N`] words need.
pub(crate) const fn grid() -> Grid {
    Grid::cover(N)
}

/// [`N`] words of one value, on the host.
pub(crate) fn host(value: u32) -> Vec<u32> {
    vec![value; N as usize]
}

/// A new buffer of [`N`] words of one value.
pub(crate) fn words(device: &Device, value: u32) -> Result<Buffer> {
    device.upload(&host(value))
}

/// A new buffer of [`N`] words that nothing has written.
pub(crate) fn blank(device: &Device) -> Result<Buffer> {
    device.alloc_for::<u32>(N)
}

/// Check that every word of `buffer` is `value`.
#[track_caller]
pub(crate) fn holds(buffer: &Buffer, value: u32) {
    match buffer.read::<u32>() {
        Ok(found) => same(&found, value),
        Err(error) => panic!("every word should be {value}, and the read answers: {error}"),
    }
}

/// Check that every one of `found` is `value`.
#[track_caller]
pub(crate) fn same(found: &[u32], value: u32) {
    let wrong = found.iter().position(|word| *word != value);
    assert_eq!(wrong.map(|index| (index, found[index])), None, "every one of {} words should be {value}", found.len());
}

/// A graph of one launch over [`N`] words.
pub(crate) fn graph_of(device: &Device, kernel: &Kernel, from: &Buffer, to: &Buffer) -> Result<Graph> {
    Ok(device.capture(|c| c.launch(kernel, grid(), (from, to)))?.0)
}

/// A device on which every shared stream folds onto one slot, with an owner and a neighbour there.
pub(crate) fn one_slot(env: &Env) -> (Device, Stream, Stream) {
    let device = env.open(Config { max_streams: 1, ..Config::default() });
    let (owner, neighbour) = (device.new_stream(), device.new_stream());
    (device, owner, neighbour)
}

/// Open a window on `stream` and start to record.
pub(crate) fn open_window(stream: &Stream) -> Result<()> {
    stream.graph_prepare()?;
    stream.begin_capture()
}

/// Leave a failure on `buffer` by a way that every backend has: a window that would write it is closed by a stream that
/// does not own it, so its work never runs (C-26, C-76).
pub(crate) fn taint(buffer: &Buffer) -> Result<()> {
    let (owner, other) = folded_on(buffer.device());
    open_window(&owner)?;
    owner.fill(buffer, 0xbad)?;
    let error = failure(other.end_capture());
    assert!(matches!(error, ServerError::Several { .. }), "an abandoned end says whose window it closed: {error}");
    Ok(())
}

/// Check that the call was refused for breaking `rule`.
#[track_caller]
pub(crate) fn refused<T>(result: Result<T>, rule: &GraphRule) {
    let error = failure(result);
    assert_eq!(error.graph_rule(), Some(rule), "{error}");
}

/// Check that a read of `buffer` answers that nothing was ever written to it.
#[track_caller]
pub(crate) fn never_written(buffer: &Buffer) {
    let error = failure(buffer.read::<u32>());
    assert!(matches!(error, ServerError::Unwritten { .. }), "`Unwritten` was expected: {error}");
}

/// Wait until everything queued is done and the pools satisfy `condition`: memory returns on its fence.
///
/// # Errors
///
/// What the device answers meanwhile.
#[track_caller]
pub(crate) fn settle(device: &Device, what: &str, condition: impl Fn(&MemoryUsage) -> bool) -> Result<()> {
    let start = Instant::now();
    loop {
        device.sync()?;
        let usage = device.memory_usage();
        if condition(&usage) {
            return Ok(());
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{what}: {usage:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// `short`, or `long` where `GRAPHREEL_THOROUGH=1` asks for it.
pub(crate) fn rounds(short: u32, long: u32) -> u32 {
    if std::env::var("GRAPHREEL_THOROUGH").is_ok_and(|value| value == "1") { long } else { short }
}

/// Whether it is the software device below AMD's runtime: what is above it takes it for a card, and its kernels run on one
/// processor.
pub(crate) fn is_software_device(device: &Device) -> bool {
    device.info().name.starts_with("Graphreel software device")
}

/// Rounds of work that has to last until it is looked at: an interpreter takes as long for a tenth of them.
pub(crate) fn late_rounds(device: &Device, rounds: u32) -> u32 {
    if device.info().kind == DeviceKind::Simulated { rounds / 10 } else { rounds }
}
