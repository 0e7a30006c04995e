//! Any server, asked for graphs of operations that are launched one by one. Captures of the suite ask for the best tier, which is never
//! the eager one; here that allows it, so that the suite runs on a device with no other.

use std::any::Any;

use graphreel::device::Monitor;
use graphreel::kernel::Compiler;
use graphreel::memory::{BufferBinding, Handle, MemoryService, MemoryUsage, TrimReport};
use graphreel::op::{Bytes, Op};
use graphreel::recording::CapturePolicy;
use graphreel::server::{CaptureOptions, CaptureStatus, Counters, GraphId, GraphUpdate, Sealed, WaitMode};
use graphreel::staging::Staging;
use graphreel::sync::Arc;
use graphreel::ticket::{Fence, Profile, ReplayReport, Ticket};
use graphreel::{Account, Caps, DeviceInfo, Result, Server, ServerError, StreamId};

use crate::Expect;

/// What of the suite is about graphs that a driver launches whole.
pub fn expect(test: &str) -> Expect {
    match test {
        "field::eager_execution_is_never_silent" => Expect::Unsupported("here every capture allows it"),
        "field::the_first_capture_of_a_device_is_a_graph" => Expect::Unsupported("the device has no tier of graphs"),
        "peers::a_long_replay_is_cut_as_reported_and_mistakes_are_errors" => {
            Expect::Unsupported("each operation is a launch of its own, so that there are as many")
        }
        _ => Expect::Pass,
    }
}

/// A server that passes every call on, save for the policy of captures that name none. `Device::with_server` finds the one inside.
#[derive(Debug)]
pub struct EagerAllowed<S>(pub S);

/// Methods that only pass on.
macro_rules! pass {
    ($(fn $name:ident(&self $(, $arg:ident: $ty:ty)*) $(-> $out:ty)?;)*
     $(mut fn $change:ident(&mut self $(, $given:ident: $of:ty)*) $(-> $answer:ty)?;)*) => {
        $(fn $name(&self $(, $arg: $ty)*) $(-> $out)? {
            self.0.$name($($arg),*)
        })*
        $(fn $change(&mut self $(, $given: $of)*) $(-> $answer)? {
            self.0.$change($($given),*)
        })*
    };
}

impl<S: Server + 'static> Server for EagerAllowed<S> {
    pass! {
        fn info(&self) -> DeviceInfo;
        fn caps(&self) -> Caps;
        fn memory_service(&self) -> MemoryService;
        fn compiler(&self) -> Arc<dyn Compiler>;
        fn monitor(&self) -> Arc<Monitor>;
        fn runs_in_process(&self) -> bool;
        fn pressure(&self) -> Option<Arc<dyn Fence>>;
        fn capture_status(&self, stream: StreamId) -> CaptureStatus;
        fn counters(&self) -> Counters;
        mut fn alloc(&mut self, stream: StreamId, bytes: u64, account: &Account) -> Result<Handle>;
        mut fn lease_stream(&mut self) -> Option<StreamId>;
        mut fn return_stream(&mut self, stream: StreamId);
        mut fn submit(&mut self, stream: StreamId, op: Op) -> Result<()>;
        mut fn doom(&mut self, stream: StreamId, error: &ServerError);
        mut fn stage(&mut self, bytes: u64) -> Result<Box<dyn Staging>>;
        mut fn write_staged(&mut self, stream: StreamId, dst: BufferBinding, staged: Box<dyn Staging>) -> Result<()>;
        mut fn fail_write(&mut self, stream: StreamId, dst: BufferBinding, error: &ServerError) -> Result<()>;
        mut fn flush(&mut self, stream: StreamId) -> Result<()>;
        mut fn read(&mut self, stream: StreamId, ranges: Vec<BufferBinding>, mode: WaitMode) -> Result<Ticket<Vec<Bytes>>>;
        mut fn sync(&mut self, stream: StreamId, mode: WaitMode) -> Result<Ticket<()>>;
        mut fn is_idle(&mut self) -> Result<bool>;
        mut fn as_any_mut(&mut self) -> &mut dyn Any;
        mut fn profile(&mut self, stream: StreamId, ops: Vec<Op>) -> Result<Ticket<Profile>>;
        mut fn begin_capture(&mut self, stream: StreamId) -> Result<()>;
        mut fn end_capture(&mut self, stream: StreamId) -> Result<Sealed>;
        mut fn graph_abort(&mut self, stream: StreamId) -> Result<()>;
        mut fn replay(&mut self, stream: StreamId, graph: GraphId, timed: bool) -> Result<Ticket<ReplayReport>>;
        mut fn graph_update(&mut self, graph: GraphId, update: GraphUpdate) -> Result<()>;
        mut fn graph_destroy(&mut self, graph: GraphId);
        mut fn external_write(&mut self, stream: StreamId, range: BufferBinding) -> Result<()>;
        mut fn memory_usage(&mut self) -> MemoryUsage;
        mut fn trim(&mut self) -> TrimReport;
    }

    fn graph_prepare(&mut self, stream: StreamId, mut options: CaptureOptions) -> Result<()> {
        if options.policy == CapturePolicy::Best {
            options.policy = CapturePolicy::AllowEager;
        }
        self.0.graph_prepare(stream, options)
    }
}
