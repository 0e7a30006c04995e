//! What a test works with: a device of its own, ways to open more, and the checks that most tests need.

use std::time::Duration;

use graphreel::device::Stream;
use graphreel::error::GraphRule;
use graphreel::{Buffer, Config, Device, Kernel, Result, ServerError, StreamId};

use crate::fixture::announce;
use crate::{Faults, Opened};

/// Longer than any wait of the suite that is to succeed; a test that reaches it has failed.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The surroundings of one test.
pub struct Env {
    /// The backend's name.
    pub name: &'static str,
    /// A device that no other test uses, opened with `Config::default()`.
    pub device: Device,
    open: fn(Config) -> Opened,
    faults: Option<&'static dyn Faults>,
}

impl Env {
    pub(crate) fn new(
        name: &'static str,
        device: Device,
        open: fn(Config) -> Opened,
        faults: Option<&'static dyn Faults>,
    ) -> Self {
        Self { name, device, open, faults }
    }

    /// Another device of the backend.
    ///
    /// # Panics
    ///
    /// When it cannot be opened, although the first one could.
    pub fn open(&self, config: Config) -> Device {
        match (self.open)(config) {
            Opened::Ready(device) => device,
            Opened::Absent(why) => panic!("{} opened one device and not another: {why}", self.name),
        }
    }

    /// The backend's fault injection, for a test that needs it; a test returns when there is none.
    pub fn faults(&self) -> Option<&'static dyn Faults> {
        if self.faults.is_none() {
            announce(&format!("{} injects no faults: this test did not run", self.name));
        }
        self.faults
    }

    /// Compile one of [`kernels`](crate::kernels).
    ///
    /// # Panics
    ///
    /// When it does not compile: the kit's own kernels are valid.
    pub fn kernel(&self, wgsl: &str) -> Kernel {
        kernel_on(&self.device, wgsl)
    }

    /// A buffer with `data`.
    ///
    /// # Panics
    ///
    /// When there is no memory for it.
    pub fn buffer(&self, data: &[u32]) -> Buffer {
        self.device.upload(data).expect("a small buffer can be made and written")
    }

    /// A buffer of `n` words that nothing has written.
    ///
    /// # Panics
    ///
    /// When there is no memory for it.
    pub fn unwritten(&self, n: u64) -> Buffer {
        self.device.alloc_for::<u32>(n).expect("a small buffer can be made")
    }

    /// Two logical streams that share one slot, which the calling thread's stream does not use.
    pub fn folded(&self) -> (Stream, Stream) {
        folded_on(&self.device)
    }

    /// Whether host writes, reads and neighbours of a recording slot follow the rules of a software graph (C-58).
    pub fn is_software_graph(&self) -> bool {
        !self.device.caps().records_host_writes
    }

    /// Check that the device works after whatever the test did: eager work, a capture and a replay give right bytes, and
    /// no window is open on `stream`.
    ///
    /// # Panics
    ///
    /// When it does not.
    pub fn assert_usable(&self, stream: &Stream) {
        assert!(!stream.capture_status().active, "a window is still open: {:?}", stream.capture_status());
        assert_works(&self.device);
    }
}

/// Compile one of [`kernels`](crate::kernels) for `device`.
///
/// # Panics
///
/// When it does not compile: the kit's own kernels are valid.
pub fn kernel_on(device: &Device, wgsl: &str) -> Kernel {
    device.kernel(wgsl).unwrap_or_else(|error| panic!("a kernel of the kit does not compile: {error}"))
}

/// Two logical streams of `device` that share one slot, which the calling thread's stream does not use.
pub fn folded_on(device: &Device) -> (Stream, Stream) {
    let slots = Config::default().max_streams as u64;
    let here = StreamId::current().value % slots;
    // Streams are given numbers in order, so the slot before this thread's is the last that a new one reaches.
    let owner = (1 << 32) * slots + (here + slots - 1) % slots;
    (device.stream_of(StreamId { value: owner }), device.stream_of(StreamId { value: owner + slots }))
}

/// Check that eager work, a capture and a replay give right bytes on `device`.
///
/// # Panics
///
/// When they do not.
pub fn assert_works(device: &Device) {
    let check = || -> Result<Vec<u32>> {
        let inc = kernel_on(device, crate::kernels::INC);
        let buffer = device.upload(&[1u32, 2, 3])?;
        device.launch(&inc, graphreel::Grid::stride(3), (&buffer,))?;
        let (graph, ()) = device.capture(|c| c.launch(&inc, graphreel::Grid::stride(3), (&buffer,)))?;
        graph.replay()?.wait_for(PATIENCE)?;
        buffer.read::<u32>()
    };
    match check() {
        Ok(words) => assert_eq!(words, [3, 4, 5], "the device computes wrong results afterwards"),
        Err(error) => panic!("the device is not usable afterwards: {error}"),
    }
}

/// The failure of a call that had to fail.
///
/// # Panics
///
/// When it did not.
#[track_caller]
pub fn failure<T>(result: Result<T>) -> ServerError {
    match result {
        Ok(_) => panic!("this call had to fail, and it answered a value"),
        Err(error) => error,
    }
}

/// The rule that a call broke, after checking that its text begins with the call (C-89).
///
/// # Panics
///
/// When it did not fail, or failed in another way.
#[track_caller]
pub fn rule<T>(result: Result<T>, prefix: &str) -> GraphRule {
    let error = failure(result);
    let text = error.to_string();
    assert!(text.starts_with(&format!("{prefix}: ")), "the text does not begin with `{prefix}: `: {text}");
    match error.graph_rule() {
        Some(rule) => rule.clone(),
        None => panic!("a lifecycle violation was expected: {error:?}"),
    }
}

/// Check that `error` says each of `parts`.
///
/// # Panics
///
/// When it does not.
#[track_caller]
pub fn says(error: &ServerError, parts: &[&str]) {
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "`{part}` is not named by: {text}");
    }
}

/// Check that reading `buffer` fails by a taint, and give its cause.
///
/// # Panics
///
/// When it does not.
#[track_caller]
pub fn taint_of(buffer: &Buffer) -> ServerError {
    match failure(buffer.read::<u32>()) {
        ServerError::Tainted { buffer: named, cause, .. } => {
            assert_eq!(named, buffer.memory_id(), "the taint names another buffer");
            (*cause).clone()
        }
        other => panic!("a taint was expected: {other}"),
    }
}
