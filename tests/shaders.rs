//! Every file of `shaders/` is listed, valid, described, and fit for every backend.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::BTreeSet;
use std::path::Path;

use graphreel::kernel::{Lowering, Scalars, StorageAccessAs, inspect, lower, overrides, reflect};
use graphreel::shaders::{self, Shader};

fn files() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter_map(|name| name.strip_suffix(".wgsl").map(str::to_owned)).collect()
}

/// The comment at the head of a shader.
fn header(shader: &Shader) -> String {
    shader.source.lines().take_while(|line| line.starts_with("//")).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_file_is_listed() {
    let listed: BTreeSet<String> = shaders::ALL.iter().map(|shader| shader.name.to_owned()).collect();
    assert_eq!(listed, files());
    assert_eq!(listed.len(), shaders::ALL.len(), "a shader is listed twice");
    assert!(shaders::ALL.is_sorted_by_key(|shader| shader.name));
    assert_eq!(shaders::find("saxpy"), Some(shaders::SAXPY));
    assert_eq!(shaders::find("none"), None);
}

#[test]
fn every_shader_reflects_as_it_is_listed() {
    for shader in shaders::ALL {
        let entries = inspect(shader.source).unwrap_or_else(|error| panic!("{}: {error}", shader.name));
        let names: Vec<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, shader.entries, "{}", shader.name);
        assert_eq!(overrides(shader.source).unwrap(), []);
        for entry in entries {
            let found = entry.reflection.unwrap();
            assert_eq!(found, reflect(&shader.entry(&entry.name).into()).unwrap());
            // Nothing that a device may lack, in group 0, under the sizes that every device has.
            assert_eq!(found.needs, Vec::<String>::new(), "{}", shader.name);
            assert!(found.bindings.iter().all(|binding| binding.group == 0 && binding.access.is_some()));
            assert!(found.workgroup_size.iter().product::<u32>() <= 256);
            assert!(found.workgroup_bytes <= 16 << 10);
        }
    }
}

#[test]
fn every_shader_lowers_in_every_way() {
    use naga::valid::{Capabilities, ValidationFlags, Validator};
    for shader in shaders::ALL {
        for (entry, way) in shader.entries.iter().flat_map(|entry| (0..12usize).map(move |way| (entry, way))) {
            let storages = [StorageAccessAs::Declared, StorageAccessAs::Used, StorageAccessAs::ReadWrite];
            let lowering = Lowering {
                scalars: if way & 1 == 0 { Scalars::Immediate } else { Scalars::Uniform { group: 1, binding: 0 } },
                storage: storages[way / 4],
                uniform_as_storage: way & 2 != 0,
            };
            let lowered = lower(&shader.entry(entry).into(), lowering).unwrap();
            assert_eq!(&*lowered.reflection.entry, *entry);
            let info =
                Validator::new(ValidationFlags::all(), Capabilities::IMMEDIATES).validate(&lowered.module).unwrap();
            let options = naga::back::spv::Options { lang_version: (1, 3), ..Default::default() };
            naga::back::spv::write_vec(&lowered.module, &info, &options, None).unwrap();
        }
    }
}

#[test]
fn every_header_says_how_to_launch() {
    for shader in shaders::ALL {
        let header = header(shader);
        for part in ["Scalars: ", "Workgroup: ", "Grid: ", "Promises: "] {
            assert!(header.contains(part), "{} does not tell `{part}`", shader.name);
        }
        for entry in inspect(shader.source).unwrap() {
            let found = entry.reflection.unwrap();
            for name in found.bindings.iter().map(|b| &b.name).chain(found.immediates.iter().map(|m| &m.name)) {
                assert!(header.contains(&format!("`{name}`")), "{} does not tell of `{name}`", shader.name);
            }
            let lanes: Vec<_> = found.workgroup_size.iter().filter(|size| **size > 1).map(u32::to_string).collect();
            assert!(header.contains(&format!("Workgroup: {}", lanes.join(" x "))), "{}", shader.name);
        }
    }
}

#[test]
fn the_readme_lists_every_entry_point_as_reflected() {
    let readme = include_str!("../shaders/README.md");
    for shader in shaders::ALL {
        for entry in inspect(shader.source).unwrap() {
            let found = entry.reflection.unwrap();
            let code = |names: Vec<&String>| match names[..] {
                [] => "none".to_owned(),
                _ => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
            };
            let buffers = code(found.bindings.iter().map(|b| &b.name).collect());
            let scalars = code(found.immediates.iter().map(|m| &m.name).collect());
            let row = format!("| `{}` | `{}` | {buffers} | {scalars} |", shader.name, entry.name);
            assert!(readme.contains(&row), "shaders/README.md lacks the row\n{row}");
        }
    }
}
