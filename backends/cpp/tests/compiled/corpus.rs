//! Every kernel that compilers are given: one list of names and sources, which all dialects take.

use std::path::Path;

use graphreel::kernel::{Wgsl, inspect};
use graphreel::shaders;
use graphreel_cts::{List, Plan, PlanError, folder, load};

use crate::rig::{Subject, thorough};

/// Every entry point of `shaders/`.
pub(crate) fn shaders() -> Vec<Subject> {
    let entries = shaders::ALL.iter().flat_map(|shader| shader.entries.iter().map(move |entry| (shader, *entry)));
    entries.map(|(shader, entry)| Subject { name: shader.name.into(), source: shader.entry(entry).into() }).collect()
}

/// Every entry point of the files in `tests/constructs`.
pub(crate) fn constructs() -> Vec<Subject> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/constructs");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut subjects = Vec::new();
    for path in paths {
        let (text, name) = (std::fs::read_to_string(&path).unwrap(), path.file_stem().unwrap().to_str().unwrap());
        let entries = inspect(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let source = |entry: &str| Wgsl::new(text.as_str()).entry(entry).into();
        subjects.extend(entries.iter().map(|entry| Subject { name: name.into(), source: source(&entry.name) }));
    }
    assert!(!subjects.is_empty(), "tests/constructs has kernels");
    subjects
}

/// One list of an expectation file at one width.
pub(crate) struct Listed {
    pub(crate) file: String,
    pub(crate) lanes: u8,
    pub(crate) list: List,
    pub(crate) plan: Plan,
}

impl Listed {
    pub(crate) fn subject(&self) -> Subject {
        let width = if self.lanes > 1 { format!("_by_{}", self.lanes) } else { String::new() };
        Subject {
            name: format!("{}_{}{width}", self.file, self.list.name),
            source: Wgsl::new(self.plan.source.as_str()).entry(self.plan.entry).into(),
        }
    }
}

/// The lists of the expectation files: the `non_const` ones, and when thorough all that are for devices, at every width.
/// `None` where no folder is named.
pub(crate) fn lists() -> Option<Vec<Listed>> {
    let dir = folder::named()?;
    let mut found = Vec::new();
    for file in folder::files(&dir).unwrap() {
        let content = load(&folder::path(&dir, &file)).unwrap();
        for list in content.lists.into_iter().filter(|list| list.runs()) {
            if !thorough() && !list.name.ends_with("non_const") {
                continue;
            }
            for lanes in 1..=if thorough() { 4 } else { 1 } {
                match Plan::new(&file, &list, lanes) {
                    Ok(plan) => found.push(Listed { file: file.clone(), lanes, list: list.clone(), plan }),
                    Err(PlanError::Lanes) => {}
                    Err(error) => panic!("{file}/{}: {error}", list.name),
                }
            }
        }
    }
    assert!(!found.is_empty(), "the folder {} has no list for devices", dir.display());
    Some(found)
}

/// All of them.
pub(crate) fn all() -> Vec<Subject> {
    // What no device compiles is no matter of these compilers.
    let lists = lists().unwrap_or_default().into_iter().filter(|listed| listed.plan.gap.is_none());
    shaders().into_iter().chain(constructs()).chain(lists.map(|listed| listed.subject())).collect()
}
