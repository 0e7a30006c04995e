//! Modules, their functions, and launches.
#![expect(unsafe_code, reason = "the driver is called")]

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;

use graphreel_hip_sys::constant::{hipErrorInvalidValue, hipErrorNoBinaryForGpu};
use graphreel_hip_sys::handle::{
    hipDeviceptr_t, hipFuncAttribute, hipFunction_attribute, hipFunction_t, hipModule_t, hipStream_t,
};

use super::exported;
use crate::image::{self, Image};
use crate::node::Extra;

// Attributes of functions have the same numbers in both.
exported! {
    bound hipModuleLoadData(module: *mut hipModule_t, image: *const c_void) |cuda| {
        if image.is_null() {
            return hipErrorInvalidValue;
        }
        match image::at(image) {
            Image::Cuda(image) => (cuda.cuModuleLoadData)(module.cast(), image),
            Image::Amd => hipErrorNoBinaryForGpu,
        }
    };
    bound hipModuleUnload(module: hipModule_t) |cuda| (cuda.cuModuleUnload)(module.cast());
    bound hipModuleGetFunction(function: *mut hipFunction_t, module: hipModule_t, name: *const c_char) |cuda|
        (cuda.cuModuleGetFunction)(function.cast(), module.cast(), name);
    bound hipModuleGetGlobal(
        address: *mut hipDeviceptr_t, bytes: *mut usize, module: hipModule_t, name: *const c_char
    ) |cuda| (cuda.cuModuleGetGlobal)(address, bytes, module.cast(), name);
    bound hipFuncGetAttribute(value: *mut c_int, attribute: hipFunction_attribute, function: hipFunction_t) |cuda|
        (cuda.cuFuncGetAttribute)(value, attribute, function.cast());
    bound hipFuncSetAttribute(function: *const c_void, attribute: hipFuncAttribute, value: c_int) |cuda|
        (cuda.cuFuncSetAttribute)(function.cast_mut(), attribute, value);
    bound hipModuleLaunchKernel(
        function: hipFunction_t,
        groups_x: c_uint,
        groups_y: c_uint,
        groups_z: c_uint,
        threads_x: c_uint,
        threads_y: c_uint,
        threads_z: c_uint,
        shared_bytes: c_uint,
        stream: hipStream_t,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) |cuda| {
        let mut extra = Extra::of(extra);
        let extra = extra.as_mut().map_or(null_mut(), Extra::as_out);
        (cuda.cuLaunchKernel)(
            function.cast(), groups_x, groups_y, groups_z, threads_x, threads_y, threads_z, shared_bytes, stream.cast(),
            params, extra,
        )
    };
}
