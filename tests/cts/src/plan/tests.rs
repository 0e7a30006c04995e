//! Plans of small lists: their kernels, which the core has to accept, their bytes, and their refusals.

use graphreel::Wgsl;
use graphreel::kernel::reflect;
use half::f16;

use super::*;
use crate::{Case, Expectation, Interval, Scalar};

fn list(name: &str, cases: Vec<Case>) -> List {
    List { name: name.into(), cases }
}

fn case(inputs: &[Scalar], expected: Scalar) -> Case {
    let inputs = inputs.iter().copied().map(Value::from).collect();
    Case { inputs, expected: Expectation::Value(expected.into()) }
}

/// The plan, after the core has accepted its kernel and found what it needs.
fn plan(file: &str, list: &List, lanes: u8) -> Plan {
    let plan = Plan::new(file, list, lanes).expect("the list can be planned");
    let reflection = reflect(&Wgsl::new(plan.source.as_str()).into()).unwrap_or_else(|error| {
        panic!("{error}\n{}", plan.source);
    });
    assert_eq!(reflection.needs, plan.needs);
    assert_eq!(&*reflection.entry, plan.entry);
    assert_eq!(reflection.workgroup_size, [64, 1, 1]);
    plan
}

fn orders() -> List {
    let of = |a, b, expected| case(&[Scalar::U32(a), Scalar::U32(b)], Scalar::Bool(expected));
    list("less_than", vec![of(1, 2, true), of(2, 1, false), of(3, 3, false)])
}

#[test]
fn the_kernel_of_scalars_is_as_written() {
    let plan = plan("binary/u32_comparison", &orders(), 1);
    let expected = "struct Operands {
    a: u32,
    b: u32,
}
@group(0) @binding(0) var<storage, read> inputs: array<Operands>;
@group(0) @binding(1) var<storage, read_write> outputs: array<u32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i >= 3u {
        return;
    }
    let a = inputs[i].a;
    let b = inputs[i].b;
    outputs[i] = select(u32(), u32(1u), a < b);
}
";
    assert_eq!(plan.source, expected);
    let words: Vec<u8> = [1u32, 2, 2, 1, 3, 3].iter().flat_map(|word| word.to_le_bytes()).collect();
    assert_eq!(plan.inputs, words);
    assert_eq!((plan.output_bytes, plan.invocations), (12, 3));
}

#[test]
fn lanes_hold_neighbouring_cases() {
    let plan = plan("binary/u32_comparison", &orders(), 2);
    assert!(plan.source.contains("outputs[i] = select(vec2<u32>(), vec2<u32>(1u), a < b);"), "{}", plan.source);
    let words: Vec<u8> = [1u32, 2, 2, 1, 3, 3, 3, 3].iter().flat_map(|word| word.to_le_bytes()).collect();
    assert_eq!(plan.inputs, words, "the last element repeats the last case");
    let written: Vec<u8> = [1u32, 0, 1, 1].iter().flat_map(|word| word.to_le_bytes()).collect();
    let results = plan.results(&written).expect("whole results");
    assert_eq!(results, [true, false, true].map(|value| Value::from(Scalar::Bool(value))));
}

#[test]
fn results_that_are_short_or_no_bools_are_errors() {
    let plan = plan("binary/u32_comparison", &orders(), 1);
    assert!(matches!(plan.results(&[0; 11]), Err(RunError::Short { got: 11, need: 12 })));
    let wrong = plan.results(&[1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
    assert!(matches!(wrong, Err(RunError::NoBool { index: 1, word: 7 })));
}

#[test]
fn bools_are_words_in_buffers() {
    let list =
        list("bool", vec![case(&[Scalar::Bool(true)], Scalar::I32(1)), case(&[Scalar::Bool(false)], Scalar::I32(0))]);
    for lanes in 1..=4 {
        let plan = plan("unary/i32_conversion", &list, lanes);
        assert!(plan.source.contains("let a = inputs[i].a != "), "{}", plan.source);
    }
    assert_eq!(plan("unary/i32_conversion", &list, 1).inputs, [1, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn halves_fill_whole_words_and_are_named_as_a_need() {
    let half = |value| Scalar::F16(f16::from_f32(value));
    let list = list("f16", vec![case(&[half(-1.0)], half(1.0)); 3]);
    let plan = plan("abs", &list, 1);
    assert!(plan.source.starts_with("enable f16;\n"));
    assert_eq!(plan.needs, ["f16"]);
    assert_eq!(plan.inputs, [0, 0xbc, 0, 0xbc, 0, 0xbc, 0, 0]);
    assert_eq!(plan.output_bytes, 8);
    assert_eq!(
        plan.results(&[0, 0x3c, 0, 0x3c, 0, 0x3c, 9, 9]).expect("whole results"),
        vec![Value::from(half(1.0)); 3]
    );
}

#[test]
fn matrices_and_vectors_are_laid_out_as_wgsl_does() {
    let kind = ScalarKind::F32;
    let part = |value: u8| Scalar::F32(f32::from(value));
    let matrix = Value::new(Shape::Matrix { columns: 2, rows: 3, kind }, (0..6).map(part).collect()).expect("six");
    let vector = Value::new(Shape::Vector(2, kind), (6..8).map(part).collect()).expect("two");
    let interval = Interval { kind, bounds: None };
    let case = Case { inputs: vec![matrix, vector], expected: Expectation::Vector(vec![interval; 3]) };
    let plan = plan("binary/f32_matrix_vector_multiplication", &list("mat2x3_vec2_non_const", vec![case]), 1);
    assert_eq!((plan.inputs.len(), plan.output_bytes), (48, 16));
    assert_eq!(plan.inputs[16..20], 3f32.to_le_bytes());
    assert_eq!(plan.inputs[32..40], [6f32.to_le_bytes(), 7f32.to_le_bytes()].concat());
}

#[test]
fn what_cannot_be_planned_says_why() {
    let float = |value| Scalar::F32(value);
    let one = || case(&[float(1.0)], float(1.0));
    let refuse = |file, list: &List, lanes| Plan::new(file, list, lanes).expect_err("it cannot be planned");
    let unknown = PlanError::Unknown { file: "frexp".into(), list: "f32".into() };
    assert_eq!(refuse("frexp", &list("f32", vec![one()]), 1), unknown);
    assert_eq!(refuse("abs", &list("f32_const", vec![one()]), 1), PlanError::Constant);
    assert_eq!(refuse("abs", &list("f32", Vec::new()), 1), PlanError::Empty);
    let mixed = list("f32", vec![one(), case(&[Scalar::U32(1)], float(1.0))]);
    assert_eq!(refuse("abs", &mixed, 1), PlanError::Inputs { case: 1 });
    let results = list("f32", vec![one(), case(&[float(1.0)], Scalar::U32(1))]);
    assert!(matches!(refuse("abs", &results, 1), PlanError::Output { case: 1, .. }));
    let anything = Case { inputs: vec![float(1.0).into()], expected: Expectation::SkipUndefined(None) };
    assert_eq!(refuse("abs", &list("f32", vec![anything]), 1), PlanError::NoOutput);
    assert_eq!(refuse("length", &list("f32", vec![one()]), 2), PlanError::Lanes);
    assert_eq!(refuse("abs", &list("f32", vec![one()]), 5), PlanError::NoLanes(5));
    let double = list("f64", vec![case(&[Scalar::F64(1.0)], Scalar::F64(1.0))]);
    assert_eq!(refuse("abs", &double, 1), PlanError::NotShareable(Shape::Scalar(ScalarKind::F64)));
}
