//! The rows of the capture matrix: what each call does while a stream captures, by the capture's mode and the calling thread.
#![expect(unsafe_code, reason = "calls are made on another thread, with addresses of this one")]

use std::ffi::{c_uint, c_void};
use std::fmt::Write as _;
use std::ptr::{null, null_mut};

use graphreel_hip_sys::constant::{
    hipMemcpyDeviceToDevice, hipStreamCaptureModeGlobal, hipStreamCaptureModeRelaxed, hipStreamCaptureModeThreadLocal,
    hipStreamDefault, hipStreamNonBlocking,
};
use graphreel_hip_sys::handle::{hipEvent_t, hipGraph_t, hipGraphExec_t, hipStream_t, hipStreamCaptureMode};

use super::hip::{Hip, SCALE, ok};

/// What the calls are made on.
struct Scene<'a> {
    hip: &'a Hip,
    image: &'a [u8],
    /// It captures.
    stream: hipStream_t,
    /// It does not.
    other: hipStream_t,
    memory: *mut c_void,
    /// To be freed.
    spare: *mut c_void,
    /// Recorded before the capture.
    before: hipEvent_t,
    /// Recorded in the capture.
    inside: hipEvent_t,
    exec: hipGraphExec_t,
    capture: hipStreamCaptureMode,
}

// SAFETY: AMD's calls may be made on any thread, and the thread that made the scene waits for the other one.
unsafe impl Sync for Scene<'_> {}

type Call = fn(&Scene<'_>) -> u32;

extern "C" fn nothing(_: *mut c_void) {}

fn malloc(scene: &Scene<'_>) -> u32 {
    let mut address = null_mut();
    scene.hip.hipMalloc(&raw mut address, 4096)
}

fn malloc_async(scene: &Scene<'_>, stream: hipStream_t) -> u32 {
    let mut address = null_mut();
    scene.hip.hipMallocAsync(&raw mut address, 4096, stream)
}

fn host_malloc(scene: &Scene<'_>) -> u32 {
    let mut address = null_mut();
    scene.hip.hipHostMalloc(&raw mut address, 4096, 0)
}

fn module(scene: &Scene<'_>) -> u32 {
    let (mut module, mut function) = (null_mut(), null_mut());
    match scene.hip.hipModuleLoadData(&raw mut module, scene.image.as_ptr().cast()) {
        0 => scene.hip.hipModuleGetFunction(&raw mut function, module, c"scale".as_ptr()),
        code => code,
    }
}

fn made_stream(scene: &Scene<'_>) -> u32 {
    let mut stream = null_mut();
    match scene.hip.hipStreamCreateWithFlags(&raw mut stream, 1) {
        0 => scene.hip.hipStreamDestroy(stream),
        code => code,
    }
}

fn made_event(scene: &Scene<'_>) -> u32 {
    let mut event = null_mut();
    match scene.hip.hipEventCreateWithFlags(&raw mut event, 0) {
        0 => scene.hip.hipEventDestroy(event),
        code => code,
    }
}

fn memory_info(scene: &Scene<'_>) -> u32 {
    let (mut free, mut total) = (0, 0);
    scene.hip.hipMemGetInfo(&raw mut free, &raw mut total)
}

fn is_capturing(scene: &Scene<'_>) -> u32 {
    let mut status = 0;
    scene.hip.hipStreamIsCapturing(null_mut(), &raw mut status)
}

/// Another stream joins, and does not come back.
fn fork(scene: &Scene<'_>) -> u32 {
    match scene.hip.hipStreamWaitEvent(scene.other, scene.inside, 0) {
        0 => scene.hip.hipMemsetD32Async(scene.spare, 1, 4, scene.other),
        code => code,
    }
}

fn fork_and_join(scene: &Scene<'_>) -> u32 {
    let event = scene.before;
    match (fork(scene), scene.hip.hipEventRecord(event, scene.other)) {
        (0, 0) => scene.hip.hipStreamWaitEvent(scene.stream, event, 0),
        (0, code) | (code, _) => code,
    }
}

fn end(scene: &Scene<'_>) -> u32 {
    let mut graph = null_mut();
    scene.hip.hipStreamEndCapture(scene.stream, &raw mut graph)
}

/// Relaxed, an allocation, and back.
fn exchanged_malloc(scene: &Scene<'_>) -> u32 {
    let mut mode = hipStreamCaptureModeRelaxed;
    ok(scene.hip.hipThreadExchangeStreamCaptureMode(&raw mut mode));
    let code = malloc(scene);
    ok(scene.hip.hipThreadExchangeStreamCaptureMode(&raw mut mode));
    code
}

/// Each call, by its name in the file. What ends the process is left out: `hipMallocAsync` on the null stream.
const CALLS: &[(&str, Call)] = &[
    ("no call", |_| 0),
    ("hipMalloc", malloc),
    ("hipMalloc, exchanged to relaxed", exchanged_malloc),
    ("hipFree", |s| s.hip.hipFree(s.spare)),
    ("hipHostMalloc", host_malloc),
    ("hipMallocAsync, capturing stream", |s| malloc_async(s, s.stream)),
    ("hipMallocAsync, other stream", |s| malloc_async(s, s.other)),
    ("hipMemGetInfo", memory_info),
    ("hipMemcpy", |s| s.hip.hipMemcpy(s.spare, s.memory, 16, hipMemcpyDeviceToDevice)),
    ("hipMemset", |s| s.hip.hipMemset(s.spare, 0, 16)),
    ("hipMemsetD32Async, capturing stream", |s| s.hip.hipMemsetD32Async(s.memory, 2, 4, s.stream)),
    ("hipMemsetD32Async, other stream", |s| s.hip.hipMemsetD32Async(s.spare, 2, 4, s.other)),
    ("hipMemsetD32Async, null stream", |s| s.hip.hipMemsetD32Async(s.spare, 2, 4, null_mut())),
    ("hipMemsetD32Async of size 0", |s| s.hip.hipMemsetD32Async(s.memory, 2, 0, s.stream)),
    ("hipMemsetAsync of size 0", |s| s.hip.hipMemsetAsync(s.memory, 2, 0, s.stream)),
    ("hipMemcpyDtoDAsync of size 0", |s| s.hip.hipMemcpyDtoDAsync(s.spare, s.memory, 0, s.stream)),
    ("hipMemcpyAsync of size 0", |s| s.hip.hipMemcpyAsync(s.spare, s.memory, 0, hipMemcpyDeviceToDevice, s.stream)),
    ("hipModuleLaunchKernel", |s| s.hip.launch(s.memory, 64, 2.0, s.stream)),
    ("hipModuleLaunchKernel of no group", |s| s.hip.launch(s.memory, 0, 2.0, s.stream)),
    ("hipLaunchHostFunc", |s| s.hip.hipLaunchHostFunc(s.stream, Some(nothing), null_mut())),
    ("hipStreamSynchronize, capturing stream", |s| s.hip.hipStreamSynchronize(s.stream)),
    ("hipStreamSynchronize, other stream", |s| s.hip.hipStreamSynchronize(s.other)),
    ("hipStreamQuery, capturing stream", |s| s.hip.hipStreamQuery(s.stream)),
    ("hipStreamQuery, other stream", |s| s.hip.hipStreamQuery(s.other)),
    ("hipDeviceSynchronize", |s| s.hip.hipDeviceSynchronize()),
    ("hipStreamIsCapturing, null stream", is_capturing),
    ("hipEventQuery, recorded before", |s| s.hip.hipEventQuery(s.before)),
    ("hipEventSynchronize, recorded before", |s| s.hip.hipEventSynchronize(s.before)),
    ("hipEventQuery, captured", |s| s.hip.hipEventQuery(s.inside)),
    ("hipEventSynchronize, captured", |s| s.hip.hipEventSynchronize(s.inside)),
    ("hipEventRecord", |s| s.hip.hipEventRecord(s.before, s.stream)),
    ("hipStreamWaitEvent, recorded before", |s| s.hip.hipStreamWaitEvent(s.stream, s.before, 0)),
    ("fork without join", fork),
    ("fork and join", fork_and_join),
    ("hipStreamBeginCapture again", |s| s.hip.hipStreamBeginCapture(s.stream, s.capture)),
    ("hipStreamBeginCapture, null stream", |s| s.hip.hipStreamBeginCapture(null_mut(), s.capture)),
    ("hipStreamEndCapture", end),
    ("hipGraphLaunch, capturing stream", |s| s.hip.hipGraphLaunch(s.exec, s.stream)),
    ("hipGraphLaunch, other stream", |s| s.hip.hipGraphLaunch(s.exec, s.other)),
    ("hipModuleLoadData and hipModuleGetFunction", module),
    ("hipStreamCreateWithFlags and hipStreamDestroy", made_stream),
    ("hipEventCreateWithFlags and hipEventDestroy", made_event),
];

/// The length of small copies.
const BYTES: usize = 16;

fn upload(scene: &Scene<'_>) -> u32 {
    let host = scene.hip.pinned(4, 7).address;
    scene.hip.hipMemcpyHtoDAsync(scene.memory, host.cast(), BYTES, scene.stream)
}

fn download(scene: &Scene<'_>) -> u32 {
    let host = scene.hip.pinned(4, 7).address;
    scene.hip.hipMemcpyDtoHAsync(host.cast(), scene.spare, BYTES, scene.other)
}

fn capture_info(scene: &Scene<'_>) -> u32 {
    let (mut status, mut id, mut graph, mut nodes, mut count) = (0, 0, null_mut(), null(), 0);
    let (hip, stream) = (scene.hip, scene.stream);
    let code = hip.hipStreamGetCaptureInfo_v2(
        stream,
        &raw mut status,
        &raw mut id,
        &raw mut graph,
        &raw mut nodes,
        &raw mut count,
    );
    // The tail is the one fill that each capture begins with.
    if code == 0 && count != 1 { 99 } else { code }
}

/// Calls that the server makes while a stream captures, and that are not among the others, whose rows are on file.
const SERVED: &[(&str, Call)] = &[
    ("hipMemcpyDtoDAsync, capturing stream", |s| s.hip.hipMemcpyDtoDAsync(s.memory, s.spare, BYTES, s.stream)),
    ("hipMemcpyHtoDAsync, capturing stream", upload),
    ("hipStreamGetCaptureInfo_v2", capture_info),
    ("hipModuleLaunchKernel, other stream", |s| s.hip.launch(s.spare, 64, 2.0, s.other)),
    ("hipMemcpyDtoHAsync, other stream", download),
    ("hipEventRecord, other stream", |s| s.hip.hipEventRecord(s.before, s.other)),
    ("hipStreamWaitEvent, other stream", |s| s.hip.hipStreamWaitEvent(s.other, s.before, 0)),
];

/// A capture's mode, and the flags of its stream: `hipStreamDefault` is ordered with the null stream.
type Mode = (&'static str, hipStreamCaptureMode, c_uint);

const RELAXED: Mode = ("relaxed", hipStreamCaptureModeRelaxed, hipStreamNonBlocking);

const MODES: [Mode; 4] = [
    ("global", hipStreamCaptureModeGlobal, hipStreamNonBlocking),
    ("thread-local", hipStreamCaptureModeThreadLocal, hipStreamNonBlocking),
    RELAXED,
    ("relaxed, blocking stream", hipStreamCaptureModeRelaxed, hipStreamDefault),
];

/// Names of the nodes of a graph, in the order of the runtime.
fn nodes(hip: &Hip, graph: hipGraph_t) -> String {
    if graph.is_null() {
        return "no graph".into();
    }
    let mut count = 0;
    ok(hip.hipGraphGetNodes(graph, null_mut(), &raw mut count));
    let mut nodes = vec![null_mut(); count];
    ok(hip.hipGraphGetNodes(graph, nodes.as_mut_ptr(), &raw mut count));
    let name = |node| {
        let mut kind = 99;
        ok(hip.hipGraphNodeGetType(node, &raw mut kind));
        let names = ["kernel", "copy", "fill", "host", "graph", "empty", "wait", "record"];
        match kind {
            10 => "allocate".to_owned(),
            11 => "free".to_owned(),
            kind => names.get(kind as usize).map_or_else(|| format!("node {kind}"), |name| (*name).to_owned()),
        }
    };
    nodes.into_iter().map(name).collect::<Vec<_>>().join(" ")
}

/// One row: what the call answered, what became of the capture, and what its end gave.
fn row(
    hip: &Hip,
    image: &[u8],
    exec: hipGraphExec_t,
    (capture, flags): (hipStreamCaptureMode, c_uint),
    call: Call,
    elsewhere: bool,
) -> String {
    let (mut stream, other, before, inside) = (null_mut(), hip.stream(), hip.event(), hip.event());
    ok(hip.hipStreamCreateWithFlags(&raw mut stream, flags));
    let (memory, spare) = (hip.device_memory(4096), hip.device_memory(4096));
    ok(hip.hipMemsetD32Async(memory, 0, 64, stream));
    ok(hip.hipEventRecord(before, other));
    ok(hip.hipDeviceSynchronize());
    ok(hip.hipStreamBeginCapture(stream, capture));
    ok(hip.hipMemsetD32Async(memory, 1, 64, stream));
    ok(hip.hipEventRecord(inside, stream));
    let scene = Scene { hip, image, stream, other, memory, spare, before, inside, exec, capture };
    let answer = if elsewhere {
        let scene = &scene;
        std::thread::scope(|scope| scope.spawn(move || call(scene)).join().expect("the call returns"))
    } else {
        call(&scene)
    };
    let (mut status, mut graph) = (9, null_mut());
    let asked = hip.hipStreamIsCapturing(stream, &raw mut status);
    let state = ["none", "active", "broken"].get(status as usize).unwrap_or(&"unknown");
    let ended = hip.hipStreamEndCapture(stream, &raw mut graph);
    if ended != 0 {
        // After a fork that was not joined it leaves the address of a graph that is gone.
        graph = null_mut();
    }
    let text = format!("{answer:>3} | {state}{} | {ended:>3} | {}", asked_text(asked), nodes(hip, graph));
    // What the call left behind is not looked at: its errors are in the row.
    hip.hipGetLastError();
    hip.hipDeviceSynchronize();
    hip.hipGraphDestroy(graph);
    hip.hipStreamDestroy(other);
    hip.hipStreamDestroy(stream);
    text
}

/// What asking for the state answered, where that was an error.
fn asked_text(code: u32) -> String {
    if code == 0 { String::new() } else { format!(" ({code})") }
}

/// A graph of one fill, for launches.
fn executable(hip: &Hip) -> hipGraphExec_t {
    let (stream, memory, mut graph, mut exec) = (hip.stream(), hip.device_memory(4096), null_mut(), null_mut());
    ok(hip.hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
    ok(hip.hipMemsetD32Async(memory, 1, 64, stream));
    ok(hip.hipStreamEndCapture(stream, &raw mut graph));
    ok(hip.hipGraphInstantiateWithFlags(&raw mut exec, graph, 0));
    exec
}

/// Every row that is on file, below the names of the columns.
pub(crate) fn matrix(hip: &Hip) -> String {
    String::from("mode | thread | call | answer | capture then | end answers | nodes\n") + &rows(hip, CALLS, &MODES)
}

/// The rows of the calls that the server makes besides, in the mode in which it captures.
pub(crate) fn served(hip: &Hip) -> String {
    rows(hip, SERVED, &[RELAXED])
}

fn rows(hip: &Hip, calls: &[(&str, Call)], modes: &[Mode]) -> String {
    let (image, exec) = (hip.compile(SCALE), executable(hip));
    let mut text = String::new();
    for &(mode, capture, flags) in modes {
        for (thread, elsewhere) in [("own", false), ("other", true)] {
            for (name, call) in calls {
                let row = row(hip, &image, exec, (capture, flags), *call, elsewhere);
                writeln!(text, "{mode} | {thread} | {name} | {row}").expect("a text takes everything");
            }
        }
    }
    text
}
