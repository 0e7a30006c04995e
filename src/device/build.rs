//! Operations from what callers give: the same for streams, captures and profiles.

use bytemuck::NoUninit;

use super::{Args, Buffer, IntoGrid};
use crate::error::Result;
use crate::kernel::Kernel;
use crate::op::{BufferArg, Launch, LaunchIndirect, Op};

pub(super) fn launch(kernel: &Kernel, grid: impl IntoGrid, args: impl Args) -> Result<Op> {
    Ok(Op::Launch(parts(kernel, grid, args)?))
}

pub(super) fn launch_indirect(kernel: &Kernel, counts: BufferArg, max: impl IntoGrid, args: impl Args) -> Result<Op> {
    Ok(Op::LaunchIndirect(LaunchIndirect { launch: parts(kernel, max, args)?, counts }))
}

pub(super) fn upload<T: NoUninit>(buffer: &Buffer, data: &[T]) -> Result<Op> {
    let (dst, bytes) = buffer.host_bytes("upload", data)?;
    Ok(Op::Upload { dst: (&dst).into(), bytes })
}

fn parts(kernel: &Kernel, grid: impl IntoGrid, args: impl Args) -> Result<Launch> {
    let (grid, args) = (grid.into_grid(kernel)?, args.into_list());
    Ok(Launch { kernel: kernel.clone(), grid, buffers: args.buffers, values: args.values, label: None })
}
