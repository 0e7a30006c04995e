//! Rules on ids: what code and tests cite has a row in the document of its kind, and a test or scenario with a row is cited.

use std::collections::BTreeSet;

use super::tree::{File, files, report};

const CAPTURE: &str = "docs/CAPTURE.md";
const BACKEND: &str = "docs/BACKEND.md";
const SCENARIOS: &str = "docs/SCENARIOS.md";

/// Which document has the row of a word, if the word is an id.
fn home(word: &str) -> Option<&'static str> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((kind, number)) = word.split_once('-') {
        let contracts: [(&str, &[&str]); 2] =
            [(CAPTURE, &["C", "TC", "XC", "INV", "QC"]), (BACKEND, &["B", "V", "K", "TB", "XB", "QB"])];
        let contract = contracts.into_iter().find(|(_, kinds)| kinds.contains(&kind));
        return contract.filter(|_| digits(number)).map(|(page, _)| page);
    }
    let scenario = word.strip_prefix(['D', 'L']).is_some_and(|number| number.len() == 2 && digits(number));
    let letter = word.strip_prefix("34").is_some_and(|rest| rest.len() == 1 && rest.as_bytes()[0].is_ascii_lowercase());
    (scenario || letter).then_some(SCENARIOS)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_').filter(|word| !word.is_empty())
}

/// Ids that lines of a source file cite: of the contracts anywhere, of scenarios in comments, since code has other words
/// of that shape.
fn cited(file: &File) -> BTreeSet<&str> {
    let lines = file.text.lines().flat_map(|line| {
        let comment = line.find("//");
        words(line).filter(move |word| match home(word) {
            Some(SCENARIOS) => comment.is_some_and(|at| words(&line[at..]).any(|other| other == *word)),
            found => found.is_some(),
        })
    });
    lines.collect()
}

/// Ids in the first cells of a document's tables, and whether the row says that it is still to come.
fn rows(text: &str) -> Vec<(&str, bool)> {
    let cells = text.lines().filter_map(|line| Some((line.strip_prefix("| ")?.split_once(" |")?.0, line)));
    cells.filter(|(id, _)| home(id).is_some()).map(|(id, line)| (id, line.contains("to come"))).collect()
}

#[test]
fn an_id_is_told_from_other_words() {
    let text = "C-58 TC-1 (XC-24), `INV-2`: QC-13; D38. 34a L07 L7 C-x D3D12 D128 U-4 non-C-58 UTF-8 34 C-";
    let found: Vec<&str> = words(text).filter(|word| home(word).is_some()).collect();
    assert_eq!(found, ["C-58", "TC-1", "XC-24", "INV-2", "QC-13", "D38", "34a", "L07"]);
    let text = "B-5, V-22 K-7 (TB-9) `XB-26`: QB-14; B-x VB-1 K-";
    let found: Vec<&str> = words(text).filter(|word| home(word) == Some(BACKEND)).collect();
    assert_eq!(found, ["B-5", "V-22", "K-7", "TB-9", "XB-26", "QB-14"]);
    let file = File { path: String::new(), text: "let D16 = 1; // D17, C-1\nsay(\"C-2\");".to_owned() };
    assert_eq!(cited(&file).into_iter().collect::<Vec<_>>(), ["C-1", "C-2", "D17"]);
    assert_eq!(rows("| XC-14 | to come | x |\n| D01 | a |\nC-5 | b |"), [("XC-14", true), ("D01", false)]);
}

#[test]
fn every_cited_id_has_its_row_and_every_test_and_scenario_is_cited() {
    let files = files();
    let (mut findings, mut all) = (Vec::new(), BTreeSet::new());
    let known = |page: &str| rows(&files.iter().find(|file| file.path == page).expect("the document exists").text);
    let pages = [CAPTURE, BACKEND, SCENARIOS].map(|page| (page, known(page)));
    for file in files.iter().filter(|file| file.is_rust()) {
        for id in cited(file) {
            let (page, rows) = pages.iter().find(|(page, _)| home(id) == Some(page)).expect("an id has a home");
            if !rows.iter().any(|(row, _)| *row == id) {
                findings.push(format!("{}: {id} has no row in {page}", file.path));
            }
            all.insert(id);
        }
    }
    assert!(all.len() > 100, "only {} ids were seen", all.len());
    // Rules are also kept by what no test names; a test or a scenario is nothing without the code that shows it.
    let shown = |id: &str| {
        home(id) == Some(SCENARIOS) || ["TC-", "XC-", "INV-", "TB-", "XB-"].iter().any(|kind| id.starts_with(kind))
    };
    let mut seen = BTreeSet::new();
    for (page, (id, to_come)) in pages.iter().flat_map(|(page, rows)| rows.iter().map(move |row| (page, row))) {
        if shown(id) && !to_come && !all.contains(id) {
            findings.push(format!("{id} has a row in {page} and no source file cites it"));
        }
        if home(id) != Some(page) {
            findings.push(format!("{id} has a row in {page}, which is not the document of its kind"));
        }
        if !seen.insert(*id) {
            findings.push(format!("{id} has two rows"));
        }
    }
    report("ids and their documents agree", &findings);
}

#[test]
fn no_document_is_cited_that_is_not_here() {
    let absent = ["spec C", "spec B", "Spec C", "Spec B", "design §", "field report"];
    let mut findings = Vec::new();
    for file in files().iter().filter(|file| file.is_rust() || file.is_markdown()) {
        for (index, line) in file.text.lines().enumerate() {
            for word in absent.iter().filter(|word| line.contains(**word)) {
                findings.push(format!("{}:{}: {word}", file.path, index + 1));
            }
        }
    }
    report("cite docs/CAPTURE.md, docs/BACKEND.md, docs/SCENARIOS.md or docs/ARCHITECTURE.md", &findings);
}

/// What callers branch on is written down, each reason once where people look for it.
#[test]
fn every_reason_of_the_facade_is_in_the_catalogue() {
    let catalogue = std::fs::read_to_string(crate::tree::root().join(BACKEND)).expect("the page is there");
    let mut findings = Vec::new();
    for file in files().iter().filter(|file| file.path.starts_with("src/lifecycle/") && file.path != HOOKS) {
        for (line, code) in file.production_lines() {
            let reasons = code.split(".with_reason(\"").skip(1).filter_map(|rest| rest.split_once('"'));
            for (reason, _) in reasons.filter(|(reason, _)| !catalogue.contains(&format!("`{reason}`"))) {
                findings.push(format!("{}:{line}: {reason}", file.path));
            }
        }
    }
    report("docs/BACKEND.md has every reason", &findings);
}

/// Reasons that tests inject.
const HOOKS: &str = "src/lifecycle/hooks.rs";
