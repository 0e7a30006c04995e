//! Staged writes: memory that the caller fills without the device's lock, and one call that writes it, as a host write in
//! every rule (C-55, C-57, C-58, C-75 to C-79).

use std::thread;

use graphreel::error::GraphRule;
use graphreel::staging::Staging;
use graphreel::{Buffer, Config, Device, Grid, Result, ServerError, StreamId};

use crate::env::{assert_works, failure, says, taint_of};
use crate::{Env, kernels};

/// Staging memory filled with `words`.
fn filled(device: &Device, words: &[u32]) -> Result<Box<dyn Staging>> {
    let mut staged = device.with_contract(|server| server.stage(size_of_val(words) as u64))?;
    staged.bytes_mut().copy_from_slice(bytemuck::cast_slice(words));
    Ok(staged)
}

fn give(stream: StreamId, buffer: &Buffer, staged: Box<dyn Staging>) -> Result<()> {
    buffer.device().with_contract(|server| server.write_staged(stream, buffer.binding(), staged))
}

fn write(stream: StreamId, buffer: &Buffer, words: &[u32]) -> Result<()> {
    give(stream, buffer, filled(buffer.device(), words)?)
}

/// Staged writes come after the work before them and before the work behind them, on one stream and across streams.
pub fn staged_writes_keep_their_order(env: &Env) -> Result<()> {
    let inc = env.kernel(kernels::INC);
    let (buffer, copy) = (env.unwritten(64), env.unwritten(64));
    let (one, two) = (env.device.new_stream(), env.device.new_stream());
    for round in 0..20u32 {
        // Filled long before it is written.
        let late = filled(&env.device, &[round + 100; 32])?;
        write(one.id(), &buffer, &[round; 64])?;
        one.launch(&inc, Grid::stride(64), (&buffer,))?;
        give(two.id(), &buffer.elements::<u32>(32..64)?, late)?;
        one.launch(&inc, Grid::stride(64), (&buffer,))?;
        two.copy(&buffer, &copy)?;
        write(one.id(), &buffer, &[0; 64])?;
        assert_eq!(copy.read::<u32>()?, [[round + 2; 32], [round + 101; 32]].concat());
        assert_eq!(buffer.read::<u32>()?, [0; 64]);
    }
    Ok(())
}

/// Any length may be staged that a host write may have, and only its bytes are written.
pub fn staged_writes_of_any_length(env: &Env) -> Result<()> {
    let stream = StreamId::current();
    for len in [1u64, 3, 4, 6, 255, 256, 257, 4096, (1 << 20) + 3, 5 << 20] {
        let buffer = env.device.alloc(len)?;
        let mut staged = env.device.with_contract(|server| server.stage(len))?;
        assert_eq!(staged.bytes_mut().len() as u64, len);
        staged.bytes_mut().iter_mut().zip(0u64..).for_each(|(byte, index)| *byte = (index * 7 + len) as u8);
        give(stream, &buffer, staged)?;
        let expected: Vec<u8> = (0..len).map(|index| (index * 7 + len) as u8).collect();
        assert!(buffer.read::<u8>()? == expected, "{len} bytes");
        if len.is_multiple_of(4) && len > 4 {
            let mut part = env.device.with_contract(|server| server.stage(len - 4))?;
            part.bytes_mut().fill(9);
            give(stream, &buffer.slice(4..len)?, part)?;
            assert!(buffer.read::<u8>()?.iter().zip(&expected).take(4).all(|(byte, before)| byte == before));
        }
    }
    Ok(())
}

/// Memory that is lent again never shows the bytes of a write before to one that is still on its way.
pub fn many_staged_writes_in_flight(env: &Env) -> Result<()> {
    const WORDS: u64 = 64 << 10;
    let buffers = (0..4).map(|_| env.device.alloc_for::<u32>(WORDS)).collect::<Result<Vec<_>>>()?;
    let inc = env.kernel(kernels::INC);
    let stream = env.device.new_stream();
    let mut words = vec![0u32; WORDS as usize];
    for round in 0..60u32 {
        words.fill(round);
        let buffer = &buffers[round as usize % buffers.len()];
        write(stream.id(), buffer, &words)?;
        stream.launch(&inc, Grid::stride(WORDS), (buffer,))?;
        if round % 3 == 0 {
            // One that is never written.
            drop(filled(&env.device, &words)?);
        }
    }
    for (buffer, round) in buffers.iter().zip(56..) {
        assert!(buffer.read::<u32>()?.iter().all(|word| *word == round + 1));
    }
    env.device.trim();
    write(stream.id(), &buffers[0], &words)?;
    assert!(buffers[0].read::<u32>()? == words);
    Ok(())
}

/// C-57, as for a plain host write: an owner's staged write dooms its window, or is recorded with its bytes.
pub fn an_owners_staged_write_dooms_or_is_recorded(env: &Env) -> Result<()> {
    let (owner, _) = env.folded();
    let inc = env.kernel(kernels::INC);
    let (worked, written) = (env.buffer(&[1; 8]), env.buffer(&[2; 8]));
    owner.graph_prepare()?;
    owner.begin_capture()?;
    owner.launch(&inc, Grid::stride(8), (&worked,))?;
    write(owner.id(), &written, &[9; 8])?;
    let ended = owner.end_capture();
    if env.is_software_graph() {
        let error = failure(ended);
        assert!(matches!(error.graph_rule(), Some(GraphRule::WriteInWindow { .. })), "{error:?}");
        assert_eq!(taint_of(&written).to_string(), error.to_string());
        assert_eq!(taint_of(&worked).to_string(), error.to_string());
    } else {
        let graph = ended?;
        assert_eq!(written.read::<u32>()?, [2; 8]);
        for round in 2..4 {
            written.write(&[0u32; 8])?;
            graph.replay()?.wait()?;
            assert_eq!((worked.read::<u32>()?, written.read::<u32>()?), (vec![round; 8], vec![9; 8]));
        }
    }
    env.assert_usable(&owner);
    Ok(())
}

/// C-55, C-56: a neighbour's staged write is refused, and taints its destination alone, or it is done.
pub fn a_neighbours_staged_write_is_refused_or_done(env: &Env) -> Result<()> {
    let (owner, neighbour) = env.folded();
    let (inc, worked, theirs) = (env.kernel(kernels::INC), env.buffer(&[1; 8]), env.buffer(&[7; 8]));
    owner.graph_prepare()?;
    owner.begin_capture()?;
    owner.launch(&inc, Grid::stride(8), (&worked,))?;
    let half = theirs.elements::<u32>(0..4)?;
    let written = write(neighbour.id(), &half, &[8; 4]);
    if env.device.caps().defers_neighbours {
        written?;
        assert_eq!(theirs.read::<u32>()?, [8, 8, 8, 8, 7, 7, 7, 7]);
    } else {
        let error = failure(written);
        assert_eq!(error.graph_rule(), Some(&GraphRule::RefusedInWindow));
        assert_eq!(taint_of(&half).to_string(), error.to_string());
        assert_eq!(theirs.elements::<u32>(4..8)?.read::<u32>()?, [7; 4]);
    }
    let graph = owner.end_capture()?;
    assert_eq!(graph.report().nodes, 1, "nothing of the neighbour's is recorded");
    write(neighbour.id(), &half, &[5; 4])?;
    assert_eq!(half.read::<u32>()?, [5; 4]);
    Ok(())
}

/// C-75 to C-79: a write that was promised and does not come taints exactly its bytes and dooms the window that its stream
/// records; a staged write releases them.
pub fn a_promised_write_that_fails_taints_until_it_is_written(env: &Env) -> Result<()> {
    let (buffer, output) = (env.buffer(&[1; 8]), env.unwritten(8));
    let copy = env.kernel(kernels::MUL2);
    let (stream, cause) = (env.device.new_stream(), ServerError::graph_state("the promise was not kept"));
    let half = buffer.elements::<u32>(4..8)?;
    let fail =
        |buffer: &Buffer| env.device.with_contract(|server| server.fail_write(stream.id(), buffer.binding(), &cause));
    fail(&half)?;
    assert_eq!(taint_of(&half).to_string(), cause.to_string());
    assert_eq!(buffer.elements::<u32>(0..4)?.read::<u32>()?, [1; 4]);
    let error = failure(stream.launch(&copy, Grid::stride(8), (&buffer, &output)));
    assert!(matches!(error, ServerError::Tainted { .. }), "{error:?}");
    write(stream.id(), &half, &[4; 4])?;
    stream.launch(&copy, Grid::stride(8), (&buffer, &output))?;
    assert_eq!(output.read::<u32>()?, [2, 2, 2, 2, 8, 8, 8, 8]);
    stream.graph_prepare()?;
    stream.begin_capture()?;
    stream.launch(&copy, Grid::stride(8), (&buffer, &output))?;
    fail(&half)?;
    assert_eq!(failure(stream.end_capture()).to_string(), cause.to_string());
    env.assert_usable(&stream);
    Ok(())
}

/// What does not fit is refused and changes nothing: no bytes, another length, another device, a range that is none.
pub fn staged_writes_that_do_not_fit(env: &Env) -> Result<()> {
    let (buffer, stream) = (env.buffer(&[1; 8]), StreamId::current());
    let error = failure(env.device.with_contract(|server| server.stage(0)).map(drop));
    assert!(matches!(error, ServerError::InvalidSize { bytes: 0, .. }), "{error:?}");
    says(&failure(write(stream, &buffer, &[2; 4])), &["another length"]);
    let other = env.open(Config::default());
    let theirs = filled(&other, &[3; 8])?;
    assert!(matches!(failure(give(stream, &buffer, theirs)), ServerError::ForeignHandle { .. }));
    let foreign = other.upload(&[5u32; 8])?;
    let staged = filled(&env.device, &[3; 8])?;
    let refused = env.device.with_contract(|server| server.write_staged(stream, foreign.binding(), staged));
    assert!(matches!(failure(refused), ServerError::ForeignHandle { .. }));
    let cause = ServerError::graph_state("none");
    let refused = env.device.with_contract(|server| server.fail_write(stream, foreign.binding(), &cause));
    assert!(matches!(failure(refused), ServerError::ForeignHandle { .. }));
    assert_eq!((buffer.read::<u32>()?, foreign.read::<u32>()?), (vec![1; 8], vec![5; 8]));
    Ok(())
}

/// D61: staging memory outlives the loss and the drop of its device, and is filled and dropped on any thread.
pub fn staging_memory_outlives_its_device(env: &Env) -> Result<()> {
    let device = env.open(Config::default());
    let mut kept = filled(&device, &[1; 1024])?;
    drop(device);
    let filler = thread::spawn(move || {
        kept.bytes_mut().fill(3);
        drop(kept);
    });
    filler.join().expect("no panic");
    let Some(faults) = env.faults() else { return Ok(()) };
    let device = env.open(Config::default());
    let (buffer, mut staged) = (device.alloc(16)?, filled(&device, &[1; 4])?);
    faults.lose(&device);
    staged.bytes_mut().fill(2);
    assert!(failure(give(StreamId::current(), &buffer, staged)).is_device_lost());
    assert!(failure(device.with_contract(|server| server.stage(4)).map(drop)).is_device_lost());
    drop((buffer, device));
    assert_works(&env.open(Config::default()));
    Ok(())
}
