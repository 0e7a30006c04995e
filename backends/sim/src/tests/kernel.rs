//! Kernels through the driver: translated, loaded, launched alone and as nodes; and what is refused or ends in a fault.

use std::ffi::{CStr, c_void};
use std::time::{Duration, Instant};

use graphreel::error::{DriverErrorKind, FaultClass};
use graphreel::graph::driver::{DevicePtr, FunctionAttribute, LaunchShape};
use graphreel::graph::{Driver, DriverResult, Translator};
use graphreel::kernel::{KernelSource, Variant};

use super::rig::{Rig, n};
use crate::interp::FindingKind;
use crate::{Completion, Rule, SimExec, SimFunction, SimGraph, SimModule, SimNode, SimOptions, SimStream};

/// Adds `by` to each word, and marks the word of each workgroup that ran.
const ADD: &str = "
    var<immediate> by: u32;
    @group(0) @binding(0) var<storage, read_write> data: array<u32>;
    @group(0) @binding(1) var<storage, read_write> ran: array<u32, 8>;
    @compute @workgroup_size(4) fn add(
        @builtin(global_invocation_id) id: vec3<u32>,
        @builtin(workgroup_id) group: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>,
    ) {
        if id.x < arrayLength(&data) { data[id.x] += by; }
        ran[group.x] = groups.x;
    }";

const ENDLESS: &str = "@group(0) @binding(0) var<storage, read_write> data: array<u32>;
    @compute @workgroup_size(1) fn endless() {
        while data[0] < 4000000000u {
            data[0] = 1u;
        }
    }";

const RACE: &str = "
    var<workgroup> shared_word: u32;
    @group(0) @binding(0) var<storage, read_write> data: array<u32>;
    @compute @workgroup_size(4) fn race(@builtin(local_invocation_index) at: u32) {
        shared_word = at;
        data[at] = shared_word;
    }";

/// The parameters of `add` and of kernels with one array, as values.
struct Params {
    by: u32,
    data: u64,
    elements: u32,
    ran: u64,
    counts: Option<u64>,
}

impl Params {
    fn new(by: u32, data: DevicePtr, elements: u32, ran: DevicePtr) -> Self {
        Self { by, data: data.0.get(), elements, ran: ran.0.get(), counts: None }
    }

    fn pointers(&self) -> Vec<*const c_void> {
        let mut all: Vec<*const c_void> = vec![
            (&raw const self.by).cast(),
            (&raw const self.data).cast(),
            (&raw const self.elements).cast(),
            (&raw const self.ran).cast(),
        ];
        all.extend(self.counts.iter().map(|counts| (&raw const *counts).cast::<c_void>()));
        all
    }
}

/// The unsafe calls with kernels. Every pointer leads to a field of a live value of the type that the kernel takes.
#[expect(unsafe_code, reason = "the waist declares unsafe methods")]
impl Rig {
    fn module(&self, wgsl: &str, variant: Variant) -> (SimModule, SimFunction) {
        let made = self.driver.translator().translate(&KernelSource::from(wgsl), variant).unwrap();
        // SAFETY: the image is the translator's.
        let module = unsafe { self.driver.module_load(&made.image) }.unwrap();
        let function = self.driver.module_function(&module, &made.symbol).unwrap();
        (module, function)
    }

    fn load(&self, image: &[u8]) -> DriverResult<SimModule> {
        // SAFETY: the simulator is told the length, and checks what it is given.
        unsafe { self.driver.module_load(image) }
    }

    fn unload(&self, module: SimModule) -> DriverResult {
        // SAFETY: the simulator checks the module's users.
        unsafe { self.driver.module_unload(module) }
    }

    fn run(&self, f: SimFunction, shape: &LaunchShape, params: &[*const c_void], on: &SimStream) -> DriverResult {
        // SAFETY: the pointers are those of `Params`, or too few of them, which is checked.
        unsafe { self.driver.launch(f, shape, params, on) }
    }

    fn add_launch(&self, graph: &mut SimGraph, f: SimFunction, groups: u32, params: &Params) -> DriverResult<SimNode> {
        // SAFETY: as above.
        unsafe { self.driver.graph_add_launch(graph, &[], f, &shape(groups), &params.pointers()) }
    }

    fn set_launch(&self, exec: &mut SimExec, node: SimNode, f: SimFunction, params: &Params) -> DriverResult {
        // SAFETY: as above.
        unsafe { self.driver.exec_set_launch(exec, node, f, &shape(1), &params.pointers()) }
    }
}

fn shape(groups: u32) -> LaunchShape {
    LaunchShape { groups: [groups, 1, 1], threads: [4, 1, 1], shared_bytes: 0 }
}

fn options(completion: Completion) -> SimOptions {
    SimOptions { completion, threads: 2, ..SimOptions::default() }
}

#[test]
fn kernels_run_in_every_mode() {
    for completion in [Completion::Prompt, Completion::Manual, Completion::Seeded(5)] {
        let rig = Rig::new(options(completion));
        let (stream, data, ran) = (rig.stream(), rig.memory(64), rig.memory(32));
        let (module, add) = rig.module(ADD, Variant::Direct);
        assert_eq!(rig.driver.function_attribute(add, FunctionAttribute::ThreadsMax), Ok(1024));
        rig.fill(data.address, 1, 16, &stream);
        // Six elements from the fourth word on: the seventh and eighth invocation of the grid change nothing.
        let params = Params::new(10, data.address.offset(16).unwrap(), 6, ran.address);
        rig.run(add, &shape(2), &params.pointers(), &stream).unwrap();
        rig.probe.run_all();
        rig.drain_if_seeded(&stream);
        let expected: Vec<u32> = (0..16).map(|at| if (4..10).contains(&at) { 11 } else { 1 }).collect();
        assert_eq!(rig.words(data.address, 16), expected, "{completion:?}");
        assert_eq!(rig.words(ran.address, 2), [2, 2]);
        rig.unload(module).unwrap();
        rig.give_back([stream], [data, ran]);
        rig.close();
    }
}

impl Rig {
    fn drain_if_seeded(&self, stream: &SimStream) {
        if self.probe.pending() > 0 {
            self.drain(stream);
        }
    }
}

#[test]
fn an_indirect_launch_takes_its_grid_from_memory() {
    let rig = Rig::manual();
    let (stream, data, ran, counts) = (rig.stream(), rig.memory(64), rig.memory(32), rig.memory(32));
    let (module, add) = rig.module(ADD, Variant::Indirect);
    let at = counts.address.offset(4).unwrap();
    let mut params = Params::new(1, data.address, 16, ran.address);
    params.counts = Some(at.0.get());
    let ran_groups = |counts: [u32; 3]| {
        rig.fill(ran.address, 0, 8, &stream);
        for (word, count) in (0u64..).zip(counts) {
            rig.fill(at.offset(word * 4).unwrap(), count, 1, &stream);
        }
        rig.run(add, &shape(4), &params.pointers(), &stream).unwrap();
        rig.probe.run_all();
        rig.words(ran.address, 5)
    };
    assert_eq!(ran_groups([3, 1, 1]), [3, 3, 3, 0, 0]);
    assert_eq!(ran_groups([4, 1, 1]), [4, 4, 4, 4, 0]);
    for nothing in [[5, 1, 1], [1, 2, 1], [0, 1, 1], [1, 1, 0]] {
        assert_eq!(ran_groups(nothing), [0; 5], "{nothing:?}");
    }
    rig.unload(module).unwrap();
    rig.give_back([stream], [data, ran, counts]);
    rig.close();
}

#[test]
fn launches_are_nodes_and_can_be_updated() {
    let rig = Rig::manual();
    let (stream, data, ran) = (rig.stream(), rig.memory(16), rig.memory(32));
    let (module, add) = rig.module(ADD, Variant::Direct);
    let mut graph = rig.driver.graph_create().unwrap();
    let node = rig.add_launch(&mut graph, add, 1, &Params::new(1, data.address, 4, ran.address)).unwrap();
    let mut exec = rig.driver.graph_instantiate(&graph).unwrap();
    rig.fill(data.address, 0, 4, &stream);
    rig.launch(&exec, &stream).unwrap();
    rig.set_launch(&mut exec, node, add, &Params::new(100, data.address, 2, ran.address)).unwrap();
    rig.launch(&exec, &stream).unwrap();
    rig.probe.run_all();
    assert_eq!(rig.words(data.address, 4), [101, 101, 1, 1]);
    rig.destroy_exec(exec).unwrap();
    rig.driver.graph_destroy(graph).unwrap();
    rig.unload(module).unwrap();
    rig.give_back([stream], [data, ran]);
    rig.close();
}

#[test]
fn launches_that_do_not_fit_are_misuse() {
    let rig = Rig::manual();
    let (stream, data, ran) = (rig.stream(), rig.memory(16), rig.memory(32));
    let (module, add) = rig.module(ADD, Variant::Direct);
    let fits = Params::new(1, data.address, 4, ran.address);
    let refused = |shape: &LaunchShape, params: &[*const c_void]| {
        rig.run(add, shape, params, &stream).unwrap_err();
        rig.probe.misuse().last().unwrap().rule
    };
    let pointers = fits.pointers();
    let large = LaunchShape { groups: [65_536, 1, 1], ..shape(1) };
    let wide = LaunchShape { threads: [8, 1, 1], ..shape(1) };
    assert_eq!(refused(&shape(0), &pointers), Rule::BadShape);
    assert_eq!(refused(&large, &pointers), Rule::BadShape);
    assert_eq!(refused(&wide, &pointers), Rule::BadShape);
    assert_eq!(refused(&shape(1), &pointers[..3]), Rule::BadParams);
    assert_eq!(refused(&shape(1), &[std::ptr::null(); 4]), Rule::BadParams);
    let with = |data: DevicePtr, elements| Params::new(1, data, elements, ran.address);
    assert_eq!(refused(&shape(1), &with(data.address, 0).pointers()), Rule::BadParams);
    assert_eq!(refused(&shape(1), &with(data.address, 5).pointers()), Rule::PastTheEnd);
    assert_eq!(refused(&shape(1), &with(data.address.offset(4).unwrap(), 1).pointers()), Rule::Misaligned);
    assert_eq!(refused(&shape(1), &with(DevicePtr(n(256)), 1).pointers()), Rule::NoAllocation);
    // A module in use, and its function afterwards.
    rig.run(add, &shape(1), &pointers, &stream).unwrap();
    rig.unload(module).unwrap_err();
    assert_eq!(rig.probe.misuse().last().unwrap().rule, Rule::ModuleInUse);
    assert_eq!(refused(&shape(1), &pointers), Rule::StaleHandle);
    assert_eq!(rig.probe.live().modules, 0);
    rig.probe.run_all();
    assert_eq!(rig.words(ran.address, 1), [1], "the code outlived its module for the work in flight");
}

#[test]
fn graphs_keep_modules_and_launches_keep_memory() {
    let rig = Rig::manual();
    let (stream, data, ran) = (rig.stream(), rig.memory(16), rig.memory(32));
    let (module, add) = rig.module(ADD, Variant::Direct);
    let params = Params::new(1, data.address, 4, ran.address);
    let mut graph = rig.driver.graph_create().unwrap();
    rig.add_launch(&mut graph, add, 1, &params).unwrap();
    rig.unload(module).unwrap_err();
    rig.driver.graph_instantiate(&graph).unwrap_err();
    rig.driver.graph_destroy(graph).unwrap();
    let (module, add) = rig.module(ADD, Variant::Direct);
    rig.run(add, &shape(1), &params.pointers(), &stream).unwrap();
    rig.free(data).unwrap_err();
    assert_eq!(rig.rules(), [Rule::ModuleInUse, Rule::StaleHandle, Rule::MemoryInUse]);
    rig.probe.run_all();
    let error = rig.driver.mem_info().unwrap_err();
    assert!(error.name.contains("launch add") && error.name.contains("freed m1+0"), "{error}");
    rig.unload(module).unwrap_err();
}

#[test]
fn images_are_checked() {
    let rig = Rig::manual();
    let translator = rig.driver.translator();
    let made = translator.translate(&KernelSource::from(ADD), Variant::Direct).unwrap();
    let cut = &made.image[..made.image.len() - 1];
    let padded: Vec<u8> = made.image.iter().copied().chain([0]).collect();
    for wrong in [b"cubin".as_slice(), &[], cut, &padded] {
        let error = rig.load(wrong).unwrap_err();
        assert_eq!((error.code, error.kind, error.class), (200, DriverErrorKind::Refused, FaultClass::CallLocal));
    }
    let other = Rig::new(SimOptions { subgroup_size: 64, ..SimOptions::manual() });
    let error = other.load(&made.image).unwrap_err();
    assert!(error.name.contains("its subgroups have 32 invocations"), "{error}");
    let (module, _) = rig.module(ADD, Variant::Indirect);
    let named = |name: &CStr| rig.driver.module_function(&module, name).is_ok();
    assert_eq!([named(c"add"), named(c"add_indirect")], [false, true]);
    rig.unload(module).unwrap();
    rig.close();
    other.close();
}

#[test]
fn the_translator_refuses_what_the_device_cannot_run() {
    let rig = Rig::manual();
    let translator = rig.driver.translator();
    let text = |wgsl: &str| translator.reflect(&KernelSource::from(wgsl)).unwrap_err().to_string();
    let large = text("@compute @workgroup_size(1024, 2) fn large() {}");
    assert!(large.contains("kernel `large`") && large.contains("2048 invocations"), "{large}");
    let memory = text("var<workgroup> w: array<u32, 20000>; @compute @workgroup_size(1) fn big() { w[0] = 1; }");
    assert!(memory.contains("80000 bytes of workgroup memory"), "{memory}");
    assert!(text("fn none() {}").contains("no such compute entry point"));
    let half = "enable f16; var<private> h: f16; @compute @workgroup_size(1) fn half() { h = 1h; }";
    assert_eq!(translator.reflect(&KernelSource::from(half)).unwrap().needs, ["f16"]);
    assert_eq!(translator.features().len(), 9);
}

#[test]
fn a_trap_ends_the_context_and_names_the_kernel() {
    for completion in [Completion::Prompt, Completion::Seeded(9), Completion::Manual] {
        let rig = Rig::new(SimOptions { steps_max: 10_000, ..options(completion) });
        let (stream, data) = (rig.stream(), rig.memory(16));
        let (module, endless) = rig.module(ENDLESS, Variant::Direct);
        let params = Params::new(0, data.address, 4, data.address);
        let event = rig.event();
        let one = LaunchShape { threads: [1, 1, 1], ..shape(1) };
        rig.fill(data.address, 0, 4, &stream);
        rig.run(endless, &one, &params.pointers()[1..3], &stream).unwrap();
        rig.driver.event_record(&event, &stream).unwrap();
        let end = Instant::now() + Duration::from_secs(20);
        let error = loop {
            assert!(Instant::now() < end, "no error after 20 s");
            rig.probe.run_all();
            match rig.driver.event_query(&event) {
                Ok(passed) => assert!(!passed, "work behind the trap is never done"),
                Err(error) => break error,
            }
        };
        assert_eq!((error.kind, error.class), (DriverErrorKind::Lost, FaultClass::ContextFatal));
        assert!(error.name.contains("kernel `endless`, line "), "{error}");
        assert!(rig.unload(module).is_err());
        assert!(rig.driver.event_destroy(event).is_err());
        assert!(rig.destroy_stream(stream).is_err());
        assert!(rig.free(data).is_err());
        rig.probe.check().unwrap();
    }
}

#[test]
fn the_sanitizer_reports_through_the_probe() {
    let rig = Rig::new(SimOptions { sanitize: true, ..SimOptions::manual() });
    let (stream, data) = (rig.stream(), rig.memory(16));
    let (module, race) = rig.module(RACE, Variant::Direct);
    let params = Params::new(0, data.address, 4, data.address);
    for _ in 0..2 {
        rig.run(race, &shape(1), &params.pointers()[1..3], &stream).unwrap();
    }
    rig.probe.run_all();
    let found = rig.probe.findings();
    assert!(found.iter().any(|found| found.kernel == "race" && found.finding.kind == FindingKind::Race), "{found:?}");
    assert!((1..found.len()).all(|at| !found[..at].contains(&found[at])), "each once: {found:?}");
    rig.unload(module).unwrap();
    rig.give_back([stream], [data]);
    rig.close();
}

/// Counts in `data[0]`, for ever.
const COUNTS: &str = "@group(0) @binding(0) var<storage, read_write> data: array<u32>;
    @compute @workgroup_size(1) fn counts() {
        loop { data[0] = (data[0] + 1u) | 1u; }
    }";

/// A probe of a driver whose kernel runs and never ends by itself, and where the kernel counts.
fn counting(rig: &Rig) -> DevicePtr {
    let (stream, data) = (rig.stream(), rig.memory(4));
    rig.fill(data.address, 0, 1, &stream);
    let (module, counts) = rig.module(COUNTS, Variant::Direct);
    let params = [data.address.0.get(), 1];
    let pointers: Vec<*const c_void> = params.iter().map(|value| (&raw const *value).cast()).collect();
    let shape = LaunchShape { threads: [1, 1, 1], ..shape(2) };
    rig.run(counts, &shape, &pointers, &stream).unwrap();
    let end = Instant::now() + Duration::from_secs(20);
    while rig.words(data.address, 1)[0] == 0 {
        assert!(Instant::now() < end, "the kernel does not run");
        std::thread::yield_now();
    }
    // They outlive the test: the device ends with them alive.
    std::mem::forget((stream, module));
    data.address
}

/// The kernel stops within a time that a slow machine keeps, too. It would take years to use up its steps.
fn stops(probe: &crate::Probe, at: DevicePtr) {
    let end = Instant::now() + Duration::from_secs(10);
    let look = || probe.peek(at, 4).unwrap();
    let mut seen = look();
    loop {
        std::thread::sleep(Duration::from_millis(50));
        let now = look();
        if now == seen {
            return;
        }
        assert!(Instant::now() < end, "the kernel still runs");
        seen = now;
    }
}

#[test]
fn a_kernel_ends_with_its_device() {
    let endless = || Rig::new(SimOptions { steps_max: u64::MAX, ..options(Completion::Prompt) });
    let rig = endless();
    let at = counting(&rig);
    rig.probe.lose("the test took it");
    stops(&rig.probe, at);
    let rig = endless();
    let at = counting(&rig);
    let probe = rig.probe.clone();
    drop(rig);
    stops(&probe, at);
}
