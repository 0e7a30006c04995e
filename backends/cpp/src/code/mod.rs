//! C++ as a small tree: what the writer builds and the printer prints. It has what translated kernels need and no more.

mod print;

pub(crate) use print::Printer;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// A scalar of the prelude, or `bool`.
    Scalar(&'static str),
    /// `vec<scalar, size>`.
    Vector(&'static str, u32),
    /// `mat<scalar, columns, rows>`.
    Matrix(&'static str, u32, u32),
    /// `arr<element, len>`.
    Array(Box<Self>, u32),
    /// An element in memory with the padding that follows it: what runtime-sized arrays of 3-component vectors are made of.
    Slot(Box<Self>),
    /// A struct of the kernel.
    Named(String),
}

impl Type {
    /// What a runtime-sized array of it points to: itself, unless padding follows each element.
    pub(crate) fn in_memory(self) -> Self {
        if self.is_padded() { Self::Slot(Box::new(self)) } else { self }
    }

    /// Whether an array of it has padding after each element that is no part of its type.
    pub(crate) fn is_padded(&self) -> bool {
        matches!(self, Self::Vector(_, 3))
    }
}

/// An argument of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TemplateArg {
    Type(Type),
    Number(u32),
}

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expr {
    /// An identifier.
    Name(String),
    /// A literal that is not negative.
    Literal(String),
    /// `value.member`.
    Member(Box<Self>, String),
    /// `base[index]`.
    Index(Box<[Self; 2]>),
    /// A prefix operator.
    Unary(&'static str, Box<Self>),
    /// An infix operator.
    Binary(&'static str, Box<[Self; 2]>),
    /// `condition ? accept : reject`.
    Conditional(Box<[Self; 3]>),
    /// A function of the kernel.
    Call(String, Vec<Self>),
    /// A function of the prelude.
    Helper(&'static str, Vec<TemplateArg>, Vec<Self>),
    /// `type{..}`.
    Make(Type, Vec<Self>),
    /// `{..}`, within another.
    Braces(Vec<Self>),
    /// `type(value)`.
    Cast(Type, Box<Self>),
}

impl Expr {
    pub(crate) fn name(name: impl Into<String>) -> Self {
        Self::Name(name.into())
    }

    pub(crate) fn helper(name: &'static str, args: impl Into<Vec<Self>>) -> Self {
        Self::Helper(name, Vec::new(), args.into())
    }

    pub(crate) fn binary(sign: &'static str, left: Self, right: Self) -> Self {
        Self::Binary(sign, Box::new([left, right]))
    }

    pub(crate) fn index(self, index: Self) -> Self {
        Self::Index(Box::new([self, index]))
    }

    pub(crate) fn member(self, member: impl Into<String>) -> Self {
        Self::Member(Box::new(self), member.into())
    }

    pub(crate) fn not(self) -> Self {
        Self::Unary("!", Box::new(self))
    }
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stmt {
    /// What follows comes from this line of the WGSL.
    Line(u32),
    /// `const type name = value;`
    Let(Type, String, Expr),
    /// `type name = value;`
    Var(Type, String, Expr),
    /// A declaration as the dialect spells it: type, name and the macro before it.
    Shared(Type, String),
    /// `type& name = value;`
    Alias(Type, String, Expr),
    /// `left = right;`
    Assign(Expr, Expr),
    /// An expression for its effect.
    Do(Expr),
    If(Expr, Vec<Self>, Vec<Self>),
    /// `for (;;) { .. }`
    Loop(Vec<Self>),
    Switch(Expr, Vec<Case>),
    Block(Vec<Self>),
    Break,
    Continue,
    Return(Option<Expr>),
    Goto(String),
    Label(String),
}

/// The cases of a `switch` that share a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    /// Values; none is `default`.
    pub(crate) values: Vec<Option<Expr>>,
    pub(crate) body: Vec<Stmt>,
    /// Whether control goes on to the next case.
    pub(crate) falls: bool,
}

/// How a parameter is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// `const type name`
    Value,
    /// `const type& name`
    ConstReference,
    /// `type& name`
    Reference,
    /// `const type* WG_RESTRICT name`
    ConstPointer,
    /// `type* WG_RESTRICT name`
    Pointer,
}

/// A parameter of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Param {
    pub(crate) ty: Type,
    pub(crate) by: By,
    pub(crate) name: String,
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    /// What comes before its type: linkage and macros.
    pub(crate) prefix: String,
    pub(crate) result: Option<Type>,
    pub(crate) name: String,
    pub(crate) params: Vec<Param>,
    pub(crate) body: Vec<Stmt>,
}

/// A member of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Member { ty: Type, name: String, offset: Option<u32> },
    Padding { bytes: u32, number: u32 },
}

/// A struct whose layout is WGSL's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Struct {
    pub(crate) name: String,
    /// Its alignment in bytes; 1 leaves it to the members.
    pub(crate) align: u32,
    /// Its size in bytes, where that is fixed.
    pub(crate) size: Option<u32>,
    pub(crate) fields: Vec<Field>,
}

/// What stands in the kernel's namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Struct(Struct),
    /// The workgroup's memory: each variable at a multiple of 16 bytes.
    Shared {
        name: String,
        members: Vec<(Type, String)>,
        bytes: u32,
    },
    /// `WG_TABLE const type name = value;`
    Table(Type, String, Expr),
    Function(Function),
    /// Text that no part of a kernel varies but its names.
    Text(String),
}
