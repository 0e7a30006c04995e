//! What fails on demand, what is never registered, and what the host may not touch.
#![expect(unsafe_code, reason = "a test reads what it must not")]

use std::os::unix::process::ExitStatusExt;
use std::ptr::null_mut;

use graphreel_swhsa_rig::{FaultKind, ending, everywhere};

use super::hip::{Hip, SCALE, THREADS, ok};

/// The first code that is none of success; 0 where all are.
fn first_error<const N: usize>(codes: [u32; N]) -> u32 {
    codes.into_iter().find(|code| *code != 0).unwrap_or(0)
}

#[test]
fn an_allocation_fails_once_and_the_next_does_not() {
    everywhere("faults::an_allocation_fails_once_and_the_next_does_not", || {
        let hip = Hip::bare();
        let first = hip.device_memory(64 << 20);
        hip.control.fault(FaultKind::DeviceMemory, 0, 1, 0x1008);
        let mut address = null_mut();
        assert_eq!(hip.hipMalloc(&raw mut address, 64 << 20), 2, "out of memory");
        hip.control.fault_clear();
        ok(hip.hipMalloc(&raw mut address, 64 << 20));
        ok(hip.hipFree(address));
        ok(hip.hipFree(first));
        // More than the device has.
        assert_eq!(hip.hipMalloc(&raw mut address, 9 << 30), 2);
    });
}

#[test]
fn an_unknown_kernel_is_never_silent() {
    let body = || {
        let hip = Hip::bare();
        let image = hip.compile(SCALE);
        let (_, function) = hip.load(&image, c"scale");
        let (mut x, mut count, mut factor) = (hip.device_memory(4096), 64u32, 2.0f32);
        let mut params = [(&raw mut x).cast(), (&raw mut count).cast(), (&raw mut factor).cast()];
        let (stream, params) = (hip.stream(), params.as_mut_ptr());
        let launched = hip.hipModuleLaunchKernel(function, 1, 1, 1, THREADS, 1, 1, 0, stream, params, null_mut());
        // Newer runtimes answer an error, at whichever call comes after it; older ones end the process.
        panic!("it answered {}", first_error([launched, hip.hipStreamSynchronize(stream)]));
    };
    ending("faults::an_unknown_kernel_is_never_silent", body, |ended| {
        assert!(!ended.status.success());
        assert!(ended.text.contains("kernel `scale` of code object"), "{}", ended.text);
        let answered = ended.text.contains("it answered 719");
        let aborted = ended.status.signal() == Some(6);
        assert!(answered || aborted, "{}: {}", ended.status, ended.text);
    });
}

#[test]
fn a_fault_of_the_device_reaches_the_program() {
    let body = || {
        let hip = Hip::open();
        let (stream, x) = (hip.stream(), hip.device_memory(4096));
        hip.control.fault(FaultKind::Dispatch, 1, 1, 43);
        let launched = [hip.launch(x, 64, 1.0, stream), hip.launch(x, 64, 1.0, stream)];
        let waited = hip.hipStreamSynchronize(stream);
        panic!("it answered {}", first_error([launched[0], launched[1], waited]));
    };
    ending("faults::a_fault_of_the_device_reaches_the_program", body, |ended| {
        assert!(ended.text.contains("a fault was asked for"), "{}", ended.text);
        let answered = ended.text.contains("it answered") && !ended.text.contains("it answered 0");
        assert!(answered || ended.status.signal() == Some(6), "{}: {}", ended.status, ended.text);
    });
}

#[test]
fn the_host_cannot_read_device_memory() {
    let body = || {
        let hip = Hip::bare();
        let x = hip.device_memory(4096);
        // SAFETY: it is not, which is what the test shows; the process ends here.
        let word = unsafe { x.cast::<u32>().read_volatile() };
        panic!("the host read {word:#x}");
    };
    ending("faults::the_host_cannot_read_device_memory", body, |ended| {
        assert_eq!(ended.status.signal(), Some(11), "{}", ended.text);
    });
}

#[test]
fn a_copy_that_fails_ends_and_changes_nothing() {
    everywhere("faults::a_copy_that_fails_ends_and_changes_nothing", || {
        // Smaller copies are made by a kernel.
        const WORDS: usize = 2 << 20;
        let hip = Hip::bare();
        if hip.library.version.release() >= (7, 0) {
            println!("HIP 7 waits for ever for a copy whose signal is below zero: nothing to see");
            return;
        }
        let (stream, x) = (hip.stream(), hip.device_memory(WORDS * 4));
        ok(hip.hipMemsetD32Async(x, 7, WORDS, stream));
        let source = hip.pinned(WORDS, 5);
        ok(hip.hipStreamSynchronize(stream));
        hip.control.fault(FaultKind::Copy, 0, 1, 0);
        let copied = hip.hipMemcpyHtoDAsync(x, source.address.cast(), WORDS * 4, stream);
        let code = first_error([copied, hip.hipStreamSynchronize(stream)]);
        // HIP 6.4 takes a signal below zero for an end like any other.
        assert_eq!((code, hip.control.fault_clear()), (0, 0));
        assert!(hip.words(x, WORDS, stream).iter().all(|word| *word == 7), "nothing was copied");
    });
}
