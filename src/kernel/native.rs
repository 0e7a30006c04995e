//! Kernels in a vendor's own language: code that is given to one vendor's device as it is, with what its author declared of it.
//! Nothing reads such code, so only an `unsafe` constructor makes it ([`NativeKernel::vouch`](super::NativeKernel::vouch)).

use std::fmt;

use super::{KernelSource, Reflection, Variant};
use crate::error::{InvalidKernel, KernelProblem};
use crate::sync::Arc;

/// What native code is written in. A backend that does not run it refuses it by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum NativeLanguage {
    /// CUDA C++, for NVRTC.
    CudaCpp,
    /// Assembly text of CUDA, which the driver compiles.
    Ptx,
    /// Compiled code of CUDA: a cubin, or a fatbin of several.
    Cubin,
    /// HIP C++, for hipRTC.
    HipCpp,
    /// Compiled code of HIP: a code object, or a bundle of several.
    HipCodeObject,
    /// A module of SPIR-V.
    SpirV,
}

impl NativeLanguage {
    /// Whether it is text, in UTF-8; else it is compiled code.
    pub const fn is_text(self) -> bool {
        matches!(self, Self::CudaCpp | Self::Ptx | Self::HipCpp)
    }

    /// Whether the vendor's compiler for C++ is asked, which takes options.
    pub const fn is_cpp(self) -> bool {
        matches!(self, Self::CudaCpp | Self::HipCpp)
    }

    /// What its user can do where it does not run.
    const fn remedy(self) -> &'static str {
        match self {
            Self::CudaCpp | Self::Ptx | Self::Cubin => "open a CUDA device, or give the kernel in WGSL",
            Self::HipCpp | Self::HipCodeObject => "open a HIP device, or give the kernel in WGSL",
            Self::SpirV => "give the kernel in WGSL",
        }
    }

    /// What the first bytes of its compiled code are; empty for text.
    pub(super) const fn beginnings(self) -> &'static [&'static [u8]] {
        match self {
            Self::CudaCpp | Self::Ptx | Self::HipCpp => &[],
            Self::Cubin => &[b"\x7fELF", b"\x50\xed\x55\xba"],
            Self::HipCodeObject => &[b"\x7fELF", b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"],
            Self::SpirV => &[b"\x03\x02\x23\x07"],
        }
    }
}

impl fmt::Display for NativeLanguage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CudaCpp => "CUDA C++",
            Self::Ptx => "PTX",
            Self::Cubin => "compiled code of CUDA",
            Self::HipCpp => "HIP C++",
            Self::HipCodeObject => "compiled code of HIP",
            Self::SpirV => "SPIR-V",
        })
    }
}

/// Native code with its declaration, vouched for by whoever made it. Cheap to clone; never read from a text.
#[derive(Clone, PartialEq)]
pub struct NativeCode(Arc<Vouched>);

/// What [`NativeCode`] holds.
#[derive(PartialEq)]
pub(super) struct Vouched {
    pub(super) language: NativeLanguage,
    pub(super) code: Arc<[u8]>,
    pub(super) options: Vec<String>,
    pub(super) reflection: Reflection,
    pub(super) indirect: Option<Arc<str>>,
}

impl NativeCode {
    /// Wrap what was declared and checked. Only [`NativeKernel::vouch`](super::NativeKernel::vouch) does, as its caller vouches.
    pub(super) fn new(vouched: Vouched) -> Self {
        Self(Arc::new(vouched))
    }

    /// What it is written in.
    pub fn language(&self) -> NativeLanguage {
        self.0.language
    }

    /// The code: UTF-8 without a zero byte where the language is text.
    pub fn code(&self) -> &[u8] {
        &self.0.code
    }

    /// Options for the vendor's compiler, in order; none where it is not C++.
    pub fn options(&self) -> &[String] {
        &self.0.options
    }

    /// What it takes, as declared: the reflection of its kernel.
    pub fn reflection(&self) -> &Reflection {
        &self.0.reflection
    }

    /// The symbol of a variant; none where it was declared without an indirect one.
    pub fn symbol(&self, variant: Variant) -> Option<&str> {
        match variant {
            Variant::Direct => Some(&self.0.reflection.entry),
            Variant::Indirect => self.0.indirect.as_deref(),
        }
    }

    /// Dynamic workgroup memory in bytes that a launch must ask for, as declared.
    pub fn shared_bytes(&self) -> u32 {
        self.0.reflection.workgroup_bytes
    }

    /// The refusal by `here`, such as `the simulator`, which does not run this language.
    pub fn refused_by(&self, here: &str) -> InvalidKernel {
        self.invalid(KernelProblem::Unsupported(self.refusal(here)))
    }

    /// The text of [`NativeCode::refused_by`].
    pub(super) fn refusal(&self, here: &str) -> String {
        let language = self.language();
        format!("it is {language}, which {here} does not run; {}", language.remedy())
    }

    /// Refused where it has no such variant.
    pub(crate) fn check_variant(&self, variant: Variant) -> Result<(), InvalidKernel> {
        match self.symbol(variant) {
            Some(_) => Ok(()),
            None => {
                let why = "it was declared without an indirect variant; declare one with `.indirect(..)`, or launch it over a grid";
                Err(self.invalid(KernelProblem::Unsupported(why.to_owned())))
            }
        }
    }

    fn invalid(&self, problem: KernelProblem) -> InvalidKernel {
        InvalidKernel { kernel: Some(self.0.reflection.entry.to_string()), problem }
    }
}

/// Without the code, which may be long and is its author's.
impl fmt::Debug for NativeCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NativeCode")
            .field("language", &self.0.language)
            .field("entry", &self.0.reflection.entry)
            .field("code_bytes", &self.0.code.len())
            .finish_non_exhaustive()
    }
}

impl From<NativeCode> for KernelSource {
    fn from(native: NativeCode) -> Self {
        let entry = Some(native.0.reflection.entry.clone());
        Self { wgsl: "".into(), entry, overrides: std::collections::BTreeMap::new(), native: Some(native) }
    }
}

impl serde::Serialize for NativeCode {
    /// Text as it is, compiled code in hexadecimal.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct as _;
        let Vouched { language, code, options, reflection, indirect } = &*self.0;
        let text = std::str::from_utf8(code).ok().filter(|_| language.is_text()).map(str::to_owned);
        let mut fields = serializer.serialize_struct("NativeCode", 5)?;
        fields.serialize_field("language", language)?;
        fields.serialize_field("code", &text.unwrap_or_else(|| crate::recording::hex(code)))?;
        fields.serialize_field("options", options)?;
        fields.serialize_field("reflection", reflection)?;
        fields.serialize_field("indirect", indirect)?;
        fields.end()
    }
}

impl<'de> serde::Deserialize<'de> for NativeCode {
    /// Always refused: who reads a text vouches for nothing in it.
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(serde::de::Error::custom("native code is not read from a text; give the kernel again, and vouch for it"))
    }
}
