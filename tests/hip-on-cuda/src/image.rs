//! Code for NVIDIA's devices in the wrapping of one for AMD's: an ELF header that says so, a mark, and the code. So the backend's own
//! check that hipRTC gave a code object holds for it, and a code object of AMD's is refused instead of given to the driver.
#![expect(unsafe_code, reason = "an image is known by its address alone")]

use std::ffi::c_void;

/// Bytes before the code: one ELF header, which keeps the code's alignment.
const HEADER_BYTES: usize = 64;

/// `EM_AMDGPU`.
const MACHINE: u16 = 224;

/// Where an ELF header says for which machine it is.
const MACHINE_AT: usize = 18;

/// What stands behind that, in place of the rest of the header.
const MARK: &[u8] = b"code for CUDA";
const MARK_AT: usize = 24;

/// What an image is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Image {
    /// Wrapped here, or of a kind that the driver takes: where the driver's image begins.
    Cuda(*const c_void),
    /// For AMD's devices.
    Amd,
}

/// Wrap code.
pub(crate) fn wrapped(code: &[u8]) -> Vec<u8> {
    let mut image = vec![0; HEADER_BYTES];
    image[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\x40");
    image[MACHINE_AT..MACHINE_AT + 2].copy_from_slice(&MACHINE.to_le_bytes());
    image[MARK_AT..MARK_AT + MARK.len()].copy_from_slice(MARK);
    image.extend_from_slice(code);
    image
}

/// What lies at an image's address.
///
/// # Safety
///
/// It is an image that HIP's documentation allows: an ELF file, or a text that ends with a zero byte.
pub(crate) unsafe fn at(image: *const c_void) -> Image {
    let first = image.cast::<[u8; 4]>();
    // SAFETY: the caller says that it is no shorter than a text of three letters.
    if unsafe { first.read_unaligned() } != *b"\x7fELF" {
        return Image::Cuda(image);
    }
    // SAFETY: an ELF file has a whole header.
    let header = unsafe { image.cast::<[u8; HEADER_BYTES]>().read_unaligned() };
    if u16::from_le_bytes([header[MACHINE_AT], header[MACHINE_AT + 1]]) != MACHINE {
        return Image::Cuda(image);
    }
    if header[MARK_AT..].starts_with(MARK) {
        // SAFETY: what is wrapped here has its code behind the header.
        return Image::Cuda(unsafe { image.byte_add(HEADER_BYTES) });
    }
    Image::Amd
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> Image {
        // SAFETY: each is such an image.
        unsafe { at(bytes.as_ptr().cast()) }
    }

    #[test]
    fn what_is_wrapped_is_found_again() {
        let image = wrapped(b"cubin");
        assert_eq!(of(&image), Image::Cuda(image[HEADER_BYTES..].as_ptr().cast()));
        assert_eq!(&image[HEADER_BYTES..], b"cubin");
    }

    #[test]
    fn the_drivers_own_kinds_are_passed_on_and_amds_is_told() {
        let text = b".version 8.0\n\0";
        assert_eq!(of(text), Image::Cuda(text.as_ptr().cast()));
        let mut cubin = wrapped(b"");
        cubin[MACHINE_AT] = 190;
        assert_eq!(of(&cubin), Image::Cuda(cubin.as_ptr().cast()));
        let mut amd = wrapped(b"");
        amd[MARK_AT..].fill(0);
        assert_eq!(of(&amd), Image::Amd);
    }
}
