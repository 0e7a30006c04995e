//! Kernels: WGSL source and what naga tells about it, native code and what is declared of it, and the compiled handle.

mod abi;
mod bounds;
mod declared;
mod diagnosis;
mod fit;
mod handle;
mod lines;
mod lower;
mod native;
mod reflect;
mod resolve;
mod source;
mod unplaced;
mod value;

pub use abi::{ADDRESS_ALIGNMENT, AbiParam, PackedScalars, SCALAR_BYTES_MAX, Variant, abi};
pub use declared::{NativeBuffer, NativeKernel};
pub use diagnosis::{place, refusal};
pub use handle::{Compiler, Kernel, KernelId};
pub use lines::Lines;
pub use lower::{Lowered, Lowering, Scalars, StorageAccessAs, lower};
pub use native::{NativeCode, NativeLanguage};
pub use reflect::{
    BindingInfo, BindingSpace, EntryInfo, MemberInfo, OverrideInfo, Reflection, inspect, overrides, reflect,
};
pub use resolve::parse;
pub use source::{KernelSource, Wgsl};
pub use value::{Scalar, ScalarType, Value, ValueType};
