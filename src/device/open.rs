//! The device handle: what allocates, compiles, captures and profiles.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use bytemuck::NoUninit;

use super::inner::{DeviceInner, UseAs};
use super::wait::Pending;
use super::{Args, Buffer, Capture, Graph, IntoGrid, Stream};
use crate::caps::{Caps, DeviceInfo};
use crate::clock::Clock;
use crate::config::Config;
use crate::error::{GraphOp, Result, ServerError};
use crate::kernel::{Kernel, KernelSource};
use crate::memory::{Account, BufferBinding, MemoryUsage, TrimReport};
use crate::op::Op;
use crate::recording::{CapturePolicy, Recorded};
use crate::server::{CaptureOptions, Counters, Server};
use crate::stream::StreamId;
use crate::sync::Arc;
use crate::ticket::Profile;

/// An open device. Cheap to clone and to share between threads; the last clone's drop closes it without waiting.
///
/// Plain calls go to the calling thread's own stream ([`StreamId::current`]).
#[derive(Clone, Debug)]
pub struct Device {
    pub(super) inner: Arc<DeviceInner>,
}

impl Device {
    /// A device over a backend's server. Applications open one through a backend or `graphreel-backends`.
    pub fn new(server: Box<dyn Server>, config: Config) -> Self {
        Self { inner: DeviceInner::new(server, config, UseAs::Direct(None)) }
    }

    /// As [`Device::new`], with something that is held for as long as the device is open and given back behind it.
    pub fn holding(server: Box<dyn Server>, config: Config, claim: impl Send + Sync + 'static) -> Self {
        Self { inner: DeviceInner::new(server, config, UseAs::Direct(Some(Box::new(claim)))) }
    }

    /// A device of a backend: memory and captures are had through its attempts alone.
    pub(crate) fn managed(server: Box<dyn Server>, config: Config) -> Self {
        Self { inner: DeviceInner::new(server, config, UseAs::Managed) }
    }

    /// Close it for good, however many handles are left: they are refused with `why` from now on. Blocks while the server
    /// gives back what it has. False when it was closed before, and for a device that a backend manages: that closes with its
    /// backend.
    pub fn retire(&self, why: &str) -> bool {
        !self.inner.managed && self.close(why)
    }

    /// As [`Device::retire`], for whoever manages it.
    pub(crate) fn close(&self, why: &str) -> bool {
        let Some(server) = self.inner.take_server(why) else { return false };
        // Outside the lock: what the server gives back may take its time.
        drop(server);
        // Nothing is open any more, so what was held for it goes too, however many handles are left.
        drop(self.inner.take_claim());
        true
    }

    /// Wake `waker` once the device is lost; true when it is already.
    pub(crate) fn wake_when_lost(&self, waker: &std::task::Waker) -> bool {
        self.inner.monitor.signal().poll(waker)
    }

    /// Let the server take in what was dropped or taken back since its last call. Does not wait.
    pub(crate) fn settle(&self) {
        // A lost device gives everything back at its end.
        let _ = self.inner.lock().is_idle();
    }

    /// Let the server destroy what was given up and is not used any more.
    pub(crate) fn reclaim(&self) {
        let _ = self.inner.lock().memory_usage();
    }

    /// The streams that are everybody's, one for each shared slot.
    pub(crate) fn shared_streams(&self) -> impl Iterator<Item = StreamId> + use<> {
        (0..self.inner.config.max_streams.max(1) as u64).map(|value| StreamId { value })
    }

    /// How many calls on streams that are everybody's were begun.
    pub(crate) fn shared_calls(&self) -> u64 {
        self.inner.shared_calls()
    }

    /// The clock of its deadlines.
    pub fn clock(&self) -> &Clock {
        &self.inner.config.clock
    }

    /// Whether `fence` of this device is passed, without asking for it once the device is closed. Does not block.
    pub(crate) fn is_passed(&self, fence: &dyn crate::ticket::Fence) -> Result<bool> {
        self.inner.passed(fence)
    }

    /// The exclusive slot of `stream` for its next user: handles of the last one are refused from now on, and the window
    /// that it left open is aborted.
    pub(crate) fn next_turn(&self, stream: StreamId) -> StreamId {
        self.inner.next_turn(stream)
    }

    /// Refuse a call that no closure of this device may make, while one runs on this thread.
    pub(crate) fn refuse_in_closure(&self, call: GraphOp, instead: &'static str) -> Result<()> {
        self.inner.refuse_in_closure(call, instead)
    }

    /// Who it is.
    pub fn info(&self) -> &DeviceInfo {
        &self.inner.info
    }

    /// What it can do.
    pub fn caps(&self) -> &Caps {
        &self.inner.caps
    }

    /// The error that every call answers, when the device is lost.
    pub fn lost(&self) -> Option<ServerError> {
        self.inner.monitor.lost()
    }

    /// Why it answers no call any more: it is lost, or closed. `None` while it does.
    pub(crate) fn gone(&self) -> Option<ServerError> {
        self.lost().or_else(|| self.inner.closed())
    }

    /// Block until the device is lost, for at most `timeout`; true when it is.
    pub fn wait_lost(&self, timeout: Duration) -> bool {
        let clock = &self.inner.config.clock;
        clock.wait(self.inner.monitor.signal(), clock.deadline_in(timeout))
    }

    /// Compile a kernel. Other threads go on meanwhile: no lock is held.
    ///
    /// # Errors
    ///
    /// `InvalidKernel` with the place in the source.
    pub fn kernel(&self, source: impl Into<KernelSource>) -> Result<Kernel> {
        self.inner.monitor.check()?;
        let _call = self.inner.unlocked_call()?;
        self.inner.compiler.compile(&source.into())
    }

    /// Reserve `bytes` of device memory. Nothing is written: a read answers `Unwritten` until something is.
    ///
    /// Nothing is waited for. Where the driver has no more, but will have once the device is idle, the error says how much
    /// ([`OutOfMemory::held`](crate::error::OutOfMemory::held)).
    ///
    /// # Errors
    ///
    /// `InvalidSize` for zero or above `Caps::buffer_bytes_max`; `OutOfMemory`.
    pub fn alloc(&self, bytes: u64) -> Result<Buffer> {
        self.alloc_charged(bytes, &DeviceInner::default_account())
    }

    /// As [`Device::alloc`], paid by `account`.
    ///
    /// # Errors
    ///
    /// As [`Device::alloc`], with the account's limit.
    pub fn alloc_charged(&self, bytes: u64, account: &Account) -> Result<Buffer> {
        self.alloc_on(StreamId::current(), bytes, account)
    }

    /// As [`Device::alloc_charged`], for the stream of choice.
    pub(crate) fn alloc_on(&self, stream: StreamId, bytes: u64, account: &Account) -> Result<Buffer> {
        if !account.is_granted() {
            self.inner.refuse_if_managed("an allocation")?;
        }
        let handle = self.inner.lock_on(stream)?.alloc(stream, bytes, account)?;
        account.remember(handle.memory());
        Ok(Buffer::new(self.clone(), handle.binding()))
    }

    /// Reserve memory for `n` elements of `T`.
    ///
    /// # Errors
    ///
    /// As [`Device::alloc`].
    pub fn alloc_for<T>(&self, n: u64) -> Result<Buffer> {
        let size = size_of::<T>() as u64;
        let bytes = n.checked_mul(size).ok_or_else(|| ServerError::InvalidSize {
            bytes: u64::MAX,
            problem: format!("{n} elements of {size} bytes exceed what a 64-bit size can hold").into(),
        });
        self.alloc(self.inner.or_doom(StreamId::current(), bytes)?)
    }

    /// A new buffer with a copy of `data`.
    ///
    /// # Errors
    ///
    /// As [`Device::alloc`] and [`Buffer::write`].
    pub fn upload<T: NoUninit>(&self, data: &[T]) -> Result<Buffer> {
        self.inner.refuse_in_closure(GraphOp::Write, "c.alloc and c.upload")?;
        let buffer = self.alloc(size_of_val(data) as u64)?;
        buffer.write(data)?;
        Ok(buffer)
    }

    /// A handle on memory that a backend's own call made.
    ///
    /// # Errors
    ///
    /// `ForeignHandle` for memory of another device.
    pub fn adopt(&self, binding: BufferBinding) -> Result<Buffer> {
        let buffer = Buffer::new(self.clone(), binding);
        self.check_buffer(&buffer)?;
        Ok(buffer)
    }

    pub(super) fn check_buffer(&self, buffer: &Buffer) -> Result<()> {
        self.inner.check_owner(|| format!("buffer {}", buffer.memory_id()), buffer.binding().memory.device())
    }

    /// The calling thread's stream, as a handle that stays the same on any thread.
    pub fn stream(&self) -> Stream {
        Stream::new(self.clone(), StreamId::current())
    }

    /// A stream that no thread uses yet.
    pub fn new_stream(&self) -> Stream {
        Stream::new(self.clone(), StreamId::fresh())
    }

    /// The stream of that name.
    pub fn stream_of(&self, id: StreamId) -> Stream {
        Stream::new(self.clone(), id)
    }

    /// Run `kernel` over `grid` with `args` on the calling thread's stream.
    ///
    /// # Errors
    ///
    /// As [`Stream::launch`].
    pub fn launch(&self, kernel: &Kernel, grid: impl IntoGrid, args: impl Args) -> Result<()> {
        self.inner.refuse_if_managed("a launch outside of an attempt's streams")?;
        let stream = StreamId::current();
        let op = self.inner.or_doom(stream, super::build::launch(kernel, grid, args))?;
        self.inner.submit(stream, op)
    }

    /// Block until all work of the calling thread's stream is done.
    ///
    /// # Errors
    ///
    /// As [`Stream::sync`].
    pub fn sync(&self) -> Result<()> {
        self.stream().sync()
    }

    /// Record what `closure` asks for, once, as a graph. The closure's value is returned with it.
    ///
    /// The closure runs before any window is open: operations are checked, memory is allocated, and nothing is launched.
    /// Only what goes through its argument is recorded; plain handles of this device are refused on this thread meanwhile,
    /// but for allocation, compilation and drop. Other threads go on.
    ///
    /// # Errors
    ///
    /// What the closure answers; `GraphState` for a nested or an empty capture; `ClosurePanicked`: the device is as it was
    /// then. `Tainted` for an input that carries a failure, and what sealing answers: there is no graph, and what it would
    /// have written carries the failure (C-76).
    pub fn capture<R>(&self, closure: impl FnOnce(&mut Capture) -> Result<R>) -> Result<(Graph, R)> {
        self.capture_with(CaptureOptions::default(), closure)
    }

    /// As [`Device::capture`], with the tiers it may use.
    ///
    /// # Errors
    ///
    /// As [`Device::capture`]; `TierRefused` with the reasons when the policy cannot be met.
    pub fn capture_as<R>(
        &self,
        policy: CapturePolicy,
        closure: impl FnOnce(&mut Capture) -> Result<R>,
    ) -> Result<(Graph, R)> {
        self.capture_with(CaptureOptions { policy, label: None }, closure)
    }

    /// As [`Device::capture`], with a policy and a label.
    ///
    /// # Errors
    ///
    /// As [`Device::capture_as`].
    pub fn capture_with<R>(
        &self,
        options: CaptureOptions,
        closure: impl FnOnce(&mut Capture) -> Result<R>,
    ) -> Result<(Graph, R)> {
        self.inner.refuse_if_managed("a capture")?;
        let (value, ops, _recorded) =
            self.collect(GraphOp::Capture, "capture", options.label.clone(), None, closure)?;
        let mut server = self.inner.lock();
        let leased = server.lease_stream();
        let stream = leased.unwrap_or_else(StreamId::current);
        let sealed = record(&mut **server, stream, options, ops);
        if let Some(stream) = leased {
            server.return_stream(stream);
        }
        drop(server);
        Ok((Graph::new(self.clone(), sealed?, None), value))
    }

    /// As [`Device::capture_with`], in a window of `stream`, with what the closure allocates paid by `account`.
    pub(crate) fn capture_on<R>(
        &self,
        stream: StreamId,
        account: &Account,
        options: CaptureOptions,
        closure: impl FnOnce(&mut Capture) -> Result<R>,
    ) -> Result<(Graph, R)> {
        let account = Some(account.clone());
        let (value, ops, _recorded) =
            self.collect(GraphOp::Capture, "capture", options.label.clone(), account, closure)?;
        let sealed = record(&mut **self.inner.lock_on(stream)?, stream, options, ops)?;
        Ok((Graph::new(self.clone(), sealed, Some(stream)), value))
    }

    /// Run what `closure` asks for, and time it on the device. Refused on a stream that records.
    ///
    /// # Errors
    ///
    /// As [`Device::capture`] and [`Stream::launch`].
    pub fn profile<R>(&self, closure: impl FnOnce(&mut Capture) -> Result<R>) -> Result<(Profile, R)> {
        self.inner.refuse_if_managed("a profile")?;
        let (value, ops, _recorded) = self.collect(GraphOp::Profile, "profile", None, None, closure)?;
        let stream = StreamId::current();
        let ticket = self.inner.lock_on(stream)?.profile(stream, ops)?;
        let profile = Pending::new(self.inner.clone(), ticket, "a profile").wait()?;
        Ok((profile, value))
    }

    /// Run a closure and keep what it asked for. A panic inside becomes an error: nothing was launched.
    pub(super) fn collect<R>(
        &self,
        call: GraphOp,
        name: &'static str,
        label: Option<Arc<str>>,
        account: Option<Account>,
        closure: impl FnOnce(&mut Capture) -> Result<R>,
    ) -> Result<(R, Vec<Op>, Recorded)> {
        self.inner.monitor.check()?;
        let mut capture = Capture::new(self.clone(), label, account);
        let outcome = {
            let _inside = self.inner.enter_closure(call)?;
            catch_unwind(AssertUnwindSafe(|| closure(&mut capture)))
        };
        match outcome {
            Ok(value) => {
                let value = value?;
                let (ops, recorded) = capture.into_parts();
                Ok((value, ops, recorded))
            }
            Err(payload) => Err(ServerError::ClosurePanicked { op: name, message: panic_text(&*payload).into() }),
        }
    }

    /// Bytes reserved, used and pinned.
    pub fn memory_usage(&self) -> MemoryUsage {
        self.inner.lock().memory_usage()
    }

    /// Give pages that nothing uses back to the device.
    pub fn trim(&self) -> TrimReport {
        self.inner.lock().trim()
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        self.inner.lock().counters()
    }

    /// Use the backend's own server, for calls that only this backend has. `None` when it is another backend. Holds the
    /// device's lock: `with` must not use handles of this device.
    pub fn with_server<S: Server + 'static, R>(&self, with: impl FnOnce(&mut S) -> R) -> Option<R> {
        self.inner.lock().as_any_mut().downcast_mut::<S>().map(with)
    }

    /// As [`Device::with_contract`], for calls on `stream`.
    ///
    /// # Errors
    ///
    /// [`ServerError::Closed`] for an exclusive stream whose turn is over.
    pub(crate) fn with_contract_on<R>(&self, stream: StreamId, with: impl FnOnce(&mut dyn Server) -> R) -> Result<R> {
        Ok(with(&mut **self.inner.lock_on(stream)?))
    }

    /// Wait for at most `within` where too much is in flight; whether there is room for more.
    ///
    /// # Errors
    ///
    /// The device's loss or close.
    pub(crate) fn has_room(&self, within: Duration) -> Result<bool> {
        let Some(fence) = self.inner.lock().pressure() else { return Ok(true) };
        self.inner.closed().map_or(Ok(()), Err)?;
        // A matter of the waiting thread, whatever the device's clock is.
        let clock = Clock::system();
        fence.wait(&clock, clock.deadline_in(within))
    }

    /// Use the server as the contract sees it, for tests of backends. Holds the device's lock, as [`Device::with_server`].
    pub fn with_contract<R>(&self, with: impl FnOnce(&mut dyn Server) -> R) -> R {
        with(&mut **self.inner.lock())
    }
}

/// The whole lifecycle in one hold of the lock: the window is open for as long as it takes to issue `ops`.
fn record(
    server: &mut dyn Server,
    stream: StreamId,
    options: CaptureOptions,
    ops: Vec<Op>,
) -> Result<crate::server::Sealed> {
    server.graph_prepare(stream, options)?;
    let issue = |server: &mut dyn Server| {
        server.begin_capture(stream)?;
        ops.into_iter().try_for_each(|op| server.submit(stream, op))
    };
    if let Err(error) = issue(server) {
        if let Err(abort) = server.graph_abort(stream) {
            return Err(ServerError::several(vec![error, abort]));
        }
        return Err(error);
    }
    server.end_capture(stream)
}

fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a value that is no text".to_owned())
}
