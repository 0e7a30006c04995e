//! What crosses the C interface, as the public headers of HSA declare it: results, handles, and the places that a caller gives.
#![expect(unsafe_code, reason = "a caller in C gives addresses, which are read and written here alone")]

use std::ffi::{CStr, c_char, c_void};

/// `hsa_status_t`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status(pub(crate) u32);

impl Status {
    pub(crate) const SUCCESS: Self = Self(0);
    pub(crate) const INFO_BREAK: Self = Self(1);
    pub(crate) const ERROR: Self = Self(0x1000);
    pub(crate) const INVALID_ARGUMENT: Self = Self(0x1001);
    pub(crate) const INVALID_QUEUE_CREATION: Self = Self(0x1002);
    pub(crate) const INVALID_ALLOCATION: Self = Self(0x1003);
    pub(crate) const INVALID_AGENT: Self = Self(0x1004);
    pub(crate) const INVALID_SIGNAL: Self = Self(0x1006);
    pub(crate) const INVALID_QUEUE: Self = Self(0x1007);
    pub(crate) const OUT_OF_RESOURCES: Self = Self(0x1008);
    pub(crate) const INVALID_PACKET_FORMAT: Self = Self(0x1009);
    pub(crate) const INVALID_ISA: Self = Self(0x100F);
    pub(crate) const INVALID_CODE_OBJECT: Self = Self(0x1010);
    pub(crate) const INVALID_EXECUTABLE: Self = Self(0x1011);
    pub(crate) const FROZEN_EXECUTABLE: Self = Self(0x1012);
    pub(crate) const INVALID_SYMBOL_NAME: Self = Self(0x1013);
    pub(crate) const INVALID_EXECUTABLE_SYMBOL: Self = Self(0x1019);
    pub(crate) const INVALID_CODE_OBJECT_READER: Self = Self(0x1021);
    pub(crate) const INVALID_MEMORY_POOL: Self = Self(40);
    pub(crate) const ILLEGAL_INSTRUCTION: Self = Self(42);
    pub(crate) const MEMORY_FAULT: Self = Self(43);
    pub(crate) const NOT_SUPPORTED: Self = Self(47);
}

/// Defines handles: 64 bits that only this library reads.
macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        $($(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
        pub(crate) struct $name(pub(crate) u64);)*
    };
}

handles! {
    /// `hsa_agent_t`.
    Agent,
    /// `hsa_isa_t`.
    Isa,
    /// `hsa_amd_memory_pool_t`.
    Pool,
    /// `hsa_signal_t`: the address of a cell of [`crate::signal`].
    Signal,
    /// `hsa_code_object_reader_t`.
    Reader,
    /// `hsa_executable_t`.
    Executable,
    /// `hsa_loaded_code_object_t`.
    LoadedCode,
    /// `hsa_executable_symbol_t`.
    Symbol,
    /// `hsa_amd_vmem_alloc_handle_t`.
    VirtualHandle,
}

/// `hsa_dim3_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dim3 {
    pub(crate) x: u32,
    pub(crate) y: u32,
    pub(crate) z: u32,
}

/// `hsa_pitched_ptr_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pitched {
    pub(crate) base: usize,
    pub(crate) pitch: usize,
    pub(crate) slice: usize,
}

/// `hsa_amd_pointer_info_t`, up to the members that every version has.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct PointerInfo {
    pub(crate) size: u32,
    pub(crate) kind: u32,
    pub(crate) agent_base: usize,
    pub(crate) host_base: usize,
    pub(crate) bytes: usize,
    pub(crate) user_data: usize,
    pub(crate) owner: Agent,
    pub(crate) flags: u32,
    pub(crate) registered: u32,
}

/// `hsa_amd_memory_access_desc_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessDesc {
    pub(crate) permissions: u32,
    pub(crate) agent: Agent,
}

/// `hsa_amd_profiling_dispatch_time_t`, and the same for copies: nanoseconds.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// Where a caller wants a value. Only C makes one, and by HSA's contract it is null or writable.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Out<T>(*mut T);

impl<T: Copy> Out<T> {
    /// The place of the value at an index of what a caller gave.
    pub(crate) fn at(first: *mut T, index: usize) -> Self {
        if first.is_null() { Self(first) } else { Self(first.wrapping_add(index)) }
    }

    /// Write the value; a null place is the caller's mistake.
    pub(crate) fn set(self, value: T) -> Status {
        if self.0.is_null() {
            return Status::INVALID_ARGUMENT;
        }
        // SAFETY: a place that a caller gives is writable, as the type says.
        unsafe { self.0.write_unaligned(value) };
        Status::SUCCESS
    }

    /// What is there now.
    pub(crate) fn get(self) -> Option<T> {
        // SAFETY: a place that a caller gives for a value that it also passes in is readable.
        (!self.0.is_null()).then(|| unsafe { self.0.read_unaligned() })
    }

    /// Whether the caller wants the value.
    pub(crate) fn wanted(self) -> bool {
        !self.0.is_null()
    }
}

/// Where a caller wants a value whose type an attribute tells.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct OutAny(*mut c_void);

impl OutAny {
    pub(crate) fn set<T: Copy>(self, value: T) -> Status {
        Out(self.0.cast::<T>()).set(value)
    }

    /// Write words, one after another.
    pub(crate) fn words(self, words: &[usize]) -> Status {
        words.iter().enumerate().fold(Status::SUCCESS, |_, (at, word)| Out::at(self.0.cast(), at).set(*word))
    }

    /// Write a text, padded with zero bytes to `room`.
    pub(crate) fn text(self, text: &str, room: usize) -> Status {
        (0..room).fold(Status::SUCCESS, |_, at| {
            let byte = text.as_bytes().get(at).copied().unwrap_or(0);
            Out(self.0.cast::<u8>().wrapping_add(at)).set(byte)
        })
    }
}

/// Values that a caller gives. Only C makes one, and by HSA's contract it has as many as the call says.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct In<T>(*const T);

impl<T: Copy> In<T> {
    pub(crate) fn one(self) -> Option<T> {
        // SAFETY: a caller's value is readable, as the type says.
        (!self.0.is_null()).then(|| unsafe { self.0.read_unaligned() })
    }

    pub(crate) fn all(self, count: usize) -> Vec<T> {
        (0..count).filter_map(|at| In(self.0.wrapping_add(at)).one()).take_while(|_| !self.0.is_null()).collect()
    }
}

/// A text that a caller gives, which ends with a zero byte.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Text(*const c_char);

impl Text {
    pub(crate) fn get(self) -> Option<String> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: by HSA's contract a text ends with a zero byte.
        Some(unsafe { CStr::from_ptr(self.0) }.to_string_lossy().into_owned())
    }
}
