//! What stands where a device's server was: every call is refused with the reason, and nothing reaches a driver.

use std::any::Any;

use crate::caps::{Caps, DeviceInfo};
use crate::device::Monitor;
use crate::error::{Result, ServerError};
use crate::kernel::Compiler;
use crate::memory::{Account, BufferBinding, Handle, MemoryService, MemoryUsage, TrimReport};
use crate::op::{Bytes, Op};
use crate::server::{CaptureOptions, CaptureStatus, Counters, GraphId, GraphUpdate, Sealed, Server, WaitMode};
use crate::staging::Staging;
use crate::stream::StreamId;
use crate::sync::Arc;
use crate::ticket::{Fence, Profile, ReplayReport, Ticket};

/// The server of a device that was closed.
pub(super) struct ClosedServer {
    pub(super) info: DeviceInfo,
    pub(super) caps: Caps,
    pub(super) service: MemoryService,
    pub(super) compiler: Arc<dyn Compiler>,
    pub(super) monitor: Arc<Monitor>,
    pub(super) why: ServerError,
}

impl ClosedServer {
    fn refuse<T>(&self) -> Result<T> {
        Err(self.why.clone())
    }
}

impl Server for ClosedServer {
    fn info(&self) -> DeviceInfo {
        self.info.clone()
    }

    fn caps(&self) -> Caps {
        self.caps.clone()
    }

    fn memory_service(&self) -> MemoryService {
        self.service.clone()
    }

    fn compiler(&self) -> Arc<dyn Compiler> {
        self.compiler.clone()
    }

    fn monitor(&self) -> Arc<Monitor> {
        self.monitor.clone()
    }

    fn alloc(&mut self, _stream: StreamId, _bytes: u64, _account: &Account) -> Result<Handle> {
        self.refuse()
    }

    fn lease_stream(&mut self) -> Option<StreamId> {
        None
    }

    fn return_stream(&mut self, _stream: StreamId) {}

    fn submit(&mut self, _stream: StreamId, _op: Op) -> Result<()> {
        self.refuse()
    }

    fn doom(&mut self, _stream: StreamId, _error: &ServerError) {}

    fn stage(&mut self, _bytes: u64) -> Result<Box<dyn Staging>> {
        self.refuse()
    }

    fn write_staged(&mut self, _stream: StreamId, _dst: BufferBinding, _staged: Box<dyn Staging>) -> Result<()> {
        self.refuse()
    }

    fn fail_write(&mut self, _stream: StreamId, _dst: BufferBinding, _error: &ServerError) -> Result<()> {
        // Nothing of it can be read any more.
        Ok(())
    }

    fn flush(&mut self, _stream: StreamId) -> Result<()> {
        self.refuse()
    }

    fn read(&mut self, _stream: StreamId, _ranges: Vec<BufferBinding>, _mode: WaitMode) -> Result<Ticket<Vec<Bytes>>> {
        self.refuse()
    }

    fn sync(&mut self, _stream: StreamId, _mode: WaitMode) -> Result<Ticket<()>> {
        self.refuse()
    }

    fn is_idle(&mut self) -> Result<bool> {
        Ok(true)
    }

    fn runs_in_process(&self) -> bool {
        false
    }

    fn pressure(&self) -> Option<Arc<dyn Fence>> {
        None
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn profile(&mut self, _stream: StreamId, _ops: Vec<Op>) -> Result<Ticket<Profile>> {
        self.refuse()
    }

    fn graph_prepare(&mut self, _stream: StreamId, _options: CaptureOptions) -> Result<()> {
        self.refuse()
    }

    fn begin_capture(&mut self, _stream: StreamId) -> Result<()> {
        self.refuse()
    }

    fn end_capture(&mut self, _stream: StreamId) -> Result<Sealed> {
        self.refuse()
    }

    fn graph_abort(&mut self, _stream: StreamId) -> Result<()> {
        // Its windows went with it, and nothing to abort is fine.
        Ok(())
    }

    fn capture_status(&self, _stream: StreamId) -> CaptureStatus {
        CaptureStatus { active: false, recording: false, owner: None }
    }

    fn replay(&mut self, _stream: StreamId, _graph: GraphId, _timed: bool) -> Result<Ticket<ReplayReport>> {
        self.refuse()
    }

    fn graph_update(&mut self, _graph: GraphId, _update: GraphUpdate) -> Result<()> {
        self.refuse()
    }

    fn graph_destroy(&mut self, _graph: GraphId) {}

    fn external_write(&mut self, _stream: StreamId, _range: BufferBinding) -> Result<()> {
        self.refuse()
    }

    fn memory_usage(&mut self) -> MemoryUsage {
        MemoryUsage::default()
    }

    fn trim(&mut self) -> TrimReport {
        TrimReport::default()
    }

    fn counters(&self) -> Counters {
        Counters::default()
    }
}
