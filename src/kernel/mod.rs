//! Kernels: WGSL source, what naga tells about it, and the compiled handle.

mod handle;
mod reflect;
mod source;
mod value;

pub use handle::{Compiler, Kernel, KernelId};
pub use reflect::{BindingInfo, BindingSpace, EntryInfo, MemberInfo, OverrideInfo, Reflection, inspect, reflect};
pub use source::{KernelSource, Wgsl};
pub use value::{Scalar, ScalarType, Value, ValueType};
