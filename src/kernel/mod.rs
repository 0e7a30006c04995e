//! Kernels: WGSL source, what naga tells about it, and the compiled handle.

mod abi;
mod bounds;
mod diagnosis;
mod fit;
mod handle;
mod lines;
mod lower;
mod reflect;
mod resolve;
mod source;
mod unplaced;
mod value;

pub use abi::{ADDRESS_ALIGNMENT, AbiParam, PackedScalars, SCALAR_BYTES_MAX, Variant, abi};
pub use diagnosis::{place, refusal};
pub use handle::{Compiler, Kernel, KernelId};
pub use lines::Lines;
pub use lower::{Lowered, Lowering, Scalars, StorageAccessAs, lower};
pub use reflect::{
    BindingInfo, BindingSpace, EntryInfo, MemberInfo, OverrideInfo, Reflection, inspect, overrides, reflect,
};
pub use resolve::parse;
pub use source::{KernelSource, Wgsl};
pub use value::{Scalar, ScalarType, Value, ValueType};
