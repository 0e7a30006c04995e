//! The CUDA driver as a program calls it by hand, which Graphreel is measured against. Thin, and everything is made before
//! it is launched, so that nothing but the driver is timed.

#![expect(unsafe_code, reason = "every call of the driver is foreign")]

use std::ffi::{CString, c_void};
use std::ptr::null_mut;

use cudarc::driver::sys;
use sys::CUdevice_attribute::{
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
};

/// What was asked for, or the call that failed.
pub type Said<T> = Result<T, String>;

/// Call the driver, and give its answer as a [`Said`].
macro_rules! call {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        // SAFETY: handles come from the driver and live as long as what holds them; each pointer is to a local or a field
        // with room for what the documentation of the call says is read or written, and is used only during the call.
        let code = unsafe { sys::$name($($argument),*) };
        match code {
            sys::CUresult::CUDA_SUCCESS => Ok(()),
            code => Err(format!("{}, called by hand, answered {code:?}", stringify!($name))),
        }
    }};
}

/// A device's primary context, current on this thread.
#[derive(Debug)]
pub struct Raw {
    device: sys::CUdevice,
    arch: String,
}

impl Raw {
    /// The device with this address on the bus, as `0000:0a:00.0`; the first without one. A program that has no driver
    /// must not call this: the bindings panic.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn open(pci: Option<&str>) -> Said<Self> {
        call!(cuInit(0))?;
        let mut device = 0;
        let by_address = pci.and_then(|address| CString::new(address).ok()).map(|address| {
            let pointer = address.as_ptr();
            call!(cuDeviceGetByPCIBusId(&mut device, pointer))
        });
        if !matches!(by_address, Some(Ok(()))) {
            call!(cuDeviceGet(&mut device, 0))?;
        }
        let mut context = null_mut();
        call!(cuDevicePrimaryCtxRetain(&mut context, device))?;
        call!(cuCtxSetCurrent(context))?;
        let (mut major, mut minor) = (0, 0);
        call!(cuDeviceGetAttribute(&mut major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device))?;
        call!(cuDeviceGetAttribute(&mut minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device))?;
        Ok(Self { device, arch: format!("sm_{major}{minor}") })
    }

    /// The architecture that NVRTC compiles for, as `sm_90`.
    pub fn arch(&self) -> &str {
        &self.arch
    }

    /// Bytes of the device's memory that are in use, by whomever.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn used_bytes(&self) -> Said<u64> {
        let (mut free, mut total) = (0, 0);
        call!(cuMemGetInfo_v2(&mut free, &mut total))?;
        Ok((total - free) as u64)
    }

    /// Load a cubin.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn module(&self, cubin: &[u8]) -> Said<Module> {
        let mut module = null_mut();
        call!(cuModuleLoadData(&mut module, cubin.as_ptr().cast()))?;
        Ok(Module(module))
    }

    /// A stream that does not wait for the legacy one.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn stream(&self) -> Said<Stream> {
        let mut stream = null_mut();
        call!(cuStreamCreate(&mut stream, sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32))?;
        Ok(Stream(stream))
    }

    /// Memory with `values`, written when this returns.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn upload(&self, values: &[f32]) -> Said<Memory> {
        let memory = self.memory(size_of_val(values))?;
        call!(cuMemcpyHtoD_v2(memory.pointer, values.as_ptr().cast(), memory.bytes))?;
        call!(cuCtxSynchronize())?;
        Ok(memory)
    }

    /// Host memory that the device copies from by itself, all zero.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn pinned(&self, bytes: usize) -> Said<Pinned> {
        let mut pointer = null_mut();
        call!(cuMemAllocHost_v2(&mut pointer, bytes))?;
        let pinned = Pinned { pointer: pointer.cast(), bytes };
        // SAFETY: the driver has just given so many bytes to this alone, and zero is a value of each.
        unsafe { pinned.pointer.write_bytes(0, bytes) };
        Ok(pinned)
    }

    /// Memory that nothing has written.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn memory(&self, bytes: usize) -> Said<Memory> {
        let mut pointer = 0;
        call!(cuMemAlloc_v2(&mut pointer, bytes))?;
        Ok(Memory { pointer, bytes })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = call!(cuDevicePrimaryCtxRelease_v2(self.device));
    }
}

/// A loaded cubin. It stays loaded.
#[derive(Debug)]
pub struct Module(sys::CUmodule);

impl Module {
    /// A launch of one of its functions, ready to be issued as often as one likes.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn launch(&self, name: &str, groups: [u32; 3], block: [u32; 3], arguments: &[Argument<'_>]) -> Said<Launch> {
        let name = CString::new(name).map_err(|error| error.to_string())?;
        let mut function = null_mut();
        call!(cuModuleGetFunction(&mut function, self.0, name.as_ptr()))?;
        let mut slots: Vec<u64> = arguments.iter().map(Argument::bits).collect();
        let first = slots.as_mut_ptr();
        let pointers = (0..slots.len()).map(|index| first.wrapping_add(index).cast()).collect();
        Ok(Launch { function, groups, block, _slots: slots, pointers })
    }
}

/// An argument of a kernel.
#[derive(Clone, Copy, Debug)]
pub enum Argument<'a> {
    /// The address of some memory, which has to outlive the launch.
    Memory(&'a Memory),
    /// A number.
    F32(f32),
    /// A number.
    U32(u32),
}

impl Argument<'_> {
    /// The driver reads as many of its first bytes as the parameter has; CUDA's hosts are little-endian.
    fn bits(&self) -> u64 {
        match self {
            Self::Memory(memory) => memory.pointer,
            Self::F32(value) => value.to_bits().into(),
            Self::U32(value) => (*value).into(),
        }
    }
}

/// A launch with its arguments.
#[derive(Debug)]
pub struct Launch {
    function: sys::CUfunction,
    groups: [u32; 3],
    block: [u32; 3],
    /// What `pointers` point to.
    _slots: Vec<u64>,
    pointers: Vec<*mut c_void>,
}

impl Launch {
    /// Issue it.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn issue(&self, stream: &Stream) -> Said<()> {
        let ([x, y, z], [width, height, depth]) = (self.groups, self.block);
        let arguments = self.pointers.as_ptr().cast_mut();
        call!(cuLaunchKernel(self.function, x, y, z, width, height, depth, 0, stream.0, arguments, null_mut()))
    }

    fn add_to(&self, graph: sys::CUgraph, after: &[sys::CUgraphNode]) -> Said<sys::CUgraphNode> {
        let ([x, y, z], [width, height, depth]) = (self.groups, self.block);
        let params = sys::CUDA_KERNEL_NODE_PARAMS {
            func: self.function,
            gridDimX: x,
            gridDimY: y,
            gridDimZ: z,
            blockDimX: width,
            blockDimY: height,
            blockDimZ: depth,
            sharedMemBytes: 0,
            kernelParams: self.pointers.as_ptr().cast_mut(),
            extra: null_mut(),
            kern: null_mut(),
            ctx: null_mut(),
        };
        let mut node = null_mut();
        call!(cuGraphAddKernelNode_v2(&mut node, graph, after.as_ptr(), after.len(), &params))?;
        Ok(node)
    }
}

/// A stream.
#[derive(Debug)]
pub struct Stream(sys::CUstream);

impl Stream {
    /// Wait for everything issued to it.
    ///
    /// # Errors
    ///
    /// What the driver answers, a fault of a kernel among it.
    pub fn wait(&self) -> Said<()> {
        call!(cuStreamSynchronize(self.0))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let _ = call!(cuStreamDestroy_v2(self.0));
    }
}

/// Device memory.
#[derive(Debug)]
pub struct Memory {
    pointer: sys::CUdeviceptr,
    bytes: usize,
}

impl Memory {
    /// Copy the first `bytes` of `pinned` to the byte `at`, in the order of a stream: they must stay until then.
    ///
    /// # Errors
    ///
    /// What the driver answers, or that there are not so many bytes.
    pub fn copy_from(&self, at: usize, pinned: &Pinned, bytes: usize, stream: &Stream) -> Said<()> {
        if bytes > pinned.bytes || at + bytes > self.bytes {
            return Err(format!("{bytes} bytes at {at} are beyond one of the two memories"));
        }
        call!(cuMemcpyHtoDAsync_v2(self.pointer + at as u64, pinned.pointer.cast(), bytes, stream.0))
    }

    /// What it holds, once everything issued is done.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn read(&self) -> Said<Vec<f32>> {
        let mut values = vec![0f32; self.bytes / size_of::<f32>()];
        call!(cuCtxSynchronize())?;
        call!(cuMemcpyDtoH_v2(values.as_mut_ptr().cast(), self.pointer, self.bytes))?;
        Ok(values)
    }
}

impl Memory {
    /// As [`Memory::read`], bytes.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn read_bytes(&self) -> Said<Vec<u8>> {
        let mut values = vec![0; self.bytes];
        call!(cuCtxSynchronize())?;
        call!(cuMemcpyDtoH_v2(values.as_mut_ptr().cast(), self.pointer, self.bytes))?;
        Ok(values)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let _ = call!(cuMemFree_v2(self.pointer));
    }
}

/// Host memory that the device copies from by itself.
#[derive(Debug)]
pub struct Pinned {
    pointer: *mut u8,
    bytes: usize,
}

impl Pinned {
    /// Its bytes. No copy may be reading them.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: so many bytes were allocated and written, nothing else points to them, and the borrow keeps them alive.
        unsafe { std::slice::from_raw_parts_mut(self.pointer, self.bytes) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = call!(cuMemFreeHost(self.pointer.cast()));
    }
}

/// A graph that can be launched.
#[derive(Debug)]
pub struct Executable(sys::CUgraphExec);

impl Executable {
    /// A graph with a node for each launch, `after` the nodes of these indices, all of which come before it.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn explicit(nodes: &[(&Launch, Option<usize>)]) -> Said<Self> {
        let mut graph = null_mut();
        call!(cuGraphCreate(&mut graph, 0))?;
        let mut made: Vec<sys::CUgraphNode> = Vec::new();
        for (launch, after) in nodes {
            let after: Vec<_> = after.iter().filter_map(|index| made.get(*index).copied()).collect();
            made.push(launch.add_to(graph, &after)?);
        }
        Self::instantiate(graph)
    }

    /// What a capture of one stream makes of the launches: each after the one before.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn captured(stream: &Stream, launches: &[&Launch]) -> Said<Self> {
        call!(cuStreamBeginCapture_v2(stream.0, sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED))?;
        for launch in launches {
            launch.issue(stream)?;
        }
        let mut graph = null_mut();
        call!(cuStreamEndCapture(stream.0, &mut graph))?;
        Self::instantiate(graph)
    }

    /// The graph itself is not kept.
    fn instantiate(graph: sys::CUgraph) -> Said<Self> {
        let mut executable = null_mut();
        let instantiated = call!(cuGraphInstantiateWithFlags(&mut executable, graph, 0));
        call!(cuGraphDestroy(graph))?;
        instantiated.map(|()| Self(executable))
    }

    /// Issue it.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn issue(&self, stream: &Stream) -> Said<()> {
        call!(cuGraphLaunch(self.0, stream.0))
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        let _ = call!(cuGraphExecDestroy(self.0));
    }
}

/// A point in a stream, with its time.
#[derive(Debug)]
pub struct Event(sys::CUevent);

impl Event {
    /// One that nothing has recorded.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn new() -> Said<Self> {
        let mut event = null_mut();
        call!(cuEventCreate(&mut event, sys::CUevent_flags::CU_EVENT_DEFAULT as u32))?;
        Ok(Self(event))
    }

    /// Record it.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn record(&self, stream: &Stream) -> Said<()> {
        call!(cuEventRecord(self.0, stream.0))
    }

    /// Wait until it has passed; not at all where nothing has recorded it.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn wait(&self) -> Said<()> {
        call!(cuEventSynchronize(self.0))
    }

    /// Microseconds from this to a later one, when both have passed.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn micros_to(&self, later: &Self) -> Said<f64> {
        let mut millis = 0f32;
        call!(cuEventElapsedTime(&mut millis, self.0, later.0))?;
        Ok(f64::from(millis) * 1e3)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let _ = call!(cuEventDestroy_v2(self.0));
    }
}
