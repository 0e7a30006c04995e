//! Work that is given to streams and done.

use std::ffi::c_char;
use std::ptr::null_mut;

use graphreel_hip_sys::constant::{
    hipDeviceAttributeIsLargeBar, hipDeviceAttributeWarpSize, hipMemcpyDeviceToHost, hipMemcpyHostToDevice,
};
use graphreel_swhsa_rig::everywhere;

use super::hip::{Hip, ok, text};

#[test]
fn the_device_is_what_was_asked_for() {
    everywhere("eager::the_device_is_what_was_asked_for", || {
        let hip = Hip::bare();
        let asked = std::env::var("GRAPHREEL_SWHSA").unwrap();
        let mut name: [c_char; 256] = [0; 256];
        ok(hip.hipDeviceGetName(name.as_mut_ptr(), 256, 0));
        assert!(text(&name).contains("software device"), "it says what it is");
        assert!(hip.architecture().starts_with(&asked));
        let (mut wave, mut window, mut count) = (0, 1, 0);
        ok(hip.hipDeviceGetAttribute(&raw mut wave, hipDeviceAttributeWarpSize, 0));
        assert_eq!(wave, if asked == "gfx90a" { 64 } else { 32 });
        ok(hip.hipDeviceGetAttribute(&raw mut window, hipDeviceAttributeIsLargeBar, 0));
        assert_eq!(window, 0, "the host has no window into the device");
        ok(hip.hipGetDeviceCount(&raw mut count));
        assert_eq!(count, 1);
    });
}

#[test]
fn copies_and_fills_of_any_size_are_right() {
    everywhere("eager::copies_and_fills_of_any_size_are_right", || {
        let hip = Hip::bare();
        let stream = hip.stream();
        for words in [1, 3, 16, 1000, 70_001] {
            let (a, b) = (hip.device_memory(words * 4 + 64), hip.device_memory(words * 4 + 64));
            let source = hip.pinned(words, 0);
            (0..words).for_each(|at| source.set(at, u32::try_from(at).unwrap() * 3 + 1));
            ok(hip.hipMemcpyHtoDAsync(a, source.address.cast(), words * 4, stream));
            ok(hip.hipMemcpyDtoDAsync(b.wrapping_byte_add(4), a, words * 4, stream));
            assert_eq!(hip.words(b.wrapping_byte_add(4), words, stream), source.all());
            ok(hip.hipMemsetD32Async(a, 0x0102_0304, words, stream));
            ok(hip.hipMemsetD8Async(a.wrapping_byte_add(1), 0x77, 2, stream));
            let filled = hip.words(a, words, stream);
            assert_eq!(filled[0], 0x0177_7704);
            assert!(filled[1..].iter().all(|word| *word == 0x0102_0304));
            // Through memory that is not pinned, which the runtime stages or locks.
            let mut own: Vec<u32> = (0..u32::try_from(words).unwrap()).rev().collect();
            ok(hip.hipMemcpyAsync(b, own.as_ptr().cast(), words * 4, hipMemcpyHostToDevice, stream));
            ok(hip.hipStreamSynchronize(stream));
            let expected = own.clone();
            own.fill(0);
            ok(hip.hipMemcpyAsync(own.as_mut_ptr().cast(), b, words * 4, hipMemcpyDeviceToHost, stream));
            ok(hip.hipStreamSynchronize(stream));
            assert_eq!(own, expected);
            ok(hip.hipFree(a));
            ok(hip.hipFree(b));
            ok(hip.hipHostFree(source.address.cast()));
        }
        ok(hip.hipStreamDestroy(stream));
    });
}

#[test]
fn launches_and_events_keep_their_order_across_streams() {
    everywhere("eager::launches_and_events_keep_their_order_across_streams", || {
        let hip = Hip::open();
        let streams = [hip.stream(), hip.stream(), hip.stream()];
        let x = hip.device_memory(4000);
        ok(hip.hipMemsetD32Async(x, 0, 1000, streams[0]));
        let mut expected = 0.0f32;
        for round in 0..30 {
            let (from, to) = (streams[round % 3], streams[(round + 1) % 3]);
            ok(hip.launch(x, 1000, 2.0, from));
            expected = if expected > 1e6 { expected } else { expected * 2.0 + 1.0 };
            if expected > 1e6 {
                ok(hip.hipMemsetD32Async(x, 0, 1000, from));
                expected = 0.0;
            }
            let event = hip.event();
            ok(hip.hipEventRecord(event, from));
            ok(hip.hipStreamWaitEvent(to, event, 0));
            ok(hip.hipEventDestroy(event));
        }
        assert_eq!(hip.floats(x, 1000, streams[0]), [expected; 1000]);
        ok(hip.hipFree(x));
    });
}

#[test]
fn events_tell_time() {
    everywhere("eager::events_tell_time", || {
        let hip = Hip::open();
        let (stream, from, to, x) = (hip.stream(), hip.event(), hip.event(), hip.device_memory(4000));
        ok(hip.hipMemsetD32Async(x, 0, 1000, stream));
        ok(hip.hipEventRecord(from, stream));
        ok(hip.launch(x, 1000, 2.0, stream));
        ok(hip.hipEventRecord(to, stream));
        ok(hip.hipStreamSynchronize(stream));
        assert_eq!(hip.hipEventQuery(to), 0);
        let mut milliseconds = -1.0;
        ok(hip.hipEventElapsedTime(&raw mut milliseconds, from, to));
        assert!((0.0..10_000.0).contains(&milliseconds), "{milliseconds} ms");
    });
}

#[test]
fn memory_of_pools_is_right() {
    everywhere("eager::memory_of_pools_is_right", || {
        let hip = Hip::open();
        let stream = hip.stream();
        let mut pool = null_mut();
        ok(hip.hipDeviceGetDefaultMemPool(&raw mut pool, 0));
        for count in [10, 1000, 300_000usize] {
            let (mut a, mut b) = (null_mut(), null_mut());
            ok(hip.hipMallocAsync(&raw mut a, count * 4, stream));
            ok(hip.hipMallocFromPoolAsync(&raw mut b, count * 4, pool, stream));
            ok(hip.hipMemsetD32Async(a, 2.0f32.to_bits().cast_signed(), count, stream));
            ok(hip.launch(a, u32::try_from(count).unwrap(), 3.0, stream));
            ok(hip.hipMemcpyDtoDAsync(b, a, count * 4, stream));
            ok(hip.hipFreeAsync(a, stream));
            assert_eq!(hip.floats(b, count, stream), vec![7.0; count]);
            ok(hip.hipFreeAsync(b, stream));
        }
        ok(hip.hipStreamSynchronize(stream));
        ok(hip.hipMemPoolTrimTo(pool, 0));
    });
}
