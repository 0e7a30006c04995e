//! What the scenarios of `memory`, `ordering`, `field`, `peers` and `destruction` submit: small kernels over words, and
//! the few steps that most of them share.
#![expect(clippy::unwrap_used, reason = "a scenario that cannot go on fails")]

use std::time::{Duration, Instant};

use graphreel::memory::MemoryUsage;
use graphreel::{Buffer, Config, Device, Graph, Grid, GraphRule, Kernel, ServerError, Stream, StreamId, Wgsl};

use crate::fixture::{Env, Opened};

/// Words of a scenario's buffer; more than a page's slice alignment and no multiple of anything but 4.
pub(crate) const N: u64 = 1_060;

/// Every kernel that a scenario needs, over `u32` unless its name ends in `_f`.
const KERNELS: &str = r"
@group(0) @binding(0) var<storage, read_write> only: array<u32>;
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> o: array<u32>;
@group(0) @binding(1) var<storage, read> b: array<u32>;
@group(0) @binding(2) var<storage, read_write> sum: array<u32>;
@group(0) @binding(0) var<storage, read_write> hits: array<atomic<u32>>;
@group(0) @binding(1) var<storage, read_write> flag: array<atomic<u32>>;
@group(0) @binding(0) var<storage, read> af: array<f32>;
@group(0) @binding(1) var<storage, read_write> of: array<f32>;

struct One { k: u32 }
struct Two { seed: u32, offset: u32 }
var<immediate> one: One;
var<immediate> two: Two;

@compute @workgroup_size(64)
fn inc(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&only) { only[id.x] = only[id.x] + 1u; }
}

@compute @workgroup_size(64)
fn succ(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&o) { o[id.x] = a[id.x] + 1u; }
}

@compute @workgroup_size(64)
fn mul2(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&o) { o[id.x] = a[id.x] * 2u; }
}

@compute @workgroup_size(64)
fn scale(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&o) { o[id.x] = a[id.x] * one.k; }
}

@compute @workgroup_size(64)
fn add(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&sum) { sum[id.x] = a[id.x] + b[id.x]; }
}

@compute @workgroup_size(64)
fn add_into(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&o) { o[id.x] = o[id.x] + a[id.x]; }
}

// As `succ`, after `k` rounds of work that no compiler can leave out.
@compute @workgroup_size(64)
fn late(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&o) { return; }
    var x = a[id.x];
    for (var i = 0u; i < one.k; i = i + 1u) { x = x * 1664525u + 1013904223u; }
    var y = a[id.x] + 1u;
    if x == 0x9e3779b9u && a[id.x] == 0xffffffffu { y = x; }
    o[id.x] = y;
}

// Counts the words that are not `k`.
@compute @workgroup_size(64)
fn check(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&a) {
        if a[id.x] != one.k { atomicAdd(&flag[0], 1u); }
    }
}

// Counts the workgroups that ran.
@compute @workgroup_size(64)
fn count_groups(@builtin(local_invocation_index) lane: u32) {
    if lane == 0u { atomicAdd(&hits[0], 1u); }
}

// Writes the grid of an indirect launch: as many workgroups in x as the first word says.
@compute @workgroup_size(1)
fn grid_of() {
    o[0] = a[0];
    o[1] = 1u;
    o[2] = 1u;
}

@compute @workgroup_size(64)
fn random(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&only) { return; }
    var x = (id.x + two.offset) * 747796405u + two.seed;
    x = ((x >> ((x >> 28u) + 4u)) ^ x) * 277803737u;
    only[id.x] = (x >> 22u) ^ x;
}

@compute @workgroup_size(64)
fn curve_f(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&of) { of[id.x] = sin(af[id.x]) * 0.7 + sqrt(abs(af[id.x])) + of[id.x] * 0.25; }
}";

/// One of [`KERNELS`].
pub(crate) fn kernel(device: &Device, entry: &str) -> Kernel {
    device.kernel(Wgsl::new(KERNELS).entry(entry)).unwrap()
}

/// An invocation for each of [`N`] words.
pub(crate) const fn grid() -> Grid {
    Grid::cover(N)
}

/// [`N`] words of one value on the host.
pub(crate) fn host(value: u32) -> Vec<u32> {
    vec![value; N as usize]
}

/// A new buffer of [`N`] words of one value.
pub(crate) fn words(device: &Device, value: u32) -> Buffer {
    device.upload(&host(value)).unwrap()
}

/// A new buffer of [`N`] words that nothing has written.
pub(crate) fn blank(device: &Device) -> Buffer {
    device.alloc_for::<u32>(N).unwrap()
}

/// Every word of `buffer` is `value`.
#[track_caller]
pub(crate) fn holds(buffer: &Buffer, value: u32) {
    let found: Vec<u32> = buffer.read().unwrap();
    let wrong = found.iter().position(|word| *word != value);
    assert_eq!(wrong.map(|index| (index, found[index])), None, "every word of {buffer:?} should be {value}");
}

/// A graph of one launch.
pub(crate) fn graph_of(device: &Device, kernel: &Kernel, buffers: (&Buffer, &Buffer)) -> Graph {
    device.capture(|c| c.launch(kernel, grid(), buffers)).unwrap().0
}

/// Another device of the same backend.
pub(crate) fn open(env: &Env, config: Config) -> Device {
    match (env.open)(config) {
        Opened::Ready(device) => device,
        Opened::Absent(why) => panic!("{} opened before and is absent now: {why}", env.name),
    }
}

/// A device on which every shared stream folds onto one slot, with an owner and a neighbour on it.
pub(crate) fn folded(env: &Env) -> (Device, Stream, Stream) {
    let device = open(env, Config { max_streams: 1, ..Config::default() });
    let (owner, neighbour) = (device.new_stream(), device.new_stream());
    (device, owner, neighbour)
}

/// Two streams that share a slot whatever power of two the number of slots is.
fn folding_pair(device: &Device) -> (Stream, Stream) {
    (device.stream_of(StreamId { value: 1 << 40 }), device.stream_of(StreamId { value: 1 << 41 }))
}

/// Open a window on `stream` and start to record.
pub(crate) fn open_window(stream: &Stream) {
    stream.graph_prepare().unwrap();
    stream.begin_capture().unwrap();
}

/// Leave a failure on `buffer` by a way that every backend has: a window that would write it is closed by a stream that
/// does not own it, so the work never runs (C-26, C-76).
pub(crate) fn taint(buffer: &Buffer) {
    let (owner, other) = folding_pair(buffer.device());
    open_window(&owner);
    owner.fill(buffer, 0xbad).unwrap();
    let error = other.end_capture().expect_err("a window is not sealed for a stream that does not own it");
    assert!(matches!(error, ServerError::Several { .. }), "an abandoned end reports what it closed: {error}");
}

/// `result` is a graph-state error with this rule.
#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(result: Result<T, ServerError>, rule: &GraphRule) {
    let error = result.expect_err("the call should be refused");
    assert_eq!(error.graph_rule(), Some(rule), "{error}");
}

/// The read of `buffer` answers that an earlier failure left it without a result.
#[track_caller]
pub(crate) fn unreadable(buffer: &Buffer) -> ServerError {
    let error = buffer.read::<u32>().expect_err("these bytes were never produced");
    assert!(matches!(error, ServerError::Tainted { .. }), "expected the failure, found: {error}");
    error
}

/// Nothing was written to `buffer` since it was allocated.
#[track_caller]
pub(crate) fn unwritten(buffer: &Buffer) {
    let error = buffer.read::<u32>().expect_err("nothing wrote these bytes");
    assert!(matches!(error, ServerError::Unwritten { .. }), "expected `Unwritten`, found: {error}");
}

/// The device allocates, launches, captures and replays as if nothing had happened.
#[track_caller]
pub(crate) fn usable(device: &Device) {
    let succ = kernel(device, "succ");
    let (input, output) = (words(device, 40), blank(device));
    device.launch(&succ, grid(), (&input, &output)).unwrap();
    holds(&output, 41);
    let graph = graph_of(device, &succ, (&output, &input));
    graph.replay().unwrap();
    holds(&input, 42);
}

/// Wait until everything queued is done and the pools satisfy `condition`: memory returns on its fence.
#[track_caller]
pub(crate) fn settles(device: &Device, what: &str, condition: impl Fn(&MemoryUsage) -> bool) {
    let start = Instant::now();
    loop {
        device.sync().unwrap();
        let usage = device.memory_usage();
        if condition(&usage) {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{what}: {usage:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// `short`, or `long` where `GRAPHREEL_THOROUGH` asks for it.
pub(crate) fn rounds(short: u32, long: u32) -> u32 {
    if std::env::var("GRAPHREEL_THOROUGH").is_ok_and(|value| value == "1") { long } else { short }
}
