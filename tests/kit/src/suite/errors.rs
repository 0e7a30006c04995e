//! Bad kernels, ranges, sizes and foreign handles: each is a typed error that names the thing and the remedy, and leaves
//! the device as it was.

use graphreel::device::Stream;
use graphreel::error::{GraphRule, InvalidKernel, KernelProblem, MemoryLimit, OutOfMemory};
use graphreel::kernel::{NativeBuffer, NativeKernel, NativeLanguage};
use graphreel::{Access, Account, Buffer, Config, Grid, Result, ServerError, Wgsl};

use crate::env::{assert_works, failure, folded_on, kernel_on, says};
use crate::{Env, kernels};

const TWO_ENTRIES: &str = "
override scale: u32;
override bias: u32 = 1u;
@group(0) @binding(0) var<storage, read_write> b: array<u32>;
@compute @workgroup_size(1) fn first() { b[0] = scale + bias; }
@compute @workgroup_size(1) fn second() { b[0] = 2u; }";

/// The problem of a kernel that cannot be made.
#[track_caller]
fn kernel_problem(env: &Env, source: impl Into<graphreel::KernelSource>, parts: &[&str]) -> KernelProblem {
    let error = failure(env.device.kernel(source));
    says(&error, parts);
    match &error {
        ServerError::InvalidKernel(problem) => {
            let InvalidKernel { problem, .. } = &**problem;
            problem.clone()
        }
        other => panic!("an invalid kernel was expected: {other:?}"),
    }
}

/// WGSL that does not parse: the place, and naga's rendering of it.
pub fn wgsl_that_does_not_parse(env: &Env) {
    let source = "@compute @workgroup_size(1)\nfn main() {\n    let x = 1u +;\n}";
    let problem = kernel_problem(env, source, &["does not parse", "line 3"]);
    let KernelProblem::Parse { line: 3, column, rendered, .. } = &problem else { panic!("{problem:?}") };
    assert!(*column > 1 && rendered.contains("let x"), "{rendered}");
    for garbage in ["", "\0\0", "fn", "@compute fn main() {}", "é 漢字 🎈"] {
        failure(env.device.kernel(garbage));
    }
    env.assert_usable(&env.device.stream());
}

/// WGSL that parses and is not valid.
pub fn wgsl_that_is_not_valid(env: &Env) {
    let source = "
@group(0) @binding(0) var<storage, read> b: array<u32>;
@compute @workgroup_size(1)
fn writes_what_it_may_only_read() { b[0] = 1u; }";
    let problem = kernel_problem(env, source, &["writes_what_it_may_only_read"]);
    assert!(matches!(problem, KernelProblem::Validate { .. } | KernelProblem::Parse { .. }), "{problem:?}");
    env.assert_usable(&env.device.stream());
}

/// Entry points that are unknown or not named although there are several; the text lists those there are.
pub fn entry_points_that_are_not_there(env: &Env) {
    let unknown = kernel_problem(env, Wgsl::new(TWO_ENTRIES).entry("third"), &["third", "first", "second"]);
    assert!(matches!(unknown, KernelProblem::UnknownEntry { .. }), "{unknown:?}");
    let ambiguous = kernel_problem(env, TWO_ENTRIES, &["first", "second", ".entry("]);
    assert!(matches!(ambiguous, KernelProblem::AmbiguousEntry { .. }), "{ambiguous:?}");
    let none = kernel_problem(env, "fn helper() -> u32 { return 1u; }", &["none"]);
    assert!(matches!(none, KernelProblem::UnknownEntry { .. } | KernelProblem::AmbiguousEntry { .. }), "{none:?}");
    env.assert_usable(&env.device.stream());
}

/// Overrides without a value, and values without an override.
pub fn overrides_that_do_not_fit(env: &Env) -> Result<()> {
    let source = || Wgsl::new(TWO_ENTRIES).entry("first");
    let missing = kernel_problem(env, source(), &["`scale`", ".constant("]);
    assert!(matches!(missing, KernelProblem::MissingOverride { .. }), "{missing:?}");
    let unknown = kernel_problem(env, source().constant("scale", 2.0).constant("scales", 3.0), &["`scales`", "bias"]);
    assert!(matches!(unknown, KernelProblem::UnknownOverride { .. }), "{unknown:?}");
    let kernel = env.device.kernel(source().constant("scale", 40.0).constant("bias", 2.0))?;
    let buffer = env.unwritten(1);
    env.device.launch(&kernel, Grid::groups(1), (&buffer,))?;
    assert_eq!(buffer.read::<u32>()?, [42]);
    env.assert_usable(&env.device.stream());
    Ok(())
}

/// Kernels beyond what the device can run: too large a workgroup, too much workgroup memory, too many bindings, and
/// scalars beyond the bound of all devices.
pub fn kernels_beyond_the_device(env: &Env) {
    let caps = env.device.caps();
    let body = "@group(0) @binding(0) var<storage, read_write> b: array<u32>;";
    let wide = caps.workgroup_invocations_max + 1;
    let memory = caps.workgroup_bytes_max / 4 + 1;
    let mut sources = vec![
        format!("{body}\n@compute @workgroup_size({wide}) fn too_wide() {{ b[0] = 1u; }}"),
        format!(
            "{body}\nvar<workgroup> w: array<u32, {memory}>;\n\
             @compute @workgroup_size(1) fn too_much() {{ w[b[0]] = 1u; b[1] = w[b[2]]; }}"
        ),
        format!(
            "struct S {{ v: array<vec4<u32>, 9> }}\nvar<immediate> too_many_scalars: S;\n{body}\n\
             @compute @workgroup_size(1) fn scalars() {{ b[0] = too_many_scalars.v[8].x; }}"
        ),
    ];
    if caps.bindings_max < 64 {
        let all = 0..=caps.bindings_max;
        let declare = |index| format!("@group(0) @binding({index}) var<storage, read_write> b{index}: array<u32>;\n");
        let declared: String = all.clone().map(declare).collect();
        let uses: String = all.map(|index| format!("b{index}[0] = 1u; ")).collect();
        sources.push(format!("{declared}@compute @workgroup_size(1) fn too_many_bindings() {{ {uses} }}"));
    }
    for source in sources {
        let error = failure(env.device.kernel(source.as_str()));
        assert!(matches!(error, ServerError::InvalidKernel(_)), "{error:?}\n{source}");
        says(&error, &["too_"]);
    }
    env.assert_usable(&env.device.stream());
}

/// Code in another vendor's language: refused at compile with what it is and the remedy, in a window too, and no device runs
/// every vendor's.
#[expect(unsafe_code, reason = "the code declared here is none, and never runs")]
pub fn native_kernels_of_another_vendor(env: &Env) -> Result<()> {
    let device = &env.device;
    let refused = |language: NativeLanguage, code: &[u8], remedy: &str| {
        let buffer = NativeBuffer::array("b", Access::ReadWrite, 4);
        let kernel = NativeKernel::new(language, code, "foreign", [1; 3]).buffer(buffer);
        // SAFETY: no compiler makes anything of it: it is text in no language, or SPIR-V, which no backend takes.
        let source = unsafe { kernel.vouch() }.map_err(ServerError::from)?;
        let error = failure(device.kernel(source));
        says(&error, &["foreign"]);
        // The language's own vendor finds that it is no code.
        let foreign = error.to_string().contains(&format!("it is {language}, which "));
        if foreign {
            says(&error, &[remedy]);
        }
        Ok::<bool, ServerError>(foreign)
    };
    let code: &[u8] = b"this is no code";
    assert!(refused(NativeLanguage::SpirV, b"\x03\x02\x23\x07", "give the kernel in WGSL")?);
    let cuda = refused(NativeLanguage::CudaCpp, code, "open a CUDA device")?;
    assert_eq!(cuda, refused(NativeLanguage::Ptx, code, "open a CUDA device")?);
    assert!(refused(NativeLanguage::HipCpp, code, "open a HIP device")? || cuda, "no device runs CUDA and HIP");
    let (inc, buffer) = (kernel_on(device, kernels::INC), env.buffer(&[1, 2]));
    let (graph, ()) = device.capture(|c| {
        refused(NativeLanguage::SpirV, b"\x03\x02\x23\x07", "WGSL")?;
        c.launch(&inc, Grid::stride(2), (&buffer,))
    })?;
    graph.replay()?;
    assert_eq!(buffer.read::<u32>()?, [2, 3]);
    env.assert_usable(&device.stream());
    Ok(())
}

/// Slices, reads and writes outside their buffer, empty, or between words.
pub fn ranges_that_do_not_fit(env: &Env) -> Result<()> {
    let buffer = env.buffer(&[1; 16]);
    let invalid = |error: ServerError, parts: &[&str]| {
        assert!(matches!(error, ServerError::InvalidRange { .. }), "{error:?}");
        says(&error, parts);
    };
    invalid(failure(buffer.slice(0..65)), &["slice", "0..65", "64 bytes"]);
    invalid(failure(buffer.slice(64..68)), &["64..68"]);
    invalid(failure(buffer.slice(u64::MAX - 1..u64::MAX)), &["slice"]);
    invalid(failure(buffer.slice(8..8)), &["empty"]);
    #[expect(clippy::reversed_empty_ranges, reason = "the mistake that is to be refused")]
    invalid(failure(buffer.slice(12..8)), &["empty"]);
    invalid(failure(buffer.elements::<u32>(15..17)), &["60..68"]);
    invalid(failure(buffer.elements::<u64>(u64::MAX / 2..u64::MAX)), &["slice"]);
    invalid(failure(buffer.write(&[0u32; 17])), &["write", "0..68", "64 bytes"]);
    invalid(failure(buffer.write::<u32>(&[])), &["write", "no data"]);
    let uneven = buffer.slice(2..6)?;
    invalid(failure(uneven.read::<u8>()), &["read", "multiple of 4"]);
    invalid(failure(uneven.write(&[0u8; 4])), &["write", "multiple of 4"]);
    invalid(failure(uneven.fill(0)), &["fill", "multiple of 4"]);
    invalid(failure(buffer.slice(0..12)?.read::<u64>()), &["read", "element's size"]);
    // A slice of a slice counts from its own start and ends at its own end.
    let middle = buffer.slice(16..48)?;
    invalid(failure(middle.slice(0..36)), &["0..36", "32 bytes"]);
    middle.slice(0..4)?.fill(9)?;
    assert_eq!(buffer.read::<u32>()?[3..6], [1, 9, 1]);
    env.assert_usable(&env.device.stream());
    Ok(())
}

/// Sizes of zero, above the device's bound, and beyond 64 bits.
pub fn sizes_that_cannot_be_allocated(env: &Env) -> Result<()> {
    let bound = env.device.caps().buffer_bytes_max;
    for (error, part) in [
        (failure(env.device.alloc(0)), "0 bytes".to_owned()),
        (failure(env.device.alloc_for::<u32>(0)), "0 bytes".to_owned()),
        (failure(env.device.upload::<u32>(&[])), "0 bytes".to_owned()),
        (failure(env.device.alloc(u64::MAX)), bound.to_string()),
        (failure(env.device.alloc_for::<[u64; 4]>(u64::MAX / 8)), "64-bit".to_owned()),
    ] {
        assert!(matches!(error, ServerError::InvalidSize { .. }), "{error:?}");
        says(&error, &["cannot allocate", &part]);
    }
    if let Some(over) = bound.checked_add(1) {
        let error = failure(env.device.alloc(over));
        assert!(matches!(error, ServerError::InvalidSize { .. } | ServerError::OutOfMemory(_)), "{error:?}");
    }
    // The smallest, and one that is no multiple of a word.
    let odd = env.device.upload(&[1u8, 2, 3, 4, 5, 6, 7])?;
    assert_eq!((odd.len_bytes(), odd.read::<u8>()?), (7, vec![1, 2, 3, 4, 5, 6, 7]));
    assert_eq!(env.device.upload(&[9u8])?.read::<u8>()?, [9]);
    env.assert_usable(&env.device.stream());
    Ok(())
}

/// Fill `device` until it refuses; the refusal and what was allocated.
fn exhaust(alloc: impl Fn() -> Result<Buffer>) -> (OutOfMemory, Vec<Buffer>) {
    let mut held = Vec::new();
    loop {
        match alloc() {
            Ok(buffer) => held.push(buffer),
            Err(ServerError::OutOfMemory(refusal)) => return (refusal, held),
            Err(other) => panic!("an exhausted limit has its own error: {other:?}"),
        }
        assert!(held.len() < 1000, "the limit does not bind");
    }
}

/// `Config::memory_limit`: the refusal says need, have and limit; dropping makes room; nothing of before is lost.
pub fn more_bytes_than_the_devices_limit(env: &Env) -> Result<()> {
    let limit = 16 << 20;
    let device = env.open(Config { memory_limit: Some(limit), ..Config::default() });
    let earlier = device.upload(&[77u32; 64])?;
    for round in 0..3 {
        let (refusal, held) = exhaust(|| device.alloc(1 << 20));
        assert_eq!((&refusal.refused_by, refusal.limit), (&MemoryLimit::Config, Some(limit)), "round {round}");
        assert!(refusal.need >= 1 << 20 && refusal.have.is_some_and(|have| have < refusal.need), "{refusal:?}");
        says(&ServerError::OutOfMemory(refusal.clone()), &["out of memory", "Config::memory_limit", "drop buffers"]);
        assert!((8..=16).contains(&held.len()), "{} allocations of 1 MiB under 16 MiB", held.len());
        assert!(device.memory_usage().reserved_bytes <= limit);
        drop(held);
        device.trim();
    }
    let large = failure(device.alloc(limit + 1));
    assert!(matches!(large, ServerError::OutOfMemory(_)), "{large:?}");
    assert_eq!(earlier.read::<u32>()?, [77; 64]);
    assert_works(&device);
    // Any number of bytes is a limit, or a page size: pages are as large as the device takes them.
    assert_works(&env.open(Config { memory_limit: Some(1_000_003), ..Config::default() }));
    assert_works(&env.open(Config { page_bytes: 1_000_001, ..Config::default() }));
    Ok(())
}

/// An account's limit: its name is in the refusal, and other accounts are not affected.
pub fn more_bytes_than_an_accounts_limit(env: &Env) -> Result<()> {
    let job = Account::new("job 7", Some(4 << 20));
    let (refusal, held) = exhaust(|| env.device.alloc_charged(1 << 20, &job));
    assert_eq!((&refusal.refused_by, refusal.limit), (&MemoryLimit::Account("job 7".into()), Some(4 << 20)));
    says(&ServerError::OutOfMemory(refusal), &["`job 7`", "raise its limit"]);
    assert_eq!((held.len(), job.used()), (4, 4 << 20));
    let other = env.device.alloc_charged(1 << 20, &Account::new("job 8", None))?;
    drop((held, other));
    assert!(env.device.memory_usage().accounts.iter().all(|(name, bytes)| name != "job 7" || *bytes == 0));
    assert_eq!(env.device.alloc_charged(4 << 20, &job)?.len_bytes(), 4 << 20);
    env.assert_usable(&env.device.stream());
    Ok(())
}

/// C-30, C-96, D11: an owner's allocation that fails, for whatever reason, dooms its window, which reports it; the slot is
/// usable.
pub fn an_allocation_that_fails_in_a_window_dooms_it(env: &Env) -> Result<()> {
    let device = env.open(Config { memory_limit: Some(16 << 20), ..Config::default() });
    let (owner, neighbour) = folded_on(&device);
    let buffer = device.upload(&[1u32; 64])?;
    let over_the_limit = || failure(device.alloc(17 << 20));
    let empty = || failure(device.alloc(0));
    let beyond_64_bits = || failure(device.alloc_for::<u64>(u64::MAX));
    let refusals: [&dyn Fn() -> ServerError; 3] = [&over_the_limit, &empty, &beyond_64_bits];
    let cases = refusals.iter().flat_map(|refusal| [(refusal, &neighbour, false), (refusal, &owner, true)]);
    for (refusal, stream, dooms) in cases {
        owner.graph_prepare()?;
        owner.begin_capture()?;
        owner.fill(&buffer, 2)?;
        let refused = {
            let _pin = stream.id().pin();
            refusal()
        };
        match owner.end_capture() {
            Err(ended) if dooms => assert_eq!(ended.to_string(), refused.to_string()),
            Ok(graph) if !dooms => drop(graph.replay()?.wait()?),
            other => panic!("dooms: {dooms}, ended: {other:?}"),
        }
        assert!(!owner.capture_status().active);
        buffer.write(&[1u32; 64])?;
    }
    assert_works(&device);
    Ok(())
}

/// Buffers, kernels, streams and graphs of another device are refused by name, whatever they are given to.
pub fn handles_of_another_device(env: &Env) -> Result<()> {
    let other = env.open(Config::default());
    let (inc, foreign_kernel) = (env.kernel(kernels::INC), kernel_on(&other, kernels::INC));
    let (mine, theirs) = (env.buffer(&[1; 8]), other.upload(&[2u32; 8])?);
    let stream = env.device.stream();
    let foreign = |error: ServerError, named: &str| {
        assert!(matches!(error, ServerError::ForeignHandle { .. }), "{error:?}");
        says(&error, &[named, "belongs to device", "make it on the device that uses it"]);
    };
    let buffer = format!("buffer {}", theirs.memory_id());
    foreign(failure(env.device.launch(&inc, Grid::stride(8), (&theirs,))), &buffer);
    foreign(failure(env.device.launch(&foreign_kernel, Grid::stride(8), (&mine,))), "kernel `inc`");
    foreign(failure(stream.copy(&theirs, &mine)), &buffer);
    foreign(failure(stream.copy(&mine, &theirs)), &buffer);
    foreign(failure(mine.copy_from(&theirs)), &buffer);
    foreign(failure(stream.fill(&theirs, 0)), &buffer);
    foreign(failure(stream.write(&theirs, &[0u32; 8])), &buffer);
    foreign(failure(stream.upload(&theirs, &[0u32; 8])), &buffer);
    foreign(failure(stream.read::<u32>(&theirs)), &buffer);
    foreign(failure(env.device.adopt(theirs.binding())), &buffer);
    foreign(failure(env.device.capture(|c| c.slot("in", &theirs).map(drop))), &buffer);
    foreign(failure(env.device.capture(|c| c.launch(&inc, Grid::stride(8), (&theirs,)))), &buffer);
    let (graph, ()) = env.device.capture(|c| {
        let slot = c.slot("b", &mine)?;
        c.launch(&inc, Grid::stride(8), (&slot,))
    })?;
    foreign(failure(graph.update(|u| u.bind("b", &theirs))), "b");
    foreign(failure(graph.replay_on_stream(&other.stream())), "stream");
    let unknown = failure(other.with_contract(|server| server.replay(stream.id(), graph.id(), false)));
    assert_eq!(unknown.graph_rule(), Some(&GraphRule::UnknownGraph { graph: graph.id().0 }));
    assert_eq!((mine.read::<u32>()?, theirs.read::<u32>()?), (vec![1; 8], vec![2; 8]));
    assert_works(&other);
    env.assert_usable(&stream);
    Ok(())
}

/// D23: a graph that was destroyed is unknown; its number is never used again, and a second destroy is nothing.
pub fn a_destroyed_graph_is_unknown(env: &Env) -> Result<()> {
    let buffer = env.buffer(&[1; 8]);
    let stream: Stream = env.device.stream();
    let (graph, ()) = env.device.capture(|c| c.fill(&buffer, 2))?;
    let id = graph.id();
    drop(graph);
    let (next, ()) = env.device.capture(|c| c.fill(&buffer, 3))?;
    assert_ne!(next.id(), id);
    for _ in 0..2 {
        let error = failure(env.device.with_contract(|server| server.replay(stream.id(), id, false)));
        assert_eq!(error.graph_rule(), Some(&GraphRule::UnknownGraph { graph: id.0 }));
        says(&error, &["replay:", "capture it again"]);
        env.device.with_contract(|server| server.graph_destroy(id));
    }
    assert_eq!(buffer.read::<u32>()?, [1; 8]);
    next.replay()?;
    assert_eq!(buffer.read::<u32>()?, [3; 8]);
    env.assert_usable(&stream);
    Ok(())
}

/// A policy that no tier of the device can meet is refused with the reasons, and nothing stays behind.
pub fn a_policy_that_cannot_be_met(env: &Env) -> Result<()> {
    use graphreel::{CapturePolicy, Tier};
    let offered = env.device.caps().tiers.clone();
    let Some(missing) = Tier::ALL.into_iter().find(|tier| !offered.contains(tier)) else { return Ok(()) };
    let buffer = env.buffer(&[1; 8]);
    let (owner, _) = env.folded();
    let policy = CapturePolicy::Require(vec![missing]);
    let error = failure(env.device.capture_as(policy.clone(), |c| c.fill(&buffer, 2)));
    assert!(matches!(error, ServerError::TierRefused { .. }), "{error:?}");
    says(&error, &[missing.name(), "GRAPHREEL_TIERS"]);
    let options = graphreel::server::CaptureOptions { policy, label: None };
    let refused = owner.graph_prepare_with(options).and_then(|()| {
        owner.begin_capture()?;
        owner.fill(&buffer, 2)?;
        owner.end_capture().map(drop)
    });
    assert!(matches!(refused, Err(ServerError::TierRefused { .. })), "{refused:?}");
    assert_eq!(buffer.write(&[4u32; 8]).and_then(|()| buffer.read::<u32>())?, [4; 8]);
    env.assert_usable(&owner);
    Ok(())
}
