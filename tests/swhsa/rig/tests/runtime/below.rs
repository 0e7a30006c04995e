//! What is below the runtime: the software device, which is told what kernels do.
#![expect(unsafe_code, reason = "functions are vouched for, and read what a launch gives")]

use std::ffi::{CStr, c_void};

use graphreel_swhsa_rig::{Body, Control};

use super::hip::{Hip, THREADS};

/// The device's control interface.
pub(crate) type Below = Control;

/// The device below the runtime.
pub(crate) fn open() -> Below {
    Control::open().expect("the device is below it")
}

/// Let the kernel that each test has run.
pub(crate) fn register_scale(hip: &Hip, image: &[u8]) {
    hip.register(image, c"scale", scale);
}

impl Hip {
    pub(crate) fn register(&self, image: &[u8], name: &CStr, body: Body) {
        // SAFETY: the functions of the tests are never unloaded, and take what the kernels beside them take.
        unsafe { self.control.register(image, name, Some([THREADS, 1, 1]), body) };
    }
}

/// The kernel on the host: the same function of the same arguments.
extern "C" fn scale(groups: *const u32, args: *const *const c_void) {
    // SAFETY: a launch has three counts.
    let groups = unsafe { *groups };
    let x = argument::<*mut f32>(args, 0);
    let (count, factor) = (argument::<u32>(args, 1), argument::<f32>(args, 2));
    for at in 0..(groups * THREADS).min(count) as usize {
        // SAFETY: the launch's own memory, of at least `count` floats, which kernels reach while they run.
        let value = unsafe { x.wrapping_add(at).read() };
        // SAFETY: as above.
        unsafe { x.wrapping_add(at).write(value * factor + 1.0) };
    }
}

/// An argument of a kernel.
pub(crate) fn argument<T: Copy>(args: *const *const c_void, index: usize) -> T {
    // SAFETY: the kernel has more arguments than the index.
    let address = unsafe { *args.wrapping_add(index) };
    // SAFETY: the argument at that index is of this type.
    unsafe { *address.cast::<T>() }
}
