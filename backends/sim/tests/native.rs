//! Native kernels through the hardware-graph server. No native code runs on the simulator, so the vendor's compiler is played by
//! a translator that takes WGSL for its language: what is declared meets the same launches as on hardware.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::ffi::CString;

use graphreel::error::{ArgumentProblem, KernelProblem};
use graphreel::graph::{Backend, HardwareServer, Translated, Translator};
use graphreel::kernel::{
    KernelSource, NativeBuffer, NativeCode, NativeKernel, NativeLanguage, Reflection, ScalarType, Variant,
};
use graphreel::recording::RecordingError;
use graphreel::sync::Arc;
use graphreel::{Access, Config, Device, Grid, Recording, Result, ServerError};
use graphreel_sim::{Failure, FaultPlan, SimDriver, SimOptions, SimTranslator, Then, When};

const SAXPY: &str = "
    var<immediate> a: f32;
    @group(0) @binding(0) var<storage, read> x: array<f32>;
    @group(0) @binding(1) var<storage, read_write> y: array<f32>;
    @compute @workgroup_size(64) fn saxpy(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < arrayLength(&x) && id.x < arrayLength(&y) { y[id.x] = a * x[id.x] + y[id.x]; }
    }";

const TWICE: &str = "
    @group(0) @binding(0) var<storage, read_write> y: array<f32>;
    @compute @workgroup_size(64) fn twice(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < arrayLength(&y) { y[id.x] *= 2.0; }
    }";

const SHARED: &str = "
    var<workgroup> all: array<f32, 4096>;
    @group(0) @binding(0) var<storage, read_write> y: array<f32>;
    @compute @workgroup_size(64) fn shared_memory() { y[0] = all[0]; }";

/// Plays a vendor's compiler whose language is WGSL, under the name of CUDA C++.
struct Vendor(SimTranslator);

impl Vendor {
    fn native(source: &KernelSource) -> Result<Option<&NativeCode>> {
        match source.native() {
            Some(native) if native.language() == NativeLanguage::CudaCpp => Ok(Some(native)),
            Some(native) => Err(native.refused_by("the vendor").into()),
            None => Ok(None),
        }
    }
}

impl Translator for Vendor {
    fn reflect(&self, source: &KernelSource) -> Result<Reflection> {
        match Self::native(source)? {
            Some(native) => Ok(native.reflection().clone()),
            None => self.0.reflect(source),
        }
    }

    fn translate(&self, source: &KernelSource, variant: Variant) -> Result<Translated> {
        let Some(native) = Self::native(source)? else { return self.0.translate(source, variant) };
        let text = std::str::from_utf8(native.code()).expect("the language is text");
        let made = self.0.translate(&text.into(), variant)?;
        let symbol = CString::new(native.symbol(variant).expect("only declared variants are asked for")).unwrap();
        Ok(Translated { symbol, shared_bytes: native.shared_bytes(), ..made })
    }

    fn features(&self) -> Vec<String> {
        self.0.features()
    }
}

fn vendor() -> Device {
    vendor_with(SimOptions::default())
}

fn vendor_with(options: SimOptions) -> Device {
    let driver = SimDriver::new(options).unwrap();
    let translator = Arc::new(Vendor(driver.translator()));
    let backend = Backend { name: "vendor", api: "vendor", kind: None };
    let server = HardwareServer::open(driver, &backend, translator, Config::default()).unwrap();
    Device::new(Box::new(server), Config::default())
}

fn declared(code: &str, entry: &str) -> NativeKernel {
    NativeKernel::new(NativeLanguage::CudaCpp, code, entry, [64, 1, 1])
}

fn saxpy() -> NativeKernel {
    declared(SAXPY, "saxpy")
        .scalar("a", ScalarType::F32)
        .buffer(NativeBuffer::array("x", Access::Read, 4))
        .buffer(NativeBuffer::array("y", Access::ReadWrite, 4))
}

#[expect(unsafe_code, reason = "the code is WGSL, which keeps every promise")]
fn vouched(kernel: NativeKernel) -> KernelSource {
    // SAFETY: the declarations of this file are those of its WGSL, which stays within its bounds and ends.
    unsafe { kernel.vouch() }.unwrap()
}

fn refusal(result: Result<graphreel::Kernel>) -> (KernelProblem, String) {
    match result.unwrap_err() {
        ServerError::InvalidKernel(error) => (error.problem.clone(), error.to_string()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn native_and_portable_kernels_share_a_graph() {
    let device = vendor();
    let (native, portable) = (device.kernel(vouched(saxpy())).unwrap(), device.kernel(TWICE).unwrap());
    assert_eq!(&**native.entry(), "saxpy");
    let (x, y) = (device.upload(&[1.0f32; 100]).unwrap(), device.upload(&[1.0f32; 100]).unwrap());
    let (graph, ()) = device
        .capture(|c| {
            let a = c.param("a", 3.0f32);
            c.launch(&native, Grid::cover(100), (&a, &x, &y))?;
            c.launch(&portable, Grid::cover(100), (&y,))
        })
        .unwrap();
    graph.replay().unwrap();
    assert_eq!(y.read::<f32>().unwrap(), [8.0; 100]);
    graph.update(|update| update.set("a", -8.0f32)).unwrap();
    graph.replay().unwrap();
    assert_eq!(y.read::<f32>().unwrap(), [0.0; 100]);
    device.launch(&native, Grid::cover(100), (0.5f32, &x, &y)).unwrap();
    assert_eq!(y.read::<f32>().unwrap(), [0.5; 100]);
}

#[test]
fn launches_are_held_to_the_declaration() {
    let device = vendor();
    let native = device.kernel(vouched(saxpy())).unwrap();
    let x = device.upload(&[1.0f32; 4]).unwrap();
    let problem = |result: Result<()>| match result.unwrap_err() {
        ServerError::InvalidArguments(error) => error.problem.clone(),
        other => panic!("{other:?}"),
    };
    let few = problem(device.launch(&native, Grid::groups(1), (0.5f32, &x)));
    assert!(matches!(&few, ArgumentProblem::BufferCount { names, .. } if names == "x, y"), "{few}");
    let wrong = problem(device.launch(&native, Grid::groups(1), (1u32, &x, &x)));
    assert!(matches!(&wrong, ArgumentProblem::ScalarType { name, .. } if name == "a"), "{wrong}");
    let same = problem(device.launch(&native, Grid::groups(1), (0.5f32, &x, &x)));
    assert!(matches!(same, ArgumentProblem::Overlap { .. }), "{same}");
}

#[test]
fn indirect_launches_need_a_variant_for_them() {
    let device = vendor();
    let plain = device.kernel(vouched(saxpy())).unwrap();
    let both = device.kernel(vouched(saxpy().indirect("saxpy_indirect"))).unwrap();
    let (x, y) = (device.upload(&[1.0f32; 128]).unwrap(), device.upload(&[1.0f32; 128]).unwrap());
    let counts = device.upload(&[1u32, 1, 1]).unwrap();
    let launched = |kernel| device.stream().launch_indirect(kernel, &counts, Grid::groups(2), (1.0f32, &x, &y));
    let text = launched(&plain).unwrap_err().to_string();
    assert!(text.contains("kernel `saxpy`") && text.contains("`.indirect(..)`"), "{text}");
    let captured = device.capture(|c| c.launch_indirect(&plain, &counts, Grid::groups(2), (1.0f32, &x, &y)));
    assert!(captured.unwrap_err().to_string().contains("`.indirect(..)`"));
    launched(&both).unwrap();
    let expected: Vec<f32> = (0..128).map(|index| if index < 64 { 2.0 } else { 1.0 }).collect();
    assert_eq!(y.read::<f32>().unwrap(), expected);
}

#[test]
fn a_declaration_beyond_the_device_is_refused() {
    let device = vendor();
    let caps = device.caps();
    let y = || NativeBuffer::array("y", Access::ReadWrite, 4);
    let wide = NativeKernel::new(NativeLanguage::CudaCpp, TWICE, "twice", [caps.workgroup_invocations_max, 2, 1]);
    let (problem, text) = refusal(device.kernel(vouched(wide.buffer(y()))));
    assert!(matches!(problem, KernelProblem::Unsupported(_)) && text.contains("invocations"), "{text}");
    // Both fit alone: what the code has is known once it is loaded.
    let most = caps.workgroup_bytes_max;
    let both = declared(SHARED, "shared_memory").buffer(y()).shared_bytes(most - 16);
    let (_, text) = refusal(device.kernel(vouched(both)));
    assert!(text.contains("16384 bytes of workgroup memory") && text.contains(&format!("has {most}")), "{text}");
    let needy = declared(TWICE, "twice").buffer(y()).need("tensor-cores");
    let (_, text) = refusal(device.kernel(vouched(needy)));
    assert!(text.contains("tensor-cores"), "{text}");
    let many = (0..=caps.bindings_max).fold(declared(TWICE, "twice"), |kernel, index| {
        kernel.buffer(NativeBuffer::array(format!("b{index}"), Access::Read, 4))
    });
    assert!(refusal(device.kernel(vouched(many))).1.contains("buffers"));
}

/// What launches ask for beyond what any kernel has is allowed when the kernel is loaded: eagerly, captured and built.
#[test]
fn a_kernel_is_allowed_the_workgroup_memory_that_its_launches_ask_for() {
    let large = || vouched(saxpy().shared_bytes(80 << 10));
    let (_, text) = refusal(vendor().kernel(large()));
    assert!(text.contains("81920 bytes of workgroup memory") && text.contains("use less"), "{text}");
    let device = vendor_with(SimOptions { shared_bytes_max: 100 << 10, ..SimOptions::default() });
    let kernel = device.kernel(large()).unwrap();
    let (x, y) = (device.upload(&[1.0f32; 64]).unwrap(), device.upload(&[1.0f32; 64]).unwrap());
    device.launch(&kernel, Grid::groups(1), (2.0f32, &x, &y)).unwrap();
    let (graph, ()) = device.capture(|c| c.launch(&kernel, Grid::groups(1), (2.0f32, &x, &y))).unwrap();
    graph.replay().unwrap();
    assert_eq!(y.read::<f32>().unwrap(), [5.0; 64]);
}

#[test]
fn a_symbol_that_the_code_does_not_have_is_named() {
    let device = vendor();
    let (problem, text) = refusal(device.kernel(vouched(declared(TWICE, "thrice"))));
    assert!(matches!(problem, KernelProblem::Backend(_)), "{problem:?}");
    assert!(text.contains("the code has no kernel `thrice`") && text.contains("extern \"C\""), "{text}");
    let y = NativeBuffer::array("y", Access::ReadWrite, 4);
    device.kernel(vouched(declared(TWICE, "twice").buffer(y))).expect("the device goes on");
}

/// A driver that loads lazily refuses code when it is asked of it; which kernel that is, is told as where it refuses to load it.
#[test]
fn code_that_is_refused_when_it_is_asked_of_names_its_kernel() {
    for nth in 0..3 {
        let then = Then::Before(Failure::REFUSED);
        let faults = FaultPlan::one(When::Nth { call: "function_attribute", nth }, then);
        let device = vendor_with(SimOptions { shared_bytes_max: 100 << 10, faults, ..SimOptions::default() });
        let large = || vouched(saxpy().shared_bytes(80 << 10));
        let (problem, text) = refusal(device.kernel(large()));
        assert!(matches!(problem, KernelProblem::Backend(_)), "{problem:?}");
        assert!(text.starts_with("kernel `saxpy`") && text.contains("function_attribute"), "{text}");
        device.kernel(large()).expect("the device goes on");
    }
}

#[test]
fn a_recording_shows_native_kernels_and_is_not_read_back() {
    let device = vendor();
    let native = device.kernel(vouched(saxpy())).unwrap();
    let (x, y) = (device.upload(&[1.0f32; 4]).unwrap(), device.upload(&[1.0f32; 4]).unwrap());
    let (graph, ()) = device.capture(|c| c.launch(&native, Grid::cover(4), (2.0f32, &x, &y))).unwrap();
    let recording = graph.recording();
    assert_eq!(&*graph.report().frozen[0].kernel, "saxpy");
    assert!(recording.to_dot().contains("0: saxpy (CUDA C++)"), "{}", recording.to_dot());
    let json = recording.to_json().unwrap();
    assert!(json.contains(r#""language":"cuda-cpp""#) && json.contains("arrayLength(&x)"), "{json}");
    assert_eq!(Recording::from_json(&json), Err(RecordingError::NativeKernel { kernel: 0 }));
    assert!(!format!("{recording:?}").contains("arrayLength"), "code is not printed");
    // Names may be spelled with escapes; the code is refused all the same.
    let escaped = json.replace("\"native\"", "\"\\u006eative\"");
    assert_eq!(Recording::from_json(&escaped), Err(RecordingError::NativeKernel { kernel: 0 }));
}

#[test]
fn each_vendor_refuses_the_others() {
    let (device, sim) = (vendor(), graphreel_sim::open(SimOptions::default(), Config::default()).unwrap());
    let sim = Device::new(Box::new(sim), Config::default());
    let hip = || vouched(NativeKernel::new(NativeLanguage::HipCpp, SAXPY, "saxpy", [64, 1, 1]));
    let (_, text) = refusal(device.kernel(hip()));
    assert_eq!(
        text,
        "kernel `saxpy`: it is HIP C++, which the vendor does not run; open a HIP device, or give the kernel in WGSL"
    );
    assert!(refusal(sim.kernel(hip())).1.contains("the simulator does not run"));
    assert!(refusal(sim.kernel(vouched(saxpy()))).1.contains("it is CUDA C++, which the simulator does not run"));
}
