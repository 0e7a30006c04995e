//! Makes work from what a call was given, and refuses what no device could do.

use graphreel::graph::driver::{CopyEnd, DriverCaps, KernelParams, LaunchShape, NodeCopy, NodeFill};
use graphreel::kernel::ADDRESS_ALIGNMENT;
use graphreel::memory::Access as MemoryAccess;
use graphreel::sync::Arc;

use crate::failure::{Answer, Fail, Rule};
use crate::handle::SimFunction;
use crate::hazard::Access;
use crate::op::{Code, End, Launch, Op, Use, Work};
use crate::raw::{HostRange, ParamValues, read_params};
use crate::state::State;

impl State {
    pub(crate) fn copy_name(&self, copy: &NodeCopy) -> String {
        let end = |end| match end {
            CopyEnd::Device(address) => self.space.name(address.0.get()),
            CopyEnd::Host(address) => self.pinned.name(address),
        };
        format!("{} <- {} x{}", end(copy.dst), end(copy.src), copy.bytes)
    }

    pub(crate) fn fill_name(&self, fill: &NodeFill) -> String {
        format!("{} = {:#x} x{}", self.space.name(fill.dst.0.get()), fill.word, fill.words)
    }

    pub(crate) fn launch_name(&self, function: SimFunction, shape: &LaunchShape) -> String {
        let code = self.code(function.module).ok();
        let entry = code.as_ref().map_or("?", |code| code.entry());
        let [x, y, z] = shape.groups;
        format!("{function} {entry} {x}x{y}x{z}")
    }

    /// # Safety
    ///
    /// Host ranges are live, and unused by others, whenever the work runs.
    #[expect(unsafe_code, reason = "the driver's caller vouches for host ranges")]
    pub(crate) unsafe fn copy_work(&self, copy: &NodeCopy) -> Result<Work, Fail> {
        let bytes = copy.bytes.get();
        let mut accesses = Vec::with_capacity(2);
        let mut end = |end, write| -> Result<End, Fail> {
            match end {
                CopyEnd::Device(address) => {
                    let start = address.0.get();
                    accesses.push(Access { of: self.space.find(start, bytes)?, start, bytes, write });
                    Ok(End::Device(start))
                }
                CopyEnd::Host(start) => {
                    let found = self.pinned.find(start, copy.bytes)?;
                    let address = start.0.addr().get() as u64;
                    accesses.extend(found.iter().map(|(of, _)| Access { of: *of, start: address, bytes, write }));
                    // SAFETY: the caller vouches for the range.
                    let range = unsafe { HostRange::new(start, copy.bytes) };
                    Ok(End::Host { range, _block: found.map(|(_, block)| block) })
                }
            }
        };
        let (src, dst) = (end(copy.src, false)?, end(copy.dst, true)?);
        match (&src, &dst) {
            (End::Device(src), End::Device(dst)) if src.abs_diff(*dst) < copy.bytes.get() => {
                Fail::misuse(Rule::Overlap, self.copy_name(copy))
            }
            (End::Host { .. }, End::Host { .. }) => Fail::misuse(Rule::HostToHost, self.copy_name(copy)),
            _ => Ok(Work::new(Op::Copy { src, dst, bytes: copy.bytes }, accesses)),
        }
    }

    pub(crate) fn fill_work(&self, fill: &NodeFill) -> Result<Work, Fail> {
        let dst = fill.dst.0.get();
        if !dst.is_multiple_of(4) {
            return Fail::misuse(Rule::Misaligned, self.fill_name(fill));
        }
        // So many words that their bytes have no number are past every end.
        let bytes = fill.words.get().saturating_mul(4);
        let accesses = vec![Access { of: self.space.find(dst, bytes)?, start: dst, bytes, write: true }];
        Ok(Work::new(Op::Fill { dst, word: fill.word, words: fill.words.get() }, accesses))
    }

    /// # Safety
    ///
    /// `params` has one pointer for each parameter of the function, to a live value of its size.
    #[expect(unsafe_code, reason = "parameters are pointers")]
    pub(crate) unsafe fn launch_work(
        &self,
        caps: &DriverCaps,
        function: SimFunction,
        shape: &LaunchShape,
        params: KernelParams<'_>,
    ) -> Result<Work, Fail> {
        self.of_this(function.instance, function)?;
        let code = self.code(function.module)?;
        let dynamic_bytes_max = self.dynamic_bytes_max(caps, function.module)?;
        fits(caps, &code, shape, dynamic_bytes_max)?;
        if params.len() != code.params.len() {
            let detail = format!("`{}` takes {} and was given {}", code.entry(), code.params.len(), params.len());
            return Fail::misuse(Rule::BadParams, detail);
        }
        // SAFETY: there are as many pointers as parameters; the caller vouches for what each leads to.
        let Some(values) = (unsafe { read_params(params, &code.params) }) else {
            return Fail::misuse(Rule::BadParams, format!("one of `{}` is null", code.entry()));
        };
        self.launch_of(function.module, code, shape.groups, values)
    }

    fn launch_of(&self, module: u64, code: Arc<Code>, groups: [u32; 3], values: ParamValues) -> Result<Work, Fail> {
        let mut accesses = Vec::with_capacity(values.bindings.len() + 1);
        let mut bindings = Vec::with_capacity(values.bindings.len());
        for (info, (address, elements)) in code.program.reflection().bindings.iter().zip(values.bindings) {
            if elements == Some(0) {
                return Fail::misuse(Rule::BadParams, format!("`{}` of `{}` has no element", info.name, code.entry()));
            }
            // The count leaves a partial element out, and the size of a structure with one element is rounded up.
            let array = u64::from(info.runtime_stride.unwrap_or(0)) * u64::from(elements.unwrap_or(0));
            let bytes = info.min_bytes.max(u64::from(info.runtime_offset) + array);
            if !address.is_multiple_of(ADDRESS_ALIGNMENT) {
                let detail = format!("`{}` of `{}` at {}", info.name, code.entry(), self.space.name(address));
                return Fail::misuse(Rule::Misaligned, detail);
            }
            // Bytes that it never touches must be there all the same; they meet nobody.
            let touched = if info.access.is_some() { bytes } else { 0 };
            let write = info.access.is_some_and(|access| access != MemoryAccess::Read);
            accesses.push(Access { of: self.space.find(address, bytes)?, start: address, bytes: touched, write });
            bindings.push((address, bytes));
        }
        if let Some(counts) = values.counts {
            if !counts.is_multiple_of(4) {
                return Fail::misuse(Rule::Misaligned, format!("counts at {}", self.space.name(counts)));
            }
            accesses.push(Access { of: self.space.find(counts, 12)?, start: counts, bytes: 12, write: false });
        }
        let launch = Launch { code, groups, scalars: values.scalars, bindings, counts: values.counts };
        let mut work = Work::new(Op::Launch(launch), accesses);
        work.uses.push(Use::Module(module));
        Ok(work)
    }
}

/// Refuse a shape that the kernel was not compiled for, or the device does not take.
fn fits(caps: &DriverCaps, code: &Code, shape: &LaunchShape, dynamic_bytes_max: u32) -> Result<(), Fail> {
    let reflection = code.program.reflection();
    if shape.threads != reflection.workgroup_size {
        let detail = format!("`{}` has {:?} threads, not {:?}", code.entry(), reflection.workgroup_size, shape.threads);
        return Fail::misuse(Rule::BadShape, detail);
    }
    if shape.groups.iter().zip(caps.groups_max).any(|(groups, most)| !(1..=most).contains(groups)) {
        return Fail::misuse(Rule::BadShape, format!("grid {:?} of `{}`", shape.groups, code.entry()));
    }
    let mut items = shape.groups.iter().zip(shape.threads).map(|(groups, size)| u64::from(*groups) * u64::from(size));
    if items.any(|items| items > caps.launch_items_max) {
        let detail = format!("grid {:?} of `{}` has too many threads", shape.groups, code.entry());
        return Fail::misuse(Rule::BadShape, detail);
    }
    if shape.shared_bytes > dynamic_bytes_max {
        let name = format!("`{}` with {} bytes of workgroup memory", code.entry(), shape.shared_bytes);
        return Err(Answer::refused(1, name).into());
    }
    Ok(())
}
