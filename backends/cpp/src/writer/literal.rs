//! Literals of C++ for values of WGSL.

use naga::Literal;

use crate::code::{Expr, Type};
use crate::refusal::{Result, refused};

fn signed(sign: bool, text: String) -> Expr {
    let literal = Expr::Literal(text);
    if sign { Expr::Unary("-", Box::new(literal)) } else { literal }
}

fn integer(value: i64, suffix: &str) -> Expr {
    signed(value < 0, format!("{}{suffix}", value.unsigned_abs()))
}

/// The lowest number of a signed type is no literal of C++, which has no negative ones: it is one less than the next.
fn lowest(next: i64, suffix: &str) -> Expr {
    Expr::binary("-", integer(next, suffix), integer(1, suffix))
}

fn narrow(ty: &'static str, value: Expr) -> Expr {
    Expr::Cast(Type::Scalar(ty), Box::new(value))
}

/// A literal. Its digits are the fewest that give the same value back.
pub(crate) fn literal(literal: Literal) -> Result<Expr> {
    Ok(match literal {
        Literal::Bool(value) => Expr::Literal(value.to_string()),
        Literal::U16(value) => narrow("u16", integer(value.into(), "")),
        Literal::I16(value) => narrow("i16", integer(value.into(), "")),
        Literal::U32(value) => integer(value.into(), "u"),
        Literal::I32(i32::MIN) => lowest(i64::from(i32::MIN + 1), ""),
        Literal::I32(value) => integer(value.into(), ""),
        Literal::U64(value) => Expr::Literal(format!("{value}ull")),
        Literal::I64(i64::MIN) => lowest(i64::MIN + 1, "ll"),
        Literal::I64(value) => integer(value, "ll"),
        Literal::F16(value) => {
            Expr::Make(Type::Scalar("f16"), vec![Expr::Literal(format!("{:#06x}", value.to_bits()))])
        }
        Literal::F32(value) => signed(value.is_sign_negative(), format!("{:?}f", value.abs())),
        Literal::F64(value) => signed(value.is_sign_negative(), format!("{:?}", value.abs())),
        Literal::AbstractInt(_) | Literal::AbstractFloat(_) => {
            return Err(refused(naga::Span::default(), "numbers without a type"));
        }
    })
}

/// The zero of a type.
pub(crate) fn zero(ty: &Type) -> Expr {
    match ty {
        Type::Scalar("bool") => Expr::Literal("false".to_owned()),
        Type::Scalar("f32") => Expr::Literal("0.0f".to_owned()),
        Type::Scalar("f64") => Expr::Literal("0.0".to_owned()),
        Type::Scalar("u32") => Expr::Literal("0u".to_owned()),
        Type::Scalar("i32") => Expr::Literal("0".to_owned()),
        Type::Scalar("u64") => Expr::Literal("0ull".to_owned()),
        Type::Scalar("i64") => Expr::Literal("0ll".to_owned()),
        _ => Expr::Make(ty.clone(), Vec::new()),
    }
}
