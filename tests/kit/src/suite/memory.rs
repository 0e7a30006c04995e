//! Memory under live graphs: what a graph holds is its own, what it does not hold comes back, and every limit is named
//! (docs/SCENARIOS.md: D01 to D14, D24, 34a to 34e; XC-25, XC-26, XC-31).

use graphreel::error::MemoryLimit;
use graphreel::{Account, Config, Graph, GraphRule, Result, ServerError};

use super::work::{
    N, SCALE, SUCC, blank, graph_of, grid, holds, host, never_written, open_window, rounds, settle, words,
};
use crate::env::{assert_works, failure, kernel_on, says};
use crate::{Env, kernels};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// D01: a buffer dropped after the capture stays with the graph, and nothing else is put in its place.
pub fn dropped_intermediates_are_not_handed_out_again(env: &Env) -> Result<()> {
    let device = &env.device;
    let (succ, mul2) = (env.kernel(SUCC), env.kernel(kernels::MUL2));
    let (input, output) = (words(device, 4)?, blank(device)?);
    let (graph, ()) = device.capture(|c| {
        let between = c.alloc(input.len_bytes())?;
        c.launch(&succ, grid(), (&input, &between))?;
        c.launch(&mul2, grid(), (&between, &output))
    })?;
    assert!(graph.report().pinned_bytes >= 3 * N * 4, "the report tells what is pinned: {:?}", graph.report());
    let others = (0..8).map(|_| words(device, 999)).collect::<Result<Vec<_>>>()?;
    for _ in 0..10 {
        graph.replay()?;
        holds(&output, 10);
        others.iter().for_each(|other| holds(other, 999));
    }
    Ok(())
}

/// D02: a buffer that is allocated in the closure after another was dropped there does not share its bytes.
pub fn a_buffer_that_escapes_shares_nothing_with_one_dropped_before(env: &Env) -> Result<()> {
    let (graph, escaped) = env.device.capture(|c| {
        let scratch = c.alloc(N * 4)?;
        c.fill(&scratch, 0xdead)?;
        drop(scratch);
        c.alloc(N * 4)
    })?;
    never_written(&escaped);
    escaped.write(&[1234.5_f32; N as usize])?;
    graph.replay()?;
    assert_eq!(escaped.read::<f32>()?, [1234.5; N as usize]);
    Ok(())
}

/// 34c: the same with the explicit steps: a drop inside the window is deferred, an allocation there is new memory.
pub fn an_allocation_in_a_window_takes_nothing_that_the_window_writes(env: &Env) -> Result<()> {
    let (owner, _) = env.folded();
    owner.graph_prepare()?;
    drop(blank(&env.device)?);
    owner.begin_capture()?;
    let scratch = blank(&env.device)?;
    owner.fill(&scratch, 0xdead)?;
    drop(scratch);
    let cache = blank(&env.device)?;
    let graph = owner.end_capture()?;
    cache.write(&host(77))?;
    graph.replay()?;
    holds(&cache, 77);
    Ok(())
}

/// D04, 34b: trimming and growing the pool between replays leaves a graph's memory where it is.
pub fn trim_and_growth_leave_graphs_right(env: &Env) -> Result<()> {
    let device = env.open(Config { page_bytes: MIB, ..Config::default() });
    let (succ, mul2) = (kernel_on(&device, SUCC), kernel_on(&device, kernels::MUL2));
    let (input, output) = (words(&device, 20)?, blank(&device)?);
    let (graph, ()) = device.capture(|c| {
        let between = c.alloc(N * 4)?;
        c.launch(&succ, grid(), (&input, &between))?;
        c.launch(&mul2, grid(), (&between, &output))
    })?;
    drop(device.alloc(8 * MIB)?);
    let reserved = device.memory_usage().reserved_bytes;
    settle(&device, "the dropped buffer is free", |usage| usage.in_use_bytes < 8 * MIB)?;
    let trimmed = device.trim();
    assert!(trimmed.released_bytes >= 8 * MIB, "a page of its own goes back: {trimmed:?}");
    let usage = device.memory_usage();
    assert_eq!(usage.reserved_bytes, reserved - trimmed.released_bytes);
    let free = usage.reserved_bytes - usage.in_use_bytes;
    assert_eq!(trimmed.withheld_bytes, free, "what pinned pages have free is told, not hidden: {usage:?}");

    let others = (0..600).map(|_| words(&device, 5)).collect::<Result<Vec<_>>>()?;
    for _ in 0..3 {
        graph.replay()?;
        holds(&output, 42);
        device.trim();
    }
    others.iter().for_each(|other| holds(other, 5));
    Ok(())
}

/// D05: the bytes of an upload belong to the graph; the host memory they came from may die.
pub fn a_graph_keeps_the_bytes_of_its_uploads(env: &Env) -> Result<()> {
    let device = &env.device;
    let scale = env.kernel(SCALE);
    let output = blank(device)?;
    let (graph, ()) = device.capture(|c| {
        let input = c.alloc(N * 4)?;
        let passing = host(6);
        c.upload(&input, &passing)?;
        c.launch(&scale, grid(), (&input, &output, 7_u32))
    })?;
    assert!(graph.report().host_bytes >= N * 4, "the report tells the host bytes: {:?}", graph.report());
    for round in 0..20_u32 {
        // Other shapes pass through whatever the backend uses to move host bytes.
        let other = device.upload(&vec![round; 100 + 777 * round as usize])?;
        graph.replay()?;
        holds(&output, 42);
        assert_eq!(other.read::<u32>()?[0], round);
    }
    Ok(())
}

/// D07: a handle owns its memory, also where the graph that made it is gone.
pub fn a_buffer_outlives_the_graph_that_allocated_it(env: &Env) -> Result<()> {
    let (graph, buffer) = env.device.capture(|c| {
        let buffer = c.alloc(N * 4)?;
        c.fill(&buffer, 7)?;
        Ok(buffer)
    })?;
    never_written(&buffer);
    graph.replay()?;
    drop(graph);
    let others = (0..8).map(|_| words(&env.device, 1)).collect::<Result<Vec<_>>>()?;
    holds(&buffer, 7);
    others.iter().for_each(|other| holds(other, 1));
    Ok(())
}

/// D11: a capture that needs more than is left is refused while it is described, with all three figures.
pub fn a_capture_over_the_limit_is_refused_before_it_records(env: &Env) -> Result<()> {
    let limit = 16 * MIB;
    let device = env.open(Config { memory_limit: Some(limit), page_bytes: MIB, ..Config::default() });
    let buffer = words(&device, 3)?;
    let taken = device.alloc(10 * MIB)?;
    let before = device.memory_usage();
    let result = device.capture(|c| {
        c.fill(&buffer, 9)?;
        let scratch = c.alloc(12 * MIB)?;
        c.fill(&scratch, 1)
    });
    match failure(result) {
        ServerError::OutOfMemory(error) => {
            assert_eq!((&error.refused_by, error.limit), (&MemoryLimit::Config, Some(limit)));
            assert!(error.need >= 12 * MIB && error.have.is_some_and(|have| have <= 6 * MIB), "{error:?}");
            says(&ServerError::OutOfMemory(error), &["memory_limit", "trim"]);
        }
        other => panic!("out of memory was expected: {other}"),
    }
    holds(&buffer, 3);
    assert_eq!(device.memory_usage().reserved_bytes, before.reserved_bytes, "nothing is leaked");
    assert_eq!(device.counters().captures, 0);
    assert_works(&device);
    drop(taken);
    settle(&device, "the big buffer is free", |usage| usage.in_use_bytes < MIB)?;
    device.trim();
    device.alloc(12 * MIB).map(drop)
}

/// D12: what each graph holds is told, and the sum falls by as much when it is dropped.
pub fn bytes_pinned_are_told_by_graph_and_fall_with_it(env: &Env) -> Result<()> {
    let device = &env.device;
    let base = device.memory_usage().pinned_bytes;
    let capture = |kib: u64| -> Result<Graph> {
        let fill = |c: &mut graphreel::Capture| {
            let scratch = c.alloc(kib * KIB)?;
            c.fill(&scratch, 1)
        };
        Ok(device.capture(fill)?.0)
    };
    let mut graphs = [1, 3, 16, 64, 100, 512, 1024, 3000].map(capture).into_iter().collect::<Result<Vec<_>>>()?;
    let pinned = |graphs: &[Graph]| graphs.iter().map(|graph| graph.report().pinned_bytes).sum::<u64>();
    assert!(graphs.iter().all(|graph| graph.report().pinned_bytes >= KIB));
    assert_eq!(device.memory_usage().pinned_bytes, base + pinned(&graphs));
    graphs.drain(..4);
    settle(device, "half of the graphs are gone", |usage| usage.pinned_bytes == base + pinned(&graphs))?;
    graphs.clear();
    settle(device, "all graphs are gone", |usage| usage.pinned_bytes == base)
}

/// D14: a panic in the closure is an error with its text, and everything works afterwards.
pub fn a_panic_in_the_closure_leaves_the_device_usable(env: &Env) -> Result<()> {
    let device = &env.device;
    let before = device.memory_usage();
    let result = device.capture(|c| {
        let scratch = c.alloc(64 * KIB)?;
        c.fill(&scratch, 1)?;
        if c.len() == 1 {
            panic!("the caller's own mistake");
        }
        Ok(())
    });
    match failure(result) {
        ServerError::ClosurePanicked { message, .. } => assert_eq!(&*message, "the caller's own mistake"),
        other => panic!("the panic was expected as an error: {other}"),
    }
    assert!(!device.stream().capture_status().active);
    settle(device, "what the closure allocated is free", |usage| usage.in_use_bytes == before.in_use_bytes)?;
    assert_works(device);
    Ok(())
}

/// D24: allocation inside a window is allowed; what is refused names the size and what to do.
pub fn any_size_may_be_allocated_in_a_window(env: &Env) -> Result<()> {
    let device = &env.device;
    let (owner, _) = env.folded();
    open_window(&owner)?;
    let fresh = device.alloc(5 * MIB + 12)?;
    owner.fill(&fresh, 3)?;
    let graph = owner.end_capture()?;
    never_written(&fresh);
    graph.replay()?;
    assert!(graph.report().pinned_bytes >= fresh.len_bytes());
    holds(&fresh, 3);
    let too_much = device.caps().buffer_bytes_max.saturating_add(4);
    for (bytes, text) in [(0, "0"), (too_much, "bytes"), (u64::MAX, "bytes")] {
        let error = failure(device.capture(|c| c.alloc(bytes)));
        assert!(matches!(error, ServerError::InvalidSize { .. }), "{bytes}: {error}");
        says(&error, &[text, &bytes.to_string()]);
    }
    Ok(())
}

/// XC-25 (C-64, C-65): what the warmup built is there for the recording and for every replay, whatever runs between.
pub fn launches_recorded_after_a_warmup_survive_eager_churn(env: &Env) -> Result<()> {
    let device = &env.device;
    let scale = env.kernel(SCALE);
    let (owner, _) = env.folded();
    let input = words(device, 3)?;
    let outputs = (0..40).map(|_| blank(device)).collect::<Result<Vec<_>>>()?;
    let all = || (0_u32..).zip(&outputs).try_for_each(|(k, o)| owner.launch(&scale, grid(), (&input, o, k)));
    owner.graph_prepare()?;
    all()?;
    owner.begin_capture()?;
    all()?;
    let graph = owner.end_capture()?;
    let scratch = blank(device)?;
    for k in 0..rounds(1_500, 20_000) {
        device.launch(&scale, grid(), (&input, &scratch, k))?;
    }
    outputs.iter().try_for_each(|output| output.fill(0))?;
    graph.replay()?;
    (0_u32..).zip(&outputs).for_each(|(k, output)| holds(output, 3 * k));
    Ok(())
}

/// XC-26 (C-69, C-70): a recording after a warmup of the same work asks the driver for nothing, whatever other streams
/// allocate in between.
pub fn a_warmed_up_recording_asks_the_driver_for_no_memory(env: &Env) -> Result<()> {
    let device = &env.device;
    let (succ, mul2) = (env.kernel(SUCC), env.kernel(kernels::MUL2));
    let (owner, _) = env.folded();
    let (input, output) = (words(device, 1)?, blank(device)?);
    let sizes = [N * 4, 300 * KIB, 6 * MIB];
    let work = || -> Result<()> {
        for bytes in sizes {
            let between = {
                // Allocations follow the stream that is current.
                let _pin = owner.id().pin();
                device.alloc(bytes)?
            };
            let part = between.slice(0..N * 4)?;
            owner.launch(&succ, grid(), (&input, &part))?;
            owner.launch(&mul2, grid(), (&part, &output))?;
        }
        Ok(())
    };
    // Another stream that wants the same sizes, and a trim, take nothing of what the warmup left for the recording.
    let elsewhere = || {
        let held = sizes.into_iter().map(|bytes| device.alloc(bytes)).collect::<Result<Vec<_>>>();
        device.trim();
        held
    };
    owner.graph_prepare()?;
    work()?;
    device.sync()?;
    let _held = elsewhere()?;
    owner.begin_capture()?;
    let _held_too = elsewhere()?;
    let before = device.counters().driver_allocations;
    work()?;
    assert_eq!(device.counters().driver_allocations, before, "the window found its memory in the pool");
    let graph = owner.end_capture()?;
    assert_eq!(device.memory_usage().primed_bytes, 0, "priming is over");
    graph.replay()?;
    holds(&output, 4);
    Ok(())
}

/// XC-31: captures of one work that are dropped cost nothing; kept ones cost what they pin.
pub fn a_hundred_captures_leave_pool_bytes_constant(env: &Env) -> Result<()> {
    let device = &env.device;
    let (owner, _) = env.folded();
    let capture = || -> Result<Graph> {
        let _pin = owner.id().pin();
        owner.graph_prepare()?;
        owner.fill(&device.alloc(48 * KIB)?, 1)?;
        owner.begin_capture()?;
        owner.fill(&device.alloc(48 * KIB)?, 1)?;
        owner.end_capture()
    };
    for _ in 0..3 {
        capture()?.replay()?.wait()?;
    }
    let base = device.memory_usage();
    for _ in 0..100 {
        capture()?.replay()?.wait()?;
        let now = device.memory_usage();
        assert_eq!(now.reserved_bytes, base.reserved_bytes, "a dropped capture costs nothing");
    }
    settle(device, "what was dropped is free", |usage| usage.pinned_bytes == base.pinned_bytes)?;
    let pinned = device.memory_usage().pinned_bytes;
    let kept = (0..100).map(|_| capture()).collect::<Result<Vec<_>>>()?;
    let sum: u64 = kept.iter().map(|graph| graph.report().pinned_bytes).sum();
    let now = device.memory_usage();
    assert_eq!(now.pinned_bytes, pinned + sum, "kept ones cost what they pin");
    assert!(sum <= 100 * 64 * KIB, "one slice each and no whole page: {sum} bytes");
    assert!(now.reserved_bytes <= base.reserved_bytes + sum + 5 * MIB, "{now:?}");
    Ok(())
}

/// 34a: eager work of new sizes and a second graph between the replays of a first one.
pub fn work_between_replays_leaves_a_graph_right(env: &Env) -> Result<()> {
    let device = &env.device;
    let (succ, inc) = (env.kernel(SUCC), env.kernel(kernels::INC));
    let (input, output) = (words(device, 9)?, blank(device)?);
    let first = graph_of(device, &succ, &input, &output)?;
    first.replay()?;
    for round in 1..12_u64 {
        let other = device.upload(&vec![round as u32; (round * 4_001) as usize])?;
        device.launch(&inc, graphreel::Grid::stride(round * 4_001), (&other,))?;
        let (second, ()) = device.capture(|c| c.launch(&inc, graphreel::Grid::stride(round * 4_001), (&other,)))?;
        second.replay()?;
        output.fill(0)?;
        first.replay()?;
        holds(&output, 10);
        assert_eq!(other.read::<u32>()?, vec![round as u32 + 2; (round * 4_001) as usize]);
    }
    Ok(())
}

/// 34e (C-30): running out of memory inside a window ends that capture with the cause; the stream is usable.
pub fn running_out_of_memory_in_a_window_is_its_own_failure(env: &Env) -> Result<()> {
    let device = env.open(Config { memory_limit: Some(8 * MIB), page_bytes: MIB, ..Config::default() });
    let (owner, _) = crate::env::folded_on(&device);
    let (kept, output) = (words(&device, 5)?, words(&device, 6)?);
    open_window(&owner)?;
    owner.copy(&kept, &output)?;
    {
        let _pin = owner.id().pin();
        let error = failure(device.alloc(32 * MIB));
        assert!(matches!(error, ServerError::OutOfMemory(_)), "{error}");
    }
    let error = failure(owner.end_capture());
    assert!(matches!(error, ServerError::OutOfMemory(_)), "the window tells why there is no graph: {error}");
    assert!(!owner.capture_status().active);
    holds(&kept, 5);
    let cause = crate::env::taint_of(&output);
    assert!(matches!(cause, ServerError::OutOfMemory(_)), "{cause}");
    assert_works(&device);
    Ok(())
}

/// An account's limit holds by accounting, names the account, and counts what its graphs pin.
pub fn an_account_pays_for_what_it_and_its_graphs_hold(env: &Env) -> Result<()> {
    let device = &env.device;
    let account = Account::new("tenant", Some(100 * KIB));
    let buffer = device.alloc_charged(60 * KIB, &account)?;
    assert!(account.used() >= 60 * KIB);
    match failure(device.alloc_charged(60 * KIB, &account)) {
        ServerError::OutOfMemory(error) => {
            assert_eq!(error.refused_by, MemoryLimit::Account("tenant".into()));
            assert_eq!(error.limit, Some(100 * KIB));
            assert!(error.need >= 60 * KIB && error.have.is_some_and(|have| have <= 40 * KIB), "{error:?}");
        }
        other => panic!("out of memory was expected: {other}"),
    }
    assert!(device.memory_usage().accounts.iter().any(|(name, bytes)| name == "tenant" && *bytes == account.used()));
    let (graph, ()) = device.capture(|c| c.fill(&buffer, 1))?;
    drop(buffer);
    settle(device, "the graph still holds the memory", |usage| usage.pinned_bytes >= 60 * KIB)?;
    assert!(account.used() >= 60 * KIB, "a graph's memory is paid for");
    graph.replay()?;
    drop(graph);
    settle(device, "the account is free", |_| account.used() == 0)?;
    assert!(account.peak() >= 60 * KIB);
    device.alloc_charged(60 * KIB, &account).map(drop)
}

/// P10 in small: bytes and driver allocations stay constant over many captures and replays.
pub fn captures_and_replays_do_not_grow_memory(env: &Env) -> Result<()> {
    let device = &env.device;
    let (succ, mul2) = (env.kernel(SUCC), env.kernel(kernels::MUL2));
    let (input, output) = (words(device, 1)?, blank(device)?);
    let round = || -> Result<()> {
        let (graph, ()) = device.capture(|c| {
            let between = c.alloc(N * 4)?;
            let large = c.alloc(200 * KIB)?;
            c.fill(&large, 3)?;
            c.launch(&succ, grid(), (&input, &between))?;
            c.launch(&mul2, grid(), (&between, &output))
        })?;
        for value in 1..4 {
            input.write(&host(value))?;
            graph.replay()?;
            holds(&output, 2 * value + 2);
        }
        Ok(())
    };
    (0..5).try_for_each(|_| round())?;
    let (usage, counters) = (device.memory_usage(), device.counters());
    (0..rounds(60, 2_000)).try_for_each(|_| round())?;
    settle(device, "nothing grew", |now| now.reserved_bytes == usage.reserved_bytes)?;
    assert_eq!(device.counters().driver_allocations, counters.driver_allocations);
    Ok(())
}

/// C-59, XC-31: a window that is aborted, or that recorded nothing, gives back what its warmup primed.
pub fn primed_memory_returns_however_the_window_ends(env: &Env) -> Result<()> {
    let device = &env.device;
    let (owner, _) = env.folded();
    let warm = || -> Result<()> {
        let _pin = owner.id().pin();
        owner.graph_prepare()?;
        owner.fill(&device.alloc(900 * KIB)?, 1)
    };
    let back = || settle(device, "nothing stays primed", |usage| usage.primed_bytes == 0);
    warm()?;
    owner.graph_abort()?;
    back()?;
    let base = device.memory_usage().reserved_bytes;
    for _ in 0..20 {
        warm()?;
        owner.graph_abort()?;
        back()?;
        warm()?;
        owner.begin_capture()?;
        super::work::refused(owner.end_capture(), &GraphRule::EmptyCapture);
        back()?;
    }
    assert_eq!(device.memory_usage().reserved_bytes, base);
    Ok(())
}
