//! Reads of files to device memory by the process-wide pool (B-193 to B-196): bytes, order, what does not fit, and what a read
//! that ends early leaves.

use std::io::Write;
use std::ops::Range;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use graphreel::clock::Tick;
use graphreel::error::GraphRule;
use graphreel::lifecycle::config::SourceSchedulerPolicy;
use graphreel::lifecycle::{
    IoPoolProcessConfig, QueryErrorCode, QueryResult, SourceRead, SourceWork, configure_io_pool_process, read_source,
};
use graphreel::{Buffer, Config, Deadline, Grid, Result, StreamId};
use pollster::block_on;
use tempfile::NamedTempFile;

use crate::env::{failure, says, taint_of};
use crate::{Env, kernels};

/// Pieces of this many bytes, so that small files have many.
const PIECE: u64 = 4096;

/// A file of `len` bytes that differ, and the bytes; read in small pieces from here on.
fn file(len: usize) -> (NamedTempFile, Vec<u8>) {
    small_pieces(3);
    let bytes: Vec<u8> = (0..len as u32).map(|index| (index.wrapping_mul(0x9e37_79b9) >> 13) as u8).collect();
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(&bytes).expect("it can be written");
    (file, bytes)
}

fn small_pieces(threads: usize) {
    let config =
        IoPoolProcessConfig { thread_count: Some(threads), task_size_bytes: PIECE, ..IoPoolProcessConfig::DEFAULT };
    configure_io_pool_process(0, &config).expect("threads can be had");
}

fn begin(file: &NamedTempFile, range: Range<u64>, dst: &Buffer, at: u64) -> QueryResult<SourceWork> {
    let (read, stream) = (SourceRead::new(file.path(), range), StreamId::current());
    read_source(dst.device(), stream, read, dst, at, SourceSchedulerPolicy::default())
}

/// How a read ends; the runner ends a test whose read does not.
fn end(work: &SourceWork) -> QueryResult {
    work.wait(Deadline::NEVER)
}

/// Any part of a file arrives at any place of a buffer, and nothing else of the buffer changes.
pub fn files_of_any_part_arrive(env: &Env) -> Result<()> {
    let (file, bytes) = file(70_000);
    for (start, end_at, at, size) in [
        (0u64, 70_000u64, 0u64, 70_000u64),
        (1, 8, 0, 7),
        (4095, 4100, 4, 9),
        (5, 69_997, 100, 70_200),
        (0, 4096, 0, 4096),
        (0, 8192, 4, 8200),
    ] {
        let buffer = env.device.alloc(size)?;
        let before = vec![0xabu8; size as usize];
        buffer.write(&before)?;
        let work = begin(&file, start..end_at, &buffer, at).expect("it fits");
        end(&work).expect("it can be read");
        let progress = work.progress();
        assert_eq!((progress.done_bytes, progress.total_bytes), (end_at - start, end_at - start));
        let mut expected = before;
        let part = at as usize..(at + end_at - start) as usize;
        expected[part].copy_from_slice(&bytes[start as usize..end_at as usize]);
        assert!(buffer.read::<u8>()? == expected, "bytes {start}..{end_at} at {at}");
    }
    Ok(())
}

/// B-25: how far a read runs ahead changes nothing but its speed.
pub fn reads_may_run_ahead_or_not(env: &Env) -> Result<()> {
    let (file, bytes) = file(100_001);
    for prefetch in [0, 1, 7, SourceSchedulerPolicy::PREFETCH_MAX] {
        let buffer = env.device.alloc(100_001)?;
        let read = SourceRead::new(file.path(), 0..100_001);
        let policy = SourceSchedulerPolicy::new(prefetch);
        let work = read_source(&env.device, StreamId::fresh(), read, &buffer, 0, policy).expect("it fits");
        block_on(work).expect("it can be read");
        assert!(buffer.read::<u8>()? == bytes, "{prefetch} ahead");
    }
    Ok(())
}

/// A read that is done comes before all work that is asked for after it, and after all that was asked for before it.
pub fn work_behind_a_read_sees_its_bytes(env: &Env) -> Result<()> {
    let (file, bytes) = file(64 << 10);
    let (inc, words) = (env.kernel(kernels::INC), 16 << 10);
    let buffer = env.device.alloc(64 << 10)?;
    buffer.fill(0)?;
    let expected: Vec<u32> = bytes.chunks_exact(4).map(bytemuck::pod_read_unaligned).collect();
    for _ in 0..5 {
        env.device.launch(&inc, Grid::stride(words), (&buffer,))?;
        let work = begin(&file, 0..64 << 10, &buffer, 0).expect("it fits");
        end(&work).expect("it can be read");
        env.device.new_stream().launch(&inc, Grid::stride(words), (&buffer,))?;
        assert!(buffer.read::<u32>()?.iter().zip(&expected).all(|(word, read)| *word == read.wrapping_add(1)));
    }
    Ok(())
}

/// Many reads wait for few threads and all end, also those whose device is dropped by everybody else.
pub fn many_reads_share_few_threads(env: &Env) -> Result<()> {
    let (file, bytes) = file(50_000);
    let buffers = (0..40).map(|_| env.device.alloc(50_000)).collect::<Result<Vec<_>>>()?;
    let works: Vec<_> = buffers.iter().map(|buffer| begin(&file, 0..50_000, buffer, 0).expect("it fits")).collect();
    let other = env.open(Config::default());
    let theirs = other.alloc(50_000)?;
    let alone = begin(&file, 0..50_000, &theirs, 0).expect("it fits");
    drop((other, theirs));
    thread::scope(|scope| {
        for (index, work) in works.into_iter().enumerate() {
            scope.spawn(move || if index % 2 == 0 { end(&work).expect("read") } else { block_on(work).expect("read") });
        }
    });
    end(&alone).expect("it holds its device");
    assert!(buffers.iter().all(|buffer| buffer.read::<u8>().is_ok_and(|read| read == bytes)));
    Ok(())
}

/// XB-29, B-196: the pool is set up again and again while reads wait: all end, and what is in effect is answered.
pub fn reads_outlive_another_configuration(env: &Env) -> Result<()> {
    let (file, bytes) = file(90_000);
    let buffers = (0..30).map(|_| env.device.alloc(90_000)).collect::<Result<Vec<_>>>()?;
    let is_free = std::env::var("GRAPHREEL_IO_THREADS").is_err() && std::env::var("GRAPHREEL_IO_TASK_BYTES").is_err();
    let mut works = Vec::new();
    for (index, buffer) in buffers.iter().enumerate() {
        works.push(begin(&file, 0..90_000, buffer, 0).expect("it fits"));
        let config = IoPoolProcessConfig {
            thread_count: Some(1 + index % 4),
            task_size_bytes: PIECE + 4 * index as u64,
            ..IoPoolProcessConfig::DEFAULT
        };
        let effective = configure_io_pool_process(index, &config).expect("threads can be had");
        assert!(!is_free || effective == Some(config), "{effective:?}");
    }
    for work in &works {
        end(work).expect("none is stranded");
    }
    assert!(buffers.iter().all(|buffer| buffer.read::<u8>().is_ok_and(|read| read == bytes)));
    Ok(())
}

/// What cannot be read is refused at once with its reason, and changes nothing.
pub fn reads_that_do_not_fit(env: &Env) -> Result<()> {
    let (file, _) = file(1000);
    let buffer = env.device.alloc(100)?;
    buffer.write(&[5u8; 100])?;
    let refused = |range: Range<u64>, at| begin(&file, range, &buffer, at).expect_err("it does not fit");
    let cases = [
        (10..10, 0, "zero"),
        (Range { start: 20, end: 10 }, 0, "out_of_range"),
        (0..101, 0, "out_of_range"),
        (0..100, 4, "out_of_range"),
        (0..u64::MAX, 0, "out_of_range"),
        (0..8, u64::MAX - 3, "out_of_range"),
        (0..50, 2, "source_failed"),
        (0..50, 0, "source_failed"),
        (950..1001, 48, "source_failed"),
        (961..1001, 60, "source_too_short"),
        (u64::MAX - 4..u64::MAX, 96, "source_too_short"),
    ];
    for (range, at, reason) in cases {
        let error = refused(range.clone(), at);
        assert_eq!(error.reason(), Some(reason), "{range:?} at {at}: {error}");
        assert_eq!(error.code() == QueryErrorCode::Internal, reason == "source_failed");
        assert!(error.message().contains(&file.path().display().to_string()) && !error.message().contains('\n'));
    }
    let (stream, policy) = (StreamId::current(), SourceSchedulerPolicy::default());
    let absent = SourceRead::new(file.path().with_extension("absent"), 0..4);
    let error = read_source(&env.device, stream, absent, &buffer, 0, policy).expect_err("there is no such file");
    assert_eq!((error.reason(), error.code()), (Some("source_unreadable"), QueryErrorCode::InvalidConfiguration));
    let ahead = SourceSchedulerPolicy::new(SourceSchedulerPolicy::PREFETCH_MAX + 1);
    let read = SourceRead::new(file.path(), 0..4);
    let error = read_source(&env.device, stream, read.clone(), &buffer, 0, ahead).expect_err("too far ahead");
    assert_eq!(error.reason(), Some("out_of_range"));
    let foreign = env.open(Config::default()).alloc(100)?;
    let error = read_source(&env.device, stream, read.clone(), &foreign, 0, policy).expect_err("another device's");
    assert_eq!(error.reason(), Some("source_failed"));
    let (_, refused) = env.device.capture(|c| {
        c.fill(&buffer, 1)?;
        Ok(read_source(&env.device, stream, read, &buffer, 0, policy).expect_err("a plain call in a closure"))
    })?;
    assert_eq!(refused.reason(), Some("source_failed"));
    assert_eq!(buffer.read::<u8>()?, [5; 100]);
    Ok(())
}

/// A file that gets shorter under a read fails it, and no byte of the destination is taken for a result.
pub fn a_file_that_is_cut_meanwhile_fails_the_read(env: &Env) -> Result<()> {
    let (file, _) = file(80_000);
    let buffer = env.device.alloc(80_004)?;
    buffer.fill(7)?;
    // Nothing can be staged while the lock is held.
    let work = env.device.with_contract(|_| {
        let work = begin(&file, 0..80_000, &buffer, 0).expect("it has all of it");
        file.as_file().set_len(50_002).expect("it can be cut");
        work
    });
    let error = end(&work).expect_err("its end is gone");
    assert_eq!((error.reason(), error.fact_value("file_bytes")), (Some("source_too_short"), Some("50002")));
    let cause = taint_of(&buffer);
    says(&cause, &[&file.path().display().to_string(), "50002"]);
    let parts = [buffer.slice(0..4)?, buffer.slice(79_996..80_000)?];
    assert!(parts.iter().all(|part| taint_of(part).to_string() == cause.to_string()));
    assert_eq!(buffer.slice(80_000..80_004)?.read::<u32>()?, [7], "what was not asked for is as it was");
    assert_eq!(end(&work).expect_err("the outcome stays").to_string(), error.to_string());
    Ok(())
}

/// A read of `file` that has begun and is not done; on a slow machine some are done before anybody looks.
fn midway(file: &NamedTempFile, dst: &Buffer) -> SourceWork {
    for _ in 0..100 {
        let work = begin(file, 0..dst.len_bytes(), dst, 0).expect("it fits");
        while work.progress().done_bytes == 0 {
            thread::yield_now();
        }
        if !work.is_done() {
            return work;
        }
    }
    panic!("reads are done before anybody looks: make them longer");
}

/// What has to hold once a read was given up: no result, nothing written any more, and a destination that is usable.
fn given_up(env: &Env, buffer: &Buffer, word: u32) -> Result<()> {
    let inc = env.kernel(kernels::INC);
    says(&taint_of(buffer), &["cancelled", "read it again"]);
    failure(env.device.launch(&inc, Grid::stride(buffer.len_of::<u32>()), (buffer,)));
    buffer.fill(word)?;
    thread::sleep(Duration::from_millis(5));
    assert!(buffer.read::<u32>()?.iter().all(|read| *read == word));
    Ok(())
}

/// B-200: a read that is cancelled, or whose handle is dropped, writes nothing any more and leaves no result; its destination
/// is usable at once.
pub fn a_cancelled_read_leaves_no_result(env: &Env) -> Result<()> {
    let (file, bytes) = file(4 << 20);
    let buffer = env.device.alloc(4 << 20)?;
    let check = |work: &SourceWork| {
        let progress = work.progress();
        let error = end(work).expect_err("it was given up");
        assert_eq!((error.code(), error.reason()), (QueryErrorCode::Cancelled, Some("source_cancelled")));
        assert_eq!(work.progress(), progress, "nothing was written after that");
    };
    // Nothing can be written before the lock is free, and the cancelling thread asks for it too.
    let (begun, cancelled) = env.device.with_contract(|_| {
        let work = Arc::new(begin(&file, 0..4 << 20, &buffer, 0).expect("it fits"));
        let theirs = work.clone();
        let (begins, beginning) = mpsc::channel::<()>();
        let cancelled = thread::spawn(move || {
            drop(begins);
            theirs.cancel();
        });
        // It is about to cancel: on a busy machine a thread may start late.
        assert!(beginning.recv().is_err(), "it sends nothing, and ends its side");
        thread::sleep(Duration::from_millis(20));
        (work, cancelled)
    });
    cancelled.join().expect("no panic");
    check(&begun);
    assert_eq!(begun.progress().done_bytes, 0);
    given_up(env, &buffer, 3)?;
    for round in 0..3 {
        small_pieces(1 + round as usize);
        loop {
            let work = midway(&file, &buffer);
            work.cancel();
            // It may have been done in the meantime.
            if work.progress().done_bytes < 4 << 20 {
                check(&work);
                break;
            }
        }
        given_up(env, &buffer, round)?;
    }
    loop {
        drop(begin(&file, 0..4 << 20, &buffer, 0).expect("it fits"));
        if buffer.read::<u32>().is_err() {
            break;
        }
    }
    given_up(env, &buffer, 9)?;
    let work = begin(&file, 0..4 << 20, &buffer, 0).expect("it fits");
    let early = work.wait(Deadline::at(Tick(Duration::ZERO)));
    assert!(early.is_ok() || early.is_err_and(|error| error.reason() == Some("source_wait_elapsed")));
    end(&work).expect("a wait that ran out ends nothing");
    work.cancel();
    drop(work);
    assert!(buffer.read::<u8>()? == bytes, "a read that is done cannot be cancelled");
    Ok(())
}

/// D61: the loss of the device ends its reads, those under way and those to come, and no other's.
pub fn a_read_of_a_lost_device_fails(env: &Env) -> Result<()> {
    let Some(faults) = env.faults() else { return Ok(()) };
    let (file, bytes) = file(4 << 20);
    let len = 4 << 20;
    let kept = env.device.alloc(len)?;
    let (lost, other, error) = loop {
        let device = env.open(Config::default());
        let dst = device.alloc(len)?;
        let (work, other) = (midway(&file, &dst), begin(&file, 0..len, &kept, 0).expect("it fits"));
        faults.lose(&device);
        // It may have been done in the meantime.
        if let Err(error) = end(&work) {
            break (dst, other, error);
        }
    };
    assert_eq!(error.reason(), Some("source_failed"), "{error}");
    assert!(error.message().contains("lost"), "{error}");
    let error = begin(&file, 0..len, &lost, 0).expect_err("its device is lost");
    assert!(error.reason() == Some("source_failed") && error.message().contains("lost"), "{error}");
    end(&other).expect("another device is unaffected");
    assert!(kept.read::<u8>()? == bytes);
    Ok(())
}

/// C-57, C-30: on a stream whose window records, a read is a host write, and one that cannot be made is missing in it.
pub fn a_read_in_a_window_is_a_host_write(env: &Env) -> Result<()> {
    let (file, bytes) = file(16);
    let (owner, _) = env.folded();
    let inc = env.kernel(kernels::INC);
    let (worked, dst) = (env.buffer(&[1; 4]), env.buffer(&[0; 4]));
    let begin = |range| {
        let read = SourceRead::new(file.path(), range);
        read_source(&env.device, owner.id(), read, &dst, 0, SourceSchedulerPolicy::default())
    };
    owner.graph_prepare()?;
    owner.begin_capture()?;
    owner.launch(&inc, Grid::stride(4), (&worked,))?;
    let work = begin(0..16).expect("it fits");
    end(&work).expect("as a write, it is recorded, or reported at the window's end");
    let ended = owner.end_capture();
    if env.is_software_graph() {
        let refused = failure(ended);
        assert!(matches!(refused.graph_rule(), Some(GraphRule::WriteInWindow { .. })), "{refused:?}");
        dst.fill(0)?;
        worked.fill(0)?;
    } else {
        let graph = ended?;
        assert_eq!(dst.read::<u32>()?, [0; 4]);
        graph.replay()?.wait()?;
        assert_eq!(dst.read::<u8>()?, bytes);
    }
    owner.graph_prepare()?;
    owner.begin_capture()?;
    owner.launch(&inc, Grid::stride(4), (&worked,))?;
    begin(0..17).expect_err("it is too long");
    says(&failure(owner.end_capture()), &[&file.path().display().to_string(), "17"]);
    env.assert_usable(&owner);
    Ok(())
}
