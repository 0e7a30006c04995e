//! The expressions that an expression or a statement reads: the one place that knows naga's shapes, without a wildcard over
//! expressions, so that a new one does not go unseen.

use naga::{AtomicFunction, Expression, GatherMode, Handle, ImageQuery, RayQueryFunction, SampleLevel, Statement};

/// Call `visit` with every operand of an expression.
pub(super) fn of_expression(expression: &Expression, mut visit: impl FnMut(Handle<Expression>)) {
    let all = |operands: &[Option<Handle<Expression>>], visit: &mut dyn FnMut(Handle<Expression>)| {
        operands.iter().flatten().for_each(|operand| visit(*operand));
    };
    let visit = &mut visit;
    match expression {
        Expression::Literal(_)
        | Expression::Constant(_)
        | Expression::Override(_)
        | Expression::ZeroValue(_)
        | Expression::FunctionArgument(_)
        | Expression::GlobalVariable(_)
        | Expression::LocalVariable(_)
        | Expression::CallResult(_)
        | Expression::AtomicResult { .. }
        | Expression::WorkGroupUniformLoadResult { .. }
        | Expression::RayQueryProceedResult
        | Expression::SubgroupBallotResult
        | Expression::SubgroupOperationResult { .. } => {}
        Expression::Compose { components, .. } => components.iter().for_each(|component| visit(*component)),
        Expression::Access { base, index } => all(&[Some(*base), Some(*index)], visit),
        Expression::AccessIndex { base: only, .. }
        | Expression::Splat { value: only, .. }
        | Expression::Swizzle { vector: only, .. }
        | Expression::Load { pointer: only }
        | Expression::Unary { expr: only, .. }
        | Expression::Derivative { expr: only, .. }
        | Expression::Relational { argument: only, .. }
        | Expression::As { expr: only, .. }
        | Expression::ArrayLength(only)
        | Expression::RayQueryVertexPositions { query: only, .. }
        | Expression::RayQueryGetIntersection { query: only, .. } => visit(*only),
        Expression::Binary { left, right, .. } => all(&[Some(*left), Some(*right)], visit),
        Expression::Select { condition, accept, reject } => {
            all(&[Some(*condition), Some(*accept), Some(*reject)], visit);
        }
        Expression::Math { arg, arg1, arg2, arg3, .. } => all(&[Some(*arg), *arg1, *arg2, *arg3], visit),
        Expression::ImageSample { image, sampler, coordinate, array_index, offset, level, depth_ref, .. } => {
            all(&[Some(*image), Some(*sampler), Some(*coordinate), *array_index, *offset, *depth_ref], visit);
            match level {
                SampleLevel::Auto | SampleLevel::Zero => {}
                SampleLevel::Exact(only) | SampleLevel::Bias(only) => visit(*only),
                SampleLevel::Gradient { x, y } => all(&[Some(*x), Some(*y)], visit),
            }
        }
        Expression::ImageLoad { image, coordinate, array_index, sample, level } => {
            all(&[Some(*image), Some(*coordinate), *array_index, *sample, *level], visit);
        }
        Expression::ImageQuery { image, query } => {
            visit(*image);
            if let ImageQuery::Size { level: Some(level) } = query {
                visit(*level);
            }
        }
        Expression::CooperativeLoad { data, .. } => all(&[Some(data.pointer), Some(data.stride)], visit),
        Expression::CooperativeMultiplyAdd { a, b, c } => all(&[Some(*a), Some(*b), Some(*c)], visit),
    }
}

/// Call `visit` with what a statement without blocks reads. What it computes is no operand.
pub(super) fn of_statement(statement: &Statement, mut visit: impl FnMut(Handle<Expression>)) {
    match statement {
        Statement::Return { value: Some(only) } | Statement::WorkGroupUniformLoad { pointer: only, .. } => visit(*only),
        Statement::Store { pointer, value } => [*pointer, *value].into_iter().for_each(visit),
        Statement::Atomic { pointer, fun, value, .. } => {
            [*pointer, *value].into_iter().for_each(&mut visit);
            if let AtomicFunction::Exchange { compare: Some(compare) } = fun {
                visit(*compare);
            }
        }
        Statement::ImageStore { image, coordinate, array_index, value }
        | Statement::ImageAtomic { image, coordinate, array_index, value, .. } => {
            [Some(*image), Some(*coordinate), *array_index, Some(*value)].into_iter().flatten().for_each(visit);
        }
        Statement::Call { arguments, .. } => arguments.iter().copied().for_each(visit),
        Statement::RayQuery { query, fun } => {
            visit(*query);
            match fun {
                RayQueryFunction::Initialize { acceleration_structure, descriptor } => {
                    [*acceleration_structure, *descriptor].into_iter().for_each(visit);
                }
                RayQueryFunction::GenerateIntersection { hit_t } => visit(*hit_t),
                RayQueryFunction::Proceed { .. }
                | RayQueryFunction::ConfirmIntersection
                | RayQueryFunction::Terminate => {}
            }
        }
        Statement::SubgroupBallot { predicate, .. } => predicate.iter().copied().for_each(visit),
        Statement::SubgroupGather { mode, argument, .. } => {
            visit(*argument);
            lane(mode).into_iter().for_each(visit);
        }
        Statement::SubgroupCollectiveOperation { argument, .. } => visit(*argument),
        Statement::CooperativeStore { target, data } => {
            [*target, data.pointer, data.stride].into_iter().for_each(visit);
        }
        Statement::Return { value: None }
        | Statement::Emit(_)
        | Statement::Block(_)
        | Statement::If { .. }
        | Statement::Switch { .. }
        | Statement::Loop { .. }
        | Statement::Break
        | Statement::Continue
        | Statement::Kill
        | Statement::ControlBarrier(_)
        | Statement::MemoryBarrier(_)
        | Statement::RayPipelineFunction(_) => {}
    }
}

/// The lane, distance or mask of a subgroup operation that moves values.
pub(super) fn lane(mode: &GatherMode) -> Option<Handle<Expression>> {
    match mode {
        GatherMode::BroadcastFirst | GatherMode::QuadSwap(_) => None,
        GatherMode::Broadcast(lane)
        | GatherMode::Shuffle(lane)
        | GatherMode::ShuffleDown(lane)
        | GatherMode::ShuffleUp(lane)
        | GatherMode::ShuffleXor(lane)
        | GatherMode::QuadBroadcast(lane) => Some(*lane),
    }
}

/// The expression that a statement computes, other than by `Emit`.
pub(super) fn result(statement: &Statement) -> Option<Handle<Expression>> {
    match statement {
        Statement::Call { result, .. } | Statement::Atomic { result, .. } => *result,
        Statement::WorkGroupUniformLoad { result, .. }
        | Statement::SubgroupBallot { result, .. }
        | Statement::SubgroupGather { result, .. }
        | Statement::SubgroupCollectiveOperation { result, .. }
        | Statement::RayQuery { fun: RayQueryFunction::Proceed { result }, .. } => Some(*result),
        _ => None,
    }
}
