//! What a kernel is made from.

use std::collections::BTreeMap;

use super::NativeCode;
use crate::sync::Arc;

/// A kernel's source: WGSL text, the entry point, and values for its overrides; or code in a vendor's own language.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelSource {
    /// The WGSL text.
    pub wgsl: Arc<str>,
    /// The compute entry point; `None` when the text has just one.
    pub entry: Option<Arc<str>>,
    /// Values of `override` declarations, by name or by `@id` number.
    pub overrides: BTreeMap<String, f64>,
    /// Code in a vendor's own language. It is the kernel then: the text and the overrides are not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<NativeCode>,
}

impl KernelSource {
    /// The native code that it is, which a backend runs as it is, or refuses.
    pub fn native(&self) -> Option<&NativeCode> {
        self.native.as_ref()
    }
}

/// Builds a [`KernelSource`]; what `Device::kernel` takes.
#[derive(Clone, Debug)]
pub struct Wgsl(KernelSource);

impl Wgsl {
    /// The WGSL text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(KernelSource { wgsl: text.into(), entry: None, overrides: BTreeMap::new(), native: None })
    }

    /// Name the compute entry point.
    #[must_use]
    pub fn entry(mut self, entry: impl Into<Arc<str>>) -> Self {
        self.0.entry = Some(entry.into());
        self
    }

    /// Give an `override` a value.
    #[must_use]
    pub fn constant(mut self, name: impl Into<String>, value: f64) -> Self {
        self.0.overrides.insert(name.into(), value);
        self
    }
}

impl From<Wgsl> for KernelSource {
    fn from(wgsl: Wgsl) -> Self {
        wgsl.0
    }
}

impl From<&str> for KernelSource {
    fn from(text: &str) -> Self {
        Wgsl::new(text).into()
    }
}
