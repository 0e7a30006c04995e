//! Random kernels on the device against the simulator's interpreter, byte for byte. 50 of them, 500 with
//! `GRAPHREEL_THOROUGH=1`; `GRAPHREEL_SEED` repeats one. What differs is printed as small as it could be made.

#[path = "../../../tests/wgslgen/tests/simulator/oracle.rs"]
mod oracle;

use graphreel::device::{ArgList, WritePart};
use graphreel::kernel::Value;
use graphreel::memory::Access;
use graphreel::{Config, Device, Grid};
use graphreel_testkit::announce;
use graphreel_wgpu::Options;
use graphreel_wgslgen::{Kernel, generate, shrink};

use self::oracle::{Run, outcome, source};

const RUN: Run = Run { threads: 1, subgroup_size: 32 };

/// How a kernel fails.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Failure {
    /// The device refuses it, or loses it.
    Refused(String),
    /// A buffer has other bytes: its binding, the first byte, and eight bytes of the device's and of the interpreter's.
    Differs(u32, usize, Vec<u8>, Vec<u8>),
}

impl Failure {
    /// Whether a smaller kernel fails as the first one did. Devices are numbered, so that numbers are left out.
    fn is_like(&self, other: &Self) -> bool {
        let words = |text: &str| -> String { text.chars().filter(|c| !c.is_numeric()).collect() };
        match (self, other) {
            (Self::Refused(one), Self::Refused(other)) => words(one) == words(other),
            (Self::Differs(..), Self::Differs(..)) => true,
            _ => false,
        }
    }
}

fn open() -> Device {
    let config = Config::default();
    let server = graphreel_wgpu::open(Options { config: config.clone(), ..Options::default() });
    Device::new(Box::new(server.expect("an adapter that is there opens")), config)
}

fn device() -> Option<Device> {
    if graphreel_wgpu::adapters().is_empty() {
        let required = std::env::var("GRAPHREEL_REQUIRE").unwrap_or_default();
        assert!(!required.contains("wgpu"), "GRAPHREEL_REQUIRE names wgpu: {}", graphreel_wgpu::absence());
        announce(&format!("random kernels: skipped, {}", graphreel_wgpu::absence()));
        return None;
    }
    Some(open())
}

/// The seeds to run, and whether more than one.
fn seeds() -> std::ops::Range<u64> {
    let given = std::env::var("GRAPHREEL_SEED").ok().and_then(|text| text.trim().parse::<u64>().ok());
    let many = if std::env::var("GRAPHREEL_THOROUGH").is_ok_and(|text| text == "1") { 500 } else { 50 };
    given.map_or(0..many, |seed| seed..seed + 1)
}

/// The bytes of every buffer after a run on the device.
fn on_device(device: &Device, kernel: &Kernel) -> graphreel::Result<Vec<Vec<u8>>> {
    let compiled = device.kernel(source(kernel))?;
    let (data, scalars) = (kernel.buffers(), kernel.scalars());
    let buffers = data.iter().map(|of| device.upload(&of.bytes)).collect::<graphreel::Result<Vec<_>>>()?;
    let mut args = ArgList::new();
    for (binding, buffer) in compiled.reflection().bindings.iter().zip(&buffers) {
        // Padding keeps what it was.
        args = if binding.access == Some(Access::Write) { args.with(WritePart(buffer)) } else { args.with(buffer) };
    }
    for member in &compiled.reflection().immediates {
        let bytes = &scalars[member.offset as usize..][..member.ty.bytes()];
        args = args.with(Value::from_bytes(member.ty, bytes).expect("there are as many bytes as the type has"));
    }
    let [x, y, z] = kernel.groups();
    device.launch(&compiled, Grid::new(x, y, z), args)?;
    data.iter().zip(&buffers).map(|(of, buffer)| Ok(of.normal(buffer.read::<u8>()?))).collect()
}

fn failure(device: &mut Device, kernel: &Kernel) -> Option<Failure> {
    let expected =
        outcome(kernel, RUN).unwrap_or_else(|why| panic!("seed {}: {why}\n{}", kernel.seed(), kernel.wgsl()));
    let got = match on_device(device, kernel) {
        Ok(got) => got,
        Err(error) => {
            // The next kernel is not to be blamed for what this one did to the device.
            *device = open();
            return Some(Failure::Refused(error.to_string()));
        }
    };
    let (buffer, (got, expected)) =
        kernel.buffers().into_iter().zip(got.into_iter().zip(expected)).find(|(_, (got, expected))| got != expected)?;
    let at = got.iter().zip(&expected).position(|(got, expected)| got != expected).unwrap_or_default();
    let part = |bytes: &[u8]| bytes[at..(at + 8).min(bytes.len())].to_vec();
    Some(Failure::Differs(buffer.binding, at, part(&got), part(&expected)))
}

/// All that a run of a kernel takes.
fn told(kernel: &Kernel) -> String {
    let words = |bytes: &[u8]| -> Vec<String> {
        bytes
            .chunks_exact(4)
            .map(|word| format!("{:#x}", u32::from_le_bytes([word[0], word[1], word[2], word[3]])))
            .collect()
    };
    let mut text = format!("{}\ngroups {:?}, scalars {:?}\n", kernel.wgsl(), kernel.groups(), kernel.scalars());
    for buffer in kernel.buffers() {
        text.push_str(&format!("binding {}: {}\n", buffer.binding, words(&buffer.bytes).join(", ")));
    }
    text
}

#[test]
fn a_device_gives_what_the_interpreter_gives() {
    let Some(mut device) = device() else { return };
    for seed in seeds() {
        let kernel = generate(seed, graphreel_wgslgen::Options::portable());
        let Some(first) = failure(&mut device, &kernel) else { continue };
        let small = shrink(kernel, |kernel| failure(&mut device, kernel).is_some_and(|other| other.is_like(&first)));
        panic!(
            "GRAPHREEL_SEED={seed}: {first:?}\nthe smallest kernel: {:?}\n{}",
            failure(&mut device, &small),
            told(&small)
        );
    }
}
