//! What the children do: hold everything that a program may still hold, and end.

use std::cell::RefCell;
use std::io::Write as _;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use graphreel::lifecycle::config::{
    BackendChoice, GpuBackendConfig, GpuBackendDeviceConfig, GpuBackendDeviceProfile, GpuDeviceMemoryLimit,
    GpuMemoryOwnership, QueryExecutionConfig, QueueBounds, ValidatedGpuBackendConfig,
};
use graphreel::lifecycle::{
    AttemptBegin, BackendKind, BeginAttemptRequest, GpuBackendConstructionCheckpoint, GpuBackendConstructionProbe,
    GpuBackendCore, QueryAdmissionRequest, QueryContext, QueryHandle, QueryResult, ServerFactory,
};
use graphreel::{Config, Graph, Wgsl};

/// The variables with the case and the backend.
pub(crate) const CASE: &str = "GRAPHREEL_EXIT_CASE";
pub(crate) const BACKEND: &str = "GRAPHREEL_EXIT_BACKEND";

/// The line that a child prints when its end comes.
pub(crate) const READY: &str = "the end comes now";

/// Everything that a program may still hold when it ends.
struct Held {
    core: GpuBackendCore,
    begin: AttemptBegin,
    handle: QueryHandle,
    context: QueryContext,
}

thread_local! {
    static KEPT: RefCell<Option<Held>> = const { RefCell::new(None) };
}

static STATIC: Mutex<Option<Held>> = Mutex::new(None);

/// A kernel that keeps a software device, or an interpreter, for longer than a child may take to end. The software device ends
/// a loop after 65,535 steps, hence two.
const SPIN: &str = "
@group(0) @binding(0) var<storage, read_write> values: array<u32>;
@compute @workgroup_size(64)
fn spin(@builtin(global_invocation_id) id: vec3<u32>) {
    let rounds = values[id.x];
    var value = rounds;
    for (var round = 0u; round < rounds; round++) {
        for (var step = 0u; step < 50000u; step++) { value = value * 1664525u + 1013904223u; }
    }
    values[id.x] = value;
}
";

fn factory() -> Box<dyn ServerFactory> {
    let name = std::env::var(BACKEND).unwrap();
    graphreel_backends::factory(BackendChoice::Kind(BackendKind::from_name(&name).unwrap())).unwrap()
}

fn config() -> ValidatedGpuBackendConfig {
    let profile = GpuBackendDeviceProfile::new(0)
        .with_memory_limit(GpuDeviceMemoryLimit::Explicit { limit_bytes: 32 << 20 })
        .with_default_query_limit_bytes(8 << 20)
        .with_cache_cap_bytes(1 << 20);
    let device = GpuBackendDeviceConfig::new(profile, GpuMemoryOwnership::WholeDeviceExclusive);
    GpuBackendConfig::new(vec![device], QueryExecutionConfig::default(), QueueBounds::default()).validate().unwrap()
}

fn held() -> Held {
    let core = GpuBackendCore::new(config(), &*factory()).unwrap();
    let session = core.session_capability();
    let begin = session.begin_attempt(BeginAttemptRequest::default()).unwrap();
    let request = QueryAdmissionRequest::new(begin.owner.admission_binding());
    let handle = session.admit_async_with_request(request).wait().unwrap();
    let context = handle.acquire_context().unwrap();
    Held { core, begin, handle, context }
}

fn ready() {
    let mut out = std::io::stdout();
    writeln!(out, "{READY}").unwrap();
    out.flush().unwrap();
}

fn sleep_long() {
    std::thread::sleep(Duration::from_secs(60));
}

fn spin(context: &QueryContext) -> Graph {
    let kernel = context.kernel(Wgsl::new(SPIN).entry("spin")).unwrap();
    let buffer = context.upload(&[20_000_u32; 64]).unwrap();
    context.capture(|c| c.launch(&kernel, [1, 1, 1], (&buffer,))).unwrap().0
}

/// Run a case. It ends the process in most.
pub(crate) fn run(case: &str) {
    match case {
        "return" => {
            *STATIC.lock().unwrap() = Some(held());
            ready();
        }
        "thread-local" => {
            KEPT.with(|kept| *kept.borrow_mut() = Some(held()));
            ready();
        }
        "panic" => {
            let _held = held();
            ready();
            panic!("a program's own panic");
        }
        "terminated" => {
            let _held = held();
            ready();
            sleep_long();
        }
        "exit-handler" => exit_handler(),
        "fork" => fork(),
        "fork-among-busy-threads" => fork_among_busy_threads(),
        "exit-with-an-admitted-handle" => {
            let _held = held();
            end(3);
        }
        "exit-with-work-in-flight" => {
            let held = held();
            let _done = spin(&held.context).replay_on_stream(held.context.stream());
            end(3);
        }
        "exit-with-an-endless-job" => {
            held().context.spawn(async { sleep_long() }).unwrap();
            end(9);
        }
        "exit-after-many-attempts" => many_attempts(),
        "exit-while-a-device-is-dropped" => {
            let held = held();
            let _done = spin(&held.context).replay_on_stream(held.context.stream());
            std::thread::spawn(move || drop(held));
            end(13);
        }
        "exit-on-another-thread" => {
            let held = Arc::new(held());
            std::thread::spawn({
                let held = held.clone();
                move || {
                    assert!(!held.handle.is_over());
                    end(10);
                }
            });
            while held.context.stream().sync().is_ok() {}
            sleep_long();
        }
        case => during(case),
    }
}

fn end(status: i32) {
    ready();
    std::process::exit(status);
}

/// Many attempts with work, and no close.
fn many_attempts() {
    let core = GpuBackendCore::new(config(), &*factory()).unwrap();
    let session = core.session_capability();
    let many = if std::env::var(BACKEND).unwrap() == "sim" { 10_000 } else { 500 };
    for attempt in 0..many {
        let begin = session.begin_attempt(BeginAttemptRequest::default()).unwrap();
        let request = QueryAdmissionRequest::new(begin.owner.admission_binding());
        let handle = session.admit_async_with_request(request).wait().unwrap();
        if attempt % 8 == 0 {
            let context = handle.acquire_context().unwrap();
            let buffer = context.upload(&[attempt; 64]).unwrap();
            let (graph, ()) = context.capture(|c| c.fill(&buffer, 1)).unwrap();
            graph.replay_on_stream(context.stream()).unwrap();
        }
    }
    end(12);
}

/// The end comes while another thread is inside a call.
fn during(case: &str) {
    let (sender, inside) = mpsc::channel();
    let status = match case {
        "exit-during-construction" => {
            std::thread::spawn(move || {
                let probe = Blocked(sender);
                let _ = GpuBackendCore::probed(config(), &*factory(), Config::default(), &probe);
            });
            5
        }
        "exit-during-capture" => {
            std::thread::spawn(move || {
                let held = held();
                let buffer = held.context.upload(&[1_u32; 64]).unwrap();
                let _ = held.context.capture(|c| {
                    c.fill(&buffer, 1)?;
                    sender.send(()).unwrap();
                    sleep_long();
                    Ok(())
                });
            });
            6
        }
        "exit-during-replay" => {
            std::thread::spawn(move || {
                let held = held();
                let buffer = held.context.upload(&[1_u32; 64]).unwrap();
                let (graph, ()) = held.context.capture(|c| c.fill(&buffer, 1)).unwrap();
                for replay in 0_u64.. {
                    if graph.replay_on_stream(held.context.stream()).is_err() {
                        sleep_long();
                    }
                    if replay == 10 {
                        sender.send(()).unwrap();
                    }
                }
            });
            7
        }
        "exit-during-close" => {
            std::thread::spawn(move || {
                let Held { core, begin, handle, context } = held();
                let _done = spin(&context).replay_on_stream(context.stream());
                drop((context, handle, begin));
                core.close();
                sender.send(()).unwrap();
                let _ = core.close_and_wait(Duration::from_secs(60));
            });
            8
        }
        other => panic!("no case is called {other}"),
    };
    inside.recv().unwrap();
    end(status);
}

/// Blocks a construction at one boundary, and says so.
#[derive(Debug)]
struct Blocked(mpsc::Sender<()>);

impl GpuBackendConstructionProbe for Blocked {
    fn checkpoint(&self, checkpoint: GpuBackendConstructionCheckpoint) -> QueryResult {
        if matches!(checkpoint, GpuBackendConstructionCheckpoint::AfterStreamPool { .. }) {
            self.0.send(()).unwrap();
            sleep_long();
        }
        Ok(())
    }
}

/// The last handle goes in a handler that was registered before the library's own, and so runs after it.
#[expect(unsafe_code, reason = "only the C library can be asked to call at exit")]
fn exit_handler() {
    extern "C" fn late() {
        drop(STATIC.lock().unwrap().take());
    }
    // SAFETY: the function is of the type asked for and lives as long as the process.
    assert_eq!(unsafe { libc::atexit(late) }, 0);
    *STATIC.lock().unwrap() = Some(held());
    end(4);
}

/// A child that was forked while other threads had every lock that they may have ends at once, with its own status.
#[expect(unsafe_code, reason = "only the C library forks")]
fn fork_among_busy_threads() {
    let held = Arc::new(held());
    for key in ["one", "two"] {
        let held = held.clone();
        std::thread::spawn(move || {
            while let Ok(buffer) = held.context.upload(&[1_u32; 64]) {
                drop(held.context.cached(key, 256, |cached| cached.copy_from(&buffer)));
                drop(held.context.stream().read::<u32>(&buffer));
            }
        });
    }
    let mut slowest = Duration::ZERO;
    for _ in 0..40 {
        let buffer = held.context.alloc(256).unwrap();
        let entry = held.context.cached("three", 256, |cached| cached.fill(7)).unwrap();
        // SAFETY: the child only calls this library, which refuses, and exits.
        let child = unsafe { libc::fork() };
        if child == 0 {
            drop((buffer, entry));
            std::process::exit(21);
        }
        let started = Instant::now();
        let mut status = 0;
        // SAFETY: the child is this process's own, and the status is a variable of ours.
        while unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == 0 {
            assert!(started.elapsed() < Duration::from_secs(10), "a forked child hangs");
            std::thread::sleep(Duration::from_millis(1));
        }
        slowest = slowest.max(started.elapsed());
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 21, "a forked child ended with {status:#x}");
    }
    // It waits for nobody: those threads are not in the child.
    assert!(slowest < Duration::from_millis(900), "a forked child took {slowest:?}");
    end(14);
}

/// A forked child finds everything refused, drops it all, and exits with its own status.
#[expect(unsafe_code, reason = "only the C library forks")]
fn fork() {
    let held = held();
    let buffer = held.context.upload(&[1_u32; 64]).unwrap();
    held.context.stream().sync().unwrap();
    // A vendor's driver shows a forked child no device, so that none could be chosen there.
    let again = factory();
    // SAFETY: the child only calls this library, which refuses, and exits.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let refused = held.context.upload(&[1_u32; 4]).is_err_and(|error| error.is_closed());
        let read = held.context.stream().read::<u32>(&buffer).is_err_and(|error| error.is_closed());
        let closed = held.core.close_and_wait(Duration::from_millis(100)).is_err();
        let session = held.core.session_capability();
        let begun = session.begin_attempt(BeginAttemptRequest::default()).is_err();
        let looked = session.diagnostics().is_err();
        let built = GpuBackendCore::new(config(), &*again).is_err();
        let refused = refused && begun && looked && built;
        drop((buffer, held));
        std::process::exit(if refused && read && closed { 21 } else { 22 });
    }
    let mut status = 0;
    // SAFETY: the child is this process's own, and the status is a variable of ours.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 21, "the forked child ended with {status:#x}");
    // The parent goes on as before.
    assert_eq!(held.context.stream().read::<u32>(&buffer).unwrap(), [1; 64]);
    end(11);
}
