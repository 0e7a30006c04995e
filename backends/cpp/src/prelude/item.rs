//! The declarations of a part: told by blank lines, with the names that each declares and the words that it uses.

use std::borrow::Cow;

/// What is printed whole or not at all.
pub(super) struct Item {
    /// What it declares.
    pub(super) names: Vec<&'static str>,
    /// Every word in its code.
    pub(super) words: Vec<&'static str>,
    pub(super) text: Cow<'static, str>,
    pub(super) stands: Stands,
    /// The type that it is an overload for.
    pub(super) of: Option<&'static str>,
}

/// Where an item is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stands {
    /// First: a macro of the dialect.
    Above,
    /// Before the namespace.
    Outside,
    /// In the namespace.
    Inside,
}

impl Item {
    /// A macro: its name with parameters, and what it stands for.
    pub(super) fn macro_of(head: &'static str, body: &'static str) -> Self {
        let text = format!("#define {head} {body}").trim_end().to_owned();
        Self { names: vec![word(head)], words: words(body), text: text.into(), stands: Stands::Above, of: None }
    }
}

/// The items of a part. Its first paragraph is a comment on the file.
pub(super) fn items(part: &'static str) -> Vec<Item> {
    let mut found = Vec::new();
    for paragraph in part.split("\n\n").map(|paragraph| paragraph.trim_matches('\n')) {
        if is_call(paragraph) {
            found.extend(paragraph.lines().map(item));
        } else {
            found.push(item(paragraph));
        }
    }
    found.retain(|item| !item.names.is_empty());
    found
}

fn item(text: &'static str) -> Item {
    let mut names: Vec<&'static str> = text.lines().filter_map(declared).collect();
    names.dedup();
    let words = text.lines().flat_map(|line| words(line.split("//").next().unwrap_or(line))).collect();
    let stands = if text.contains("extern \"C\"") { Stands::Outside } else { Stands::Inside };
    Item { names, words, text: text.into(), stands, of: None }
}

/// Whether the text begins with a call of one of the prelude's macros, as declarations for many types do.
pub(super) fn is_call(text: &str) -> bool {
    let name = word(text);
    name.starts_with("WG_") && text[name.len()..].starts_with('(')
}

/// The word at the start.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// The words of a line of code.
pub(super) fn words(line: &'static str) -> Vec<&'static str> {
    let parts = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    parts.filter(|part| part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')).collect()
}

/// The text after the bracket that closes the one at its start.
fn after_brackets(text: &'static str, open: char, close: char) -> &'static str {
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        depth += usize::from(c == open);
        if c == close {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return text[at + 1..].trim_start();
            }
        }
    }
    text
}

/// What a line declares. Declarations begin at the margin, and nothing else does.
pub(super) fn declared(line: &'static str) -> Option<&'static str> {
    let starts = |text: &'static str, with: &str| text.strip_prefix(with).map(str::trim_start);
    if let Some(name) = starts(line, "#define ").or_else(|| starts(line, "#ifndef ")) {
        return Some(word(name));
    }
    if is_call(line) {
        return Some(word(&line[line.find('(')? + 1..]));
    }
    let line = starts(line, "template ").map_or(line, |rest| after_brackets(rest, '<', '>'));
    if let Some(name) = starts(line, "struct ") {
        let name = if name.starts_with("alignas(") { after_brackets(&name["alignas".len()..], '(', ')') } else { name };
        return Some(word(name));
    }
    if let Some(name) = starts(line, "using ") {
        return Some(word(name));
    }
    if let Some(rest) = starts(line, "constexpr ") {
        return Some(word(rest[word(rest).len()..].trim_start()));
    }
    let end = match word(line) {
        "typedef" => line.find(';')?,
        "WG_FUNCTION" | "extern" => line.find(['(', ';'])?,
        _ => return None,
    };
    line[..end].rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()
}
