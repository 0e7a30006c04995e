//! Names: the author's wherever C++ and its compilers leave them free.

use graphreel_cpp::{Dialect, Options};

use crate::rig::{kernel, own};

fn local(name: &str) -> String {
    own(&kernel("", &format!("var {name} = id.x; {name} += 1u; out[0] = {name};")), &Options::new(Dialect::Cuda))
}

#[test]
fn a_free_name_stays() {
    for name in ["sum", "total_count", "i", "Wide", "x1y", "_hidden"] {
        assert!(local(name).contains(&format!("u32 {name} = 0u;")), "{name}: {}", local(name));
    }
}

#[test]
fn keywords_macros_and_the_preludes_names_do_not() {
    let taken = [
        "int",
        "float",
        "double",
        "char",
        "unsigned",
        "signed",
        "long",
        "short",
        "half",
        "and",
        "or",
        "not",
        "xor",
        "compl",
        "threadIdx",
        "blockIdx",
        "warpSize",
        "linux",
        "unix",
        "assert",
        "INFINITY",
        "add",
        "index",
        "put",
        "slot",
        "arr",
        "barrier",
        "wg",
        "wg_shared",
        "WG_FUNCTION",
        "_LP64",
        "_GNU_SOURCE",
        "_e7",
        "void_",
        "bool_",
    ];
    for name in taken {
        let source = local(name);
        assert!(!source.contains(&format!("u32 {name} = 0u;")) || name.ends_with('_'), "{name}: {source}");
    }
}

#[test]
fn letters_that_cpp_has_not_are_spelled() {
    let source = local("größe");
    assert!(source.is_ascii() && source.contains("u32 gr_u00f6"), "{source}");
    let source = own(&kernel("", "out[0] = 1u;").replace("fn main", "fn Übung"), &Options::new(Dialect::Cuda));
    assert!(source.is_ascii() && source.contains("wgk_u00dcbung"), "{source}");
}

#[test]
fn two_names_never_become_one() {
    let source = own(
        &kernel("", "var x = 1u; var x_1 = 2u; var x_ = 3u; { var x = 4u; out[1] = x; } out[0] = x + x_1 + x_;"),
        &Options::new(Dialect::Cuda),
    );
    let mut names: Vec<_> = source.lines().filter_map(|line| line.trim().strip_prefix("u32 ")).collect();
    names.iter_mut().for_each(|line| *line = line.split(' ').next().unwrap_or(line));
    assert_eq!(names.len(), 4, "{source}");
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 4, "{source}");
}

/// A struct's members hide types from it, and the kernel is in the namespace of what it is made of.
#[test]
fn members_are_not_called_as_structs_nor_anything_as_the_kernel() {
    let before = "struct A { x: u32 }
        struct B { A: A, b: A, B: u32 }
        const wgk_main = array<u32, 5>(1u, 2u, 3u, 4u, 5u);
        var<private> pair: B;";
    let body = "pair.A.x = wgk_main[id.x % 5u]; pair.b = pair.A; pair.B = 7u; out[0] = pair.b.x;";
    let source = own(&kernel(before, body), &Options::new(Dialect::Cuda));
    assert!(source.contains("A A_1;") && source.contains("A b;") && !source.contains("A A;"), "{source}");
    assert!(!source.contains("u32 B;") && source.contains("pair.b = pair.A_1;"), "{source}");
    assert!(!source.contains("WG_TABLE const arr<u32, 5> wgk_main ="), "{source}");
    let first = own(&kernel(before, body), &Options { symbol: Some("pair".to_owned()), ..Options::new(Dialect::Cuda) });
    assert!(!first.contains("B pair{}") && first.contains("arr<u32, 5> wgk_main ="), "{first}");
}
