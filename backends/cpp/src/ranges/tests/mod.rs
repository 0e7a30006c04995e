//! What is proven and, as important, what is not. A line of a kernel that ends in `// in` has its accesses, divisors and shifts
//! all proven; one that ends in `// out` has no access proven or, where there is none, no divisor and no shift.

mod bounded;
mod calls;
mod conditions;
mod generate;
mod loops;
mod operations;
mod random;
mod relations;
mod shaders;
mod variables;

use std::collections::BTreeMap;

use graphreel::kernel::{KernelSource, Lowering, Scalars, StorageAccessAs, lower};
use naga::{BinaryOperator, Expression, Function, Handle, ScalarKind, TypeInner};

use super::prove;
use crate::Loops;

/// What is asked of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Asked {
    Access,
    Divides,
    Shifts,
}

/// The answers for each line.
type Lines = BTreeMap<u32, Vec<(Asked, bool)>>;

/// Ask everything that can be asked about a kernel.
fn lines(source: &KernelSource, subgroup_size: Option<u32>, loops: Loops) -> Lines {
    let lowering =
        Lowering { scalars: Scalars::Immediate, storage: StorageAccessAs::Declared, uniform_as_storage: false };
    let lowered = lower(source, lowering).unwrap_or_else(|error| panic!("{error}\n{}", source.wgsl));
    let (module, info) = (&lowered.module, &lowered.info);
    let proven = prove(module, info, subgroup_size, loops);
    let mut lines = Lines::new();
    let mut ask = |handle: Option<Handle<Function>>, function: &Function, info: &naga::valid::FunctionInfo| {
        for (at, expression) in function.expressions.iter() {
            let (asked, answer) = match *expression {
                Expression::Access { .. } => (Asked::Access, proven.access(handle, at)),
                Expression::Binary { op, right, .. } => {
                    let kind = match info[right].ty.inner_with(&module.types) {
                        TypeInner::Scalar(scalar) | TypeInner::Vector { scalar, .. } => scalar.kind,
                        _ => ScalarKind::Float,
                    };
                    match op {
                        _ if !matches!(kind, ScalarKind::Sint | ScalarKind::Uint) => continue,
                        BinaryOperator::Divide | BinaryOperator::Modulo => (Asked::Divides, proven.divides(handle, at)),
                        BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight => {
                            (Asked::Shifts, proven.shifts(handle, at))
                        }
                        _ => continue,
                    }
                }
                _ => continue,
            };
            let line = function.expressions.get_span(at).location(&source.wgsl).line_number;
            lines.entry(line).or_default().push((asked, answer));
        }
    };
    module.functions.iter().for_each(|(handle, function)| ask(Some(handle), function, &info[handle]));
    ask(None, &module.entry_points[0].function, info.get_entry_point(0));
    lines
}

/// Compare the answers for a text with its marks.
fn check_text(text: &str, subgroup_size: Option<u32>) {
    check_marks(text, subgroup_size, Loops::Trusted);
}

fn check_marks(text: &str, subgroup_size: Option<u32>, loops: Loops) {
    let answers = lines(&text.into(), subgroup_size, loops);
    let mut marked = 0;
    for (number, line) in (1..).zip(text.lines()) {
        let wanted = match line.trim_end() {
            line if line.ends_with("// in") => true,
            line if line.ends_with("// out") => false,
            _ => continue,
        };
        marked += 1;
        let found = answers.get(&number).unwrap_or_else(|| panic!("nothing to ask in `{}`", line.trim()));
        // What is indexed by `u / v` is a matter of the access alone.
        let accesses = found.iter().any(|(asked, _)| *asked == Asked::Access);
        let mut asked = found.iter().filter(|(asked, _)| wanted || !accesses || *asked == Asked::Access);
        assert!(asked.all(|(_, answer)| *answer == wanted), "`{}` gives {found:?}", line.trim());
    }
    assert!(marked > 0, "no line is marked");
}

const HEAD: &str = "
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@group(0) @binding(1) var<storage, read_write> other: array<u32>;
var<workgroup> four: array<u32, 4>;
var<workgroup> sixteen: array<u32, 16>;
var<workgroup> lanes: array<u32, 64>;
var<workgroup> tile: array<array<u32, 8>, 8>;
struct Params { n: u32, m: u32, k: i32 }
var<immediate> params: Params;
";

const ENTRY: &str = "
@compute @workgroup_size(8, 8) fn main(
    @builtin(local_invocation_id) local: vec3<u32>, @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>, @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
";

/// Check the body of a kernel of 8 x 8 invocations; `u`, `v` and `i` are any u32, u32 and i32.
fn check(body: &str) {
    check_with("", body);
}

/// As [`check`], with functions before the entry point.
fn check_with(functions: &str, body: &str) {
    check_where(Loops::Trusted, functions, body);
}

/// As [`check_with`], with loops that are trusted or not.
fn check_where(loops: Loops, functions: &str, body: &str) {
    let any = "let u = data[0]; let v = other[0]; let i = bitcast<i32>(data[0]);";
    let text = format!("{HEAD}{functions}{ENTRY}{any}\n{body}\ndata[0] = u + v + u32(i) + params.n;\n}}");
    check_marks(&text, None, loops);
}
