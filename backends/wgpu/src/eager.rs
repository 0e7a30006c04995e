//! The eager calls: running operations, submitting the batch, reading back, timing.

use graphreel::error::Result;
use graphreel::memory::BufferBinding;
use graphreel::op::{Bytes, Op, check, check_range};
use graphreel::stream::StreamId;
use graphreel::sync::Arc;
use graphreel::ticket::{Passed, Profile, Ticket};
use graphreel::{Server, ServerError};

use crate::batch::Scene;
use crate::server::WgpuServer;
use crate::staging::Staging;
use crate::tape::Tape;
use crate::timing::{StampReader, Stamps};

/// Failures kept for the next flush or sync.
const UNREPORTED_MAX: usize = 32;

impl WgpuServer {
    /// Submit what is encoded. A batch that wgpu refuses taints all that it would have written.
    ///
    /// # Errors
    ///
    /// `DeviceFault`, once; the device's loss.
    pub(crate) fn submit_batch(&mut self) -> Result<()> {
        self.submit_batch_into(None).map(|_| ())
    }

    /// As [`WgpuServer::submit_batch`], for a timed batch whose timestamps go to `readback`.
    fn submit_batch_into(&mut self, readback: Option<&wgpu::Buffer>) -> Result<Option<(StampReader, u64)>> {
        self.gpu.monitor.check()?;
        if !self.batch.has_work() {
            return Ok(None);
        }
        let gpu = self.gpu.clone();
        let origin = "a batch of eager operations";
        let mut outputs = Vec::new();
        let closing = gpu.scoped(|| {
            let closed = self.batch.close(&gpu.queue);
            outputs = closed.outputs;
            closed.tape.map(|tape| tape.finish(readback))
        });
        let finished = closing.map_err(|caught| caught.into_fault(&gpu.monitor, origin));
        let submitted = finished.and_then(|finished| {
            let (commands, stamps) = finished.unzip();
            self.submits.submit(&gpu, commands, origin)?;
            Ok(stamps.flatten())
        });
        self.uploads.submitted(&gpu, submitted.is_ok());
        if let Err(error) = &submitted {
            gpu.faults.count();
            for (id, range) in outputs {
                self.book.ledger_mut().taint(id, range, error, None);
            }
        }
        submitted
    }

    /// Run an admitted operation.
    pub(crate) fn run(&mut self, stream: StreamId, op: &Op) -> Result<()> {
        let scene = Scene { gpu: &self.gpu, pages: &self.pages, keep_all: !self.armed.is_empty() };
        if let Err(error) = self.batch.encode(scene, op) {
            self.book.failed(stream, op, &error);
            return Err(error);
        }
        self.book.ran(op);
        if matches!(op, Op::Launch(_) | Op::LaunchIndirect(_)) {
            self.counters.launches += 1;
        }
        Ok(())
    }

    /// Keep a failure for the next flush or sync; the oldest leave first, since each is also kept as taint.
    pub(crate) fn report_later(&mut self, error: ServerError) {
        if self.unreported.len() == UNREPORTED_MAX {
            self.unreported.pop_front();
        }
        self.unreported.push_back(error);
    }

    /// A failure that no call has answered with yet.
    pub(crate) fn report(&mut self) -> Result<()> {
        match self.unreported.pop_front().or_else(|| self.gpu.faults.take()) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// `value`, once all that is submitted is done.
    pub(crate) fn done<T: Send + 'static>(&self, value: T) -> Ticket<T> {
        match self.submits.fence(None) {
            Some(fence) => Ticket { fence, finish: Box::new(move |_| Ok(value)) },
            None => Ticket::ready(value),
        }
    }

    /// See [`graphreel::Server::read`]; no window refuses it.
    pub(crate) fn read_ranges(&mut self, ranges: &[BufferBinding]) -> Result<Ticket<Vec<Bytes>>> {
        let here = self.gpu.info.id.0;
        let mut total = 0u64;
        let mut parts = Vec::with_capacity(ranges.len());
        for range in ranges {
            check_range("read", range, self.gpu.info.id)?;
            self.book.check_read(range)?;
            let spot = self.pages.locate(range, here)?;
            parts.push((spot, total));
            total += spot.padded();
        }
        if total == 0 {
            return Ok(Ticket::ready(Vec::new()));
        }
        let mut staging = self.staging.take(&self.gpu, total)?;
        for (spot, at) in &parts {
            let scene = Scene { gpu: &self.gpu, pages: &self.pages, keep_all: true };
            self.batch.read(scene, spot, staging.buffer(), *at)?;
        }
        self.submit_batch()?;
        let mapped = staging.map(total);
        let fence = self.submits.fence(Some(mapped)).unwrap_or_else(|| Arc::new(Passed));
        let wanted: Vec<(u64, u64)> = parts.iter().map(|(spot, at)| (*at, spot.bytes)).collect();
        let monitor = self.gpu.monitor.clone();
        let finish = move |_: &mut dyn Server| {
            monitor.check()?;
            staging.read(total, &wanted)
        };
        Ok(Ticket { fence, finish: Box::new(finish) })
    }

    /// See [`graphreel::Server::profile`]; no window refuses it.
    pub(crate) fn profile_ops(&mut self, stream: StreamId, ops: &[Op]) -> Result<Ticket<Profile>> {
        self.submit_batch()?;
        let bytes = ops.len() as u64 * 16;
        let made = self.gpu.scoped(|| Stamps::new(&self.gpu, ops.len()));
        let stamps = made.map_err(|caught| caught.into_memory(&self.gpu.monitor, "timestamps", bytes))?;
        let mut staging = match &stamps {
            Some(_) => Some(self.staging.take(&self.gpu, bytes)?),
            None => None,
        };
        if stamps.is_some() {
            let made = self.gpu.scoped(|| Tape::new(&self.gpu.device, "graphreel profile", stamps));
            self.batch.begin_timed(made.map_err(|caught| caught.into_fault(&self.gpu.monitor, "a profile"))?);
        }
        let mut failed = None;
        for op in ops {
            let ran = check(op, &self.gpu.caps, self.gpu.info.id)
                .and_then(|()| self.book.admit(stream, op))
                .and_then(|_| self.run(stream, op));
            if let Err(error) = ran {
                failed = Some(error);
                break;
            }
        }
        let stamps = self.submit_batch_into(staging.as_ref().map(Staging::buffer));
        if let Some(error) = failed {
            return Err(error);
        }
        let absent = StampReader::absent(ops.len());
        match (stamps?, &mut staging) {
            (Some((reader, bytes)), Some(buffer)) if bytes > 0 => {
                let mapped = buffer.map(bytes);
                let fence = self.submits.fence(Some(mapped)).unwrap_or_else(|| Arc::new(Passed));
                let finish = move |_: &mut dyn Server| {
                    let read = staging.as_ref().map(|staging| staging.read(bytes, &[(0, bytes)])).transpose()?;
                    let (operations, total) = reader.read(read.as_ref().map_or(&[], |read| &read[0]));
                    Ok(Profile { total, operations })
                };
                Ok(Ticket { fence, finish: Box::new(finish) })
            }
            _ => {
                let (operations, total) = absent.read(&[]);
                Ok(self.done(Profile { total, operations }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use graphreel::Server;

    use crate::tests::Breakable;

    #[test]
    fn a_refused_batch_leaves_no_taint_on_memory_that_is_gone() {
        // C-80: an id is never used again, so nothing would ever clear it.
        let Some(mut rig) = Breakable::open() else { return };
        let (gone, kept, wrapped) = (rig.alloc(), rig.alloc(), rig.wrapped.clone());
        for handle in [&wrapped, &gone, &kept] {
            rig.fill(handle);
        }
        drop(gone);
        rig.server.collect();
        // wgpu refuses a batch that uses a destroyed buffer.
        rig.raw.destroy();
        let refused = rig.server.sync(rig.stream, graphreel::server::WaitMode::Blocking);
        refused.map(drop).expect_err("wgpu refuses the batch");
        rig.server.book.check_read(&kept.binding()).expect_err("what is still there is tainted");
        let Breakable { mut server, wrapped: last, .. } = rig;
        drop((wrapped, last, kept));
        server.collect();
        assert!(!server.book.ledger().has_taint());
    }
}
