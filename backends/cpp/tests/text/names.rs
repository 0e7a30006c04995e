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
