//! CUDA against the driver called by hand: the same work, in one process and one context, the two sides taking turns. Every
//! result is checked before anything is timed, and again at the end.

pub mod chain;
pub mod copies;
pub mod kernels;
pub mod launches;
pub mod memory;
pub mod raw;
pub mod steps;

use std::time::Duration;

use graphreel::{Device, Kernel};
use graphreel_compilers::nvrtc::Nvrtc;

use crate::Finding;
use raw::{Module, Raw, Said, Stream};

/// The kernels written by hand.
const BY_HAND: &str = include_str!("../../cuda/kernels.cu");

/// How much of each is run.
#[derive(Clone, Copy, Debug)]
pub struct Volume {
    /// Turns of both sides.
    pub rounds: u32,
    /// Timed runs of a side in its turn, after one that is not timed.
    pub repeats: u32,
    /// Replays over which memory is looked at.
    pub replays: u32,
    /// Updates among them.
    pub updates: u32,
    /// Elements of the large vectors, a multiple of 2^18.
    pub elements: u32,
    /// Rows and columns of the matrices.
    pub rows: u32,
}

impl Volume {
    /// What the figures are made of.
    pub const FULL: Self =
        Self { rounds: 60, repeats: 10, replays: 100_000, updates: 10_000, elements: 64 << 20, rows: 2048 };
    /// To see that all of it works.
    pub const QUICK: Self = Self { rounds: 4, repeats: 3, replays: 1000, updates: 100, elements: 1 << 20, rows: 256 };
}

/// Both sides on one device.
#[derive(Debug)]
pub struct Sides {
    /// Ours.
    pub device: Device,
    /// By hand. Dropped after the stream.
    pub stream: Stream,
    /// Kernels compiled as NVRTC compiles by itself.
    pub module: Module,
    /// The same without fused multiply-adds, as WGSL's rules have ours.
    pub unfused: Module,
    /// The driver by hand.
    pub raw: Raw,
}

impl Sides {
    /// The side by hand for a device that is open.
    ///
    /// # Errors
    ///
    /// What the driver or NVRTC answers.
    pub fn new(device: &Device) -> Said<Self> {
        if device.info().backend != "cuda" {
            return Err(format!("{} is a device of {}, not of cuda", device.info().name, device.info().backend));
        }
        let raw = Raw::open(device.info().pci.as_deref())?;
        let nvrtc = Nvrtc::find().map_err(text)?;
        let compile = |options: &[&str]| nvrtc.compile(BY_HAND, "kernels.cu", raw.arch(), options).map_err(text);
        let module = raw.module(&compile(&[])?)?;
        let unfused = raw.module(&compile(&["--fmad=false"])?)?;
        Ok(Self { device: device.clone(), stream: raw.stream()?, module, unfused, raw })
    }

    /// Compile one of ours.
    fn kernel(&self, source: impl Into<graphreel::KernelSource>) -> Said<Kernel> {
        self.device.kernel(source).map_err(text)
    }
}

/// Every figure of CUDA, each target as soon as it is there.
///
/// # Errors
///
/// What a call that had to work answered, or what was wrong with a result. Figures of targets that came before were told.
pub fn findings(device: &Device, volume: Volume, mut tell: impl FnMut(Vec<Finding>) -> Said<()>) -> Said<()> {
    let sides = Sides::new(device)?;
    tell(chain::issue_and_total(&sides, volume)?)?;
    tell(launches::eager(&sides, volume)?)?;
    tell(chain::width(&sides, volume)?)?;
    tell(launches::device_bound(&sides, volume)?)?;
    tell(memory::bytes(&sides, volume)?)?;
    tell(kernels::against_by_hand(&sides, volume)?)?;
    tell(copies::to_device(&sides, volume)?)
}

/// A bound on what ours may take more than the other side, in microseconds, with its text.
type More = (f64, &'static str);

/// Ours less the other side.
fn more(target: &'static str, what: String, [ours, theirs]: [f64; 2], (most, bound): More) -> Finding {
    let figure = ours - theirs;
    Finding { target, what, sides: format!("{ours:.2} / {theirs:.2} us"), figure, bound, kept: figure <= most }
}

/// Ours as a multiple of the other side.
fn times(target: &'static str, what: String, [ours, theirs]: [f64; 2], (most, bound): More) -> Finding {
    let figure = ours / theirs;
    Finding { target, what, sides: format!("{ours:.2} / {theirs:.2} us"), figure, bound, kept: figure <= most }
}

/// A figure for which there is no bound.
const NONE: More = (f64::INFINITY, "");

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_device_than_one_of_cuda_is_refused() {
        let device = crate::hardware::open().expect("it does nothing");
        let error = Sides::new(&device).expect_err("it is not of cuda");
        assert!(error.contains("not of cuda"), "{error}");
    }

    #[test]
    fn a_bound_is_on_the_difference_or_on_the_ratio() {
        let kept = |finding: Finding| (finding.figure, finding.kept);
        assert_eq!(kept(more("", String::new(), [3.0, 2.0], (1.0, "<= 1"))), (1.0, true));
        assert_eq!(kept(more("", String::new(), [3.5, 2.0], (1.0, "<= 1"))), (1.5, false));
        assert_eq!(kept(times("", String::new(), [3.0, 2.0], (1.10, "<= 1.10"))), (1.5, false));
        assert!(times("", String::new(), [30.0, 2.0], NONE).verdict().is_empty());
    }
}
