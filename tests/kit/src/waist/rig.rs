//! What a test works with: a device of its own, three streams, and calls in words instead of addresses.
//!
//! Calls here are safe for tests because memory is given back only once all three streams are drained, and host memory is
//! touched only where the test says when.

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use graphreel::graph::driver::{
    CaptureState, DeviceMemory, DevicePtr, EventTiming, FunctionAttribute, HostPtr, PinnedMemory,
};
use graphreel::graph::{Driver, DriverResult, Translator};
use graphreel::kernel::{KernelSource, Variant};
use graphreel::sync::{Mutex, thread};

use super::{Code, Held, Params};
use crate::env::PATIENCE;
use crate::fixture::announce;

/// Bytes in a word.
const WORD: u64 = 4;

/// The surroundings of one test.
pub struct Rig<D: Driver> {
    driver: D,
    translator: Box<dyn Translator>,
    before: Option<D::Context>,
    /// A stream for work.
    pub a: D::Stream,
    /// Another.
    pub b: D::Stream,
    /// The suite's own, for what it writes and reads.
    io: D::Stream,
    /// What is freed when the test is over.
    late: Mutex<(Vec<DeviceMemory>, Vec<PinnedMemory>)>,
}

/// Memory of the device.
pub(super) type Memory<'r, D> = Held<'r, D, DeviceMemory>;

/// Page-locked memory of the host.
pub(super) type Pinned<'r, D> = Held<'r, D, PinnedMemory>;

/// Work that takes a while, to have something that is under way.
pub struct Slow<'r, D: Driver> {
    rig: &'r Rig<D>,
    code: Code<'r, D>,
    scratch: Memory<'r, D>,
}

/// A size that is not zero.
pub(super) fn bytes(n: u64) -> NonZeroU64 {
    NonZeroU64::new(n).expect("sizes of the suite are not zero")
}

/// The address `offset` bytes into `memory`.
pub(super) fn at(memory: &DeviceMemory, offset: u64) -> DevicePtr {
    memory.address.offset(offset).expect("an allocation lies in the address space")
}

/// All of `memory`, as a binding.
pub(super) fn whole(memory: &DeviceMemory) -> (DevicePtr, u64) {
    (memory.address, memory.bytes.get())
}

#[expect(unsafe_code, reason = "drives the waist, whose ordering rules the suite keeps")]
impl<D: Driver> Rig<D> {
    pub(super) fn open(driver: D, translator: Box<dyn Translator>) -> DriverResult<Self> {
        let before = driver.context_current()?;
        driver.context_set(Some(driver.context()))?;
        let (a, b, io) = (driver.stream_create()?, driver.stream_create()?, driver.stream_create()?);
        Ok(Self { driver, translator, before, a, b, io, late: Mutex::default() })
    }

    /// Give everything back.
    pub(super) fn close(self) -> DriverResult {
        self.drain();
        let Self { driver, before, a, b, io, late, .. } = self;
        let (memory, pinned) = late.into_inner();
        for memory in memory {
            // SAFETY: the streams were drained, and the graphs that named it are gone.
            unsafe { driver.mem_free(memory) }?;
        }
        for memory in pinned {
            // SAFETY: as above.
            unsafe { driver.pinned_free(memory) }?;
        }
        for stream in [a, b, io] {
            // SAFETY: the streams were drained, and a test that leaves a capture open fails by this very call.
            unsafe { driver.stream_destroy(stream) }?;
        }
        driver.context_set(before)?;
        driver.close()
    }

    /// The driver.
    pub fn driver(&self) -> &D {
        &self.driver
    }

    /// Whether the driver has what a test is about; without it, the test says that it did not run.
    pub(super) fn has(&self, has: bool, what: &str) -> bool {
        if !has {
            announce(&format!("{} has no {what}: this test did not run", self.driver.facts().name));
        }
        has
    }

    /// Run `act` on a thread of its own that has the context bound, and wait for it.
    pub fn on_thread<T: Send>(&self, act: impl FnOnce() -> DriverResult<T> + Send) -> DriverResult<T> {
        let bound = || {
            let before = self.driver.context_current()?;
            self.driver.context_set(Some(self.driver.context()))?;
            let result = act();
            self.driver.context_set(before)?;
            result
        };
        thread::scope(|scope| scope.spawn(bound).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// An event that is for ordering only.
    pub fn event(&self) -> DriverResult<Held<'_, D, D::Event>> {
        Ok(Held::new(self, self.driver.event_create(EventTiming::Off)?, |rig, event| rig.driver.event_destroy(event)))
    }

    /// An event that records the time.
    pub fn timed_event(&self) -> DriverResult<Held<'_, D, D::Event>> {
        Ok(Held::new(self, self.driver.event_create(EventTiming::On)?, |rig, event| rig.driver.event_destroy(event)))
    }

    /// Wait until `event` is passed.
    pub fn wait(&self, event: &D::Event) -> DriverResult {
        let start = Instant::now();
        while !self.driver.event_query(event)? {
            assert!(start.elapsed() < PATIENCE, "work is not done after {PATIENCE:?}");
            thread::sleep(Duration::from_micros(50));
        }
        Ok(())
    }

    /// Wait until the streams have done all their work. One that captures has none.
    ///
    /// # Panics
    ///
    /// When it takes too long, or a call fails.
    pub fn drain(&self) {
        for stream in [&self.a, &self.b, &self.io] {
            let drained = self.drain_stream(stream);
            drained.unwrap_or_else(|error| panic!("the streams could not be drained: {error}"));
        }
    }

    fn drain_stream(&self, stream: &D::Stream) -> DriverResult {
        if self.driver.capture_state(stream)? != CaptureState::None {
            return Ok(());
        }
        let event = self.driver.event_create(EventTiming::Off)?;
        self.driver.event_record(&event, stream)?;
        self.wait(&event)?;
        self.driver.event_destroy(event)
    }

    /// Whether freeing has to wait: a wait for the whole device, which HIP documents for it, breaks an open capture.
    fn frees_later(&self) -> DriverResult<bool> {
        let capturing = |stream| Ok(self.driver.capture_state(stream)? != CaptureState::None);
        Ok(self.driver.caps().free_waits_for_device && (capturing(&self.a)? || capturing(&self.b)?))
    }

    /// Device memory of `size` bytes.
    pub fn memory(&self, size: u64) -> DriverResult<Memory<'_, D>> {
        let memory = self.driver.mem_alloc(bytes(size))?;
        Ok(Held::new(self, memory, |rig, memory| {
            if rig.frees_later()? {
                rig.late.lock().0.push(memory);
                return Ok(());
            }
            // SAFETY: a held handle is destroyed once the streams are drained; executables that name it run no more.
            unsafe { rig.driver.mem_free(memory) }
        }))
    }

    /// Page-locked memory with `data`.
    pub fn pinned(&self, data: &[u32]) -> DriverResult<Pinned<'_, D>> {
        let memory = self.driver.pinned_alloc(bytes(data.len() as u64 * WORD))?;
        let mut pinned = Held::new(self, memory, |rig, memory| {
            if rig.frees_later()? {
                rig.late.lock().1.push(memory);
                return Ok(());
            }
            // SAFETY: a held handle is destroyed once the streams are drained; no reference outlives a call of the rig.
            unsafe { rig.driver.pinned_free(memory) }
        });
        self.set_host(&mut pinned, data);
        Ok(pinned)
    }

    /// Write host memory. No work that uses it is under way.
    pub fn set_host(&self, pinned: &mut Pinned<'_, D>, data: &[u32]) {
        assert!(data.len() as u64 * WORD <= pinned.bytes.get());
        let words = pinned.address.0.as_ptr().cast::<u32>();
        // SAFETY: the words lie within the allocation, which is page-aligned, and nothing else uses it.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), words, data.len()) };
    }

    /// Read host memory. No work that uses it is under way.
    pub fn host(&self, pinned: &Pinned<'_, D>) -> Vec<u32> {
        let words = pinned.address.0.as_ptr().cast::<u32>();
        // SAFETY: the words lie within the allocation, which was written when it was made, and nothing writes them now.
        unsafe { std::slice::from_raw_parts(words, (pinned.bytes.get() / WORD) as usize) }.to_vec()
    }

    /// Device memory with `data`.
    pub fn words(&self, data: &[u32]) -> DriverResult<Memory<'_, D>> {
        let memory = self.memory(data.len() as u64 * WORD)?;
        self.set(&memory, data)?;
        Ok(memory)
    }

    /// Write device memory and wait.
    pub fn set(&self, memory: &DeviceMemory, data: &[u32]) -> DriverResult {
        let pinned = self.pinned(data)?;
        self.copy_in(memory, &pinned, &self.io)?;
        self.drain_stream(&self.io)
    }

    /// What device memory holds once all work is done.
    pub fn read(&self, memory: &DeviceMemory) -> DriverResult<Vec<u32>> {
        self.drain();
        self.peek(memory)
    }

    /// What device memory holds now, whatever other streams do.
    pub fn peek(&self, memory: &DeviceMemory) -> DriverResult<Vec<u32>> {
        let pinned = self.pinned(&vec![0; (memory.bytes.get() / WORD) as usize])?;
        self.copy_out(&pinned, memory, &self.io)?;
        self.drain_stream(&self.io)?;
        Ok(self.host(&pinned))
    }

    /// Set every word of `memory`.
    pub fn fill(&self, memory: &DeviceMemory, word: u32, stream: &D::Stream) -> DriverResult {
        // SAFETY: the memory is freed only once the streams are drained.
        unsafe { self.driver.fill(memory.address, word, bytes(memory.bytes.get() / WORD), stream) }
    }

    /// Copy all of `src` to the start of `dst`.
    pub fn copy(&self, dst: &DeviceMemory, src: &DeviceMemory, stream: &D::Stream) -> DriverResult {
        // SAFETY: two allocations do not overlap, and are freed only once the streams are drained.
        unsafe { self.driver.copy_on_device(dst.address, src.address, src.bytes, stream) }
    }

    /// Copy all of `src` to the start of `dst`.
    pub fn copy_in(&self, dst: &DeviceMemory, src: &PinnedMemory, stream: &D::Stream) -> DriverResult {
        // SAFETY: both are freed only once the streams are drained; tests write the host side only when they are.
        unsafe { self.driver.copy_to_device(dst.address, src.address, src.bytes, stream) }
    }

    /// Copy all of `dst`'s length from the start of `src`.
    pub fn copy_out(&self, dst: &PinnedMemory, src: &DeviceMemory, stream: &D::Stream) -> DriverResult {
        // SAFETY: both are freed only once the streams are drained; tests read the host side only when they are.
        unsafe { self.driver.copy_to_host(dst.address, src.address, dst.bytes, stream) }
    }

    /// Compile a kernel of the suite.
    pub fn code(&self, wgsl: &str) -> DriverResult<Code<'_, D>> {
        self.variant(wgsl, Variant::Direct)
    }

    /// Compile a variant of a kernel of the suite.
    ///
    /// # Panics
    ///
    /// When it does not compile: the suite's kernels are valid.
    pub fn variant(&self, wgsl: &str, variant: Variant) -> DriverResult<Code<'_, D>> {
        let source = KernelSource::from(wgsl);
        let invalid = |error| -> ! { panic!("a kernel of the suite does not compile: {error}") };
        let reflection = self.translator.reflect(&source).unwrap_or_else(|error| invalid(error));
        let code = self.translator.translate(&source, variant).unwrap_or_else(|error| invalid(error));
        // SAFETY: the image is complete and was made by this driver's translator.
        let module = unsafe { self.driver.module_load(&code.image) }?;
        // SAFETY: a held handle is destroyed once the streams are drained; no graph with it is launched again.
        let module = Held::new(self, module, |rig, module| unsafe { rig.driver.module_unload(module) });
        let function = self.driver.module_function(&module, &code.symbol)?;
        // A kernel must be loaded before a capture that uses it.
        self.driver.function_attribute(function, FunctionAttribute::ThreadsMax)?;
        Ok(Code { module, function, reflection, shared_bytes: code.shared_bytes, variant })
    }

    /// Run a kernel.
    pub fn launch(&self, code: &Code<'_, D>, groups: [u32; 3], params: &Params, stream: &D::Stream) -> DriverResult {
        // SAFETY: the parameters were made for this kernel; memory is freed only once the streams are drained.
        unsafe { self.driver.launch(code.function, &code.shape(groups), &params.pointers(), stream) }
    }

    /// Work that takes a while.
    pub fn slow(&self) -> DriverResult<Slow<'_, D>> {
        Ok(Slow { rig: self, code: self.code(crate::kernels::SPIN)?, scratch: self.words(&[1])? })
    }
}

impl<D: Driver> Slow<'_, D> {
    /// Give it to a stream.
    pub fn on(&self, stream: &D::Stream) -> DriverResult {
        const ROUNDS: u32 = 4000;
        let params = self.code.params(&[whole(&self.scratch)], &[ROUNDS.into()]);
        (0..4).try_for_each(|_| self.rig.launch(&self.code, [1; 3], &params, stream))
    }
}

/// The host's side of a copy, `offset` bytes into `pinned`.
pub(super) fn host_at(pinned: &PinnedMemory, offset: u64) -> HostPtr {
    assert!(offset < pinned.bytes.get());
    // The address stays within the allocation, so it is not null.
    let address = pinned.address.0.as_ptr().wrapping_add(offset as usize);
    HostPtr(std::ptr::NonNull::new(address).expect("an address within an allocation is not null"))
}
