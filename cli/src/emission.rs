//! `graphreel check --emit`: one entry point as C++, to be read or piped into a compiler.

use std::collections::BTreeMap;

use graphreel::error::{InvalidKernel, KernelProblem};
use graphreel::kernel::{KernelSource, Variant};
use graphreel_cpp::{Dialect, FloatMode, Options, lint, translate};

use crate::args::{CheckArgs, EmissionArgs, EmitArg};
use crate::failure::Failure;
use crate::{linted, output};

/// Print the C++; lints go to standard error, so that nothing else is in what is printed.
///
/// # Errors
///
/// [`Failure::Kernel`] for what is not valid or cannot be written, [`Failure::Entry`] and [`Failure::Override`] for what is not
/// given, [`Failure::Lints`] with `--deny-lints`; then nothing is printed.
pub(crate) fn run(file: &str, text: &str, language: EmitArg, args: &CheckArgs) -> Result<(), Failure> {
    let failed = |error: InvalidKernel| failure(file, error);
    let source = source(text, &args.emission)?;
    let lints = lint(text).map_err(failed)?;
    let translation = translate(&source, &options(file, language, &args.emission)).map_err(failed)?;
    if !lints.is_empty() {
        output::complain(linted::listed(file, &lints).trim_end());
    }
    linted::outcome(file, lints.len(), args)?;
    output::print(&translation.source())
}

/// The entry point with its overrides.
fn source(text: &str, args: &EmissionArgs) -> Result<KernelSource, Failure> {
    let mut overrides = BTreeMap::new();
    for (name, value) in &args.constants {
        if overrides.insert(name.clone(), *value).is_some() {
            return Err(Failure::Usage(format!("--override {name} is given twice; give one value")));
        }
    }
    Ok(KernelSource { wgsl: text.into(), entry: args.entry.as_deref().map(Into::into), overrides, native: None })
}

fn options(file: &str, language: EmitArg, args: &EmissionArgs) -> Options {
    let mut options = Options::new(match language {
        EmitArg::Cuda => Dialect::Cuda,
        EmitArg::Hip => Dialect::Hip,
        EmitArg::Host => Dialect::Host,
    });
    if args.indirect {
        options.variant = Variant::Indirect;
    }
    if args.fast_floats {
        options.floats = FloatMode::Fast;
    }
    options.file = (!args.no_lines).then(|| file.to_owned());
    options
}

/// What the command line can do about it is said in its own words.
fn failure(file: &str, error: InvalidKernel) -> Failure {
    let path = file.to_owned();
    match error.problem {
        KernelProblem::AmbiguousEntry { found } => Failure::Entry { path, found },
        KernelProblem::MissingOverride { name } => Failure::Override { path, name },
        problem => Failure::Kernel { path, error: Box::new(InvalidKernel { problem, ..error }) },
    }
}
