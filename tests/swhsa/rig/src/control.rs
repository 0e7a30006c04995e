//! The device's control interface, in a process that runs on it.
#![expect(unsafe_code, reason = "calls functions of a library that is found by name")]

use std::ffi::{CStr, c_char, c_void};

use libloading::os::unix::{Library, RTLD_NOW, Symbol};

/// A kernel's body: the workgroups of the launch, three numbers, and the address of each argument in order.
pub type Body = unsafe extern "C" fn(*const u32, *const *const c_void);

/// The version of the interface that this was written for.
const INTERFACE: u32 = 1;

/// What the device counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// Allocations on the device.
    DeviceMemory = 0,
    /// Allocations of host memory.
    HostMemory = 1,
    /// Locks on the caller's own memory.
    LockedMemory = 2,
    /// Signals.
    Signal = 3,
    /// Queues.
    Queue = 4,
    /// Readers of code objects.
    Reader = 5,
    /// Programs.
    Executable = 6,
    /// Reserved ranges of addresses.
    Reservation = 7,
    /// Memory without an address.
    VirtualHandle = 8,
    /// Mappings of it.
    Mapping = 9,
    /// Handlers that wait for a signal.
    Handler = 10,
    /// Kernels that are loaded.
    Kernel = 11,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::DeviceMemory,
        Self::HostMemory,
        Self::LockedMemory,
        Self::Signal,
        Self::Queue,
        Self::Reader,
        Self::Executable,
        Self::Reservation,
        Self::VirtualHandle,
        Self::Mapping,
        Self::Handler,
        Self::Kernel,
    ];
}

/// What can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum FaultKind {
    /// An allocation on the device.
    DeviceMemory = 0,
    /// An allocation of host memory.
    HostMemory = 1,
    /// A launch: its queue ends with the status.
    Dispatch = 2,
    /// A copy by an engine: its signal is set below zero.
    Copy = 3,
    /// Making a queue.
    Queue = 4,
    /// Making a signal.
    Signal = 5,
    /// Loading a code object.
    Code = 6,
}

/// The interface.
pub struct Control {
    register: Symbol<unsafe extern "C" fn(*const u8, usize, *const c_char, *const [u32; 3], Body) -> u32>,
    live: Symbol<unsafe extern "C" fn(u32) -> u64>,
    made: Symbol<unsafe extern "C" fn(u32) -> u64>,
    fault: Symbol<unsafe extern "C" fn(u32, u32, u32, u32) -> u32>,
    fault_clear: Symbol<unsafe extern "C" fn() -> u64>,
    device_bytes: Symbol<unsafe extern "C" fn() -> u64>,
    ran: Symbol<unsafe extern "C" fn(*mut c_void, usize) -> usize>,
    _library: Library,
}

impl Control {
    /// Open the library that AMD's runtime has, or will have.
    ///
    /// # Errors
    ///
    /// A line of what is missing.
    pub fn open() -> Result<Self, String> {
        // SAFETY: the library's constructors are those of Rust's runtime, which may run at any time.
        let library = unsafe { Library::open(Some("libhsa-runtime64.so.1"), RTLD_NOW) };
        let library = library.map_err(|error| format!("the software device's library: {error}"))?;
        let missing = |error| format!("this libhsa-runtime64 is not the software device: {error}");
        // SAFETY: the type is the one of `tests/swhsa/src/control.rs`.
        let interface: Symbol<unsafe extern "C" fn() -> u32> =
            unsafe { library.get(b"swhsa_interface") }.map_err(missing)?;
        // SAFETY: it takes nothing and touches nothing.
        let interface = unsafe { interface() };
        if interface != INTERFACE {
            return Err(format!("the device's control interface is version {interface}, this is for {INTERFACE}"));
        }
        Ok(Self {
            // SAFETY: as above.
            register: unsafe { library.get(b"swhsa_register") }.map_err(missing)?,
            // SAFETY: as above.
            live: unsafe { library.get(b"swhsa_live") }.map_err(missing)?,
            // SAFETY: as above.
            made: unsafe { library.get(b"swhsa_made") }.map_err(missing)?,
            // SAFETY: as above.
            fault: unsafe { library.get(b"swhsa_fault") }.map_err(missing)?,
            // SAFETY: as above.
            fault_clear: unsafe { library.get(b"swhsa_fault_clear") }.map_err(missing)?,
            // SAFETY: as above.
            device_bytes: unsafe { library.get(b"swhsa_device_bytes") }.map_err(missing)?,
            // SAFETY: as above.
            ran: unsafe { library.get(b"swhsa_ran") }.map_err(missing)?,
            _library: library,
        })
    }

    /// Let the kernel of that name in a code object be a function, which is called for launches of that workgroup alone where
    /// one is given.
    ///
    /// # Safety
    ///
    /// The function stays loaded, and takes what the kernel takes.
    pub unsafe fn register(&self, code: &[u8], name: &CStr, workgroup: Option<[u32; 3]>, body: Body) {
        let shape = workgroup.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: all of it is readable for the call; the caller vouches for the function.
        let result = unsafe { (self.register)(code.as_ptr(), code.len(), name.as_ptr(), shape, body) };
        assert_eq!(result, 0, "no argument is null");
    }

    /// How many objects of a kind live.
    pub fn live(&self, kind: Kind) -> u64 {
        // SAFETY: the call reads a number.
        unsafe { (self.live)(kind as u32) }
    }

    /// How many objects of a kind were ever made.
    pub fn made(&self, kind: Kind) -> u64 {
        // SAFETY: the call reads a number.
        unsafe { (self.made)(kind as u32) }
    }

    /// How many objects of each kind live.
    pub fn census(&self) -> Vec<(Kind, u64)> {
        Kind::ALL.map(|kind| (kind, self.live(kind))).to_vec()
    }

    /// Do the same again and again, and tell what grew in each of three stretches: what is leaked does, and what the runtime
    /// keeps for later does not.
    pub fn leaks(&self, rounds: usize, mut round: impl FnMut()) -> Vec<String> {
        let mut counts = vec![self.census()];
        for _ in 0..3 {
            (0..rounds).for_each(|_| round());
            counts.push(self.census());
        }
        let grew = |at: &usize| counts.windows(2).all(|pair| pair[1][*at].1 > pair[0][*at].1);
        let told = |at: usize| {
            let numbers: Vec<u64> = counts.iter().map(|count| count[at].1).collect();
            format!("{:?}: {numbers:?} after each {rounds} rounds", counts[0][at].0)
        };
        (0..counts[0].len()).filter(grew).map(told).collect()
    }

    /// Let operations fail with a status of HSA's: `times` of them, after `after` more that go well.
    pub fn fault(&self, kind: FaultKind, after: u32, times: u32, status: u32) {
        // SAFETY: the call takes numbers.
        let result = unsafe { (self.fault)(kind as u32, after, times, status) };
        assert_eq!(result, 0, "{kind:?} is known");
    }

    /// Forget the faults that have not happened; how many there were.
    pub fn fault_clear(&self) -> u64 {
        // SAFETY: the call takes nothing.
        unsafe { (self.fault_clear)() }
    }

    /// Bytes of the device that are taken.
    pub fn device_bytes(&self) -> u64 {
        // SAFETY: the call reads a number.
        unsafe { (self.device_bytes)() }
    }

    /// The names of the kernels that ran so far.
    pub fn ran(&self) -> Vec<String> {
        let mut text = vec![0u8; 1 << 16];
        // SAFETY: the room is as large as is said.
        let bytes = unsafe { (self.ran)(text.as_mut_ptr().cast(), text.len()) };
        text.truncate(bytes);
        String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()
    }
}
