//! A device with the calls that tests make often.

use std::time::Duration;

use graphreel::error::Result;
use graphreel::kernel::{Kernel, Value};
use graphreel::memory::{Account, BufferBinding, Handle};
use graphreel::op::{BufferArg, GridArg, Launch, Op, ValueArg};
use graphreel::server::{CaptureOptions, Sealed, WaitMode};
use graphreel::stream::StreamId;
use graphreel::ticket::Ticket;
use graphreel::{Clock, Config, Server, Wgsl};
use graphreel_wgpu::{Options, WgpuServer, absence, adapters, open};

/// The stream of most tests, and one that folds on its slot.
pub(crate) const OWNER: StreamId = StreamId { value: 7 };
pub(crate) const NEIGHBOUR: StreamId = StreamId { value: 7 + 16 };
/// A stream on another slot.
pub(crate) const OTHER: StreamId = StreamId { value: 8 };

pub(crate) const SAXPY: &str = "
var<immediate> a: f32;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn saxpy(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&y) {
        y[id.x] = a * x[id.x] + y[id.x];
    }
}
";

pub(crate) struct Rig {
    pub(crate) server: WgpuServer,
    pub(crate) account: Account,
}

/// A device, or `None` after saying why there is none.
pub(crate) fn rig() -> Option<Rig> {
    rig_with(Options::default())
}

#[expect(clippy::print_stderr, reason = "a skipped test says why")]
pub(crate) fn rig_with(options: Options) -> Option<Rig> {
    if adapters().is_empty() {
        let required =
            std::env::var("GRAPHREEL_REQUIRE").is_ok_and(|names| names.split(',').any(|name| name == "wgpu"));
        assert!(!required, "GRAPHREEL_REQUIRE names wgpu: {}", absence());
        eprintln!("skipped: {}", absence());
        return None;
    }
    let server = open(options).expect("there is an adapter");
    Some(Rig { server, account: Account::new("test", None) })
}

pub(crate) fn options(change: impl FnOnce(&mut Config)) -> Options {
    let mut options = Options::default();
    change(&mut options.config);
    options
}

impl Rig {
    pub(crate) fn kernel(&self, source: &str) -> Kernel {
        self.server.compiler().compile(&Wgsl::new(source).into()).expect("a valid kernel")
    }

    pub(crate) fn alloc(&mut self, bytes: u64) -> Handle {
        self.server.alloc(OWNER, bytes, &self.account).expect("a small allocation")
    }

    pub(crate) fn upload<T: bytemuck::Pod>(&mut self, values: &[T]) -> Handle {
        let handle = self.alloc(size_of_val(values) as u64);
        self.write(&handle, values);
        handle
    }

    pub(crate) fn write<T: bytemuck::Pod>(&mut self, handle: &Handle, values: &[T]) {
        self.server.submit(OWNER, write(handle, values)).expect("a write");
    }

    pub(crate) fn run(&mut self, op: Op) {
        self.server.submit(OWNER, op).expect("an operation that fits");
    }

    pub(crate) fn read<T: bytemuck::Pod>(&mut self, handle: &Handle) -> Vec<T> {
        self.try_read(&handle.binding()).expect("readable bytes")
    }

    pub(crate) fn try_read<T: bytemuck::Pod>(&mut self, range: &BufferBinding) -> Result<Vec<T>> {
        let ticket = self.server.read(OWNER, vec![range.clone()], WaitMode::Blocking)?;
        let bytes = self.finish(ticket)?;
        Ok(bytemuck::pod_collect_to_vec(&bytes[0]))
    }

    pub(crate) fn finish<T>(&mut self, ticket: Ticket<T>) -> Result<T> {
        let clock = Clock::system();
        let passed = ticket.fence.wait(&clock, clock.deadline_in(Duration::from_secs(60)))?;
        assert!(passed, "the device did not finish in a minute");
        (ticket.finish)(&mut self.server)
    }

    /// Capture what `record` submits, on `OWNER`.
    pub(crate) fn capture(&mut self, record: impl FnOnce(&mut Self)) -> Result<Sealed> {
        self.server.graph_prepare(OWNER, CaptureOptions::default())?;
        self.server.begin_capture(OWNER)?;
        record(self);
        self.server.end_capture(OWNER)
    }

    pub(crate) fn replay(&mut self, graph: &Sealed) -> Result<()> {
        let ticket = self.server.replay(OWNER, graph.id, false)?;
        self.finish(ticket).map(|_| ())
    }
}

pub(crate) fn write<T: bytemuck::Pod>(handle: &Handle, values: &[T]) -> Op {
    Op::Write { dst: handle.binding().into(), bytes: bytemuck::cast_slice(values).into() }
}

pub(crate) fn launch(kernel: &Kernel, groups: u32, buffers: &[&Handle], values: &[Value]) -> Launch {
    Launch {
        kernel: kernel.clone(),
        grid: GridArg::Fixed([groups, 1, 1]),
        buffers: buffers.iter().map(|handle| BufferArg::from(handle.binding())).collect(),
        values: values.iter().map(|value| ValueArg::Baked(*value)).collect(),
        label: None,
    }
}

pub(crate) fn saxpy(kernel: &Kernel, x: &Handle, y: &Handle, a: f32) -> Op {
    let groups = (y.binding().len() / 4).div_ceil(64) as u32;
    Op::Launch(launch(kernel, groups, &[x, y], &[a.into()]))
}

pub(crate) fn slot(handle: &Handle, name: &str) -> BufferArg {
    BufferArg { slot: Some(name.into()), ..handle.binding().into() }
}
