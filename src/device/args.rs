//! Arguments of a launch: buffers, scalars and parameters, in the order of the kernel.

use super::Buffer;
use crate::kernel::{Scalar, Value};
use crate::memory::Access;
use crate::op::{BufferArg, ValueArg};
use crate::sync::Arc;

/// What a launch was given, buffers and scalars apart. Build one by hand where the count is only known at run time.
#[derive(Clone, Debug, Default)]
pub struct ArgList {
    pub(crate) buffers: Vec<BufferArg>,
    pub(crate) values: Vec<ValueArg>,
}

impl ArgList {
    /// No arguments.
    pub fn new() -> Self {
        Self::default()
    }

    /// Append one argument.
    #[must_use]
    pub fn with(mut self, arg: impl Arg) -> Self {
        arg.add_to(&mut self);
        self
    }
}

/// One argument: `&Buffer`, a number, an array of 2 to 4 numbers, or what a capture's `param` and `slot` gave.
pub trait Arg {
    /// Append it.
    fn add_to(self, list: &mut ArgList);
}

/// All arguments of a launch: a tuple of up to 16 [`Arg`]s, or an [`ArgList`]. Buffers fill the kernel's bindings in
/// order of (group, binding), scalars the members of its immediate struct; they may be mixed.
pub trait Args {
    /// The arguments as a list.
    fn into_list(self) -> ArgList;
}

impl Args for ArgList {
    fn into_list(self) -> ArgList {
        self
    }
}

impl Args for () {
    fn into_list(self) -> ArgList {
        ArgList::new()
    }
}

/// Says that the kernel writes only a part of the buffer: the rest keeps its bytes, and they must be readable.
#[derive(Clone, Copy, Debug)]
pub struct WritePart<'a>(pub &'a Buffer);

/// A scalar that `graph.update` can change, by its name. Made by `Capture::param`.
#[derive(Clone, Debug)]
pub struct Param {
    pub(crate) name: Arc<str>,
    pub(crate) value: Value,
}

/// A buffer that `graph.update` can replace, by its name. Made by `Capture::slot`.
#[derive(Clone, Debug)]
pub struct BufferSlot {
    pub(crate) name: Arc<str>,
    pub(crate) buffer: Buffer,
}

impl Arg for &Buffer {
    fn add_to(self, list: &mut ArgList) {
        list.buffers.push(self.binding().into());
    }
}

impl Arg for WritePart<'_> {
    fn add_to(self, list: &mut ArgList) {
        let binding = self.0.binding();
        list.buffers.push(BufferArg { binding, access: Some(Access::WritePart), slot: None });
    }
}

impl Arg for &BufferSlot {
    fn add_to(self, list: &mut ArgList) {
        list.buffers.push(self.into());
    }
}

impl From<&BufferSlot> for BufferArg {
    fn from(slot: &BufferSlot) -> Self {
        Self { binding: slot.buffer.binding(), access: None, slot: Some(slot.name.clone()) }
    }
}

impl From<&Buffer> for BufferArg {
    fn from(buffer: &Buffer) -> Self {
        buffer.binding().into()
    }
}

impl Arg for &Param {
    fn add_to(self, list: &mut ArgList) {
        list.values.push(ValueArg::Param { name: self.name.clone(), value: self.value });
    }
}

impl Arg for Value {
    fn add_to(self, list: &mut ArgList) {
        list.values.push(ValueArg::Baked(self));
    }
}

macro_rules! scalar_args {
    ($($ty:ty),*) => {$(
        impl Arg for $ty {
            fn add_to(self, list: &mut ArgList) {
                list.values.push(ValueArg::Baked(Value::from(self)));
            }
        }
    )*};
}

scalar_args!(i32, u32, f32, i64, u64, f64);

macro_rules! vector_args {
    ($($lanes:literal),*) => {$(
        impl<T: Scalar> Arg for [T; $lanes] {
            fn add_to(self, list: &mut ArgList) {
                list.values.push(ValueArg::Baked(Value::from(self)));
            }
        }
    )*};
}

vector_args!(2, 3, 4);

macro_rules! tuple_args {
    ($($name:ident),+) => {
        impl<$($name: Arg),+> Args for ($($name,)+) {
            #[expect(non_snake_case, reason = "the type parameters name the fields too")]
            fn into_list(self) -> ArgList {
                let ($($name,)+) = self;
                let mut list = ArgList::new();
                $($name.add_to(&mut list);)+
                list
            }
        }
    };
}

tuple_args!(A);
tuple_args!(A, B);
tuple_args!(A, B, C);
tuple_args!(A, B, C, D);
tuple_args!(A, B, C, D, E);
tuple_args!(A, B, C, D, E, F);
tuple_args!(A, B, C, D, E, F, G);
tuple_args!(A, B, C, D, E, F, G, H);
tuple_args!(A, B, C, D, E, F, G, H, I);
tuple_args!(A, B, C, D, E, F, G, H, I, J);
tuple_args!(A, B, C, D, E, F, G, H, I, J, K);
tuple_args!(A, B, C, D, E, F, G, H, I, J, K, L);
tuple_args!(A, B, C, D, E, F, G, H, I, J, K, L, M);
tuple_args!(A, B, C, D, E, F, G, H, I, J, K, L, M, N);
tuple_args!(A, B, C, D, E, F, G, H, I, J, K, L, M, N, O);
tuple_args!(A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P);
