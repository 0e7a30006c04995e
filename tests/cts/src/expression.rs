//! Which WGSL expression a list is about, by the names of its file and of itself. The names are checked against the types
//! that the cases have, so that nothing runs which was not meant.

use crate::Shape;

/// An expression over operands `a`, `b` and `c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expression {
    /// A builtin.
    Call(&'static str),
    /// A member of a builtin's result.
    Member(&'static str, &'static str),
    /// A binary operator.
    Infix(&'static str),
    /// A unary operator.
    Prefix(&'static str),
    /// `bitcast` to the type of the result.
    Bitcast,
    /// The constructor of the type of the result.
    Convert,
}

/// Files about one builtin, named as it is, and how many operands it has. Their lists are named by the first operand.
const BUILTINS: [(&str, usize); 29] = [
    ("abs", 1),
    ("acos", 1),
    ("acosh", 1),
    ("asin", 1),
    ("atan", 1),
    ("ceil", 1),
    ("degrees", 1),
    ("determinant", 1),
    ("dot", 2),
    ("exp", 1),
    ("fma", 3),
    ("fract", 1),
    ("inverseSqrt", 1),
    ("ldexp", 2),
    ("length", 1),
    ("log", 1),
    ("min", 2),
    ("pack2x16float", 1),
    ("quantizeToF16", 1),
    ("saturate", 1),
    ("sin", 1),
    ("sinh", 1),
    ("smoothstep", 3),
    ("step", 2),
    ("tanh", 1),
    ("transpose", 1),
    ("unpack2x16float", 1),
    ("unpack2x16snorm", 1),
    ("unpack4x8unorm", 1),
];

/// Operators by the word that files or lists name them with; both spellings of the orders are in use.
const OPERATORS: [(&str, &str); 13] = [
    ("addition", "+"),
    ("subtraction", "-"),
    ("multiplication", "*"),
    ("division", "/"),
    ("remainder", "%"),
    ("equals", "=="),
    ("not_equals", "!="),
    ("less_than", "<"),
    ("less_equals", "<="),
    ("less_equal", "<="),
    ("greater_than", ">"),
    ("greater_equals", ">="),
    ("greater_equal", ">="),
];

/// The expression of `list` in `file`, which is a path without its ending; `None` where none is known for these names
/// and types.
pub(crate) fn find(file: &str, list: &str, inputs: &[Shape], output: Shape) -> Option<Expression> {
    let list = list.strip_suffix("_non_const").unwrap_or(list);
    match (file.split_once('/'), inputs) {
        (None, [input]) if file == "bitcast" => bitcast(list, *input, output),
        (None, [input]) if file == "modf" => {
            let member = ["whole", "fract"].into_iter().find(|member| list.ends_with(member))?;
            (list == format!("{}_{member}", kind_first(*input))).then_some(Expression::Member("modf", member))
        }
        (None, [first, ..]) => {
            let (name, arity) = BUILTINS.iter().find(|(name, _)| *name == file)?;
            // What is packed is always a vector, which its lists do not say.
            let named = list == kind_first(*first) || (name.starts_with("pack") && list == first.kind().name());
            (*arity == inputs.len() && named).then_some(Expression::Call(name))
        }
        (Some(("unary", file)), [input]) => unary(file, list, *input, output),
        (Some(("binary", file)), [left, right]) => binary(file, list, *left, *right),
        _ => None,
    }
}

/// As in `f32`, `f32_vec2` and `f32_mat2x3`.
fn kind_first(shape: Shape) -> String {
    let kind = shape.kind().name();
    match shape {
        Shape::Scalar(_) => kind.to_owned(),
        _ => format!("{kind}_{}", form(shape)),
    }
}

/// As in `scalar`, `vec2` and `mat2x3`.
fn form(shape: Shape) -> String {
    match shape {
        Shape::Scalar(_) => "scalar".to_owned(),
        Shape::Vector(width, _) => format!("vec{width}"),
        Shape::Matrix { columns, rows, .. } => format!("mat{columns}x{rows}"),
    }
}

/// Lists as `u32_to_vec2_f16`, where a part may say which floats are meant.
fn bitcast(list: &str, input: Shape, output: Shape) -> Option<Expression> {
    let plain = list.replace("_inf_nan", "").replace("_finite", "");
    let kind_last = |shape: Shape| match shape {
        Shape::Scalar(kind) => kind.name().to_owned(),
        _ => format!("{}_{}", form(shape), shape.kind().name()),
    };
    (plain == format!("{}_to_{}", kind_last(input), kind_last(output))).then_some(Expression::Bitcast)
}

/// Files as `unary/f32_arithmetic`, with lists named by the operator, and `unary/i32_conversion`, by what is converted.
fn unary(file: &str, list: &str, input: Shape, output: Shape) -> Option<Expression> {
    let (kind, topic) = file.split_once('_')?;
    match topic {
        "arithmetic" => {
            let fits = kind == input.kind().name() && input == output && list == "negation";
            fits.then_some(Expression::Prefix("-"))
        }
        "conversion" => (kind == output.kind().name() && list == input.kind().name()).then_some(Expression::Convert),
        _ => None,
    }
}

/// Files as `binary/f32_addition` and `binary/f32_matrix_vector_multiplication`, with lists named by both operands; and
/// as `binary/i32_arithmetic`, `binary/u32_comparison` and `binary/f32_logical`, by the operator first.
fn binary(file: &str, list: &str, left: Shape, right: Shape) -> Option<Expression> {
    let (kind, topic) = file.split_once('_')?;
    if kind != left.kind().name() || kind != right.kind().name() {
        return None;
    }
    let operator = |word: &str| OPERATORS.iter().find(|(known, _)| *known == word).map(|(_, sign)| *sign);
    let scalars = [left, right].iter().all(|shape| matches!(shape, Shape::Scalar(_)));
    let both = if scalars { "scalar".to_owned() } else { format!("{}_{}", form(left), form(right)) };
    let sign = match topic {
        "arithmetic" if scalars => operator(list)?,
        "arithmetic" => {
            let (word, operands) = list.split_once('_')?;
            operator(word).filter(|_| operands.replace("vector", "vec") == both)?
        }
        "comparison" | "logical" => operator(list).filter(|_| scalars)?,
        _ => {
            let word = topic.rsplit('_').next()?;
            operator(word).filter(|_| list == both)?
        }
    };
    Some(Expression::Infix(sign))
}

impl Expression {
    /// Whether scalars can be replaced by vectors, and the result is that of each component.
    pub(crate) fn works_by_component(self) -> bool {
        self != Self::Call("length")
    }

    /// Why the core's WGSL front end does not take the expression, where it does not.
    pub(crate) fn gap(self, input: Shape, output: Shape) -> Option<&'static str> {
        let resized = self == Self::Bitcast && input.kind().bytes() != output.kind().bytes();
        resized.then_some("naga types a bitcast by component, so one that changes how many there are does not parse")
    }

    /// In WGSL, over the first operands of `a`, `b` and `c`.
    pub(crate) fn text(self, operands: usize, output: Shape) -> String {
        let operands = ["a", "b", "c"].iter().take(operands).copied().collect::<Vec<_>>().join(", ");
        match self {
            Self::Call(name) => format!("{name}({operands})"),
            Self::Member(name, member) => format!("{name}({operands}).{member}"),
            Self::Infix(sign) => format!("a {sign} b"),
            Self::Prefix(sign) => format!("{sign}a"),
            Self::Bitcast => format!("bitcast<{output}>(a)"),
            Self::Convert => format!("{output}(a)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ScalarKind;

    const F32: Shape = Shape::Scalar(ScalarKind::F32);
    const U32: Shape = Shape::Scalar(ScalarKind::U32);
    const BOOL: Shape = Shape::Scalar(ScalarKind::Bool);
    const VEC2: Shape = Shape::Vector(2, ScalarKind::F32);
    const HALVES: Shape = Shape::Vector(2, ScalarKind::F16);

    fn matrix(columns: u8, rows: u8) -> Shape {
        Shape::Matrix { columns, rows, kind: ScalarKind::F32 }
    }

    fn text(file: &str, list: &str, inputs: &[Shape], output: Shape) -> Option<String> {
        find(file, list, inputs, output).map(|expression| expression.text(inputs.len(), output))
    }

    #[test]
    fn each_kind_of_file_gives_its_expression() {
        let of = |file, list, inputs: &[Shape], output| text(file, list, inputs, output).expect("it is known");
        assert_eq!(of("fma", "f32_non_const", &[F32; 3], F32), "fma(a, b, c)");
        assert_eq!(of("length", "f32_vec2_non_const", &[VEC2], F32), "length(a)");
        assert_eq!(of("pack2x16float", "f32_non_const", &[VEC2], U32), "pack2x16float(a)");
        assert_eq!(of("modf", "f32_vec2_fract", &[VEC2], VEC2), "modf(a).fract");
        assert_eq!(of("bitcast", "u32_to_vec2_f16_inf_nan", &[U32], HALVES), "bitcast<vec2<f16>>(a)");
        assert_eq!(of("bitcast", "vec2_f16_inf_nan_to_u32", &[HALVES], U32), "bitcast<u32>(a)");
        assert_eq!(of("bitcast", "vec2_f16_to_f32_finite", &[HALVES], F32), "bitcast<f32>(a)");
        assert_eq!(of("unary/f32_arithmetic", "negation", &[F32], F32), "-a");
        assert_eq!(of("unary/u32_conversion", "f32", &[F32], U32), "u32(a)");
        assert_eq!(of("binary/f32_addition", "scalar_non_const", &[F32; 2], F32), "a + b");
        assert_eq!(of("binary/f32_addition", "vec2_scalar_non_const", &[VEC2, F32], VEC2), "a + b");
        let product = [matrix(4, 2), matrix(3, 4)];
        let file = "binary/f32_matrix_matrix_multiplication";
        assert_eq!(of(file, "mat4x2_mat3x4_non_const", &product, matrix(3, 2)), "a * b");
        let pair = Shape::Vector(2, ScalarKind::I32);
        let mixed = [Shape::Scalar(ScalarKind::I32), pair];
        assert_eq!(of("binary/i32_arithmetic", "remainder_scalar_vector2_non_const", &mixed, pair), "a % b");
        assert_eq!(of("binary/u32_comparison", "less_equal", &[U32; 2], BOOL), "a <= b");
        assert_eq!(of("binary/f32_logical", "greater_equals_non_const", &[F32; 2], BOOL), "a >= b");
    }

    #[test]
    fn names_that_do_not_fit_the_types_or_are_not_known_give_none() {
        assert_eq!(text("fma", "f32_non_const", &[F32; 2], F32), None, "an operand is missing");
        assert_eq!(text("abs", "f16", &[F32], F32), None);
        assert_eq!(text("abs", "f32_special", &[F32], F32), None);
        assert_eq!(text("frexp", "f32", &[F32], F32), None);
        assert_eq!(text("bitcast", "u32_to_f32", &[F32], U32), None);
        assert_eq!(text("modf", "f32_exp", &[F32], F32), None);
        assert_eq!(text("unary/i32_conversion", "f32", &[F32], U32), None);
        assert_eq!(text("unary/f32_arithmetic", "complement", &[F32], F32), None);
        assert_eq!(text("binary/f32_addition", "scalar_vec2_non_const", &[VEC2, F32], VEC2), None);
        assert_eq!(text("binary/f16_addition", "scalar_non_const", &[F32; 2], F32), None);
        assert_eq!(text("binary/i32_arithmetic", "shift", &[Shape::Scalar(ScalarKind::I32); 2], F32), None);
        assert_eq!(text("ternary/f32_select", "f32", &[F32; 3], F32), None);
    }

    #[test]
    fn only_a_length_does_not_work_by_component() {
        assert!(Expression::Call("abs").works_by_component() && Expression::Infix("+").works_by_component());
        assert!(!Expression::Call("length").works_by_component());
    }
}
