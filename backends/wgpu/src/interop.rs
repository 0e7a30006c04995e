//! Working beside an application's own wgpu code: over its device, with its buffers, on its queue.
//!
//! Through `graphreel::device::Device` these are reached by `Device::with_server::<WgpuServer, _>(..)`.

use graphreel::error::Result;
use graphreel::memory::{BufferBinding, Handle};
use graphreel::op::check_range;
use graphreel::stream::StreamId;
use graphreel::{Config, ServerError};

use crate::adapters::describe;
use crate::fault::Faults;
use crate::open::assemble;
use crate::pages::PAGE_USAGE;
use crate::server::WgpuServer;

/// Where a buffer's bytes lie in wgpu.
#[derive(Clone, Debug)]
pub struct RawBuffer {
    /// The wgpu buffer. Others may lie in it too: touch only the named bytes.
    pub buffer: wgpu::Buffer,
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
}

impl WgpuServer {
    /// A server over the application's own device and queue.
    ///
    /// Takes over the device's lost callback (wgpu has one). The callback for uncaptured errors stays the application's:
    /// all that Graphreel asks of wgpu runs in error scopes. What the application submits itself is ordered with our work
    /// by submission, so flush before it and call `external_write` after it. wgpu may run the application's callbacks inside
    /// our submissions and polls, with the device's lock held: they must not use handles of this device.
    /// Both must come from one `wgpu::Instance`: wgpu panics otherwise. The device was opened by the application, so nothing
    /// is claimed: a backend beside it is the application's to avoid.
    ///
    /// # Errors
    ///
    /// `Unsupported` naming a limit of the device that is too low, before anything is made; `DeviceLost` for a device that
    /// was destroyed; what making our own kernels and buffers answers.
    pub fn from_device(device: wgpu::Device, queue: wgpu::Queue, config: Config) -> Result<Self> {
        let info = describe(&device.adapter_info());
        let server = assemble(device, queue, info, Faults::default(), config)?;
        let info = &server.gpu.info;
        tracing::info!(device = info.id.0, name = %info.name, api = %info.api, "device adopted");
        Ok(server)
    }

    /// The application's device and queue, as we use them.
    pub fn raw_device(&self) -> (&wgpu::Device, &wgpu::Queue) {
        (&self.gpu.device, &self.gpu.queue)
    }

    /// Use a buffer of the application as ours. All of it counts as written. It stays alive as long as a handle or graph
    /// holds it, and is charged to nobody. Until then it is not wrapped again: clone the first handle.
    /// It is unmapped, and from the device's own `wgpu::Instance`: wgpu does not tell a buffer of another instance from its own.
    ///
    /// # Errors
    ///
    /// `Unsupported` naming a missing usage, for a buffer that is mapped, and for one that is memory of this device already,
    /// by the number of that memory; `InvalidSize` when its size is not a multiple of 4; `DeviceFault` with wgpu's
    /// text when it belongs to another device; the device's loss.
    pub fn wrap_buffer(&mut self, stream: StreamId, buffer: wgpu::Buffer) -> Result<Handle> {
        self.enter()?;
        let missing = PAGE_USAGE - buffer.usage();
        if !missing.is_empty() {
            let names: Vec<&str> = missing.iter_names().map(|(name, _)| name).collect();
            return Err(ServerError::unsupported(
                format!("wrapping a buffer without {}", names.join(" and ")),
                "create it with STORAGE, COPY_SRC and COPY_DST",
            ));
        }
        let bytes = buffer.size();
        if bytes == 0 || !bytes.is_multiple_of(wgpu::COPY_BUFFER_ALIGNMENT) {
            let problem = "a wrapped buffer's size is a multiple of 4".into();
            return Err(ServerError::InvalidSize { bytes, problem });
        }
        self.pages.check_new(&buffer)?;
        // Only a mapped buffer has a range to look at. The look is over with this line.
        if buffer.get_mapped_range(..wgpu::COPY_BUFFER_ALIGNMENT).is_ok() {
            return Err(ServerError::unsupported("wrapping a buffer that is mapped", "unmap it first"));
        }
        self.check_device(&buffer)?;
        let handle = Handle::new(&self.service, stream, bytes);
        let id = handle.memory().id();
        self.pages.wrap(id, buffer);
        let ledger = self.book.ledger_mut();
        ledger.allocated(id, bytes);
        ledger.written(id, 0..bytes);
        Ok(handle)
    }

    /// Where a binding's bytes lie, after all that was queued on them is submitted.
    ///
    /// # Errors
    ///
    /// `ForeignHandle`, `InvalidRange`; what the submission answers.
    pub fn raw_buffer(&mut self, binding: &BufferBinding) -> Result<RawBuffer> {
        self.enter()?;
        check_range("raw_buffer", binding, self.gpu.info.id)?;
        let spot = self.pages.locate(binding, self.gpu.info.id.0)?;
        self.submit_batch()?;
        Ok(RawBuffer { buffer: self.pages.buffer(spot.page).clone(), offset: spot.offset, bytes: spot.bytes })
    }

    /// End the device as a driver's loss would: every wait ends, every later call answers `DeviceLost`.
    pub fn destroy_device(&mut self) {
        self.gpu.device.destroy();
        // wgpu tells its callback only once the queue is empty; waiters need not wait for that.
        self.gpu.monitor.lose("the device was destroyed by its owner");
        self.submits.poll();
    }

    /// Make the next `times` replays fail, before their first submit or after it. For tests of what follows from that.
    pub fn inject_replay_failure(&mut self, times: u32, after_submit: bool) {
        if after_submit {
            self.injected.after = times;
        } else {
            self.injected.before = times;
        }
    }

    /// Bind groups that eager launches keep now.
    pub fn cached_bind_groups(&self) -> usize {
        self.batch.groups.len()
    }

    /// wgpu refuses a command that names another device's buffer; the command is thrown away.
    fn check_device(&self, buffer: &wgpu::Buffer) -> Result<()> {
        let device = &self.gpu.device;
        let probe = || {
            let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: None });
            encoder.clear_buffer(buffer, 0, None);
            drop(encoder.finish());
        };
        self.gpu.scoped(probe).map_err(|caught| caught.into_fault(&self.gpu.monitor, "wrapping a buffer"))
    }
}
