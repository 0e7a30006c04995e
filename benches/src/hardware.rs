//! What the hardware-graph server adds to its driver's calls: measured over a driver that does nothing.

use std::time::{Duration, Instant};

use graphreel::graph::{Backend, HardwareServer};
use graphreel::recording::{CapturePolicy, Tier};
use graphreel::sync::Arc;
use graphreel::{Config, Device, Kernel, Result};

use crate::null::{NullDriver, NullTranslator};
use crate::{Finding, median};

/// A kernel with a read and a written buffer and two scalars.
const SAXPY: &str = "
    struct P { a: f32, n: u32 }
    var<immediate> p: P;
    @group(0) @binding(0) var<storage, read> x: array<f32>;
    @group(0) @binding(1) var<storage, read_write> y: array<f32>;
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < p.n { y[id.x] += p.a * x[id.x]; }
    }";

/// Operations in one timed run.
const CALLS: u32 = 10_000;

/// Bounds of the targets: time of an eager launch and of a replay, and to seal a large graph.
const CALL_BOUND_US: f64 = 0.7;
/// What each buffer that a graph claims may add to a replay.
const BUFFER_BOUND_US: f64 = 0.05;
const SEAL_BOUND: Duration = Duration::from_millis(20);

/// Nodes of the large graph.
const SEALED_NODES: usize = 10_000;

/// A device whose driver does nothing.
///
/// # Errors
///
/// What opening answers.
pub fn open() -> Result<Device> {
    let config = Config::default();
    Ok(Device::new(Box::new(server(config.clone())?), config))
}

/// A server over a driver that does nothing.
///
/// # Errors
///
/// What opening answers.
pub fn server(config: Config) -> Result<HardwareServer<NullDriver>> {
    let backend = Backend { name: "null", api: "null", kind: None };
    HardwareServer::open(NullDriver::new(), &backend, Arc::new(NullTranslator), config)
}

/// Every figure of this file.
///
/// # Errors
///
/// What a call that had to work answered.
pub fn findings(rounds: u32) -> Result<Vec<Finding>> {
    let device = open()?;
    let kernel = device.kernel(SAXPY)?;
    let mut found = vec![eager(&device, &kernel, rounds)?];
    for buffers in [2, 64] {
        found.push(replay(&device, &kernel, buffers, rounds)?);
    }
    for tier in [Tier::Captured, Tier::Built] {
        found.push(seal(&device, &kernel, tier, rounds.min(10))?);
    }
    Ok(found)
}

/// An eager launch with two buffers and two scalars, the check of its arguments and the lock included.
fn eager(device: &Device, kernel: &Kernel, rounds: u32) -> Result<Finding> {
    let (x, y) = (device.upload(&[1f32; 256])?, device.upload(&[2f32; 256])?);
    let mut times = Vec::new();
    for _ in 0..rounds {
        let start = Instant::now();
        for _ in 0..CALLS {
            device.launch(kernel, [4, 1, 1], (&x, &y, 0.5f32, 256u32))?;
        }
        times.push(start.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS));
    }
    Ok(call("eager launch", "2 buffers, 2 scalars".to_owned(), median(times), CALL_BOUND_US))
}

/// A replay of a graph that writes `buffers` buffers, its answer dropped.
fn replay(device: &Device, kernel: &Kernel, buffers: usize, rounds: u32) -> Result<Finding> {
    let x = device.upload(&[1f32; 256])?;
    let ys = (1..buffers).map(|_| device.upload(&[2f32; 256])).collect::<Result<Vec<_>>>()?;
    let record =
        |c: &mut graphreel::Capture| ys.iter().try_for_each(|y| c.launch(kernel, [4, 1, 1], (&x, y, 0.5f32, 256u32)));
    let (graph, ()) = device.capture(record)?;
    let mut times = Vec::new();
    for _ in 0..rounds {
        let start = Instant::now();
        for _ in 0..CALLS {
            drop(graph.replay()?);
        }
        times.push(start.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS));
    }
    let bound = CALL_BOUND_US + BUFFER_BOUND_US * buffers as f64;
    Ok(call("replay", format!("{buffers} buffers"), median(times), bound))
}

fn call(target: &'static str, what: String, micros: f64, bound: f64) -> Finding {
    Finding {
        target,
        what: format!("over a driver that does nothing: {what}"),
        sides: format!("{micros:.2} us"),
        figure: micros,
        bound: "<= 0.7 us; a replay + 0.05 us a buffer",
        kept: micros <= bound,
    }
}

/// Sealing a graph of many nodes over 256 buffers: a chain on each.
fn seal(device: &Device, kernel: &Kernel, tier: Tier, rounds: u32) -> Result<Finding> {
    let x = device.upload(&[1f32; 256])?;
    let ys = (0..256).map(|_| device.upload(&[2f32; 256])).collect::<Result<Vec<_>>>()?;
    let mut times = Vec::new();
    for _ in 0..rounds {
        let policy = CapturePolicy::Require(vec![tier]);
        let (graph, ()) = device.capture_as(policy, |c| {
            let ys = ys.iter().cycle().take(SEALED_NODES);
            ys.into_iter().try_for_each(|y| c.launch(kernel, [4, 1, 1], (&x, y, 0.5f32, 256u32)))
        })?;
        times.push(graph.report().seal_time.as_secs_f64() * 1e3);
    }
    let millis = median(times);
    Ok(Finding {
        target: "seal",
        what: format!("over a driver that does nothing: {SEALED_NODES} nodes, {tier}"),
        sides: format!("{millis:.2} ms"),
        figure: millis,
        bound: "<= 20 ms",
        kept: millis <= SEAL_BOUND.as_secs_f64() * 1e3,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_works_over_a_driver_that_does_nothing() {
        let found = findings(1).expect("every call works");
        assert_eq!(found.len(), 5);
    }
}
