//! Every function that AMD's runtime imports of the layer below it is one that the device's library has, on each version.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::collections::BTreeSet;
use std::path::Path;

use graphreel_compilers::hip::Suite;
use graphreel_compilers::{announce, present};
use graphreel_swhsa_rig::Stage;
use object::{Object, ObjectSymbol};

/// Names of HSA's functions that a library has, or wants.
fn names(file: &Path, wanted: bool) -> BTreeSet<String> {
    let bytes = std::fs::read(file).expect("the library is readable");
    let library = object::File::parse(&*bytes).expect("it is an ELF file");
    let symbols = library.dynamic_symbols().filter(|symbol| symbol.is_undefined() == wanted);
    let names = symbols.filter_map(|symbol| symbol.name().ok().map(str::to_owned));
    names.filter(|name| name.starts_with("hsa_")).collect()
}

#[test]
fn the_device_has_every_function_that_the_runtime_imports() {
    for suite in Suite::ALL {
        let test = "the_device_has_every_function_that_the_runtime_imports";
        let Some(stage) = present(test, Stage::find(suite)) else { continue };
        let wanted = names(&stage.runtime().expect("the runtime is there"), true);
        let there = names(&stage.device(), false);
        assert!(wanted.len() > 80, "only {} functions are imported", wanted.len());
        let missing: Vec<&String> = wanted.difference(&there).collect();
        assert!(missing.is_empty(), "HIP {} imports {missing:?}", stage.version());
        announce(&format!("HIP {}: all {} functions are there", stage.version(), wanted.len()));
    }
}
