//! P10: bytes over many replays and updates.

use graphreel::{Device, Grid, Wgsl};

use crate::Finding;

const SOURCE: &str = "
struct Scalars { rate: f32 }
var<immediate> s: Scalars;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64)
fn scale(@builtin(global_invocation_id) id: vec3u) {
    if id.x < arrayLength(&y) { y[id.x] = s.rate * x[id.x]; }
}";

/// Replays before the first look.
const WARM_UP: u32 = 1000;

/// Bytes reserved and in use after a warm-up, and after so many replays and updates more.
///
/// # Errors
///
/// What the device answers, or a wrong result at the end.
pub fn bytes_over_replays(device: &Device, replays: u32, updates: u32) -> Result<Finding, String> {
    bytes_over_replays_with(device, replays, updates, || Ok(()))
}

/// As [`bytes_over_replays`], with a `look` of the caller's own after the warm-up and at the end, when nothing is running.
///
/// # Errors
///
/// As [`bytes_over_replays`], and what `look` answers.
pub fn bytes_over_replays_with(
    device: &Device,
    replays: u32,
    updates: u32,
    look: impl FnMut() -> Result<(), String>,
) -> Result<Finding, String> {
    run(device, replays, updates, look).map_err(|error| error.to_string())?
}

fn run(
    device: &Device,
    replays: u32,
    updates: u32,
    mut look: impl FnMut() -> Result<(), String>,
) -> graphreel::Result<Result<Finding, String>> {
    let kernel = device.kernel(Wgsl::new(SOURCE))?;
    let x = device.upload(&[2.0f32; 1024])?;
    let y = device.alloc_for::<f32>(1024)?;
    let (graph, ()) = device.capture(|c| {
        let rate = c.param("rate", 1.0f32);
        c.launch(&kernel, Grid::cover(1024), (&x, &y, &rate))
    })?;
    let (mut before, mut last) = (device.memory_usage(), None);
    let every = (replays / updates.max(1)).max(1);
    for replay in 0..WARM_UP + replays {
        if replay == WARM_UP {
            device.sync()?;
            before = device.memory_usage();
            if let Err(error) = look() {
                return Ok(Err(error));
            }
        }
        if replay % every == 0 {
            graph.update(|u| u.set("rate", replay as f32))?;
        }
        last = Some(graph.replay()?);
    }
    if let Some(done) = last {
        done.wait()?;
    }
    let after = device.memory_usage();
    if let Err(error) = look() {
        return Ok(Err(error));
    }
    let rate = ((WARM_UP + replays - 1) / every * every) as f32;
    if y.read::<f32>()?.iter().any(|value| *value != 2.0 * rate) {
        return Ok(Err(format!("after {replays} replays the result is not {}", 2.0 * rate)));
    }
    let growth = after.reserved_bytes as f64 - before.reserved_bytes as f64 + after.in_use_bytes as f64
        - before.in_use_bytes as f64;
    Ok(Ok(Finding {
        target: "P10",
        what: format!("{replays} replays, {updates} updates"),
        sides: format!("{} / {} bytes", after.reserved_bytes, before.reserved_bytes),
        figure: growth,
        bound: "0 bytes",
        kept: growth == 0.0,
    }))
}
