//! Translates a text, and looks at what comes out.

use graphreel::error::{InvalidKernel, KernelProblem};
use graphreel::kernel::KernelSource;
use graphreel_cpp::{Dialect, Options, Translation, translate};

pub(crate) const DIALECTS: [Dialect; 3] = [Dialect::Cuda, Dialect::Hip, Dialect::Host];

/// The only entry point of a text, as it is by default.
pub(crate) fn translated(wgsl: &str, dialect: Dialect) -> Result<Translation, InvalidKernel> {
    translate(&KernelSource::from(wgsl), &Options::new(dialect))
}

/// The kernel's own part of the source: what follows the prelude.
pub(crate) fn own(wgsl: &str, options: &Options) -> String {
    let translation = translate(&KernelSource::from(wgsl), options).unwrap_or_else(|error| panic!("{error}"));
    let source = translation.source();
    let at =
        source.rfind(&format!("namespace wg {{ namespace {} {{", translation.symbol)).expect("a namespace of its own");
    source[at..].to_owned()
}

/// Where a text is refused, and why.
pub(crate) fn refusal(wgsl: &str) -> (u32, u32, String) {
    let error = match translated(wgsl, Dialect::Cuda) {
        Err(error) => error,
        Ok(translation) => panic!("it is written: {}", translation.source()),
    };
    match error.problem {
        KernelProblem::Validate { line, column, message, .. } | KernelProblem::Parse { line, column, message, .. } => {
            (line, column, message)
        }
        other => panic!("it has no place: {other}"),
    }
}

/// A kernel of one statement over one array.
pub(crate) fn kernel(before: &str, body: &str) -> String {
    format!(
        "{before}\n@group(0) @binding(0) var<storage, read_write> out: array<u32>;\n\
         @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{\n{body}\n}}\n"
    )
}
