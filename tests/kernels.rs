//! What reflection finds, what it refuses and where it points, and that lowering keeps a module valid and writable.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use graphreel::error::{InvalidKernel, KernelProblem};
use graphreel::kernel::{
    BindingSpace, KernelSource, Lowering, Scalars, StorageAccessAs, Wgsl, inspect, lower, overrides, reflect,
};
use graphreel::memory::Access;

/// Every way a backend may ask for a kernel.
fn lowerings() -> impl Iterator<Item = Lowering> {
    let storages = [StorageAccessAs::Declared, StorageAccessAs::Used, StorageAccessAs::ReadWrite];
    storages.into_iter().flat_map(|storage| {
        (0..4u32).map(move |bits| Lowering {
            scalars: if bits & 1 == 0 { Scalars::Immediate } else { Scalars::Uniform { group: 3, binding: 7 } },
            storage,
            uniform_as_storage: bits & 2 != 0,
        })
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
                    let stores = access.contains(naga::StorageAccess::STORE);
                    let place = variable.binding.as_ref().map(|place| (place.group, place.binding));
                    let info = reflection.bindings.iter().find(|info| Some((info.group, info.binding)) == place);
                    let used = info.and_then(|info| info.access).map(Access::writes);
                    match (lowering.storage, used) {
                        (StorageAccessAs::ReadWrite, _) => assert!(stores),
                        (StorageAccessAs::Used, Some(written)) => assert_eq!(stores, written),
                        (StorageAccessAs::Used | StorageAccessAs::Declared, _) => {}
                    }
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

const BUFFERS: &str = "
struct Params { n: u32, factor: f32, offset: vec3<i32>, wide: u64 }
var<immediate> params: Params;
struct Tail { head: vec4<f32>, items: array<vec2<f32>> }
@group(1) @binding(2) var<storage, read_write> both: array<u32>;
@group(0) @binding(4) var<storage, read> input: array<f32>;
@group(0) @binding(1) var<storage, read_write> output: array<vec3<f32>>;
@group(0) @binding(2) var<uniform> table: array<vec4<f32>, 3>;
@group(0) @binding(3) var<storage, read_write> declared_only: array<f32>;
@group(0) @binding(5) var<storage, read_write> tail: Tail;
@group(0) @binding(6) var<storage, read_write> counter: atomic<u32>;
@group(0) @binding(7) var<storage, read_write> flag: atomic<u32>;
@group(0) @binding(8) var<storage, read> measured: array<f32>;
@group(0) @binding(0) var<storage, read> unused: array<f32>;
var<workgroup> tile: array<f32, 5>;
var<workgroup> total: atomic<u32>;
var<private> scratch: array<f32, 100>;

fn bump(index: u32) { both[index] += 1u; }

@compute @workgroup_size(8, 4)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    scratch[id.x % 100u] = input[id.x];
    tile[id.x % 5u] = scratch[id.y % 100u] + table[id.x % 3u].x;
    workgroupBarrier();
    atomicAdd(&total, 1u);
    bump(id.x + params.n + u32(params.wide));
    output[id.x] = vec3<f32>(tile[0] + declared_only[id.x] * params.factor);
    tail.items[id.x] = vec2<f32>(f32(groups.x), f32(params.offset.y));
    let seen = atomicLoad(&counter);
    atomicStore(&flag, seen + arrayLength(&measured));
}";

#[test]
fn access_is_what_the_entry_point_does() {
    let found = reflect(&BUFFERS.into()).unwrap();
    let access: Vec<_> =
        found.bindings.iter().map(|b| (b.group, b.binding, b.name.as_str(), b.declared_write, b.access)).collect();
    let expected = [
        (0, 1, "output", true, Some(Access::Write)),
        (0, 2, "table", false, Some(Access::Read)),
        // Declared read_write, only read.
        (0, 3, "declared_only", true, Some(Access::Read)),
        (0, 4, "input", false, Some(Access::Read)),
        (0, 5, "tail", true, Some(Access::Write)),
        // An atomic load alone and an atomic store alone.
        (0, 6, "counter", true, Some(Access::ReadWrite)),
        (0, 7, "flag", true, Some(Access::ReadWrite)),
        // Its length alone: bound, not touched. `unused` is not there at all.
        (0, 8, "measured", false, None),
        // Through a called function.
        (1, 2, "both", true, Some(Access::ReadWrite)),
    ];
    assert_eq!(access, expected);
}

#[test]
fn layouts_are_those_of_wgsl() {
    let found = reflect(&BUFFERS.into()).unwrap();
    let layout = |name: &str| {
        let info = found.bindings.iter().find(|b| b.name == name).unwrap();
        (info.space, info.min_bytes, info.runtime_stride, info.align)
    };
    assert_eq!(layout("output"), (BindingSpace::Storage, 16, Some(16), 16));
    assert_eq!(layout("table"), (BindingSpace::Uniform, 48, None, 16));
    assert_eq!(layout("input"), (BindingSpace::Storage, 4, Some(4), 4));
    // 16 bytes of head and one item of 8, rounded up to the struct's alignment.
    assert_eq!(layout("tail"), (BindingSpace::Storage, 32, Some(8), 16));
    assert_eq!(layout("counter"), (BindingSpace::Storage, 4, None, 4));

    let scalars: Vec<_> = found.immediates.iter().map(|m| (m.name.as_str(), m.ty.to_string(), m.offset)).collect();
    let expected = [("n", "u32", 0), ("factor", "f32", 4), ("offset", "vec3<i32>", 16), ("wide", "u64", 32)];
    assert_eq!(scalars, expected.map(|(name, ty, offset)| (name, ty.to_owned(), offset)));
    assert_eq!(found.immediate_bytes, 48);
    assert_eq!(found.workgroup_size, [8, 4, 1]);
    // Twenty bytes of tile and four of total, each rounded up to sixteen.
    assert_eq!(found.workgroup_bytes, 32 + 16);
    assert!(found.uses_num_workgroups);
    assert_eq!(found.needs, ["int64"]);
    assert_eq!(
        serde_json::from_str::<graphreel::kernel::Reflection>(&serde_json::to_string(&found).unwrap()).unwrap(),
        found
    );
}

#[test]
fn every_lowering_is_valid_and_keeps_the_reflection() {
    lowers(&BUFFERS.into());
    lowers(
        &"var<immediate> n: u32; @group(0) @binding(0) var<storage, read> a: array<u32>;
        @group(0) @binding(1) var<storage, read_write> b: array<u32>;
        @compute @workgroup_size(1) fn main() { b[0] = a[n]; }"
            .into(),
    );
}

#[test]
fn the_place_of_the_scalars_must_be_free() {
    let lowering = Lowering {
        scalars: Scalars::Uniform { group: 1, binding: 2 },
        storage: StorageAccessAs::ReadWrite,
        uniform_as_storage: true,
    };
    let error = lower(&BUFFERS.into(), lowering).unwrap_err();
    assert!(
        matches!(&error.problem, KernelProblem::Unsupported(text) if text.contains("`both` is at @group(1) @binding(2)"))
    );
}

const SIZED: &str = "
override N: u32;
@id(3) override SCALE: f32 = 2.0;
override LAST: u32 = N + 1u;
var<workgroup> a: array<f32, N * 2>;
var<workgroup> b: array<f32, 8>;
var<workgroup> c: array<f32, N>;
@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@compute @workgroup_size(N)
fn sized(@builtin(local_invocation_index) i: u32) {
    a[i] = f32(LAST); b[i % 8u] = SCALE; c[i] = 1.0;
    workgroupBarrier();
    out[i] = a[i] + b[i % 8u] + c[i];
}
@compute @workgroup_size(2, 3, 4) fn plain() { out[0] = 1.0; }";

#[test]
fn overrides_size_workgroups_and_arrays() {
    // N is 8, so the array that it sizes has the same type as one that is written out.
    let source: KernelSource = Wgsl::new(SIZED).entry("sized").constant("N", 8.0).into();
    let found = reflect(&source).unwrap();
    assert_eq!((found.workgroup_size, found.workgroup_bytes), ([8, 1, 1], 64 + 32 + 32));
    lowers(&source);
    // By number and by name alike.
    for name in ["3", "SCALE"] {
        lowers(&Wgsl::new(SIZED).entry("sized").constant("N", 4.0).constant(name, 0.5).into());
    }
    // An override that the entry point does not reach needs no value.
    assert_eq!(reflect(&Wgsl::new(SIZED).entry("plain").into()).unwrap().workgroup_size, [2, 3, 4]);

    let listed: Vec<_> =
        overrides(SIZED).unwrap().into_iter().map(|o| (o.name.unwrap(), o.id, o.ty, o.required)).collect();
    let expected = [("N", None, "u32", true), ("SCALE", Some(3), "f32", false), ("LAST", None, "u32", false)];
    assert_eq!(listed, expected.map(|(name, id, ty, required)| (name.to_owned(), id, ty.to_owned(), required)));
}

#[test]
fn overrides_are_checked_by_name_and_value() {
    let sized = || Wgsl::new(SIZED).entry("sized");
    assert_eq!(problem(sized()), KernelProblem::MissingOverride { name: "N".into() });
    let found = vec!["N".to_owned(), "SCALE".to_owned(), "LAST".to_owned()];
    assert_eq!(
        problem(sized().constant("N", 1.0).constant("n", 2.0)),
        KernelProblem::UnknownOverride { name: "n".into(), found }
    );
    let twice = problem(sized().constant("N", 1.0).constant("3", 2.0).constant("SCALE", 2.0));
    assert!(matches!(twice, KernelProblem::Unsupported(text) if text.contains("`SCALE` was given two values")));
    assert_eq!(
        problem("@id(9) override A: u32; @compute @workgroup_size(A) fn main() {}"),
        KernelProblem::MissingOverride { name: "A".into() }
    );

    for (name, value, line) in [("N", -1.0, 2), ("N", f64::NAN, 2), ("N", 4294967296.0, 2), ("3", 1e39, 3)] {
        let KernelProblem::Validate { line: at, message, rendered, .. } =
            problem(sized().constant("N", 1.0).constant(name, value))
        else {
            panic!("{name} = {value} must be refused");
        };
        assert_eq!(at, line);
        assert!(message.contains(&format!("`{name}`")), "{message}");
        assert!(rendered.contains("declared here"), "{rendered}");
    }
    let zero = problem(sized().constant("N", 0.0));
    assert!(matches!(zero, KernelProblem::Validate { .. }), "{zero:?}");
    let huge = problem(sized().constant("N", 4294967295.0));
    assert!(matches!(huge, KernelProblem::Validate { .. } | KernelProblem::Unsupported(_)), "{huge:?}");
}

#[test]
fn entries_are_found_by_name_or_alone() {
    let found = vec!["sized".to_owned(), "plain".to_owned()];
    assert_eq!(problem(SIZED), KernelProblem::AmbiguousEntry { found: found.clone() });
    assert_eq!(problem(Wgsl::new(SIZED).entry("other")), KernelProblem::UnknownEntry { found });
    assert_eq!(problem("fn f() {}"), KernelProblem::UnknownEntry { found: vec![] });
    // An entry point of another stage cannot be launched, and does not make the compute one ambiguous.
    let mixed =
        "@fragment fn shade() -> @location(0) vec4<f32> { return vec4<f32>(); } @compute @workgroup_size(1) fn go() {}";
    assert_eq!(problem(Wgsl::new(mixed).entry("shade")), KernelProblem::UnknownEntry { found: vec!["go".to_owned()] });
    assert_eq!(&*reflect(&mixed.into()).unwrap().entry, "go");
    lowers(&mixed.into());
}

#[test]
fn a_refusal_names_the_kernel_or_else_the_source() {
    let refused = |source: KernelSource| -> InvalidKernel {
        let error = reflect(&source).unwrap_err();
        assert_eq!(lower(&source, lowerings().next().unwrap()).err(), Some(error.clone()));
        let subject = error.kernel.as_ref().map_or("kernel source: ".to_owned(), |name| format!("kernel `{name}`: "));
        assert!(error.to_string().starts_with(&subject), "{error}");
        error
    };
    assert_eq!(refused(Wgsl::new(SIZED).entry("other").into()).kernel.as_deref(), Some("other"));
    // Nothing tells which of several was meant, nor the name of one that is not there.
    for text in
        [SIZED, "", "fn f() {}", "@compute", "@compute fn", "@compute @workgroup_size(1) fn (", "é @compute fn 🎈"]
    {
        assert_eq!(refused(text.into()).kernel, None, "{text}");
    }
    // The text of a kernel that does not parse, or is not valid, still tells its only one; comments do not count.
    let texts = [
        "@compute @workgroup_size(1)\nfn one() { let x = ; }",
        "fn helper() -> u32 { return 1.5; }\n// not @compute fn two()\n@compute // here\n@workgroup_size(1) fn one () {}",
        "@group(0) @binding(0) var<storage> b: array<u32>; @workgroup_size(1) @compute fn one() { b[0] = 1u; }",
    ];
    for text in texts {
        assert_eq!(refused(text.into()).kernel.as_deref(), Some("one"), "{text}");
        assert_eq!(inspect(text).unwrap_err().kernel.as_deref(), Some("one"), "{text}");
    }
}

#[test]
fn inspect_lists_every_entry_point() {
    let listed = |wgsl: &str| -> Vec<(String, String, bool)> {
        inspect(wgsl).unwrap().into_iter().map(|e| (e.stage, e.name, e.reflection.is_some())).collect()
    };
    let entry = |stage: &str, name: &str, reflected| (stage.to_owned(), name.to_owned(), reflected);
    // `sized` needs a value for N.
    assert_eq!(listed(SIZED), [entry("compute", "sized", false), entry("compute", "plain", true)]);
    let mixed = "@fragment fn shade() {} @compute @workgroup_size(1) fn go() {}";
    assert_eq!(listed(mixed), [entry("fragment", "shade", false), entry("compute", "go", true)]);
    assert_eq!(listed("const a = 1;"), []);
    assert_eq!(inspect(BUFFERS).unwrap()[0].reflection.as_ref(), Some(&reflect(&BUFFERS.into()).unwrap()));
    assert!(matches!(inspect("fn").unwrap_err().problem, KernelProblem::Parse { .. }));
}

/// `(kind, line, column)` of a problem with a place.
fn place(problem: &KernelProblem) -> (&'static str, u32, u32) {
    match problem {
        KernelProblem::Parse { line, column, .. } => ("parse", *line, *column),
        KernelProblem::Validate { line, column, .. } => ("validate", *line, *column),
        other => panic!("{other:?} has no place"),
    }
}

#[test]
fn errors_point_at_the_character() {
    // The é before the fault is one character and two bytes.
    let unknown = problem("@compute @workgroup_size(1)\nfn main() {\n    /* é */ let x = missing + 1;\n}");
    assert_eq!(place(&unknown), ("parse", 3, 21));
    let KernelProblem::Parse { message, rendered, .. } = unknown else { unreachable!() };
    assert_eq!(message, "no definition in scope for identifier: `missing`");
    assert!(rendered.contains("wgsl:3:21") && rendered.contains("let x = missing + 1;"), "{rendered}");

    assert_eq!(place(&problem("@compute @workgroup_size(1)\nfn main( {}")), ("parse", 2, 10));

    // Valid grammar, invalid module: a store to a buffer that is only readable.
    let store = "@group(0) @binding(0) var<storage, read> a: array<u32>;\n@compute @workgroup_size(1)\nfn main() {\n  a[0] = 1u;\n}";
    let store = problem(store);
    assert_eq!(place(&store), ("validate", 4, 3));
    let KernelProblem::Validate { message, rendered, .. } = store else { unreachable!() };
    assert!(message.starts_with("Entry point main at Compute is invalid: "), "{message}");
    assert!(rendered.contains("a[0] = 1u;"), "{rendered}");

    // What a kernel of buffers cannot have is refused by the validator, at its place.
    let array = "enable wgpu_binding_array;\n@group(0) @binding(0) var<storage, read> a: binding_array<array<u32>, 4>;\n@compute @workgroup_size(1)\nfn main() { let x = a[0][0]; }";
    assert_eq!(place(&problem(array)).0, "validate");
    let size = "@compute @workgroup_size(0)\nfn main() {}";
    assert!(matches!(problem(size), KernelProblem::Validate { .. } | KernelProblem::Parse { .. }));
}

#[test]
fn only_buffers_and_scalars_can_be_taken() {
    let refused = |declaration: &str, use_of: &str, named: &str| {
        let text = format!("{declaration}\n@compute @workgroup_size(1) fn main() {{ {use_of} }}");
        match problem(text.as_str()) {
            KernelProblem::Validate { line, column, message, rendered } => {
                assert!(message.contains(named), "{message}");
                let at = declaration.find("var").unwrap() + 1;
                assert_eq!((line, column as usize), (1, at), "{declaration}");
                assert!(rendered.contains(declaration), "{rendered}");
            }
            other => panic!("{other:?}"),
        }
    };
    let texture = "@group(0) @binding(0) var image: texture_2d<f32>;";
    refused(texture, "let x = textureLoad(image, vec2<i32>(), 0);", "`image` is a texture");
    refused("@group(0) @binding(0) var s: sampler;", "_ = s;", "`s` is a sampler");
    refused("var<immediate> m: mat2x2<f32>;", "let x = m[0];", "`m` must be a number");
    refused("struct P { a: u32, b: array<u32, 2> } var<immediate> p: P;", "let x = p.b[0];", "`p.b` must be a number");
    let members = (0..33).map(|i| format!("m{i}: u32,")).collect::<String>();
    refused(&format!("struct P {{ {members} }} var<immediate> p: P;"), "let x = p.m0;", "132 bytes");
    // Declared and not used by the entry point: no obstacle.
    assert_eq!(
        reflect(&format!("{texture} @compute @workgroup_size(1) fn main() {{}}").as_str().into()).unwrap().bindings,
        []
    );
}

#[test]
fn device_features_are_found_where_they_are_used() {
    let needs = |head: &str, body: &str| {
        let text = format!(
            "{head}\n@group(0) @binding(0) var<storage, read_write> o: array<u32>;\n@compute @workgroup_size(32) fn main(@builtin(local_invocation_index) i: u32) {{ {body} }}"
        );
        let found = reflect(&text.as_str().into()).unwrap();
        lowers(&text.as_str().into());
        found.needs
    };
    assert_eq!(needs("", "o[i] = i;"), Vec::<String>::new());
    assert_eq!(needs("enable f16;", "o[i] = u32(f16(i) * 2.0h);"), ["f16"]);
    assert_eq!(needs("", "o[i] = subgroupAdd(i);"), ["subgroups"]);
    assert_eq!(needs("", "subgroupBarrier(); o[i] = i;"), ["subgroups"]);
    assert_eq!(needs("", "o[i] = u32(f64(i) * 2.0lf);"), ["f64"]);
    assert_eq!(needs("", "o[i] = u32(u64(i) * 2lu);"), ["int64"]);
    let wide = "@group(0) @binding(1) var<storage, read_write> a: atomic<u64>;";
    assert_eq!(needs(wide, "atomicAdd(&a, 1lu); o[i] = 1u;"), ["int64", "int64-atomics"]);
    let float = "@group(0) @binding(1) var<storage, read_write> a: atomic<f32>;";
    assert_eq!(needs(float, "atomicAdd(&a, 1.0); o[i] = 1u;"), ["f32-atomics"]);
    // Only what the entry point reaches counts.
    assert_eq!(needs("fn other() -> f64 { return 1.0lf; }", "o[i] = i;"), Vec::<String>::new());
}

/// Texts that are nearly WGSL are refused or accepted, and never bring the process down (XC: no panic on bad input).
#[test]
fn damaged_sources_never_panic() {
    let mut random = fastrand::Rng::with_seed(7);
    const MARKS: [char; 18] =
        ['(', ')', '{', '}', '<', '>', ';', ':', ',', '=', '+', '-', '*', '/', '@', '&', 'é', '0'];
    let texts = [BUFFERS, SIZED];
    for round in 0..400 {
        let mut text: Vec<char> = texts[round % 2].chars().collect();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(0..text.len());
            match random.u8(0..3) {
                0 if text.len() > 1 => drop(text.remove(at)),
                0 | 1 => text[at] = random.choice(MARKS).unwrap(),
                _ => text.truncate(at.max(1)),
            }
        }
        let text: String = text.into_iter().collect();
        let _ = reflect(&Wgsl::new(text.as_str()).entry("main").constant("N", 4.0).into());
        if let Err(error) = inspect(&text) {
            assert!(!error.to_string().is_empty());
        }
    }
}
