//! What broke captures elsewhere: failing steps, cold first use, other work in the window, broken order
//! (docs/SCENARIOS.md, D08 to D29). The outcome is the same on every backend unless its `Caps` say otherwise.

use std::thread;

use graphreel::error::{ArgumentProblem, GraphOp};
use graphreel::{Buffer, CapturePolicy, Config, Device, GraphRule, Result, ServerError, Stream, Tier};

use super::work::{N, SCALE, SUCC, blank, graph_of, grid, holds, host, open_window, refused, settle, words};
use crate::env::{assert_works, failure, kernel_on, says, taint_of};
use crate::{Env, kernels};

/// D08: one capture is one stream. A wait inside the window is refused by name and the window survives; the same work on one
/// stream, with the scratch dropped in the window, is right while other threads allocate.
pub fn scratch_freed_in_a_window_is_safe_under_concurrent_allocation(env: &Env) -> Result<()> {
    let device = &env.device;
    let (succ, mul2) = (env.kernel(SUCC), env.kernel(kernels::MUL2));
    let (owner, _) = env.folded();
    let (input, output) = (words(device, 20)?, blank(device)?);
    open_window(&owner)?;
    let scratch = blank(device)?;
    owner.launch(&succ, grid(), (&input, &scratch))?;
    let error = failure(owner.sync());
    assert!(matches!(error, ServerError::GraphState(_)), "a wait in the window is refused by name: {error}");
    owner.launch(&mul2, grid(), (&scratch, &output))?;
    drop(scratch);
    let graph = owner.end_capture()?;
    let churn = thread::spawn({
        let device = device.clone();
        move || (0..200).try_for_each(|value| words(&device, value).map(|buffer| holds(&buffer, value)))
    });
    for _ in 0..50 {
        output.fill(0)?;
        graph.replay()?;
        holds(&output, 42);
    }
    churn.join().expect("the other thread does not panic")
}

/// Everything that D13's ways to fail work with.
struct Bench {
    device: Device,
    owner: Stream,
    other: Stream,
    succ: graphreel::Kernel,
    input: Buffer,
    output: Buffer,
}

impl Bench {
    fn new(env: &Env) -> Result<Self> {
        let device = env.open(Config { memory_limit: Some(64 << 20), ..Config::default() });
        let (owner, other) = crate::env::folded_on(&device);
        let (succ, input, output) = (kernel_on(&device, SUCC), words(&device, 1)?, words(&device, 0)?);
        Ok(Self { device, owner, other, succ, input, output })
    }

    fn record(&self) -> Result<()> {
        self.owner.launch(&self.succ, grid(), (&self.input, &self.output))
    }
}

type Failing = fn(&Bench) -> ServerError;

/// Each step of a capture, and a way in which it fails without a fault of the driver.
const WAYS: &[(&str, Failing)] = &[
    ("prepare, with a policy that nothing meets", |bench| {
        let options = graphreel::server::CaptureOptions { policy: CapturePolicy::Require(Vec::new()), label: None };
        let error = failure(bench.owner.graph_prepare_with(options).and_then(|()| {
            // A backend may settle the tier only at the end.
            bench.owner.begin_capture()?;
            bench.record()?;
            bench.owner.end_capture()
        }));
        assert!(matches!(error, ServerError::TierRefused { .. }), "{error}");
        error
    }),
    ("begin, without prepare", |bench| failure(bench.owner.begin_capture())),
    ("begin, by another stream", |bench| {
        bench.owner.graph_prepare().expect("the slot is free");
        let error = failure(bench.other.begin_capture());
        bench.owner.graph_abort().expect("a prepared window can be aborted");
        error
    }),
    ("an operation, with wrong arguments", |bench| {
        open_window(&bench.owner).expect("the slot is free");
        bench.record().expect("a good launch is recorded");
        let error = failure(bench.owner.launch(&bench.succ, grid(), (&bench.input,)));
        failure(bench.owner.end_capture());
        error
    }),
    ("an operation, on bytes that hold no result", |bench| {
        let bad = blank(&bench.device).expect("there is room");
        super::work::taint(&bad).expect("a window can be abandoned");
        open_window(&bench.owner).expect("the slot is free");
        let _recorded_or_refused = bench.owner.launch(&bench.succ, grid(), (&bad, &bench.output));
        match bench.owner.end_capture() {
            Ok(graph) => failure(graph.replay()),
            Err(error) => error,
        }
    }),
    ("an allocation, over the limit", |bench| {
        open_window(&bench.owner).expect("the slot is free");
        bench.record().expect("a good launch is recorded");
        let _pin = bench.owner.id().pin();
        failure(bench.device.alloc(100 << 20));
        failure(bench.owner.end_capture())
    }),
    ("end, with nothing recorded", |bench| {
        open_window(&bench.owner).expect("the slot is free");
        failure(bench.owner.end_capture())
    }),
    ("end, by another stream", |bench| {
        open_window(&bench.owner).expect("the slot is free");
        bench.record().expect("a good launch is recorded");
        failure(bench.other.end_capture())
    }),
    ("end, of nothing", |bench| failure(bench.owner.end_capture())),
    ("the closure", |bench| {
        failure(bench.device.capture(|c| {
            c.launch(&bench.succ, grid(), (&bench.input, &bench.output))?;
            Err::<(), _>(ServerError::graph_state("the caller's own error"))
        }))
    }),
    ("a panic in the closure", |bench| {
        let panicking = |_: &mut graphreel::Capture| -> Result<()> { panic!("the caller's own panic") };
        failure(bench.device.capture(panicking))
    }),
    ("the closure's policy", |bench| {
        let nothing = CapturePolicy::Require(Vec::new());
        let record = |c: &mut graphreel::Capture| c.launch(&bench.succ, grid(), (&bench.input, &bench.output));
        failure(bench.device.capture_as(nothing, record))
    }),
];

/// D13: whichever step fails, it says so, nothing stays open or allocated, and the next capture works, time after time.
pub fn after_any_failing_step_the_next_capture_works(env: &Env) -> Result<()> {
    let bench = Bench::new(env)?;
    let mut base = None;
    for _ in 0..9 {
        for (step, fail) in WAYS {
            let error = fail(&bench);
            assert!(!error.to_string().is_empty(), "{step}");
            let status = bench.owner.capture_status();
            assert!(!status.active && status.owner.is_none(), "{step} left {status:?}");
            bench.output.write(&host(0))?;
            let graph = graph_of(&bench.device, &bench.succ, &bench.input, &bench.output)?;
            graph.replay()?;
            holds(&bench.output, 2);
            open_window(&bench.owner)?;
            bench.record()?;
            bench.owner.end_capture()?.replay()?.wait()?;
        }
        settle(&bench.device, "what failed is gone", |usage| usage.pinned_bytes == 0 && usage.primed_bytes == 0)?;
        let usage = bench.device.memory_usage();
        let bytes = (usage.reserved_bytes, usage.in_use_bytes);
        assert_eq!(*base.get_or_insert(bytes), bytes, "bytes are at the baseline");
    }
    Ok(())
}

/// D15: a cold first capture is a graph: `Require` gives it or the reason, `Prefer` shows what it became, nothing runs
/// eagerly in silence.
pub fn the_first_capture_of_a_device_is_a_graph(env: &Env) -> Result<()> {
    let offered: Vec<Tier> = env.device.caps().tiers.iter().copied().filter(|tier| *tier != Tier::Eager).collect();
    assert!(!offered.is_empty(), "the backend offers a tier beside eager: {:?}", env.device.caps().tiers);
    for policy in [CapturePolicy::Require(offered.clone()), CapturePolicy::Prefer(offered.clone())] {
        let device = env.open(Config::default());
        let mul2 = kernel_on(&device, kernels::MUL2);
        let input = words(&device, 4)?;
        let (graph, output) = device.capture_as(policy, |c| {
            // Cold: the window itself needs memory that nothing has reserved before.
            let output = c.alloc(input.len_bytes())?;
            c.launch(&mul2, grid(), (&input, &output))?;
            Ok(output)
        })?;
        assert!(offered.contains(&graph.report().tier) && !graph.report().why.is_empty(), "{:?}", graph.report());
        assert_eq!((device.counters().launches, device.counters().captures_eager), (0, 0));
        graph.replay()?;
        holds(&output, 8);
    }
    Ok(())
}

/// D16: eager execution only happens where the policy allows it, and is then told and counted.
pub fn eager_execution_is_never_silent(env: &Env) -> Result<()> {
    let device = env.open(Config { tiers: vec![Tier::Eager], ..Config::default() });
    let succ = kernel_on(&device, SUCC);
    let (input, output) = (words(&device, 1)?, blank(&device)?);
    let record = |c: &mut graphreel::Capture| c.launch(&succ, grid(), (&input, &output));
    let error = failure(device.capture(record));
    assert!(matches!(error, ServerError::TierRefused { .. }), "{error}");
    assert_eq!(device.counters().captures_eager, 0);
    let (graph, ()) = device.capture_as(CapturePolicy::AllowEager, record)?;
    assert_eq!((graph.report().tier, device.counters().captures_eager), (Tier::Eager, 1));
    graph.replay()?;
    holds(&output, 2);
    Ok(())
}

/// D17: a kernel first compiled inside the closure or inside the window is part of a whole graph.
pub fn a_kernel_may_be_compiled_in_the_window(env: &Env) -> Result<()> {
    let device = &env.device;
    let (input, between, output) = (words(device, 5)?, blank(device)?, blank(device)?);
    let (graph, ()) = device.capture(|c| {
        let fresh = device.kernel(SUCC)?;
        c.launch(&fresh, grid(), (&input, &between))
    })?;
    graph.replay()?;
    holds(&between, 6);
    let (owner, _) = env.folded();
    open_window(&owner)?;
    owner.launch(&device.kernel(SUCC)?, grid(), (&input, &between))?;
    owner.launch(&device.kernel(SCALE)?, grid(), (&between, &output, 7_u32))?;
    let error = failure(device.kernel("fn broken("));
    assert!(matches!(error, ServerError::InvalidKernel(_)), "{error}");
    let graph = owner.end_capture()?;
    assert_eq!(graph.report().nodes, 2, "a failed compile is no operation of the window");
    graph.replay()?;
    holds(&output, 42);
    Ok(())
}

/// D18: another graph and its kernel are dropped while a window records; the capture does not notice.
pub fn dropping_graphs_and_kernels_in_a_window_is_safe(env: &Env) -> Result<()> {
    let device = &env.device;
    let (owner, _) = env.folded();
    let (input, one, counter) = (words(device, 1)?, blank(device)?, words(device, 0)?);
    let other_kernel = env.kernel(SUCC);
    let other = graph_of(device, &other_kernel, &input, &one)?;
    other.replay()?;
    let inc = env.kernel(kernels::INC);
    open_window(&owner)?;
    owner.launch(&inc, grid(), (&counter,))?;
    drop(other);
    drop(other_kernel);
    owner.launch(&inc, grid(), (&counter,))?;
    drop(inc);
    let graph = owner.end_capture()?;
    graph.replay()?;
    graph.replay()?;
    holds(&counter, 4);
    holds(&one, 2);
    Ok(())
}

/// D21: a replay into one's own window is refused; a device dropped while it captures ends in peace.
pub fn a_replay_in_ones_own_window_is_refused(env: &Env) -> Result<()> {
    let device = &env.device;
    let (owner, _) = env.folded();
    let inc = env.kernel(kernels::INC);
    let counter = words(device, 0)?;
    let (before, ()) = device.capture(|c| c.launch(&inc, grid(), (&counter,)))?;
    open_window(&owner)?;
    owner.launch(&inc, grid(), (&counter,))?;
    refused(before.replay_on_stream(&owner), &GraphRule::ReplayInCapture);
    owner.launch(&inc, grid(), (&counter,))?;
    let graph = owner.end_capture()?;
    assert_eq!(graph.report().nodes, 2);
    graph.replay()?;
    before.replay()?;
    holds(&counter, 3);

    let inside = device.capture(|_| before.replay());
    let error = failure(inside);
    assert!(matches!(error.graph_rule(), Some(GraphRule::PlainHandleInClosure { .. })), "{error}");
    let closing = env.open(Config::default());
    let id = closing.stream().id();
    // Without a handle that would abort the window first.
    closing.with_contract(|server| {
        server.graph_prepare(id, Default::default())?;
        server.begin_capture(id)
    })?;
    closing.alloc(1024)?.fill(1)?;
    drop(closing);
    assert_works(device);
    Ok(())
}

/// D22 (C-57): a host write in the window dooms a software graph at its end, by name, and is recorded by a hardware one;
/// `upload` is recorded by both.
pub fn a_host_write_in_the_window_is_recorded_or_dooms(env: &Env) -> Result<()> {
    let device = &env.device;
    let (owner, _) = env.folded();
    let succ = env.kernel(SUCC);
    let (input, output) = (words(device, 1)?, words(device, 0)?);
    open_window(&owner)?;
    owner.launch(&succ, grid(), (&input, &output))?;
    owner.write(&input, &host(5))?;
    let ended = owner.end_capture();
    if env.is_software_graph() {
        let error = failure(ended);
        assert!(matches!(error.graph_rule(), Some(GraphRule::WriteInWindow { .. })), "{error}");
        says(&error, &["write: ", &input.memory_id().to_string()]);
        assert!(matches!(taint_of(&input).graph_rule(), Some(GraphRule::WriteInWindow { .. })));
        taint_of(&output);
    } else {
        let graph = ended?;
        graph.replay()?;
        holds(&output, 2);
        graph.replay()?;
        holds(&output, 6);
    }
    // What the refused write left on the input is no matter to a window that writes it first.
    open_window(&owner)?;
    owner.upload(&input, &host(8))?;
    owner.launch(&succ, grid(), (&input, &output))?;
    let graph = owner.end_capture()?;
    for _ in 0..2 {
        input.write(&host(1))?;
        graph.replay()?;
        holds(&output, 9);
    }
    Ok(())
}

/// D23: a graph that is gone, was never sealed or lives on another device is refused; destroying twice is harmless.
pub fn a_graph_that_is_not_here_is_refused(env: &Env) -> Result<()> {
    let device = &env.device;
    let (input, output) = (words(device, 1)?, words(device, 0)?);
    let graph = graph_of(device, &env.kernel(SUCC), &input, &output)?;
    let (id, here) = (graph.id(), device.stream().id());
    let elsewhere = env.open(Config::default());
    let unknown = GraphRule::UnknownGraph { graph: id.0 };
    refused(elsewhere.with_contract(|server| server.replay(here, id, false)), &unknown);
    refused(elsewhere.with_contract(|server| server.graph_update(id, Default::default())), &unknown);
    device.with_contract(|server| server.graph_destroy(id));
    device.with_contract(|server| server.graph_destroy(id));
    refused(graph.replay(), &unknown);
    refused(graph.update(|change| change), &unknown);
    drop(graph);
    holds(&output, 0);
    let never = graphreel::server::GraphId(u64::MAX);
    let rule = GraphRule::UnknownGraph { graph: u64::MAX };
    refused(device.with_contract(|server| server.replay(here, never, false)), &rule);
    device.with_contract(|server| server.graph_destroy(never));
    Ok(())
}

/// D26: work of other streams is never drawn into a window, and calls out of order change nothing.
pub fn other_streams_are_not_drawn_into_a_window(env: &Env) -> Result<()> {
    let device = &env.device;
    let (owner, _) = env.folded();
    let aside = device.stream();
    let (succ, mul2) = (env.kernel(SUCC), env.kernel(kernels::MUL2));
    let (input, between, output) = (words(device, 4)?, blank(device)?, words(device, 0)?);
    open_window(&owner)?;
    // (a), (c): another slot's work runs at once, also when the window uses its results.
    aside.launch(&succ, grid(), (&input, &between))?;
    owner.launch(&mul2, grid(), (&between, &output))?;
    same_now(&aside, &between, 5)?;
    // (e): a second window on the stream.
    refused(owner.graph_prepare(), &GraphRule::AlreadyRecording);
    refused(owner.begin_capture(), &GraphRule::AlreadyRecording);
    // (d): a handle on the stream dies; the window belongs to the stream that opened it.
    drop(device.stream_of(owner.id()));
    assert!(owner.capture_status().recording);
    same_now(&aside, &output, 0)?;
    let graph = owner.end_capture()?;
    assert_eq!(graph.report().nodes, 1);
    // (b): waits between two captures are ordinary waits.
    graph.replay_on_stream(&aside)?;
    aside.sync()?;
    owner.sync()?;
    open_window(&owner)?;
    owner.launch(&mul2, grid(), (&output, &between))?;
    let second = owner.end_capture()?;
    second.replay()?;
    holds(&between, 20);
    Ok(())
}

fn same_now(stream: &Stream, buffer: &Buffer, value: u32) -> Result<()> {
    super::work::same(&stream.read::<u32>(buffer)?, value);
    Ok(())
}

/// D27: nothing leaks from eager work or one graph into the next on the same stream.
pub fn graphs_of_one_stream_have_no_edges_between_them(env: &Env) -> Result<()> {
    let device = &env.device;
    let (owner, _) = env.folded();
    let inc = env.kernel(kernels::INC);
    let counter = words(device, 0)?;
    owner.write(&counter, &host(1))?;
    let mut graphs = Vec::new();
    for _ in 0..2 {
        open_window(&owner)?;
        owner.launch(&inc, grid(), (&counter,))?;
        owner.launch(&inc, grid(), (&counter,))?;
        graphs.push(owner.end_capture()?);
        assert_eq!(graphs.last().map(|graph| (graph.report().nodes, graph.report().edges)), Some((2, 1)));
    }
    let second = graphs.pop().expect("two were made");
    drop(graphs);
    second.replay()?;
    holds(&counter, 3);
    Ok(())
}

/// D28: a broken capture tells the operation that broke it; the same work run eagerly gives right bytes.
pub fn a_broken_capture_names_the_operation(env: &Env) -> Result<()> {
    let device = &env.device;
    let (owner, _) = env.folded();
    let succ = env.kernel(SUCC);
    let (input, output) = (words(device, 1)?, words(device, 0)?);
    open_window(&owner)?;
    owner.launch(&succ, grid(), (&input, &output))?;
    failure(owner.launch(&succ, grid(), (&input,)));
    owner.launch(&succ, grid(), (&output, &input))?;
    match failure(owner.end_capture()) {
        ServerError::InvalidArguments(error) => {
            assert_eq!(error.kernel, "succ");
            assert!(matches!(error.problem, ArgumentProblem::BufferCount { expected: 2, given: 1, .. }));
        }
        other => panic!("the operation that broke the window was expected: {other}"),
    }
    taint_of(&output);
    input.write(&host(1))?;
    device.launch(&succ, grid(), (&input, &output))?;
    holds(&output, 2);
    Ok(())
}

/// D29: work on another stream is no part of the window, and an empty window says so; the work ran.
pub fn a_window_on_the_wrong_stream_is_empty(env: &Env) -> Result<()> {
    let device = &env.device;
    let (owner, _) = env.folded();
    let inc = env.kernel(kernels::INC);
    let counter = device.alloc_for::<u32>(N)?;
    counter.fill(1)?;
    open_window(&owner)?;
    device.launch(&inc, grid(), (&counter,))?;
    let error = failure(owner.end_capture());
    assert_eq!(error.graph_rule(), Some(&GraphRule::EmptyCapture));
    says(&error, &["EmptyCapture", GraphOp::End.prefix()]);
    holds(&counter, 2);
    Ok(())
}
