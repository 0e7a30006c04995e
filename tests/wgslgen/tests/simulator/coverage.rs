//! Every construct occurs in enough kernels.

use std::collections::BTreeMap;

use graphreel_wgslgen::{Kernel, generate};

use crate::options;

/// Texts that tell a construct.
#[rustfmt::skip]
const CONSTRUCTS: &[&str] = &[
    "switch ", "case ", ", default:", "default {", " else if ", "} else {", "for (var ", "while ", "loop {",
    "continuing {", "break if ", "break;", "continue;", "return; }", "return v", "let p", "= &", "(*p", "&v", "&g",
    "ptr<function, ", "ptr<private, ", "(*q)", "(*r)", "f0(", "fn f3", "_ = ", "++;", "--;", "+= ", "-= ", "*= ",
    "/= ", "%= ", "&= ", "|= ", "^= ", "<<= ", ">>= ", "array<array<", "@size(", "@align(", "mat2x2<f32>",
    "mat3x3<f32>", "mat4x3<f32>", "mat2x4<f32>", "vec2<bool>", "vec4<bool>", "var<private> ", "var<immediate> ",
    "var<uniform> ", "override ", "const C0: array<", "head: vec4<u32>", "params.a", "params.b", "nwg", "wid",
    "local", "arrayLength(", "C10", "o0", ".x", ".xy", ".rg", "transpose(", "determinant(", "dot(", "cross(",
    "modf(", ".fract", ".whole", "frexp(", "fma(", "mix(", "step(", "sign(", "fract(", "saturate(", "floor(",
    "ceil(", "trunc(", "round(", "quantizeToF16(", "abs(", "min(", "max(", "clamp(", "select(", "all(", "any(",
    "countOneBits(", "countLeadingZeros(", "countTrailingZeros(", "reverseBits(", "firstLeadingBit(",
    "firstTrailingBit(", "extractBits(", "insertBits(", "dot4U8Packed(", "dot4I8Packed(", "pack4xI8(",
    "pack4xI8Clamp(", "pack4xU8(", "pack4xU8Clamp(", "unpack4xI8(", "unpack4xU8(", "pack4x8snorm(",
    "pack4x8unorm(", "pack2x16float(", "bitcast<i32>(", "bitcast<u32>(", "bitcast<vec", "(~", "(-", "(!", " && ",
    " || ", " << ", " >> ", " / ", " % ", " ^ ", " == ", " <= ", "workgroupBarrier();", "storageBarrier();",
    "workgroupUniformLoad(", "atomicLoad(", "atomicStore(", "atomicExchange(", "atomicCompareExchangeWeak(",
    "atomicAdd(&sum", "atomicSub(&sum", "atomicMax(&sum", "atomicMin(&sum", "atomicAnd(&sum", "atomicOr(&sum",
    "atomicXor(&sum", "atomicAdd(&own0", "atomicAdd(&gather", "atomicMax(&gather", "turn0[slot", "never[",
    "once0 = ", "enable f16;", "f16(", "vec3<f16>", "i64(", "u64(", "vec2<i64>", "i16(", "u16(", "vec4<u16>", "li",
    "lu", "subgroupAdd(", "subgroupMul(", "subgroupMin(", "subgroupMax(", "subgroupAnd(", "subgroupOr(",
    "subgroupXor(", "subgroupInclusiveAdd(", "subgroupExclusiveAdd(", "subgroupInclusiveMul(",
    "subgroupExclusiveMul(", "subgroupAll(", "subgroupAny(", "subgroupBallot(", "subgroupBroadcast(",
    "subgroupBroadcastFirst(", "subgroupShuffle(", "subgroupShuffleXor(", "subgroupBarrier();", "quadSwapX(",
    "quadSwapY(", "quadSwapDiagonal(", "quadBroadcast(",
];

/// Of 2,000 kernels, in how many each construct has to be at least.
const FEWEST: usize = 10;

#[test]
fn every_construct_occurs() {
    let texts: Vec<String> = (0..2_000).map(|seed| generate(seed, options(seed)).wgsl()).collect();
    let count = |of: &&str| texts.iter().filter(|text| text.contains(*of)).count();
    let counts: BTreeMap<&str, usize> = CONSTRUCTS.iter().map(|of| (*of, count(of))).collect();
    let rare: Vec<_> = counts.iter().filter(|(_, count)| **count < FEWEST).collect();
    assert!(rare.is_empty(), "too rare: {rare:?}");
}

#[test]
fn loops_and_branches_nest() {
    let deepest = (0..500).map(|seed| depth(&generate(seed, options(seed))));
    let deep = deepest.filter(|loops| *loops >= 3).count();
    assert!(deep >= 10, "only {deep} of 500 kernels have three loops in each other");
}

/// Loops around one another, at most.
fn depth(kernel: &Kernel) -> usize {
    let text = kernel.wgsl();
    let (mut open, mut most) = (Vec::new(), 0);
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        open.retain(|of| *of < indent);
        if ["for (", "while ", "loop {"].iter().any(|head| line.trim_start().starts_with(head)) && line.ends_with('{') {
            open.push(indent);
            most = most.max(open.len());
        }
    }
    most
}
