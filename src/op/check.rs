//! Whether an operation's arguments fit: done by every server before anything else, so that nothing half-runs.

use super::{BufferArg, GridArg, Launch, LaunchIndirect, Op, ValueArg};
use crate::caps::Caps;
use crate::error::{ArgumentProblem, InvalidArguments, Result, ServerError};
use crate::kernel::{BindingInfo, Kernel};
use crate::memory::{Access, BufferBinding, DeviceId};

/// Bytes that copies, fills and host writes move at once: WebGPU's `COPY_BUFFER_ALIGNMENT`, held on every backend so
/// that a program that runs on one runs on all.
const COPY_ALIGNMENT: u64 = 4;

/// Bytes of an indirect count: three `u32`.
const COUNTS_BYTES: u64 = 12;

const LENGTHS_DIFFER: &str = "the data has another length; slice the buffer to the data";

/// Check `op` against the kernel's reflection and the device's caps. Allocates nothing when all is well.
///
/// # Errors
///
/// `InvalidArguments`, `InvalidGrid`, `InvalidRange` or `ForeignHandle`, naming the argument and the remedy.
pub fn check(op: &Op, caps: &Caps, device: DeviceId) -> Result<()> {
    match op {
        Op::Launch(launch) => check_launch(launch, caps, device),
        Op::LaunchIndirect(indirect) => check_indirect(indirect, caps, device),
        Op::Copy { src, dst } => check_copy(src, dst, device),
        Op::Fill { dst, .. } => check_range("fill", &dst.binding, device),
        Op::Write { dst, bytes } => check_host("write", dst, bytes.len(), device),
        Op::Upload { dst, bytes } => check_host("upload", dst, bytes.len(), device),
    }
}

fn check_launch(launch: &Launch, caps: &Caps, device: DeviceId) -> Result<()> {
    let kernel = &launch.kernel;
    if kernel.device() != device {
        return Err(foreign(format!("kernel `{}`", kernel.entry()), kernel.device(), device));
    }
    check_grid(launch, caps)?;
    check_values(kernel, &launch.values)?;
    let bindings = &kernel.reflection().bindings;
    if launch.buffers.len() != bindings.len() {
        let names = bindings.iter().map(|info| info.name.as_str()).collect::<Vec<_>>().join(", ");
        let given = launch.buffers.len();
        return Err(problem(kernel, ArgumentProblem::BufferCount { expected: bindings.len(), given, names }));
    }
    for (arg, info) in launch.buffers.iter().zip(bindings) {
        check_owner("launch", &arg.binding, device)?;
        check_binding(kernel, arg, info, caps)?;
    }
    check_overlaps(kernel, &launch.buffers)
}

fn check_indirect(indirect: &LaunchIndirect, caps: &Caps, device: DeviceId) -> Result<()> {
    check_launch(&indirect.launch, caps, device)?;
    check_range("launch_indirect", &indirect.counts.binding, device)?;
    let counts = &indirect.counts.binding;
    if counts.len() < COUNTS_BYTES {
        return Err(invalid_range("launch_indirect", counts, "the counts are three u32: 12 bytes are needed"));
    }
    let kernel = &indirect.launch.kernel;
    for (arg, info) in indirect.launch.buffers.iter().zip(&kernel.reflection().bindings) {
        if info.access.is_some_and(Access::writes) && overlap(&arg.binding, counts) {
            let (first, second) = (info.name.clone(), "the indirect counts".to_owned());
            return Err(problem(kernel, ArgumentProblem::Overlap { first, second }));
        }
    }
    Ok(())
}

fn check_grid(launch: &Launch, caps: &Caps) -> Result<()> {
    let max = caps.groups_max.min(super::MAX_GROUPS);
    let refuse = |groups: [u32; 3], remedy: &'static str| {
        let what = launch.kernel.entry().clone();
        Err(ServerError::InvalidGrid { what, groups: groups.map(u64::from), max, remedy })
    };
    let outside = |groups: &[u32; 3]| groups.iter().any(|dimension| *dimension == 0 || *dimension > max);
    let groups = launch.grid.groups();
    if outside(&groups) {
        return refuse(groups, "use more dimensions, or a grid-stride loop with `Grid::stride`");
    }
    if let GridArg::Param { max: most, .. } = &launch.grid {
        if outside(most) {
            return refuse(*most, "give a smaller maximum to `c.grid_param`");
        }
        if groups.iter().zip(most).any(|(groups, most)| groups > most) {
            return refuse(groups, "the first grid of `c.grid_param` must lie within its own maximum");
        }
    }
    Ok(())
}

fn check_values(kernel: &Kernel, values: &[ValueArg]) -> Result<()> {
    let members = &kernel.reflection().immediates;
    if values.len() != members.len() {
        let names = members.iter().map(|member| format!("{}: {}", member.name, member.ty)).collect::<Vec<_>>();
        let (expected, given, names) = (members.len(), values.len(), names.join(", "));
        return Err(problem(kernel, ArgumentProblem::ScalarCount { expected, given, names }));
    }
    for (value, member) in values.iter().zip(members) {
        let given = value.value().ty();
        if given != member.ty {
            let (name, expected, given) = (member.name.clone(), member.ty.to_string(), given.to_string());
            return Err(problem(kernel, ArgumentProblem::ScalarType { name, expected, given }));
        }
    }
    Ok(())
}

fn check_binding(kernel: &Kernel, arg: &BufferArg, info: &BindingInfo, caps: &Caps) -> Result<()> {
    let (range, len) = (arg.binding.range(), arg.binding.len());
    if len < info.min_bytes || len == 0 {
        let (name, need) = (info.name.clone(), info.min_bytes.max(1));
        return Err(problem(kernel, ArgumentProblem::BufferTooSmall { name, need, have: len }));
    }
    let misplaced = |rule: String| {
        let name = info.name.clone();
        Err(problem(kernel, ArgumentProblem::BufferAlignment { name, offset: range.start, size: len, rule }))
    };
    let alignment = caps.binding_alignment.max(u64::from(info.align));
    if range.start % alignment != 0 {
        return misplaced(format!("a bound offset must be a multiple of {alignment} on this device"));
    }
    if len % COPY_ALIGNMENT != 0 && range.end != arg.binding.size {
        return misplaced("a bound size must be a multiple of 4, or reach the end of the buffer".to_owned());
    }
    if len > caps.binding_bytes_max {
        return misplaced(format!("this device binds at most {} bytes; bind a slice", caps.binding_bytes_max));
    }
    match (arg.access, info.access) {
        (None, _) => Ok(()),
        (Some(Access::WritePart), Some(used)) if used.writes() => Ok(()),
        (Some(given), Some(used)) if given == used => Ok(()),
        (Some(given), used) => {
            let used = used.map_or("not at all".to_owned(), |used| used.to_string());
            let (name, given) = (info.name.clone(), given.to_string());
            Err(problem(kernel, ArgumentProblem::Access { name, given, used }))
        }
    }
}

fn check_overlaps(kernel: &Kernel, buffers: &[BufferArg]) -> Result<()> {
    let bindings = &kernel.reflection().bindings;
    for (index, (first, first_info)) in buffers.iter().zip(bindings).enumerate() {
        for (second, second_info) in buffers.iter().zip(bindings).skip(index + 1) {
            let written = [first_info, second_info].iter().any(|info| info.access.is_some_and(Access::writes));
            if written && overlap(&first.binding, &second.binding) {
                let (first, second) = (first_info.name.clone(), second_info.name.clone());
                return Err(problem(kernel, ArgumentProblem::Overlap { first, second }));
            }
        }
    }
    Ok(())
}

fn check_copy(src: &BufferArg, dst: &BufferArg, device: DeviceId) -> Result<()> {
    check_range("copy", &src.binding, device)?;
    check_range("copy", &dst.binding, device)?;
    let complain =
        |text: String| Err(InvalidArguments { kernel: "copy".to_owned(), problem: ArgumentProblem::Copy(text) }.into());
    let (from, to) = (src.binding.len(), dst.binding.len());
    if from != to {
        return complain(format!("the source has {from} bytes and the destination {to}; slice one of them"));
    }
    if overlap(&src.binding, &dst.binding) {
        return complain("the source and the destination overlap; copy through a third buffer".to_owned());
    }
    Ok(())
}

fn check_host(op: &'static str, dst: &BufferArg, bytes: usize, device: DeviceId) -> Result<()> {
    check_range(op, &dst.binding, device)?;
    if dst.binding.len() != bytes as u64 {
        return Err(invalid_range(op, &dst.binding, LENGTHS_DIFFER));
    }
    Ok(())
}

/// Check a write of `bytes` staged bytes.
///
/// # Errors
///
/// As [`check`] of a write.
pub fn check_staged(dst: &BufferBinding, bytes: u64, device: DeviceId) -> Result<()> {
    check_range("write", dst, device)?;
    if dst.len() != bytes {
        return Err(invalid_range("write", dst, LENGTHS_DIFFER));
    }
    Ok(())
}

/// Check a range that a copy, a fill or the host reads or writes.
///
/// # Errors
///
/// `InvalidRange` or `ForeignHandle`.
pub fn check_range(op: &'static str, binding: &BufferBinding, device: DeviceId) -> Result<()> {
    check_owner(op, binding, device)?;
    let range = binding.range();
    if range.is_empty() {
        return Err(invalid_range(op, binding, "the range is empty; name at least one byte"));
    }
    if !range.start.is_multiple_of(COPY_ALIGNMENT) {
        return Err(invalid_range(op, binding, "the first byte must be a multiple of 4"));
    }
    if !range.end.is_multiple_of(COPY_ALIGNMENT) && range.end != binding.size {
        return Err(invalid_range(op, binding, "the length must be a multiple of 4, or reach the end of the buffer"));
    }
    Ok(())
}

fn check_owner(op: &'static str, binding: &BufferBinding, device: DeviceId) -> Result<()> {
    if binding.memory.device() != device {
        return Err(foreign(format!("buffer {}", binding.memory.id()), binding.memory.device(), device));
    }
    if let Some(closed) = binding.memory.revoked() {
        return Err(closed);
    }
    let (start, trim) = (binding.offset_start.unwrap_or(0), binding.offset_end.unwrap_or(0));
    let within = start.checked_add(trim).is_some_and(|cut| cut <= binding.size);
    // A smaller size would make bytes in the middle of the memory count as its end, behind which lies padding.
    if !within || binding.size != binding.memory.size() {
        return Err(invalid_range(op, binding, "the offsets lie outside the buffer, or its size is not its memory's"));
    }
    Ok(())
}

fn overlap(a: &BufferBinding, b: &BufferBinding) -> bool {
    let (ra, rb) = (a.range(), b.range());
    a.memory.id() == b.memory.id() && ra.start < rb.end && rb.start < ra.end
}

fn problem(kernel: &Kernel, problem: ArgumentProblem) -> ServerError {
    InvalidArguments { kernel: kernel.entry().to_string(), problem }.into()
}

fn invalid_range(op: &'static str, binding: &BufferBinding, problem: &'static str) -> ServerError {
    ServerError::InvalidRange { op, range: binding.range(), size: binding.size, problem }
}

fn foreign(what: String, of: DeviceId, here: DeviceId) -> ServerError {
    ServerError::ForeignHandle { what: what.into(), of: of.0, here: here.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{BindingSpace, MemberInfo, Reflection, ScalarType, Value, ValueType, Wgsl};
    use crate::memory::{Handle, MemoryService};
    use crate::stream::StreamId;

    fn binding(index: u32, name: &str, access: Access) -> BindingInfo {
        BindingInfo {
            group: 0,
            binding: index,
            name: name.to_owned(),
            space: BindingSpace::Storage,
            declared_write: true,
            access: Some(access),
            min_bytes: 4,
            runtime_stride: Some(4),
            runtime_offset: 0,
            align: 4,
        }
    }

    fn saxpy(device: DeviceId) -> Kernel {
        let ty = ValueType { scalar: ScalarType::F32, lanes: 1 };
        let reflection = Reflection {
            entry: "saxpy".into(),
            bindings: vec![binding(0, "x", Access::Read), binding(1, "y", Access::ReadWrite)],
            immediates: vec![MemberInfo { name: "a".to_owned(), ty, offset: 0 }],
            immediate_bytes: 4,
            workgroup_size: [64, 1, 1],
            workgroup_bytes: 0,
            uses_num_workgroups: false,
            needs: Vec::new(),
        };
        Kernel::new(device, Wgsl::new("").into(), reflection, Box::new(()))
    }

    struct Fixture {
        service: MemoryService,
        kernel: Kernel,
    }

    impl Fixture {
        fn new() -> Self {
            let service = MemoryService::new();
            let kernel = saxpy(service.device());
            Self { service, kernel }
        }

        fn buffer(&self, bytes: u64) -> BufferArg {
            Handle::new(&self.service, StreamId { value: 1 }, bytes).binding().into()
        }

        fn launch(&self, buffers: Vec<BufferArg>) -> Launch {
            let values = vec![ValueArg::Baked(Value::from(0.5f32))];
            Launch { kernel: self.kernel.clone(), grid: GridArg::Fixed([1, 1, 1]), buffers, values, label: None }
        }

        fn check(&self, launch: Launch) -> Result<()> {
            check(&Op::Launch(launch), &Caps::minimal(), self.service.device())
        }

        fn problem(&self, launch: Launch) -> ArgumentProblem {
            match self.check(launch) {
                Err(ServerError::InvalidArguments(error)) => error.problem.clone(),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_fitting_launch_passes() {
        let fixture = Fixture::new();
        fixture.check(fixture.launch(vec![fixture.buffer(16), fixture.buffer(16)])).unwrap();
    }

    #[test]
    fn counts_types_and_sizes_are_named() {
        let fixture = Fixture::new();
        let one = fixture.launch(vec![fixture.buffer(16)]);
        assert!(matches!(fixture.problem(one), ArgumentProblem::BufferCount { expected: 2, given: 1, .. }));
        let mut launch = fixture.launch(vec![fixture.buffer(16), fixture.buffer(16)]);
        launch.values = vec![ValueArg::Baked(Value::from(1u32))];
        assert!(matches!(fixture.problem(launch.clone()), ArgumentProblem::ScalarType { .. }));
        launch.values.clear();
        assert!(matches!(fixture.problem(launch), ArgumentProblem::ScalarCount { expected: 1, given: 0, .. }));
        let small = fixture.launch(vec![fixture.buffer(2), fixture.buffer(16)]);
        assert!(matches!(fixture.problem(small), ArgumentProblem::BufferTooSmall { need: 4, have: 2, .. }));
    }

    #[test]
    fn misaligned_overlapping_and_misdeclared_buffers_are_refused() {
        let fixture = Fixture::new();
        let whole = fixture.buffer(1024);
        let part = |range| BufferArg::from(whole.binding.slice(range).unwrap());
        let odd = fixture.launch(vec![part(4..64), fixture.buffer(16)]);
        assert!(matches!(fixture.problem(odd), ArgumentProblem::BufferAlignment { offset: 4, .. }));
        let short = fixture.launch(vec![part(0..6), fixture.buffer(16)]);
        assert!(matches!(fixture.problem(short), ArgumentProblem::BufferAlignment { size: 6, .. }));
        let overlapping = fixture.launch(vec![part(0..512), part(256..1024)]);
        assert!(matches!(fixture.problem(overlapping), ArgumentProblem::Overlap { .. }));
        fixture.check(fixture.launch(vec![part(0..256), part(256..1024)])).unwrap();
        let mut read = fixture.buffer(16);
        read.access = Some(Access::WritePart);
        let misdeclared = fixture.launch(vec![read, fixture.buffer(16)]);
        assert!(matches!(fixture.problem(misdeclared), ArgumentProblem::Access { .. }));
    }

    #[test]
    fn grids_stay_within_the_bound_in_every_dimension() {
        let fixture = Fixture::new();
        for groups in [[0, 1, 1], [1, 65_536, 1], [1, 1, 0]] {
            let mut launch = fixture.launch(vec![fixture.buffer(16), fixture.buffer(16)]);
            launch.grid = GridArg::Fixed(groups);
            assert!(matches!(fixture.check(launch), Err(ServerError::InvalidGrid { .. })));
        }
        let mut launch = fixture.launch(vec![fixture.buffer(16), fixture.buffer(16)]);
        launch.grid = GridArg::Param { name: "n".into(), groups: [5, 1, 1], max: [4, 1, 1] };
        assert!(matches!(fixture.check(launch), Err(ServerError::InvalidGrid { .. })));
    }

    #[test]
    fn foreign_handles_and_bad_ranges_are_refused() {
        let fixture = Fixture::new();
        let foreign = Fixture::new().buffer(16);
        let launch = fixture.launch(vec![foreign.clone(), fixture.buffer(16)]);
        assert!(matches!(fixture.check(launch), Err(ServerError::ForeignHandle { .. })));
        let check = |op: Op| check(&op, &Caps::minimal(), fixture.service.device());
        let src = fixture.buffer(16);
        let copy = |src: &BufferArg, dst: BufferArg| check(Op::Copy { src: src.clone(), dst });
        assert!(copy(&src, fixture.buffer(12)).is_err());
        assert!(copy(&src, src.clone()).is_err());
        copy(&src, fixture.buffer(16)).unwrap();
        let mut outside = fixture.buffer(16);
        outside.binding.offset_start = Some(u64::MAX);
        outside.binding.offset_end = Some(2);
        assert!(matches!(check(Op::Fill { dst: outside, word: 0 }), Err(ServerError::InvalidRange { .. })));
        let mut short = fixture.buffer(16);
        short.binding.size = 5;
        assert!(matches!(check(Op::Fill { dst: short, word: 0 }), Err(ServerError::InvalidRange { .. })));
        let write = check(Op::Write { dst: fixture.buffer(5), bytes: [1u8; 4].into() });
        assert!(matches!(write, Err(ServerError::InvalidRange { .. })));
        check(Op::Write { dst: fixture.buffer(5), bytes: [1u8; 5].into() }).unwrap();
    }
}
