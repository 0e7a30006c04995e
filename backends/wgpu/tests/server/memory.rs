//! A device that runs out of memory. Only a software device can be made to: its memory is the process's address space,
//! which a process of its own is given little of.

use std::process::Command;

use graphreel::error::MemoryLimit;
use graphreel::op::Op;
use graphreel::{DeviceKind, Server, ServerError};

use crate::rig::{Rig, launch, rig};

/// Set in the process whose memory is limited.
const LIMITED: &str = "ADDRESS_SPACE_IS_LIMITED";
const BUFFER_BYTES: u64 = 48 << 20;
const ROOM_BYTES: u64 = 512 << 20;

const COUNT: &str = "
@group(0) @binding(0) var<storage, read_write> words: array<u32>;
@compute @workgroup_size(1)
fn count() { words[0] += 1u; }
";

#[test]
fn memory_that_bind_groups_keep_is_given_back_before_an_allocation_fails() {
    if std::env::var_os(LIMITED).is_some() {
        return fill_and_ask_for_other_sizes();
    }
    let Some(rig) = rig() else { return };
    let has_prlimit = Command::new("prlimit").arg("--version").output().is_ok_and(|output| output.status.success());
    if rig.server.info().kind != DeviceKind::Software || !has_prlimit {
        return;
    }
    let test = "memory::memory_that_bind_groups_keep_is_given_back_before_an_allocation_fails";
    let child =
        Command::new(std::env::current_exe().expect("this test")).args(["--exact", test]).env(LIMITED, "1").output();
    let child = child.expect("this test starts again");
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
}

fn fill_and_ask_for_other_sizes() {
    let mut rig = rig().expect("the parent had a device");
    let kernel = rig.kernel(COUNT);
    let mut held = vec![used(&mut rig, &kernel, BUFFER_BYTES).expect("memory is not limited yet")];
    limit_address_space();
    let refused = loop {
        match used(&mut rig, &kernel, BUFFER_BYTES) {
            Ok(handle) => held.push(handle),
            Err(error) => break error,
        }
        assert!(held.len() < 100, "memory is limited");
    };
    let by_device = matches!(&refused, ServerError::OutOfMemory(refusal) if refusal.refused_by == MemoryLimit::Device);
    assert!(by_device, "{refused}");
    assert!(held.len() > 3, "{} buffers", held.len());
    let bytes = held.len() as u64 * BUFFER_BYTES / 2;
    held.clear();
    // No free page serves this one, and what they take is more than what is left.
    used(&mut rig, &kernel, bytes).expect("twice as much is free");
}

/// A buffer that a launch has used, which is done.
fn used(rig: &mut Rig, kernel: &graphreel::kernel::Kernel, bytes: u64) -> graphreel::Result<graphreel::memory::Handle> {
    let account = rig.account.clone();
    let handle = rig.server.alloc(crate::rig::OWNER, bytes, &account)?;
    let mut op = launch(kernel, 1, &[], &[]);
    op.buffers = vec![handle.binding().slice(0..4).expect("its first word").into()];
    rig.run(Op::Launch(op));
    assert_eq!(rig.try_read::<u32>(&handle.binding().slice(0..4).expect("its first word")).expect("a word"), [1]);
    Ok(handle)
}

fn limit_address_space() {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells it");
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")?.trim().strip_suffix(" kB"));
    let size: u64 = size.and_then(|size| size.trim().parse().ok()).expect("a number of KiB");
    let limit = format!("--as={}", size * 1024 + ROOM_BYTES);
    let done = Command::new("prlimit").args(["--pid", &std::process::id().to_string(), &limit]).status();
    assert!(done.is_ok_and(|status| status.success()), "the limit is set");
}
