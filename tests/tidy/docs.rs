//! Rules on documents: what they point at exists, and what exists is in them.

use std::collections::BTreeSet;

use super::tree::{File, files, report, root};

/// The targets of a document's links, code blocks left out.
fn links(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        if fenced {
            continue;
        }
        for (at, _) in line.match_indices("](") {
            let rest = &line[at + 2..];
            found.extend(rest.find(')').map(|end| &rest[..end]));
        }
    }
    found
}

/// Paths of files in backquotes: `src/lib.rs`, `docs/STYLE.md`.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2).filter(|span| {
        let first = span.split('/').next().unwrap_or_default();
        let folders = ["src", "backends", "cli", "docs", "tests", "benches", "examples", "shaders", ".ci", ".config"];
        span.contains('/') && folders.contains(&first) && !span.contains(['*', '{', ' ', '\n', '<'])
    })
}

#[test]
fn links_lead_somewhere() {
    let mut findings = Vec::new();
    for file in files().iter().filter(|file| file.is_markdown()) {
        let folder = root().join(&file.path).parent().expect("a file has a folder").to_owned();
        for link in links(&file.text) {
            let target = link.split('#').next().unwrap_or_default();
            let outside = link.starts_with("http://") || link.starts_with("https://") || link.starts_with("mailto:");
            if !outside && !target.is_empty() && !folder.join(target).exists() {
                findings.push(format!("{}: {link}", file.path));
            }
        }
    }
    report("a link leads to a file that exists", &findings);
}

#[test]
fn named_files_exist() {
    let mut findings = Vec::new();
    for file in files().iter().filter(|file| file.is_markdown() && !file.path.starts_with("docs/decisions/")) {
        for path in paths(&file.text) {
            if !root().join(path).exists() {
                findings.push(format!("{}: `{path}`", file.path));
            }
        }
    }
    report("a file that a document names exists", &findings);
}

#[test]
fn a_document_has_one_title() {
    let mut findings = Vec::new();
    for file in files().iter().filter(|file| file.is_markdown()) {
        let mut fenced = false;
        let titles = file.text.lines().filter(|line| {
            fenced ^= line.trim_start().starts_with("```");
            !fenced && line.starts_with("# ")
        });
        let count = titles.count();
        if count != 1 {
            findings.push(format!("{}: {count}", file.path));
        }
    }
    report("a document has one title", &findings);
}

fn variables(text: &str) -> BTreeSet<String> {
    let after_prefix = text.split("GRAPHREEL_").skip(1);
    let names = after_prefix.map(|rest| rest.chars().take_while(|c| c.is_ascii_uppercase() || *c == '_').collect());
    names.filter(|name: &String| !name.is_empty()).map(|name| format!("GRAPHREEL_{name}")).collect()
}

#[test]
fn every_variable_is_documented_and_every_documented_one_is_read() {
    let files = files();
    let page = "docs/ENVIRONMENT.md";
    let is_code = |file: &&File| file.is_rust() || file.path.starts_with(".ci/");
    let used: BTreeSet<String> = files.iter().filter(is_code).flat_map(|file| variables(&file.text)).collect();
    let document = files.iter().find(|file| file.path == page).expect("docs/ENVIRONMENT.md exists");
    let documented = variables(&document.text);
    let unknown = used.difference(&documented).map(|name| format!("{name} is not in {page}"));
    let unread = documented.difference(&used).map(|name| format!("{name} is in {page} and nothing reads it"));
    let findings: Vec<String> = unknown.chain(unread).collect();
    report("the table of variables is complete", &findings);
}

/// Each method of the driver waist says which call of each vendor it is, has no default body, and has its row in the
/// review.
#[test]
fn every_driver_method_names_both_vendors_calls_and_is_reviewed() {
    let files = files();
    let text = |path: &str| &files.iter().find(|file| file.path == path).expect("the file exists").text;
    let review = text("docs/decisions/0008-driver-trait.md");
    let (_, body) = text("src/graph/driver.rs").split_once("pub trait Driver").expect("the trait is there");
    let (mut docs, mut methods, mut findings) = (String::new(), 0, Vec::new());
    for line in body.lines().map(str::trim).skip(1) {
        if let Some(doc) = line.strip_prefix("///") {
            docs.push_str(doc);
        } else if let Some(rest) = line.strip_prefix("unsafe ").unwrap_or(line).strip_prefix("fn ") {
            let name = rest.split('(').next().unwrap_or_default();
            let named = docs.contains("CUDA `cu") && docs.contains("HIP") && docs.contains("`hip");
            if !named && !docs.contains("No call.") {
                findings.push(format!("`{name}` does not say which calls it is"));
            }
            if !review.contains(&format!("`{name}`")) {
                findings.push(format!("`{name}` is not in the review"));
            }
            methods += 1;
            docs.clear();
        }
        if line.ends_with('{') {
            findings.push(format!("a default body: {line}"));
        }
    }
    assert!(methods > 40, "only {methods} methods were seen");
    report("the driver waist is reviewed", &findings);
}
