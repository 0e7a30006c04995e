//! What AMD's compiler library says of the architectures that it knows: the backend asks it before hipRTC. It is looked for by the
//! name `libamd_comgr.so.3` beside hipRTC, so this library has to lie there by that name, too, on a machine that has AMD's.
#![expect(unsafe_code, reason = "places of the caller are written")]

use std::ffi::{CStr, c_char, c_uint};

/// The one architecture.
const NAME: &CStr = c"amdgcn-amd-amdhsa--gfx000";

/// `AMD_COMGR_STATUS_SUCCESS` and `AMD_COMGR_STATUS_ERROR_INVALID_ARGUMENT`.
const SUCCESS: c_uint = 0;
const INVALID_ARGUMENT: c_uint = 2;

#[unsafe(no_mangle)]
unsafe extern "C" fn amd_comgr_get_isa_count(count: *mut usize) -> c_uint {
    if count.is_null() {
        return INVALID_ARGUMENT;
    }
    // SAFETY: the caller's number.
    unsafe { count.write(1) };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn amd_comgr_get_isa_name(index: usize, name: *mut *const c_char) -> c_uint {
    if index != 0 || name.is_null() {
        return INVALID_ARGUMENT;
    }
    // SAFETY: the caller's place for an address.
    unsafe { name.write(NAME.as_ptr()) };
    SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ARCHITECTURE;

    #[test]
    fn the_architecture_is_the_devices() {
        assert!(NAME.to_str().is_ok_and(|name| name.ends_with(&format!("--{ARCHITECTURE}"))));
    }
}
