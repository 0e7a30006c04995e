//! What reflection finds, what it refuses and where it points, and that lowering keeps a module valid and writable.

use std::num::NonZeroU32;

use graphreel::error::{InvalidKernel, KernelProblem};
use graphreel::kernel::{BindingSpace, KernelSource, Lowering, Scalars, Wgsl, inspect, lower, overrides, reflect};
use graphreel::memory::Access;

/// Every way a backend may ask for a kernel.
fn lowerings() -> impl Iterator<Item = Lowering> {
    (0..8u32).map(|bits| Lowering {
        scalars: if bits & 1 == 0 { Scalars::Immediate } else { Scalars::Uniform { group: 3, binding: 7 } },
        storage_read_write: bits & 2 != 0,
        uniform_as_storage: bits & 4 != 0,
    })
}

/// A lowered module must pass a validator of its own and be writable as SPIR-V.
fn lowers(source: &KernelSource) {
    use naga::valid::{Capabilities, ValidationFlags, Validator};
    let reflection = reflect(source).unwrap();
    for lowering in lowerings() {
        let lowered = lower(source, lowering).unwrap();
        assert_eq!(lowered.reflection, reflection, "the reflection is of the source, not of its lowering");
        assert!(lowered.module.overrides.is_empty());
        assert_eq!(lowered.module.entry_points.len(), 1);
        let info = Validator::new(ValidationFlags::all(), Capabilities::all()).validate(&lowered.module).unwrap();
        let options = naga::back::spv::Options { lang_version: (1, 3), ..Default::default() };
        naga::back::spv::write_vec(&lowered.module, &info, &options, None).unwrap();
        for (_, variable) in lowered.module.global_variables.iter() {
            match variable.space {
                naga::AddressSpace::Storage { access } => {
                    assert!(!lowering.storage_read_write || access.contains(naga::StorageAccess::STORE));
                }
                naga::AddressSpace::Immediate => assert_eq!(lowering.scalars, Scalars::Immediate),
                naga::AddressSpace::Uniform if lowering.uniform_as_storage => {
                    assert_eq!(variable.binding, Some(naga::ResourceBinding { group: 3, binding: 7 }));
                }
                _ => {}
            }
        }
    }
}

fn problem(source: impl Into<KernelSource>) -> KernelProblem {
    let source = source.into();
    let error = reflect(&source).unwrap_err();
    let lowered = lower(&source, lowerings().next().unwrap()).unwrap_err();
    assert_eq!(error, lowered, "lowering refuses what reflection refuses");
    error.problem
}

#[test]
fn probe() {
    let src = "override N: u32 = 4; var<workgroup> a: array<f32, N * 2>; override M: u32 = 3; var<workgroup> b: array<f32, M + 1>;
    @group(0) @binding(0) var<storage, read_write> o: array<f32>;
    @compute @workgroup_size(N) fn main(@builtin(local_invocation_index) i: u32) { a[i] = 1.0; b[i]=2.0; workgroupBarrier(); o[i] = a[i+1]*f32(M) + b[i]; }";
    let r = reflect(&src.into());
    println!("{r:?}");
    lowers(&src.into());
    let src = "override N: u32 = 4; var<workgroup> a: array<f32, N>; var<workgroup> b: array<f32, 4>;
    @group(0) @binding(0) var<storage, read_write> o: array<f32>;
    @compute @workgroup_size(N) fn main(@builtin(local_invocation_index) i: u32) { a[i] = 1.0; b[i]=2.0; workgroupBarrier(); o[i] = a[i+1] + b[i]; }";
    lowers(&src.into());
}
