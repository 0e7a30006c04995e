//! Every enum of naga's IR that the writer meets, matched without a wildcard: what it becomes in C++, or why it cannot. A release
//! of naga that adds something fails to compile here, and nowhere else.

use naga::{
    AddressSpace, AtomicFunction, BinaryOperator, BuiltIn, CollectiveOperation, Direction, Expression, GatherMode,
    Handle, MathFunction, RelationalFunction, Scalar, ScalarKind, Statement, SubgroupOperation, TypeInner,
    UnaryOperator,
};

/// Why something is refused, as the end of "a kernel cannot use ..".
pub(crate) type Refused = &'static str;

/// An expression's operands.
pub(crate) type Operands = Vec<Handle<Expression>>;

/// The prelude's name of a scalar type.
pub(crate) fn scalar(scalar: Scalar) -> Result<&'static str, Refused> {
    Ok(match (scalar.kind, scalar.width) {
        (ScalarKind::Bool, _) => "bool",
        (ScalarKind::Sint, 2) => "i16",
        (ScalarKind::Sint, 8) => "i64",
        (ScalarKind::Sint, _) => "i32",
        (ScalarKind::Uint, 2) => "u16",
        (ScalarKind::Uint, 8) => "u64",
        (ScalarKind::Uint, _) => "u32",
        (ScalarKind::Float, 2) => "f16",
        (ScalarKind::Float, 8) => "f64",
        (ScalarKind::Float, _) => "f32",
        (ScalarKind::AbstractInt | ScalarKind::AbstractFloat, _) => return Err("values without a type"),
    })
}

/// Whether a type can be in a kernel.
pub(crate) fn check_type(ty: &TypeInner) -> Result<(), Refused> {
    match ty {
        TypeInner::Scalar(of) | TypeInner::Vector { scalar: of, .. } | TypeInner::Matrix { scalar: of, .. } => {
            scalar(*of).map(|_| ())
        }
        TypeInner::Atomic(_)
        | TypeInner::Pointer { .. }
        | TypeInner::ValuePointer { .. }
        | TypeInner::Array { .. }
        | TypeInner::Struct { .. } => Ok(()),
        TypeInner::CooperativeMatrix { .. } => Err("cooperative matrices"),
        TypeInner::Image { .. } => Err("textures"),
        TypeInner::Sampler { .. } => Err("samplers"),
        TypeInner::AccelerationStructure { .. } | TypeInner::RayQuery { .. } => Err("ray queries"),
        TypeInner::BindingArray { .. } => Err("binding arrays"),
    }
}

/// Where a variable of a kernel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Function,
    Private,
    Workgroup,
    Uniform,
    Storage,
    Immediate,
}

pub(crate) fn space(space: AddressSpace) -> Result<Space, Refused> {
    Ok(match space {
        AddressSpace::Function => Space::Function,
        AddressSpace::Private => Space::Private,
        AddressSpace::WorkGroup => Space::Workgroup,
        AddressSpace::Uniform => Space::Uniform,
        AddressSpace::Storage { .. } => Space::Storage,
        AddressSpace::Immediate => Space::Immediate,
        AddressSpace::Handle => return Err("textures and samplers"),
        AddressSpace::TaskPayload => return Err("payloads of mesh shaders"),
        AddressSpace::RayPayload | AddressSpace::IncomingRayPayload => return Err("payloads of rays"),
    })
}

/// How an infix operator is written: the sign where C++'s own has WGSL's meaning, and the function elsewhere.
pub(crate) fn binary(op: BinaryOperator) -> (&'static str, &'static str) {
    match op {
        BinaryOperator::Add => ("+", "add"),
        BinaryOperator::Subtract => ("-", "sub"),
        BinaryOperator::Multiply => ("*", "mul"),
        BinaryOperator::Divide => ("/", "div"),
        BinaryOperator::Modulo => ("%", "rem"),
        BinaryOperator::Equal => ("==", "eq"),
        BinaryOperator::NotEqual => ("!=", "ne"),
        BinaryOperator::Less => ("<", "lt"),
        BinaryOperator::LessEqual => ("<=", "le"),
        BinaryOperator::Greater => (">", "gt"),
        BinaryOperator::GreaterEqual => (">=", "ge"),
        BinaryOperator::And => ("&", "bit_and"),
        BinaryOperator::ExclusiveOr => ("^", "bit_xor"),
        BinaryOperator::InclusiveOr => ("|", "bit_or"),
        BinaryOperator::LogicalAnd => ("&&", "logical_and"),
        BinaryOperator::LogicalOr => ("||", "logical_or"),
        BinaryOperator::ShiftLeft => ("<<", "shl"),
        BinaryOperator::ShiftRight => (">>", "shr"),
    }
}

pub(crate) fn unary(op: UnaryOperator) -> (&'static str, &'static str) {
    match op {
        UnaryOperator::Negate => ("-", "neg"),
        UnaryOperator::LogicalNot => ("!", "logical_not"),
        UnaryOperator::BitwiseNot => ("~", "bit_not"),
    }
}

pub(crate) fn relational(fun: RelationalFunction) -> Result<&'static str, Refused> {
    match fun {
        RelationalFunction::All => Ok("all"),
        RelationalFunction::Any => Ok("any"),
        RelationalFunction::IsNan | RelationalFunction::IsInf => Err("tests for NaN and infinity"),
    }
}

/// The prelude's name of a function, and whether its result is a struct of the kernel. A table, several to a line.
#[rustfmt::skip]
pub(crate) fn math(fun: MathFunction) -> Result<(&'static str, bool), Refused> {
    use MathFunction as F;
    let name = match fun {
        F::Modf => return Ok(("modf", true)),
        F::Frexp => return Ok(("frexp", true)),
        F::Outer => return Err("outer products"),
        F::Inverse => return Err("inverses of matrices"),
        F::Abs => "abs", F::Min => "min", F::Max => "max", F::Clamp => "clamp", F::Saturate => "saturate",
        F::Cos => "cos", F::Cosh => "cosh", F::Sin => "sin", F::Sinh => "sinh", F::Tan => "tan", F::Tanh => "tanh",
        F::Acos => "acos", F::Asin => "asin", F::Atan => "atan", F::Atan2 => "atan2", F::Asinh => "asinh",
        F::Acosh => "acosh", F::Atanh => "atanh", F::Radians => "radians", F::Degrees => "degrees", F::Ceil => "ceil",
        F::Floor => "floor", F::Round => "round", F::Fract => "fract", F::Trunc => "trunc", F::Ldexp => "ldexp",
        F::Exp => "exp", F::Exp2 => "exp2", F::Log => "log", F::Log2 => "log2", F::Pow => "pow", F::Dot => "dot",
        F::Dot4I8Packed => "dot4_i8_packed", F::Dot4U8Packed => "dot4_u8_packed", F::Cross => "cross",
        F::Distance => "distance", F::Length => "length", F::Normalize => "normalize",
        F::FaceForward => "face_forward", F::Reflect => "reflect", F::Refract => "refract", F::Sign => "sign",
        F::Fma => "fma", F::Mix => "mix", F::Step => "step", F::SmoothStep => "smoothstep", F::Sqrt => "sqrt",
        F::InverseSqrt => "inverse_sqrt", F::Transpose => "transpose", F::Determinant => "determinant",
        F::QuantizeToF16 => "quantize_to_f16", F::CountTrailingZeros => "count_trailing_zeros",
        F::CountLeadingZeros => "count_leading_zeros", F::CountOneBits => "count_one_bits",
        F::ReverseBits => "reverse_bits", F::ExtractBits => "extract_bits", F::InsertBits => "insert_bits",
        F::FirstTrailingBit => "first_trailing_bit", F::FirstLeadingBit => "first_leading_bit",
        F::Pack4x8snorm => "pack4x8snorm", F::Pack4x8unorm => "pack4x8unorm", F::Pack2x16snorm => "pack2x16snorm",
        F::Pack2x16unorm => "pack2x16unorm", F::Pack2x16float => "pack2x16float", F::Pack4xI8 => "pack4x_i8",
        F::Pack4xU8 => "pack4x_u8", F::Pack4xI8Clamp => "pack4x_i8_clamp", F::Pack4xU8Clamp => "pack4x_u8_clamp",
        F::Unpack4x8snorm => "unpack4x8snorm", F::Unpack4x8unorm => "unpack4x8unorm",
        F::Unpack2x16snorm => "unpack2x16snorm", F::Unpack2x16unorm => "unpack2x16unorm",
        F::Unpack2x16float => "unpack2x16float", F::Unpack4xI8 => "unpack4x_i8", F::Unpack4xU8 => "unpack4x_u8",
    };
    Ok((name, false))
}

/// The prelude's name of an atomic operation, and what it compares with.
pub(crate) fn atomic(fun: AtomicFunction) -> (&'static str, Option<Handle<Expression>>) {
    match fun {
        AtomicFunction::Add => ("atomic_add", None),
        AtomicFunction::Subtract => ("atomic_sub", None),
        AtomicFunction::And => ("atomic_and", None),
        AtomicFunction::ExclusiveOr => ("atomic_xor", None),
        AtomicFunction::InclusiveOr => ("atomic_or", None),
        AtomicFunction::Min => ("atomic_min", None),
        AtomicFunction::Max => ("atomic_max", None),
        AtomicFunction::Exchange { compare: None } => ("atomic_exchange", None),
        AtomicFunction::Exchange { compare } => ("atomic_compare_exchange", compare),
    }
}

/// The prelude's name of a collective operation of a subgroup.
pub(crate) fn collective(op: SubgroupOperation, kind: CollectiveOperation) -> Result<&'static str, Refused> {
    use CollectiveOperation::{ExclusiveScan, InclusiveScan, Reduce};
    use SubgroupOperation as Op;
    Ok(match (op, kind) {
        (Op::All, Reduce) => "subgroup_all",
        (Op::Any, Reduce) => "subgroup_any",
        (Op::Add, Reduce) => "subgroup_add",
        (Op::Mul, Reduce) => "subgroup_mul",
        (Op::Min, Reduce) => "subgroup_min",
        (Op::Max, Reduce) => "subgroup_max",
        (Op::And, Reduce) => "subgroup_and",
        (Op::Or, Reduce) => "subgroup_or",
        (Op::Xor, Reduce) => "subgroup_xor",
        (Op::Add, InclusiveScan) => "subgroup_inclusive_add",
        (Op::Mul, InclusiveScan) => "subgroup_inclusive_mul",
        (Op::Add, ExclusiveScan) => "subgroup_exclusive_add",
        (Op::Mul, ExclusiveScan) => "subgroup_exclusive_mul",
        (Op::All | Op::Any | Op::Min | Op::Max | Op::And | Op::Or | Op::Xor, InclusiveScan | ExclusiveScan) => {
            return Err("subgroup scans other than sums and products");
        }
    })
}

/// The prelude's name of an exchange in a subgroup, and the number that says with whom.
pub(crate) fn gather(mode: GatherMode) -> (&'static str, Option<Handle<Expression>>) {
    match mode {
        GatherMode::BroadcastFirst => ("subgroup_broadcast_first", None),
        GatherMode::Broadcast(lane) => ("subgroup_broadcast", Some(lane)),
        GatherMode::Shuffle(lane) => ("subgroup_shuffle", Some(lane)),
        GatherMode::ShuffleDown(delta) => ("subgroup_shuffle_down", Some(delta)),
        GatherMode::ShuffleUp(delta) => ("subgroup_shuffle_up", Some(delta)),
        GatherMode::ShuffleXor(mask) => ("subgroup_shuffle_xor", Some(mask)),
        GatherMode::QuadBroadcast(lane) => ("quad_broadcast", Some(lane)),
        GatherMode::QuadSwap(Direction::X) => ("quad_swap_x", None),
        GatherMode::QuadSwap(Direction::Y) => ("quad_swap_y", None),
        GatherMode::QuadSwap(Direction::Diagonal) => ("quad_swap_diagonal", None),
    }
}

/// What an invocation can be told of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// A function of the prelude that needs to know nothing.
    Plain(&'static str),
    /// One that needs the workgroup's size.
    Sized(&'static str),
    /// The number of workgroups, which the indirect variant takes from memory.
    Workgroups,
    /// The workgroup's size itself.
    WorkgroupSize,
}

pub(crate) fn builtin(builtin: BuiltIn) -> Result<Told, Refused> {
    use BuiltIn as B;
    Ok(match builtin {
        B::GlobalInvocationId => Told::Sized("global_id"),
        B::LocalInvocationId => Told::Plain("local_id"),
        B::LocalInvocationIndex => Told::Sized("local_index"),
        B::WorkGroupId => Told::Plain("workgroup_id"),
        B::WorkGroupSize => Told::WorkgroupSize,
        B::NumWorkGroups => Told::Workgroups,
        B::NumSubgroups => Told::Sized("num_subgroups"),
        B::SubgroupId => Told::Sized("subgroup_id"),
        B::SubgroupSize => Told::Plain("subgroup_size"),
        B::SubgroupInvocationId => Told::Sized("subgroup_invocation_id"),
        B::PrimitiveIndex
        | B::Position { .. }
        | B::ViewIndex
        | B::BaseInstance
        | B::BaseVertex
        | B::ClipDistances
        | B::CullDistance
        | B::InstanceIndex
        | B::PointSize
        | B::VertexIndex
        | B::DrawIndex
        | B::FragDepth
        | B::PointCoord
        | B::FrontFacing
        | B::Barycentric { .. }
        | B::SampleIndex
        | B::SampleMask
        | B::MeshTaskSize
        | B::CullPrimitive
        | B::PointIndex
        | B::LineIndices
        | B::TriangleIndices
        | B::VertexCount
        | B::Vertices
        | B::PrimitiveCount
        | B::Primitives
        | B::RayInvocationId
        | B::NumRayInvocations
        | B::InstanceCustomData
        | B::GeometryIndex
        | B::WorldRayOrigin
        | B::WorldRayDirection
        | B::ObjectRayOrigin
        | B::ObjectRayDirection
        | B::RayTmin
        | B::RayTCurrentMax
        | B::ObjectToWorld
        | B::WorldToObject
        | B::HitKind => return Err("builtins of other stages than compute"),
    })
}

/// The expressions that an expression is made from, or why it is refused.
pub(crate) fn operands(expression: &Expression) -> Result<Operands, Refused> {
    use Expression as E;
    Ok(match expression {
        E::Literal(_)
        | E::Constant(_)
        | E::ZeroValue(_)
        | E::FunctionArgument(_)
        | E::GlobalVariable(_)
        | E::LocalVariable(_)
        | E::CallResult(_)
        | E::AtomicResult { .. }
        | E::WorkGroupUniformLoadResult { .. }
        | E::SubgroupBallotResult
        | E::SubgroupOperationResult { .. } => Vec::new(),
        E::Compose { components, .. } => components.clone(),
        E::Access { base, index } => vec![*base, *index],
        E::AccessIndex { base: value, .. }
        | E::Splat { value, .. }
        | E::Swizzle { vector: value, .. }
        | E::Load { pointer: value }
        | E::Unary { expr: value, .. }
        | E::Relational { argument: value, .. }
        | E::As { expr: value, .. }
        | E::ArrayLength(value) => vec![*value],
        E::Binary { left, right, .. } => vec![*left, *right],
        E::Select { condition, accept, reject } => vec![*condition, *accept, *reject],
        E::Math { arg, arg1, arg2, arg3, .. } => [Some(*arg), *arg1, *arg2, *arg3].into_iter().flatten().collect(),
        E::Override(_) => return Err("overrides without a value"),
        E::ImageSample { .. } | E::ImageLoad { .. } | E::ImageQuery { .. } => return Err("textures"),
        E::Derivative { .. } => return Err("derivatives"),
        E::RayQueryVertexPositions { .. } | E::RayQueryProceedResult | E::RayQueryGetIntersection { .. } => {
            return Err("ray queries");
        }
        E::CooperativeLoad { .. } | E::CooperativeMultiplyAdd { .. } => return Err("cooperative matrices"),
    })
}

/// What a statement has to do with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Nothing.
    Alone,
    /// Invocations wait for one another at it.
    Meets,
}

pub(crate) fn flow(statement: &Statement) -> Result<Flow, Refused> {
    use Statement as S;
    match statement {
        S::Emit(_)
        | S::Block(_)
        | S::If { .. }
        | S::Switch { .. }
        | S::Loop { .. }
        | S::Break
        | S::Continue
        | S::Return { .. }
        | S::Store { .. }
        | S::Atomic { .. }
        | S::Call { .. } => Ok(Flow::Alone),
        S::ControlBarrier(_)
        | S::WorkGroupUniformLoad { .. }
        | S::SubgroupBallot { .. }
        | S::SubgroupGather { .. }
        | S::SubgroupCollectiveOperation { .. } => Ok(Flow::Meets),
        S::Kill => Err("`discard`"),
        S::MemoryBarrier(_) => Err("memory barriers that nobody waits at"),
        S::ImageStore { .. } | S::ImageAtomic { .. } => Err("textures"),
        S::RayQuery { .. } | S::RayPipelineFunction(_) => Err("ray queries"),
        S::CooperativeStore { .. } => Err("cooperative matrices"),
    }
}
