//! A recording as text: DOT for people, JSON for tools and for storing it.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::diff::kind;
use super::node::{BufferDecl, Node, NodeOp, ParamDecl, Recording};
use crate::kernel::KernelSource;
use crate::op::Bytes;
use crate::sync::Arc;

/// The `schema` of a recording's JSON.
pub const SCHEMA: &str = "graphreel.recording/1";

/// Why a text is no recording, or a recording has no text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The text is not JSON of a recording's shape.
    #[error("the text is not a recording: {problem}")]
    Json {
        /// What the parser says, with line and column.
        problem: String,
    },
    /// Another schema, or another version of it.
    #[error("the text has schema `{found}` and this version reads `{SCHEMA}`; record the work again")]
    Schema {
        /// The schema found.
        found: String,
    },
    /// A kernel is native code, for which whoever reads the text cannot vouch.
    #[error(
        "kernels[{kernel}] of the recording is native code, which no text can vouch for; record the work again with a kernel of your own"
    )]
    NativeKernel {
        /// The kernel's number.
        kernel: u32,
    },
    /// A part refers to something that is not there, or contradicts another.
    #[error("the recording is damaged: {part}: {problem}")]
    Invalid {
        /// The part, as a path: `nodes[3].after`.
        part: String,
        /// What is wrong.
        problem: String,
    },
}

/// The JSON's shape: as [`Recording`], with host bytes in hexadecimal.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File<'a> {
    schema: Cow<'a, str>,
    label: Option<Arc<str>>,
    buffers: Cow<'a, [BufferDecl]>,
    kernels: Cow<'a, [KernelSource]>,
    host: Vec<String>,
    params: Cow<'a, [ParamDecl]>,
    nodes: Cow<'a, [Node]>,
}

/// The tag alone, read first so that another version is told apart from a damaged text.
#[derive(serde::Deserialize)]
struct Tag {
    schema: String,
}

/// Whether kernels are native, read from a text that was refused.
#[derive(serde::Deserialize)]
struct Natives {
    kernels: Vec<Nativeness>,
}

#[derive(serde::Deserialize)]
struct Nativeness {
    native: Option<serde::de::IgnoredAny>,
}

/// Why a text could not be read: a native kernel in it, which is refused as such, or what the parser says.
fn unread(text: &str, error: &serde_json::Error) -> RecordingError {
    let natives = serde_json::from_str::<Natives>(text).ok();
    let native = natives.and_then(|found| (0u32..).zip(found.kernels).find(|(_, kernel)| kernel.native.is_some()));
    match native {
        Some((kernel, _)) => RecordingError::NativeKernel { kernel },
        None => RecordingError::Json { problem: error.to_string() },
    }
}

impl Recording {
    /// The dependence graph in Graphviz's language: one box for each node with its number, its kernel or operation and its
    /// label, one arrow for each direct dependence.
    pub fn to_dot(&self) -> String {
        let mut dot =
            format!("digraph \"{}\" {{\n  node [shape=box];\n", escaped(self.label.as_deref().unwrap_or("recording")));
        for (index, node) in self.nodes.iter().enumerate() {
            let label = node.label.as_deref().map_or_else(String::new, |label| format!("\\n{}", escaped(label)));
            // Writing to a string cannot fail.
            let _ = writeln!(dot, "  n{index} [label=\"{index}: {}{label}\"];", escaped(&self.title(&node.op)));
        }
        for (index, node) in self.nodes.iter().enumerate() {
            for before in &node.after {
                let _ = writeln!(dot, "  n{before} -> n{index};");
            }
        }
        dot.push_str("}\n");
        dot
    }

    /// The recording as JSON, which [`Recording::from_json`] reads, unless it has native kernels. Equal recordings have equal
    /// texts.
    ///
    /// # Errors
    ///
    /// [`RecordingError::Invalid`] for an override that is not a finite number, which JSON does not have.
    pub fn to_json(&self) -> Result<String, RecordingError> {
        for (index, kernel) in self.kernels.iter().enumerate() {
            if let Some((name, value)) = kernel.overrides.iter().find(|(_, value)| !value.is_finite()) {
                let part = format!("kernels[{index}].overrides.{name}");
                return Err(RecordingError::Invalid { part, problem: format!("{value} is not a finite number") });
            }
        }
        let file = File {
            schema: SCHEMA.into(),
            label: self.label.clone(),
            buffers: (&self.buffers).into(),
            kernels: (&self.kernels).into(),
            host: self.host.iter().map(|bytes| hex(bytes)).collect(),
            params: (&self.params).into(),
            nodes: (&self.nodes).into(),
        };
        serde_json::to_string(&file).map_err(|error| RecordingError::Json { problem: error.to_string() })
    }

    /// Read what [`Recording::to_json`] wrote. Every index, range, parameter and dependence is checked; what kernels do
    /// with their buffers is taken as written, and known only once they are compiled.
    ///
    /// # Errors
    ///
    /// [`RecordingError`] with the place of the first problem; for a native kernel too, since to run code out of a text is to
    /// vouch for it.
    pub fn from_json(text: &str) -> Result<Self, RecordingError> {
        let broken = |error: serde_json::Error| RecordingError::Json { problem: error.to_string() };
        let tag: Tag = serde_json::from_str(text).map_err(broken)?;
        if tag.schema != SCHEMA {
            return Err(RecordingError::Schema { found: tag.schema });
        }
        let file: File<'_> = serde_json::from_str(text).map_err(|error| unread(text, &error))?;
        let bytes = |(index, text): (usize, &String)| {
            let problem = "not an even number of hexadecimal digits".to_owned();
            unhex(text).ok_or_else(|| RecordingError::Invalid { part: format!("host[{index}]"), problem })
        };
        let recording = Self {
            label: file.label,
            buffers: file.buffers.into_owned(),
            kernels: file.kernels.into_owned(),
            host: file.host.iter().enumerate().map(bytes).collect::<Result<_, _>>()?,
            params: file.params.into_owned(),
            nodes: file.nodes.into_owned(),
        };
        recording.validate()?;
        Ok(recording)
    }

    /// A launch's entry point, or its kernel's number where the source has just one, with the language of native code; or the
    /// operation.
    fn title(&self, op: &NodeOp) -> String {
        match op {
            NodeOp::Launch { kernel, .. } | NodeOp::LaunchIndirect { kernel, .. } => {
                let source = self.kernels.get(*kernel as usize);
                let entry = source.and_then(|source| source.entry.as_deref());
                let entry = entry.map_or_else(|| format!("kernel {kernel}"), str::to_owned);
                match source.and_then(KernelSource::native) {
                    Some(native) => format!("{entry} ({})", native.language()),
                    None => entry,
                }
            }
            op => kind(op).to_owned(),
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

fn unhex(text: &str) -> Option<Bytes> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    pairs.iter().map(|[high, low]| u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_is_read_back_and_checked() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(unhex(&hex(&bytes)).as_deref(), Some(bytes.as_slice()));
        for bad in ["0", "0g", "é", "-1"] {
            assert_eq!(unhex(bad), None, "{bad}");
        }
    }

    #[test]
    fn labels_are_escaped_in_dot() {
        let recording = Recording { label: Some("a \"b\"\\".into()), ..Recording::default() };
        assert!(recording.to_dot().starts_with("digraph \"a \\\"b\\\"\\\\\" {"));
    }

    #[test]
    fn what_json_cannot_say_is_refused() {
        let mut source: KernelSource = "".into();
        source.overrides.insert("n".to_owned(), f64::NAN);
        let recording = Recording { kernels: vec![source], ..Recording::default() };
        assert!(matches!(recording.to_json(), Err(RecordingError::Invalid { .. })));
    }
}
