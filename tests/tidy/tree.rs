//! The repository's own text files, read once for each test.

use std::fs;
use std::path::{Path, PathBuf};

/// One text file.
pub(crate) struct File {
    /// Its path from the repository's root, with `/` between the parts.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    pub(crate) fn is_markdown(&self) -> bool {
        self.path.ends_with(".md")
    }

    /// Whether it is compiled for tests only.
    pub(crate) fn is_test(&self) -> bool {
        self.path.split('/').any(|part| part == "tests" || part == "tests.rs" || part == "benches")
    }

    /// The lines before a test module, from 1.
    pub(crate) fn production_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines: Vec<&str> = if self.is_test() { Vec::new() } else { self.text.lines().collect() };
        let tests = lines.windows(2).position(|pair| pair[0] == "#[cfg(test)]" && pair[1].ends_with('{'));
        let end = tests.unwrap_or(lines.len());
        lines.into_iter().take(end).enumerate().map(|(index, line)| (index + 1, line))
    }
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every text file of the repository, these tests left out: they name what they forbid.
pub(crate) fn files() -> Vec<File> {
    let mut found = Vec::new();
    walk(root(), &mut found);
    found.sort();
    let files = found.into_iter().filter_map(|path| {
        let relative = path.strip_prefix(root()).ok()?.to_string_lossy().replace('\\', "/");
        let text = fs::read_to_string(&path).ok()?;
        (!relative.starts_with("tests/tidy/")).then_some(File { path: relative, text })
    });
    let files: Vec<File> = files.collect();
    assert!(files.len() > 50, "the walk found only {} files", files.len());
    files
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("a readable folder").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let hidden = name.starts_with('.') && ![".ci", ".config", ".github"].contains(&name.as_str());
        if path.is_dir() {
            if !hidden && name != "target" && !path.join("CACHEDIR.TAG").exists() {
                walk(&path, found);
            }
        } else if is_text(&path, &name) {
            found.push(path);
        }
    }
}

fn is_text(path: &Path, name: &str) -> bool {
    let known = ["rs", "md", "toml", "wgsl", "yml", "sh", "py"];
    path.extension().is_some_and(|extension| known.contains(&&*extension.to_string_lossy()))
        || path.parent().is_some_and(|parent| parent.file_name().is_some_and(|folder| folder == ".ci"))
        || name.starts_with("LICENSE")
}

/// Fail with every finding, so that one run shows all of them.
pub(crate) fn report(rule: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{rule}:\n  {}", findings.join("\n  "));
}
