//! Devices: which there are, what they are, and which one a thread uses.
#![expect(unsafe_code, reason = "the driver is called")]

use std::ffi::{CStr, c_char, c_int, c_uint};

use graphreel_hip_sys::constant as hip;
use graphreel_hip_sys::handle::{hipCtx_t, hipDevice_t, hipDeviceAttribute_t, hipError_t};
use graphreel_hip_sys::structure::{hipDeviceProp_tR0600, hipUUID};

use super::exported;
use crate::context::{answer, asked, device, release, retain, set_device, take_last};
use crate::cuda::Cuda;
use crate::{ARCHITECTURE, VERSION};

/// What a device's name ends with: it is no device of AMD's.
const NAME_SUFFIX: &[u8] = b" (HIP on CUDA)\0";

/// HIP's numbers of attributes, and CUDA's.
const ATTRIBUTES: [(hipDeviceAttribute_t, c_uint); 17] = [
    (hip::hipDeviceAttributeMaxThreadsPerBlock, 1),
    (hip::hipDeviceAttributeMaxBlockDimX, 2),
    (hip::hipDeviceAttributeMaxBlockDimY, 3),
    (hip::hipDeviceAttributeMaxBlockDimZ, 4),
    (hip::hipDeviceAttributeMaxGridDimX, 5),
    (hip::hipDeviceAttributeMaxGridDimY, 6),
    (hip::hipDeviceAttributeMaxGridDimZ, 7),
    (hip::hipDeviceAttributeMaxSharedMemoryPerBlock, 8),
    (hip::hipDeviceAttributeWarpSize, 10),
    (hip::hipDeviceAttributeMultiprocessorCount, 16),
    (hip::hipDeviceAttributeIntegrated, 18),
    (hip::hipDeviceAttributePciBusId, 33),
    (hip::hipDeviceAttributePciDeviceId, 34),
    (hip::hipDeviceAttributeComputeCapabilityMajor, COMPUTE_MAJOR),
    (hip::hipDeviceAttributeComputeCapabilityMinor, COMPUTE_MINOR),
    (hip::hipDeviceAttributeVirtualMemoryManagementSupported, 102),
    (hip::hipDeviceAttributeMemoryPoolsSupported, 115),
];

const COMPUTE_MAJOR: c_uint = 75;
const COMPUTE_MINOR: c_uint = 76;

/// The compute capability of the thread's device, as 90 for 9.0.
pub(crate) fn capability(cuda: &Cuda) -> Result<c_int, hipError_t> {
    let ask = |attribute| {
        let mut value = 0;
        // SAFETY: the call writes one number.
        match unsafe { (cuda.cuDeviceGetAttribute)(&raw mut value, attribute, device()) } {
            hip::hipSuccess => Ok(value),
            code => Err(code),
        }
    };
    Ok(ask(COMPUTE_MAJOR)? * 10 + ask(COMPUTE_MINOR)?)
}

exported! {
    asked hipDeviceGet(device: *mut hipDevice_t, ordinal: c_int) |cuda| (cuda.cuDeviceGet)(device, ordinal);
    asked hipDeviceGetUuid(uuid: *mut hipUUID, device: hipDevice_t) |cuda| (cuda.cuDeviceGetUuid)(uuid.cast(), device);
    asked hipDeviceGetPCIBusId(address: *mut c_char, len: c_int, device: c_int) |cuda|
        (cuda.cuDeviceGetPCIBusId)(address, len, device);
    asked hipDeviceTotalMem(bytes: *mut usize, device: hipDevice_t) |cuda| (cuda.cuDeviceTotalMem)(bytes, device);
    asked hipDeviceGetAttribute(value: *mut c_int, attribute: hipDeviceAttribute_t, device: c_int) |cuda|
        match ATTRIBUTES.iter().find(|(hip, _)| *hip == attribute) {
            Some((_, number)) => (cuda.cuDeviceGetAttribute)(value, *number, device),
            // All of its memory is behind the host's window, or none of it: NVIDIA's driver does not tell.
            None if attribute == hip::hipDeviceAttributeIsLargeBar && !value.is_null() => {
                value.write(0);
                hip::hipSuccess
            }
            None => hip::hipErrorInvalidValue,
        };
    asked hipDevicePrimaryCtxRetain(context: *mut hipCtx_t, device: hipDevice_t) |cuda|
        retain(cuda, context.cast(), device);
    bound hipDeviceSynchronize() |cuda| (cuda.cuCtxSynchronize)();
    bound hipMemGetInfo(free: *mut usize, total: *mut usize) |cuda| (cuda.cuMemGetInfo)(free, total);
    asked hipDeviceGetName(name: *mut c_char, len: c_int, device: hipDevice_t) |cuda| named(cuda, name, len, device);
    asked hipGetDevicePropertiesR0600(properties: *mut hipDeviceProp_tR0600, device: c_int) |cuda|
        properties.as_mut().map_or(hip::hipErrorInvalidValue, |properties| described(cuda, properties, device));
}

#[unsafe(no_mangle)]
extern "C" fn hipInit(flags: c_uint) -> hipError_t {
    asked(|_| if flags == 0 { hip::hipSuccess } else { hip::hipErrorInvalidValue })
}

#[unsafe(no_mangle)]
extern "C" fn hipDevicePrimaryCtxRelease(device: hipDevice_t) -> hipError_t {
    asked(|cuda| release(cuda, device))
}

#[unsafe(no_mangle)]
extern "C" fn hipSetDevice(device: c_int) -> hipError_t {
    asked(|cuda| match known(cuda, device) {
        hip::hipSuccess => set_device(cuda, device),
        code => code,
    })
}

/// Whether there is a device of that index.
fn known(cuda: &Cuda, device: c_int) -> u32 {
    let mut handle = 0;
    // SAFETY: the call writes one number.
    unsafe { (cuda.cuDeviceGet)(&raw mut handle, device) }
}

/// Write a device's name, cut to `len` bytes with the zero byte.
///
/// # Safety
///
/// There are so many bytes behind `name`.
unsafe fn named(cuda: &Cuda, name: *mut c_char, len: c_int, device: c_int) -> u32 {
    let mut text = [0 as c_char; 256];
    // SAFETY: the call writes no more than it is told, with a zero byte.
    let code = unsafe { (cuda.cuDeviceGetName)(text.as_mut_ptr(), 256, device) };
    let Ok(room) = usize::try_from(len) else { return hip::hipErrorInvalidValue };
    if code != hip::hipSuccess || room == 0 || name.is_null() {
        return if code == hip::hipSuccess { hip::hipErrorInvalidValue } else { code };
    }
    // SAFETY: it ends with a zero byte.
    let card = unsafe { CStr::from_ptr(text.as_ptr()) }.to_bytes();
    let whole = card.iter().chain(NAME_SUFFIX);
    for (index, byte) in whole.take(room).enumerate() {
        // SAFETY: the index is below the bytes that there are.
        unsafe { name.wrapping_add(index).write(c_char::from_ne_bytes([*byte])) };
    }
    // SAFETY: the last of them.
    unsafe { name.wrapping_add(room - 1).write(0) };
    hip::hipSuccess
}

/// Fill the fields that are named; the others are zeros.
fn described(cuda: &Cuda, properties: &mut hipDeviceProp_tR0600, device: c_int) -> u32 {
    *properties = hipDeviceProp_tR0600::zeroed();
    // SAFETY: the name is a part of the structure, of this length.
    let mut code = unsafe { named(cuda, properties.name.as_mut_ptr(), 256, device) };
    for (into, attribute) in [(&mut properties.warpSize, 10), (&mut properties.multiProcessorCount, 16)] {
        if code == hip::hipSuccess {
            // SAFETY: the call writes one number.
            code = unsafe { (cuda.cuDeviceGetAttribute)(into, attribute, device) };
        }
    }
    if code == hip::hipSuccess {
        // SAFETY: the call writes 16 bytes.
        code = unsafe { (cuda.cuDeviceGetUuid)((&raw mut properties.uuid).cast(), device) };
    }
    for (to, byte) in properties.gcnArchName.iter_mut().zip(ARCHITECTURE.bytes()) {
        *to = c_char::from_ne_bytes([byte]);
    }
    code
}

/// As of HIP: no device is an error, and the count is written all the same.
#[unsafe(no_mangle)]
unsafe extern "C" fn hipGetDeviceCount(count: *mut c_int) -> hipError_t {
    if count.is_null() {
        return answer(hip::hipErrorInvalidValue);
    }
    // SAFETY: the caller's number.
    unsafe { count.write(0) };
    asked(|cuda| {
        // SAFETY: the call writes one number.
        let code = unsafe { (cuda.cuDeviceGetCount)(count) };
        // SAFETY: the caller's number.
        let found = unsafe { count.read() };
        if code == hip::hipSuccess && found == 0 { hip::hipErrorNoDevice } else { code }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipGetDevice(index: *mut c_int) -> hipError_t {
    asked(|_| {
        if index.is_null() {
            return hip::hipErrorInvalidValue;
        }
        // SAFETY: the caller's number.
        unsafe { index.write(device()) };
        hip::hipSuccess
    })
}

/// Needs no driver, as with HIP.
#[unsafe(no_mangle)]
unsafe extern "C" fn hipRuntimeGetVersion(version: *mut c_int) -> hipError_t {
    if version.is_null() {
        return answer(hip::hipErrorInvalidValue);
    }
    // SAFETY: the caller's number.
    unsafe { version.write(VERSION) };
    hip::hipSuccess
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipDriverGetVersion(version: *mut c_int) -> hipError_t {
    // SAFETY: as below.
    unsafe { hipRuntimeGetVersion(version) }
}

#[unsafe(no_mangle)]
extern "C" fn hipGetLastError() -> hipError_t {
    take_last()
}

#[unsafe(no_mangle)]
extern "C" fn hipExtGetLastError() -> hipError_t {
    take_last()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every attribute that the bindings name.
    #[test]
    fn each_attribute_has_a_number() {
        let constants = include_str!("../../../../backends/hip-sys/src/constant.rs");
        let mut count = 0;
        for line in constants.lines().map(str::trim).filter(|line| line.starts_with("hipDeviceAttribute")) {
            let Some((name, number)) = line.split_once(" = ") else { continue };
            let number = number.trim_end_matches(',').parse().unwrap_or_else(|_| panic!("{line} has a number"));
            let known = ATTRIBUTES.iter().any(|(hip, _)| *hip == number);
            assert!(known || number == hip::hipDeviceAttributeIsLargeBar, "{name} is not answered");
            count += 1;
        }
        assert_eq!(count, ATTRIBUTES.len() + 1, "attributes that the bindings name");
    }

    #[test]
    fn no_attribute_has_two_numbers() {
        for (index, (hip, cuda)) in ATTRIBUTES.iter().enumerate() {
            let others = &ATTRIBUTES[index + 1..];
            assert!(others.iter().all(|(other, number)| other != hip && number != cuda), "{hip}");
        }
    }
}
