//! HIP's functions, by what they are for.

mod capture;
pub(crate) use device::capability;

mod device;
mod graph;
mod memory;
mod module;
mod stream;

/// Functions with HIP's names and types, each of which is the driver's call that stands behind it. `asked` ones need no context,
/// `bound` ones that of the thread's device.
macro_rules! exported {
    ($($how:ident $hip:ident($($arg:ident: $ty:ty),* $(,)?) |$cuda:ident| $call:expr;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $hip($($arg: $ty),*) -> graphreel_hip_sys::handle::hipError_t {
                // SAFETY: the function has this type in cuda.h, and the caller keeps to the documentation of HIP's, which demands
                // what NVIDIA's does.
                $crate::context::$how(|$cuda| unsafe { $call })
            }
        )*
    };
}
use exported;
