//! Working beside an application that uses the same driver: its memory and its streams as ours, and our addresses for its
//! calls. The order between its work and ours goes through a stream of its own that we were given.

use std::any::Any;

use super::driver::{CaptureState, DeviceMemory, DevicePtr, Driver};
use super::lanes::{Role, captures};
use super::pages::Foreign;
use super::server::HardwareServer;
use crate::error::{GraphOp, GraphRule, GraphState, Result, ServerError};
use crate::kernel::ADDRESS_ALIGNMENT;
use crate::memory::{Access, BufferBinding, Handle};
use crate::op::check_range;
use crate::server::Server;
use crate::stream::StreamId;

impl<D: Driver> HardwareServer<D> {
    /// Use memory of the application as ours. All of it counts as written, by what was given to `stream` so far. It is charged to
    /// nobody, and `owner` is dropped once nothing of ours uses it any more: no handle, no graph, no work in flight.
    ///
    /// # Errors
    ///
    /// `InvalidSize` for a size that is no multiple of 4; `Unsupported` for an address that is no multiple of 16, and for bytes
    /// that are memory of this device already; `GraphState` where the slot of `stream` records; the device's loss.
    ///
    /// # Safety
    ///
    /// The memory is of this driver's context and lives as long as `owner`, whose drop calls nothing of this device.
    /// Whoever else uses it orders that with our work: by [`HardwareServer::expose`], or by waiting.
    #[expect(unsafe_code, reason = "an address is taken from outside")]
    pub unsafe fn wrap(
        &mut self,
        stream: StreamId,
        memory: DeviceMemory,
        owner: Box<dyn Any + Send>,
    ) -> Result<Handle> {
        let _bound = self.enter()?;
        self.refuse_recording(stream)?;
        let bytes = memory.bytes.get();
        if !bytes.is_multiple_of(4) {
            return Err(ServerError::InvalidSize { bytes, problem: "a wrapped size is a multiple of 4".into() });
        }
        if !memory.address.0.get().is_multiple_of(ADDRESS_ALIGNMENT) {
            let why = format!("the address is no multiple of {ADDRESS_ALIGNMENT}; wrap from one that is");
            return Err(ServerError::unsupported("wrapping memory", why));
        }
        self.pages.check_new(&memory)?;
        let slot = self.book.slots().index_of(stream);
        let lane = self.lanes.of(Role::Main(slot))?;
        let point = self.lanes.issue(lane);
        let handle = Handle::new(&self.service, stream, bytes);
        let id = handle.memory().id();
        self.pages.wrap(id, Foreign { memory, owner });
        self.order.used(id, Access::Write, point);
        let ledger = self.book.ledger_mut();
        ledger.allocated(id, bytes);
        ledger.written(id, 0..bytes);
        Ok(handle)
    }

    /// Where a range's bytes lie, for work of the application on `stream`, which is one that it gave
    /// ([`HardwareServer::adopt_stream`]). What is given to that stream before the next call of this server comes after our
    /// earlier work on the range, and our later work after it; a range that it writes counts as written.
    ///
    /// # Errors
    ///
    /// `ForeignHandle`, `InvalidRange`; why bytes that are to be read cannot be; `GraphState` where the slot of `stream`
    /// records; the device's loss.
    pub fn expose(&mut self, stream: StreamId, range: &BufferBinding, access: Access) -> Result<DevicePtr> {
        let _bound = self.enter()?;
        self.refuse_recording(stream)?;
        check_range("expose", range, self.info.id)?;
        if access != Access::Write {
            self.book.check_read(range)?;
        }
        let id = range.memory.id();
        let address = self.pages.locate(range, self.info.id.0)?;
        let slot = self.book.slots().index_of(stream);
        let lane = self.lanes.of(Role::Main(slot))?;
        self.lanes.check_runs(lane)?;
        self.scratch.clear();
        self.order.before(id, access, &mut self.scratch);
        self.lanes.follow(lane, &self.scratch)?;
        let point = self.lanes.issue(lane);
        self.order.used(id, access, point);
        if access.writes() {
            self.book.ledger_mut().written(id, range.range());
        }
        Ok(address)
    }

    /// Use a stream of the application as ours: an exclusive one, on which nothing folds. Work that the application gives to it
    /// is in order with ours on it. Until it is returned by [`Server::return_stream`] our captures on it record what the
    /// application gives to it, too.
    ///
    /// # Errors
    ///
    /// `Unsupported` when all exclusive streams are in use, and for a stream that records a capture of the application; the
    /// device's loss.
    ///
    /// # Safety
    ///
    /// The stream is of this driver's context, never synchronises with the null stream, and lives until the
    /// server has given back the device. It is adopted once at a time. The application begins a capture on it only while no other
    /// thread can use the device, as within `Device::with_server`: a call of ours that comes later is refused as long as it
    /// records, and one that is under way would become a part of it.
    #[expect(unsafe_code, reason = "a stream is taken from outside")]
    pub unsafe fn adopt_stream(&mut self, stream: D::Stream) -> Result<StreamId> {
        let _bound = self.enter()?;
        let state = self.shared.driver().capture_state(&stream);
        if self.shared.settle(state, "asking about a stream of the application")? != CaptureState::None {
            return Err(captures());
        }
        let Some(id) = self.lease_stream() else {
            let why = "all exclusive streams are in use; return one, or raise Config::max_exclusive_streams";
            return Err(ServerError::unsupported("adopting a stream", why));
        };
        let slot = self.book.slots().index_of(id);
        self.lanes.adopt(Role::Main(slot), stream);
        Ok(id)
    }

    /// A stream of the driver, for the application's own calls: what it is given is in order with our work on `stream`.
    ///
    /// # Errors
    ///
    /// The device's loss; what making a stream answers.
    pub fn driver_stream(&mut self, stream: StreamId) -> Result<&D::Stream> {
        let _bound = self.enter()?;
        let slot = self.book.slots().index_of(stream);
        let lane = self.lanes.of(Role::Main(slot))?;
        Ok(self.lanes.stream(lane))
    }

    fn refuse_recording(&self, stream: StreamId) -> Result<()> {
        match self.book.status(stream) {
            status if status.recording => {
                let state = GraphState::new(GraphOp::Other, GraphRule::RefusedInWindow);
                Err(state.owner(status.owner).caller(stream).into())
            }
            _ => Ok(()),
        }
    }
}
