//! Typed expressions as one kind of node, so that walking and replacing them needs no case for each construct.

use crate::shape::{Scalar, Type};

/// A value that is written down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Int(i128),
    Float(f64),
    Bool(bool),
}

/// What a node does with its operands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Literal(Number),
    /// A constant of the module, or an override: the compiler may know it.
    Constant(String),
    /// Anything that is read when the kernel runs.
    Name(String),
    /// The counter of a loop, always below this.
    Counter(String, u32),
    Member(String),
    Swizzle(String),
    /// Of the first operand by the second, which is in range.
    Index,
    Unary(&'static str),
    Binary(&'static str),
    /// A builtin, a constructor or a conversion.
    Call(String),
    /// A function of the module.
    User(String),
    /// Text with `{}` for each operand: idioms that stay whole.
    Form(String),
    /// `&place`.
    Pointer,
    /// `*pointer`.
    Deref,
}

/// An expression with its type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expr {
    pub(crate) kind: Kind,
    pub(crate) ty: Type,
    pub(crate) args: Vec<Expr>,
}

impl Expr {
    pub(crate) fn new(kind: Kind, ty: Type, args: Vec<Self>) -> Self {
        Self { kind, ty, args }
    }

    pub(crate) fn name(name: &str, ty: Type) -> Self {
        Self::new(Kind::Name(name.to_owned()), ty, Vec::new())
    }

    pub(crate) fn int(value: i128, scalar: Scalar) -> Self {
        Self::new(Kind::Literal(Number::Int(value)), Type::Scalar(scalar), Vec::new())
    }

    pub(crate) fn float(value: f64, scalar: Scalar) -> Self {
        Self::new(Kind::Literal(Number::Float(value)), Type::Scalar(scalar), Vec::new())
    }

    pub(crate) fn bool(value: bool) -> Self {
        Self::new(Kind::Literal(Number::Bool(value)), Type::Scalar(Scalar::Bool), Vec::new())
    }

    pub(crate) fn call(name: impl Into<String>, ty: Type, args: Vec<Self>) -> Self {
        Self::new(Kind::Call(name.into()), ty, args)
    }

    /// The constructor or conversion of a type.
    pub(crate) fn make(ty: Type, args: Vec<Self>) -> Self {
        Self::call(ty.text(), ty, args)
    }

    pub(crate) fn zero(ty: Type) -> Self {
        Self::make(ty, Vec::new())
    }

    pub(crate) fn binary(op: &'static str, ty: Type, left: Self, right: Self) -> Self {
        Self::new(Kind::Binary(op), ty, vec![left, right])
    }

    pub(crate) fn form(text: impl Into<String>, ty: Type, args: Vec<Self>) -> Self {
        Self::new(Kind::Form(text.into()), ty, args)
    }

    pub(crate) fn index(self, index: Self, ty: Type) -> Self {
        Self::new(Kind::Index, ty, vec![self, index])
    }

    pub(crate) fn member(self, name: impl Into<String>, ty: Type) -> Self {
        Self::new(Kind::Member(name.into()), ty, vec![self])
    }

    /// The value, if it is an integer that is written down.
    pub(crate) fn literal_int(&self) -> Option<i128> {
        if let Kind::Literal(Number::Int(value)) = self.kind { Some(value) } else { None }
    }

    /// Whether a compiler may compute it, and refuse what it finds.
    pub(crate) fn is_const(&self) -> bool {
        match &self.kind {
            Kind::Literal(_) | Kind::Constant(_) => true,
            Kind::Name(_) | Kind::Counter(..) | Kind::User(_) | Kind::Form(_) | Kind::Pointer | Kind::Deref => false,
            _ => self.args.iter().all(Self::is_const),
        }
    }

    /// Whether it calls a function of the module, which may write variables.
    pub(crate) fn calls(&self) -> bool {
        matches!(self.kind, Kind::User(_)) || self.args.iter().any(Self::calls)
    }

    pub(crate) fn text(&self) -> String {
        let texts: Vec<String> = self.args.iter().map(Self::text).collect();
        match (&self.kind, &texts[..]) {
            (Kind::Literal(number), _) => literal(*number, &self.ty),
            (Kind::Constant(name) | Kind::Name(name) | Kind::Counter(name, _), _) => name.clone(),
            (Kind::Member(part) | Kind::Swizzle(part), [of]) => format!("{of}.{part}"),
            (Kind::Index, [of, by]) => format!("{of}[{by}]"),
            (Kind::Unary(op), [of]) => format!("({op}{of})"),
            (Kind::Binary(op), [left, right]) => format!("({left} {op} {right})"),
            (Kind::Call(name) | Kind::User(name), all) => format!("{name}({})", all.join(", ")),
            (Kind::Form(text), all) => filled(text, all),
            (Kind::Pointer, [of]) => format!("&{of}"),
            (Kind::Deref, [of]) => format!("(*{of})"),
            (kind, all) => unreachable!("{kind:?} has no {} operands", all.len()),
        }
    }
}

/// The template with each `{}` replaced by the next text.
pub(crate) fn filled(template: &str, texts: &[String]) -> String {
    let mut parts = template.split("{}");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for (part, operand) in parts.zip(texts) {
        text.push_str(operand);
        text.push_str(part);
    }
    text
}

fn literal(number: Number, ty: &Type) -> String {
    let scalar = ty.scalar().unwrap_or(Scalar::U32);
    let plain = match (number, scalar) {
        (Number::Bool(value), _) => return value.to_string(),
        (Number::Int(value), Scalar::I16 | Scalar::U16) => return format!("{}({value})", scalar.text()),
        // The literal without its sign would be out of range.
        (Number::Int(value), Scalar::I32) if value == i128::from(i32::MIN) => return format!("i32({value})"),
        (Number::Int(value), Scalar::I32) => format!("{value}i"),
        (Number::Int(value), Scalar::I64) => format!("{value}li"),
        (Number::Int(value), Scalar::U64) => format!("{value}lu"),
        (Number::Int(value), _) => format!("{value}u"),
        (Number::Float(value), Scalar::F16) => format!("{value:?}h"),
        (Number::Float(value), _) => format!("{value:?}f"),
    };
    if plain.starts_with('-') { format!("({plain})") } else { plain }
}
