//! What no kernel in C++ can use is refused with its place in the source.

use graphreel::error::KernelProblem;
use graphreel::kernel::Wgsl;
use graphreel_cpp::{Dialect, Options, translate};

use crate::rig::{kernel, refusal, translated};

#[test]
fn what_is_no_buffer_is_refused_where_it_is_declared() {
    let cases = [
        ("@group(1) @binding(0) var image: texture_2d<f32>;", "_ = textureLoad(image, vec2(0), 0);"),
        (
            "@group(1) @binding(0) var image: texture_storage_2d<r32uint, write>;",
            "textureStore(image, vec2(0), vec4(1u));",
        ),
        (
            "@group(1) @binding(0) var image: texture_2d<f32>;\n@group(1) @binding(1) var how: sampler;",
            "_ = textureSampleLevel(image, how, vec2(0.0), 0.0);",
        ),
    ];
    for (before, body) in cases {
        let (line, column, message) = refusal(&kernel(before, body));
        assert!(line >= 1 && column >= 1, "{before}: {line}:{column}: {message}");
        assert!(message.contains("image") || message.contains("how"), "{message}");
    }
}

#[test]
fn what_only_other_stages_have_is_refused() {
    for body in ["out[0] = u32(dpdx(1.0));", "discard;"] {
        let (line, _, message) = refusal(&kernel("", body));
        assert!(line > 1 || message.contains("main"), "{body}: line {line}: {message}");
    }
}

#[test]
fn binding_arrays_ray_queries_and_cooperative_matrices_are_refused() {
    let texts = [
        kernel(
            "@group(1) @binding(0) var<storage> many: binding_array<array<u32>, 4>;",
            "out[0] = many[id.x % 4u][0];",
        ),
        kernel(
            "enable wgpu_ray_query;\n@group(1) @binding(0) var scene: acceleration_structure;",
            "var query: ray_query;",
        ),
        kernel("enable wgpu_cooperative_matrix;", "var m: coop_mat8x8<f32, A>; _ = m;"),
    ];
    for text in texts {
        let (line, column, message) = refusal(&text);
        assert!(line >= 1 && column >= 1, "{line}:{column}: {message}");
        assert!(!message.is_empty());
    }
}

/// WGSL forbids it, and naga does not look: the value would be whatever was there.
#[test]
fn a_continue_over_what_continuing_reads_is_refused() {
    let of = |skip: &str, read: &str| {
        let body = format!(
            "var i = 0u; var t: array<u32, 8>;\nloop {{ {skip}\nlet e = (out[i] % 4u) + 4u; let p = &t[e - 4u]; i += 1u;\n\
             if i > 20u {{ continue; }}\ncontinuing {{ {read} break if i > 9u; }} }}\nout[0] = t[0];"
        );
        kernel("", &body)
    };
    let skips = [
        "if i == 0u { i = 1u; continue; }",
        "switch i { case 3u: { if id.x > 4u { continue; } } default: {} }",
        "{ loop { break; } if i == 0u { i = 1u; continue; } }",
    ];
    for skip in skips {
        for read in ["t[e - 4u] += 1u;", "*p = 1u;", "if i > 3u { i += e; }"] {
            let (line, column, message) = refusal(&of(skip, read));
            assert!(line > 1 && column > 1 && message.contains("`continue`"), "{line}:{column}: {message}");
        }
        translated(&of(skip, "i += 1u;"), Dialect::Cuda).expect("nothing is read");
    }
    // One of a loop within is not this loop's.
    for skip in ["loop { if i == 0u { i = 1u; continue; } break; }", ""] {
        translated(&of(skip, "t[e - 4u] += 1u; *p = 1u;"), Dialect::Cuda).expect("nothing is skipped");
    }
}

#[test]
fn a_workgroup_larger_than_a_block_is_refused() {
    for size in ["1025", "32, 33", "16, 16, 5", "1, 1, 65"] {
        let text = kernel("", "out[id.x] = 1u;").replace("@workgroup_size(64)", &format!("@workgroup_size({size})"));
        let (line, column, message) = refusal(&text);
        assert!(message.contains("1024 invocations"), "{message}");
        assert_eq!((line, column), (3, 31 + size.len() as u32), "{message}");
    }
}

/// AMD's compiler ends with an error that has no place where an invocation's own variables take more than 256 KiB.
#[test]
fn variables_that_no_invocation_has_room_for_are_refused() {
    for (before, body, line) in [
        ("var<private> p: array<u32, 40000>;", "p[id.x] = 1u; out[0] = p[id.y];", 1),
        ("", "var t: array<vec3<u32>, 10000>; t[id.x].x = 1u; out[0] = t[id.y].x;", 4),
        (
            "var<private> p: array<u32, 20000>;\nfn f(i: u32) -> u32 { var t: array<u32, 20000>; t[i] = i; return t[0] + p[i]; }",
            "out[0] = f(id.x);",
            1,
        ),
    ] {
        let (found, column, message) = refusal(&kernel(before, body));
        assert!(found >= line && column >= 1 && message.contains("131072 bytes"), "{found}:{column}: {message}");
    }
    let fits =
        kernel("var<private> p: array<u32, 10000>;", "var t: array<u32, 10000>; t[id.x] = p[id.y]; out[0] = t[id.z];");
    translated(&fits, Dialect::Hip).expect("there is room for it");
    // Workgroup memory has a limit of its own.
    let tile = kernel("var<workgroup> t: array<u32, 40000>;", "t[id.x] = 1u;");
    translated(&tile, Dialect::Hip).expect("a launch asks for it");
}

#[test]
fn recursion_is_refused_with_the_way_round() {
    let (line, _, message) = refusal(&kernel(
        "fn a(x: u32) -> u32 { return b(x); }\nfn b(x: u32) -> u32 { return a(x); }",
        "out[0] = a(1u);",
    ));
    assert!(line <= 2 && message.contains("cyclic"), "{line}: {message}");
}

#[test]
fn overrides_without_a_value_are_named() {
    let text = kernel("override SIZE: u32;", "out[id.x] = SIZE;");
    let error = translated(&text, Dialect::Hip).expect_err("SIZE has none");
    assert!(matches!(&error.problem, KernelProblem::MissingOverride { name } if name == "SIZE"), "{error}");
    let source = Wgsl::new(text.as_str()).constant("SIZE", 7.0).into();
    let written = translate(&source, &Options::new(Dialect::Hip)).expect("it has one now").source();
    assert!(written.contains("= 7u;"), "{written}");
    let source = Wgsl::new(text).constant("SIZE", 7.0).constant("NONE", 1.0).into();
    let error = translate(&source, &Options::new(Dialect::Hip)).expect_err("there is no NONE");
    assert!(matches!(&error.problem, KernelProblem::UnknownOverride { name, .. } if name == "NONE"), "{error}");
}

#[test]
fn a_text_of_several_entry_points_wants_one() {
    let two = format!("{}@compute @workgroup_size(1) fn other() {{}}", kernel("", "out[0] = 1u;"));
    let error = translated(&two, Dialect::Cuda).expect_err("which one?");
    assert!(matches!(&error.problem, KernelProblem::AmbiguousEntry { found } if found.len() == 2), "{error}");
    let vertex = "@vertex fn v() -> @builtin(position) vec4<f32> { return vec4(0.0); }";
    assert!(translated(vertex, Dialect::Cuda).is_err());
}
