//! The result of a translation, and several of them in one file.

use graphreel::error::InvalidKernel;
use graphreel::kernel::{AbiParam, KernelSource, Lowering, Reflection, Scalars, StorageAccessAs, abi, lower, refusal};

use crate::code::Printer;
use crate::refusal::Refusal;
use crate::writer::{STATIC_SHARED_BYTES_MAX, Written, write};
use crate::{Dialect, FloatMode, Loops, Options, prelude};

/// One entry point as C++.
#[derive(Clone, Debug)]
pub struct Translation {
    /// The C++ it is in.
    pub dialect: Dialect,
    /// How floating-point arithmetic has to be compiled.
    pub floats: FloatMode,
    /// The C symbol of the kernel. In host C++ its type is `void(const uint32_t groups[3], void* const* args)`, where `args`
    /// points to the value of each parameter, as a launch of CUDA or HIP has them.
    pub symbol: String,
    /// What the kernel takes.
    pub reflection: Reflection,
    /// The parameters, in order.
    pub params: Vec<AbiParam>,
    /// Bytes of workgroup memory that are declared in the code.
    pub static_shared_bytes: u32,
    /// Bytes of workgroup memory that a launch has to ask for; 0 unless the kernel uses more than 48 KiB.
    pub dynamic_shared_bytes: u32,
    /// Options of the vendor's compiler that the float mode asks for, the C++ standard among them.
    pub compiler_options: Vec<&'static str>,
    /// Names of the prelude's functions and types that `code` uses.
    pub(crate) uses: Vec<&'static str>,
    /// What is the kernel's own.
    pub(crate) code: String,
}

impl Translation {
    /// The whole text for a compiler: the parts of the prelude that are used, and the kernel.
    pub fn source(&self) -> String {
        join(std::slice::from_ref(self))
    }
}

/// One text of several translations of one dialect and float mode, whose symbols differ.
pub fn join(translations: &[Translation]) -> String {
    let Some(first) = translations.first() else { return String::new() };
    let mut uses: Vec<&'static str> = translations.iter().flat_map(|one| one.uses.iter().copied()).collect();
    uses.sort_unstable();
    uses.dedup();
    let mut text = prelude::text(first.dialect, first.floats, &uses);
    text.extend(translations.iter().map(|one| one.code.as_str()));
    text
}

/// Translate one entry point.
///
/// # Errors
///
/// [`InvalidKernel`] with the place in the source: what the core refuses, what no kernel in C++ can use, and a workgroup that is
/// larger than a block can be.
pub fn translate(source: &KernelSource, options: &Options) -> Result<Translation, InvalidKernel> {
    // Every part of the module stays as it is written: the kernel's parameters are its bindings.
    let lowering =
        Lowering { scalars: Scalars::Immediate, storage: StorageAccessAs::Declared, uniform_as_storage: false };
    let lowered = lower(source, lowering)?;
    let written = write(&lowered, &source.wgsl, options).map_err(|Refusal { span, text }| InvalidKernel {
        kernel: Some(lowered.reflection.entry.to_string()),
        problem: refusal(span, &text, &source.wgsl),
    })?;
    let Written { items, symbol, shared_bytes } = written;
    let mut printer = Printer::new(options.file.as_deref());
    for name in ["WG_FUNCTION", "WG_KERNEL"] {
        printer.uses(name);
    }
    if options.dialect == Dialect::Host {
        printer.uses("wg_host_run");
    }
    if options.file.is_some() {
        // What no line of the WGSL stands for is not to be counted as one.
        printer.raw("#line 1 \"graphreel\"");
    }
    printer.raw(&format!("namespace wg {{ namespace {symbol} {{"));
    for item in &items {
        printer.item(item);
    }
    printer.raw("} }");
    let (code, uses) = printer.finish();
    let dynamic = shared_bytes > STATIC_SHARED_BYTES_MAX;
    Ok(Translation {
        dialect: options.dialect,
        floats: options.floats,
        params: abi(&lowered.reflection, options.variant),
        reflection: lowered.reflection,
        static_shared_bytes: if dynamic { 0 } else { shared_bytes },
        dynamic_shared_bytes: if dynamic { shared_bytes } else { 0 },
        compiler_options: compiler_options(options),
        symbol,
        uses,
        code,
    })
}

/// Options that make a compiler mean by the code what its float mode and loops mean.
fn compiler_options(options: &Options) -> Vec<&'static str> {
    let mut flags = match (options.dialect, options.floats) {
        (Dialect::Cuda, FloatMode::Strict) => {
            vec!["--std=c++17", "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true"]
        }
        (Dialect::Cuda, FloatMode::Fast) => vec!["--std=c++17", "--fmad=true", "--prec-div=false", "--prec-sqrt=false"],
        (Dialect::Hip, FloatMode::Strict) => vec!["-std=c++17", "-ffp-contract=off"],
        (Dialect::Hip, FloatMode::Fast) => vec!["-std=c++17", "-ffp-contract=fast"],
        (Dialect::Host, _) => vec!["-std=c++17", "-ffp-contract=off"],
    };
    // clang takes a loop without effects for one that ends.
    if options.dialect == Dialect::Hip && options.loops != Loops::Trusted {
        flags.push("-fno-finite-loops");
    }
    flags
}
