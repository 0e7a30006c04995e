//! Order and visibility: work on one stream runs in the order of its calls, work on several follows the data, and a replay
//! is one more user of what it touches (docs/SCENARIOS.md, D30 to D48).

use std::thread;

use graphreel::{Buffer, Device, Result, Stream};

use super::work::{ADD_INTO, LATE, N, SCALE, SUCC, blank, graph_of, grid, holds, host, rounds, same, words};
use crate::{Env, kernels};

/// Rounds of [`LATE`] that take a while on any device.
const SLOW: u32 = 20_000;

/// D30: an input written just before a replay on the same stream is the one that it sees, each time.
pub fn a_replay_sees_the_write_before_it(env: &Env) -> Result<()> {
    let device = &env.device;
    let (input, output) = (words(device, 0)?, blank(device)?);
    let graph = graph_of(device, &env.kernel(SUCC), &input, &output)?;
    for value in 0..1_000 {
        input.write(&host(value))?;
        graph.replay()?;
        let found: Vec<u32> = output.read()?;
        same(&found, value + 1);
    }
    Ok(())
}

/// D33: a read right after a long replay waits for it.
pub fn a_read_waits_for_the_replay(env: &Env) -> Result<()> {
    let device = &env.device;
    let late = env.kernel(LATE);
    let (one, two) = (words(device, 5)?, blank(device)?);
    let (graph, ()) = device.capture(|c| {
        for _ in 0..8 {
            c.launch(&late, grid(), (&one, &two, SLOW))?;
            c.launch(&late, grid(), (&two, &one, SLOW))?;
        }
        Ok(())
    })?;
    for replay in 1..=3 {
        let done = graph.replay()?;
        holds(&one, 5 + 16 * replay);
        assert!(done.is_done(), "the bytes were there, so the replay is over");
    }
    Ok(())
}

/// D34: write on one stream, replay on another, read on a third: never stale, and no fence of the caller's.
pub fn write_replay_and_read_on_three_streams_are_ordered(env: &Env) -> Result<()> {
    let device = &env.device;
    let (input, output) = (words(device, 0)?, blank(device)?);
    let late = env.kernel(LATE);
    let (graph, ()) = device.capture(|c| c.launch(&late, grid(), (&input, &output, 500_u32)))?;
    let [writer, replayer, reader] = [device.new_stream(), device.new_stream(), device.new_stream()];
    for value in 0..200 {
        writer.write(&input, &host(value))?;
        graph.replay_on_stream(&replayer)?;
        same(&reader.read::<u32>(&output)?, value + 1);
    }
    Ok(())
}

/// D35: two graphs of the same kernels and shapes over different buffers are independent, also when one is gone.
pub fn graphs_of_one_shape_are_independent(env: &Env) -> Result<()> {
    let device = &env.device;
    let succ = env.kernel(SUCC);
    let (a_in, a_out, b_in, b_out) = (words(device, 10)?, blank(device)?, words(device, 20)?, blank(device)?);
    let a = graph_of(device, &succ, &a_in, &a_out)?;
    let b = graph_of(device, &succ, &b_in, &b_out)?;
    for round in 0..20 {
        a_in.write(&host(10 + round))?;
        a.replay()?;
        b.replay()?;
        a.replay()?;
        holds(&a_out, 11 + round);
        holds(&b_out, 21);
    }
    drop(a);
    b_in.write(&host(90))?;
    b.replay()?;
    holds(&b_out, 91);
    holds(&a_out, 30);
    Ok(())
}

/// D38: writes and copies keep their order without a flush between them, also around a replay.
pub fn writes_do_not_overtake_copies(env: &Env) -> Result<()> {
    let device = &env.device;
    let stream = device.stream();
    let (buffer, first, second, third) = (words(device, 0)?, blank(device)?, blank(device)?, blank(device)?);
    buffer.write(&host(1))?;
    first.copy_from(&buffer)?;
    buffer.write(&host(2))?;
    second.copy_from(&buffer)?;
    holds(&first, 1);
    holds(&second, 2);

    let inc = env.kernel(kernels::INC);
    let (graph, ()) = device.capture(|c| c.launch(&inc, grid(), (&buffer,)))?;
    for round in 0..50 {
        stream.write(&buffer, &host(100 + round))?;
        stream.copy(&buffer, &first)?;
        graph.replay()?;
        stream.copy(&buffer, &second)?;
        stream.write(&buffer, &host(7))?;
        stream.copy(&buffer, &third)?;
        holds(&first, 100 + round);
        holds(&second, 101 + round);
        holds(&third, 7);
    }
    Ok(())
}

/// D38, in small parts: many writes to parts of one buffer between launches that read all of it.
pub fn partial_writes_between_launches_keep_their_order(env: &Env) -> Result<()> {
    let device = &env.device;
    let add_into = env.kernel(ADD_INTO);
    let (input, total) = (words(device, 0)?, words(device, 0)?);
    let mut expected = vec![0_u32; N as usize];
    let mut now = expected.clone();
    for step in 0..200_u32 {
        let at = u64::from(step * 37) % (N - 4);
        let part = input.elements::<u32>(at..at + 4)?;
        part.write(&[step; 4])?;
        now[at as usize..at as usize + 4].fill(step);
        device.launch(&add_into, grid(), (&input, &total))?;
        expected.iter_mut().zip(&now).for_each(|(sum, value)| *sum += value);
    }
    assert_eq!(total.read::<u32>()?, expected);
    Ok(())
}

/// D43: overlapping replays of one graph, from two streams without a wait, run one after the other.
pub fn overlapping_replays_of_one_graph_are_serialised(env: &Env) -> Result<()> {
    let device = &env.device;
    let (inc, late) = (env.kernel(kernels::INC), env.kernel(LATE));
    let (counter, scratch) = (words(device, 0)?, blank(device)?);
    let (graph, ()) = device.capture(|c| {
        c.launch(&late, grid(), (&counter, &scratch, 2_000_u32))?;
        c.copy(&scratch, &counter)?;
        c.launch(&inc, grid(), (&counter,))
    })?;
    let (one, two) = (device.new_stream(), device.new_stream());
    for _ in 0..50 {
        graph.replay_on_stream(&one)?;
        graph.replay_on_stream(&two)?;
    }
    holds(&counter, 200);
    Ok(())
}

/// D43 from threads: whoever replays, no step is lost.
pub fn replays_from_many_threads_lose_nothing(env: &Env) -> Result<()> {
    let device = &env.device;
    let inc = env.kernel(kernels::INC);
    let counter = words(device, 0)?;
    let (graph, ()) = device.capture(|c| c.launch(&inc, grid(), (&counter,)))?;
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let graph = graph.clone();
            thread::spawn(move || -> Result<()> {
                for _ in 0..50 {
                    graph.replay()?;
                }
                Ok(())
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("no thread panics")?;
    }
    holds(&counter, 200);
    Ok(())
}

/// D45: graphs that share buffers may be replayed in another order than they were captured; they share no scratch.
pub fn graphs_may_be_replayed_in_any_order(env: &Env) -> Result<()> {
    let device = &env.device;
    let scale = env.kernel(SCALE);
    let source = words(device, 1)?;
    let results = [blank(device)?, blank(device)?, blank(device)?];
    let step = |output: &Buffer, factor: u32| {
        let (graph, ()) = device.capture(|c| {
            let scratch = c.alloc(N * 4)?;
            c.launch(&scale, grid(), (&source, &scratch, factor))?;
            c.launch(&scale, grid(), (&scratch, output, factor))
        })?;
        Ok::<_, graphreel::ServerError>(graph)
    };
    let graphs = [step(&results[0], 2)?, step(&results[1], 3)?, step(&results[2], 5)?];
    for order in [[0, 2, 1], [2, 1, 0], [1, 1, 0]] {
        results.iter().try_for_each(|result| result.fill(0))?;
        order.iter().try_for_each(|&index: &usize| graphs[index].replay().map(drop))?;
        for (index, factor) in [2_u32, 3, 5].into_iter().enumerate() {
            holds(&results[index], if order.contains(&index) { factor * factor } else { 0 });
        }
    }
    Ok(())
}

/// D46: an output shows the last replay; a copy made in between keeps the earlier one.
pub fn an_output_shows_the_last_replay(env: &Env) -> Result<()> {
    let device = &env.device;
    let (input, output, kept) = (words(device, 1)?, blank(device)?, blank(device)?);
    let graph = graph_of(device, &env.kernel(SUCC), &input, &output)?;
    graph.replay()?;
    kept.copy_from(&output)?;
    input.write(&host(50))?;
    graph.replay()?;
    holds(&output, 51);
    holds(&kept, 2);
    Ok(())
}

/// D48: one root, 64 children, 64 checkers: no edge of a wide fan-out is lost, replay after replay.
pub fn a_wide_fan_out_keeps_every_edge(env: &Env) -> Result<()> {
    let device = &env.device;
    let (succ, late, check) = (env.kernel(SUCC), env.kernel(LATE), env.kernel(kernels::CHECK));
    let (input, root, flag) = (words(device, 3)?, blank(device)?, device.upload(&[0_u32])?);
    let (graph, ()) = device.capture(|c| {
        c.launch(&succ, grid(), (&input, &root))?;
        let children = (0..64).map(|_| c.alloc(N * 4)).collect::<Result<Vec<_>>>()?;
        for child in &children {
            c.fill(child, 0)?;
            c.launch(&late, grid(), (&root, child, 50_u32))?;
        }
        children.iter().try_for_each(|child| c.launch(&check, grid(), (child, &flag, 5_u32)))
    })?;
    assert_eq!(graph.report().nodes, 1 + 3 * 64);
    for _ in 0..rounds(50, 200) {
        root.fill(0xffff)?;
        graph.replay()?;
    }
    assert_eq!(flag.read::<u32>()?, [0]);
    Ok(())
}

/// A chain that hops over many streams, forth and back, is a chain.
pub fn a_chain_over_many_streams_is_a_chain(env: &Env) -> Result<()> {
    let device = &env.device;
    let late = env.kernel(LATE);
    let streams: Vec<Stream> = (0..23).map(|_| device.new_stream()).collect();
    let (mut from, mut to) = (words(device, 0)?, words(device, 0)?);
    for step in 0..400_usize {
        streams[step * 7 % streams.len()].launch(&late, grid(), (&from, &to, 100_u32))?;
        std::mem::swap(&mut from, &mut to);
    }
    holds(&from, 400);
    Ok(())
}

/// A writer on one stream does not overtake the readers on others.
pub fn a_writer_waits_for_readers_of_other_streams(env: &Env) -> Result<()> {
    let device = &env.device;
    let late = env.kernel(LATE);
    let (one, two, writer) = (device.new_stream(), device.new_stream(), device.new_stream());
    let (input, a, b) = (words(device, 0)?, blank(device)?, blank(device)?);
    for value in 0..50 {
        writer.write(&input, &host(value))?;
        one.launch(&late, grid(), (&input, &a, 2_000_u32))?;
        two.launch(&late, grid(), (&input, &b, 2_000_u32))?;
        writer.fill(&input, 0xffff)?;
        same(&one.read::<u32>(&a)?, value + 1);
        same(&two.read::<u32>(&b)?, value + 1);
    }
    Ok(())
}

fn pump(device: &Device, seed: u32) -> Result<()> {
    let succ = crate::env::kernel_on(device, SUCC);
    let (mine, other) = (words(device, seed)?, blank(device)?);
    let graph = graph_of(device, &succ, &other, &mine)?;
    for step in 0..40 {
        device.launch(&succ, grid(), (&mine, &other))?;
        graph.replay()?;
        if step % 8 == 0 {
            holds(&mine, seed + 2 * (step + 1));
        }
    }
    holds(&mine, seed + 80);
    Ok(())
}

/// Threads that allocate, launch, capture, replay and read at the same time, each right by itself.
pub fn threads_with_work_of_their_own_do_not_disturb_each_other(env: &Env) -> Result<()> {
    let threads: Vec<_> = (0..6)
        .map(|index| {
            let device = env.device.clone();
            thread::spawn(move || pump(&device, 1_000 * index))
        })
        .collect();
    for thread in threads {
        thread.join().expect("no thread panics")?;
    }
    Ok(())
}

/// A buffer handed from thread to thread needs no fence: the next one's work is ordered after the last one's.
pub fn a_buffer_may_be_handed_to_another_thread(env: &Env) -> Result<()> {
    let device = &env.device;
    let late = env.kernel(LATE);
    let (mut buffer, mut spare) = (words(device, 0)?, blank(device)?);
    for _ in 0..30 {
        let (device, late, from, to) = (device.clone(), late.clone(), buffer.clone(), spare.clone());
        let handed = thread::spawn(move || device.launch(&late, grid(), (&from, &to, 1_000_u32)));
        handed.join().expect("no panic")?;
        std::mem::swap(&mut buffer, &mut spare);
    }
    holds(&buffer, 30);
    Ok(())
}

/// P10: a thousand replays (a hundred thousand where `GRAPHREEL_THOROUGH=1`) leave every byte count as it was.
pub fn replays_leave_memory_constant(env: &Env) -> Result<()> {
    let device = &env.device;
    let add_into = env.kernel(ADD_INTO);
    let (one, total) = (words(device, 1)?, words(device, 0)?);
    let (graph, ()) = device.capture(|c| (0..4).try_for_each(|_| c.launch(&add_into, grid(), (&one, &total))))?;
    let warm_up = 100;
    for _ in 0..warm_up {
        graph.replay()?;
    }
    device.sync()?;
    let (usage, counters) = (device.memory_usage(), device.counters());
    let replays = rounds(1_000, 100_000);
    for _ in 0..replays {
        graph.replay()?;
    }
    holds(&total, 4 * (warm_up + replays));
    let (usage_after, after) = (device.memory_usage(), device.counters());
    assert_eq!(usage_after.reserved_bytes, usage.reserved_bytes);
    assert_eq!((usage_after.in_use_bytes, usage_after.pinned_bytes), (usage.in_use_bytes, usage.pinned_bytes));
    assert_eq!(after.driver_allocations, counters.driver_allocations);
    assert_eq!(after.replays - counters.replays, u64::from(replays));
    assert_eq!(after.replayed_nodes - counters.replayed_nodes, 4 * u64::from(replays));
    Ok(())
}
