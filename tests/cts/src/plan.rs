//! One list as one dispatch: the kernel, the bytes it reads, and how to read what it writes.

use std::fmt::Write;

use crate::error::{PlanError, RunError};
use crate::expression::{Expression, find};
use crate::{List, ScalarKind, Shape, Value, layout};

/// The entry point of every plan.
const ENTRY: &str = "main";

/// Names of the operands, in order.
const OPERANDS: [&str; 3] = ["a", "b", "c"];

/// One list, ready for a device: bind `inputs` at group 0, binding 0, a buffer of `output_bytes` at binding 1, and launch
/// at least `invocations` invocations.
#[derive(Clone, Debug)]
pub struct Plan {
    /// WGSL.
    pub source: String,
    /// Its entry point, whose workgroups have 64 invocations in x.
    pub entry: &'static str,
    /// The operands of every case, as the kernel reads them.
    pub inputs: Vec<u8>,
    /// Bytes that the kernel writes, rounded up to whole words.
    pub output_bytes: usize,
    /// How many invocations do something; more do no harm.
    pub invocations: u32,
    /// Features of WGSL that the kernel needs, by the names of `Reflection::needs`.
    pub needs: Vec<&'static str>,
    /// Why the core does not compile the kernel on any device, where it is valid WGSL that the core does not take yet.
    pub gap: Option<&'static str>,
    cases: usize,
    lanes: usize,
    output: Shape,
}

/// Types of a list's cases.
struct Types {
    inputs: Vec<Shape>,
    output: Shape,
}

impl Plan {
    /// A plan for `list` of `file`, which is its path in the folder without the ending, as `binary/f32_addition`.
    ///
    /// With 2 to 4 `lanes` that many cases of scalars make one evaluation of vectors; 1 leaves the cases as they are.
    ///
    /// # Errors
    ///
    /// [`PlanError`]; [`PlanError::Lanes`] where a list cannot be widened.
    pub fn new(file: &str, list: &List, lanes: u8) -> Result<Self, PlanError> {
        if !list.runs() {
            return Err(PlanError::Constant);
        }
        let narrow = types(list)?;
        let unknown = || PlanError::Unknown { file: file.to_owned(), list: list.name.clone() };
        let expression = find(file, &list.name, &narrow.inputs, narrow.output).ok_or_else(unknown)?;
        let types = widen(&narrow, expression, lanes)?;
        let not_shareable = |shapes: &[Shape]| {
            let bad = shapes.iter().copied().find(|shape| layout::extent(*shape).is_none());
            PlanError::NotShareable(bad.unwrap_or(types.output))
        };
        let (offsets, input) = layout::structure(&types.inputs).ok_or_else(|| not_shareable(&types.inputs))?;
        let output = layout::extent(types.output).ok_or_else(|| not_shareable(&[types.output]))?;

        let lanes = usize::from(lanes);
        let count = list.cases.len().div_ceil(lanes);
        let mut inputs = vec![0; (count * input.size).next_multiple_of(4)];
        for (index, element) in inputs.chunks_exact_mut(input.size).take(count).enumerate() {
            for (operand, (shape, offset)) in types.inputs.iter().zip(&offsets).enumerate() {
                // The last element repeats the last case in the lanes that are left.
                let cases = (0..lanes).map(|lane| (index * lanes + lane).min(list.cases.len() - 1));
                let parts: Vec<_> = cases.flat_map(|case| list.cases[case].inputs[operand].parts()).copied().collect();
                layout::write(*shape, &parts, &mut element[*offset..]);
            }
        }
        let needs = if uses_f16(&types) { vec!["f16"] } else { Vec::new() };
        Ok(Self {
            source: source(&types, expression, count),
            entry: ENTRY,
            inputs,
            output_bytes: (count * output.stride()).next_multiple_of(4),
            invocations: u32::try_from(count).expect("a file of less than 4 GiB has fewer cases"),
            needs,
            gap: types.inputs.first().and_then(|input| expression.gap(*input, types.output)),
            cases: list.cases.len(),
            lanes,
            output: types.output,
        })
    }

    /// The result of each case, from the bytes that the kernel wrote.
    ///
    /// # Errors
    ///
    /// [`RunError::Short`] and [`RunError::NoBool`]; the bytes are the device's.
    pub fn results(&self, bytes: &[u8]) -> Result<Vec<Value>, RunError> {
        if bytes.len() < self.output_bytes {
            return Err(RunError::Short { got: bytes.len(), need: self.output_bytes });
        }
        let stride = layout::extent(self.output).map_or(1, layout::Extent::stride);
        let mut results = Vec::with_capacity(self.cases);
        for (index, element) in bytes.chunks_exact(stride).take(self.cases.div_ceil(self.lanes)).enumerate() {
            let parts = layout::read(self.output, element).map_err(|word| RunError::NoBool { index, word })?;
            if self.lanes > 1 {
                results.extend(parts.into_iter().map(Value::from));
            } else {
                results.push(Value::new(self.output, parts).expect("the layout reads the components of the type"));
            }
        }
        results.truncate(self.cases);
        Ok(results)
    }
}

fn types(list: &List) -> Result<Types, PlanError> {
    let shapes = |case: usize| list.cases[case].inputs.iter().map(Value::shape);
    if list.cases.is_empty() {
        return Err(PlanError::Empty);
    }
    let inputs: Vec<Shape> = shapes(0).collect();
    if let Some(case) = (1..list.cases.len()).find(|case| !shapes(*case).eq(inputs.iter().copied())) {
        return Err(PlanError::Inputs { case });
    }
    let mut outputs = list.cases.iter().enumerate().filter_map(|(case, found)| Some((case, found.expected.shape()?)));
    let (_, output) = outputs.next().ok_or(PlanError::NoOutput)?;
    match outputs.find(|(_, shape)| *shape != output) {
        Some((case, found)) => Err(PlanError::Output { case, found, expected: output }),
        None => Ok(Types { inputs, output }),
    }
}

fn widen(types: &Types, expression: Expression, lanes: u8) -> Result<Types, PlanError> {
    if !(1..=4).contains(&lanes) {
        return Err(PlanError::NoLanes(lanes));
    }
    if lanes > 1 && !expression.works_by_component() {
        return Err(PlanError::Lanes);
    }
    let wide = |shape: &Shape| shape.widened(lanes).ok_or(PlanError::Lanes);
    Ok(Types { inputs: types.inputs.iter().map(wide).collect::<Result<_, _>>()?, output: wide(&types.output)? })
}

fn uses_f16(types: &Types) -> bool {
    types.inputs.iter().chain([&types.output]).any(|shape| shape.kind() == ScalarKind::F16)
}

/// The type that holds `shape` in a buffer.
fn held(shape: Shape) -> Shape {
    if shape.kind() == ScalarKind::Bool { shape.of(ScalarKind::U32) } else { shape }
}

fn source(types: &Types, expression: Expression, count: usize) -> String {
    let (mut members, mut operands) = (String::new(), String::new());
    let line = |text: &mut String, args: std::fmt::Arguments<'_>| {
        text.write_fmt(args).expect("a string takes any text");
    };
    for (name, shape) in OPERANDS.iter().zip(&types.inputs) {
        let held = held(*shape);
        let truth = if held == *shape { String::new() } else { format!(" != {held}()") };
        line(&mut members, format_args!("    {name}: {held},\n"));
        line(&mut operands, format_args!("    let {name} = inputs[i].{name}{truth};\n"));
    }
    let enable = if uses_f16(types) { "enable f16;\n" } else { "" };
    let output = held(types.output);
    let value = expression.text(types.inputs.len(), types.output);
    let stored = if output == types.output { value } else { format!("select({output}(), {output}(1u), {value})") };
    format!(
        "{enable}struct Operands {{\n{members}}}\n\
         @group(0) @binding(0) var<storage, read> inputs: array<Operands>;\n\
         @group(0) @binding(1) var<storage, read_write> outputs: array<{output}>;\n\
         @compute @workgroup_size(64)\n\
         fn {ENTRY}(@builtin(global_invocation_id) id: vec3<u32>) {{\n    \
             let i = id.x;\n    \
             if i >= {count}u {{\n        return;\n    }}\n\
         {operands}    outputs[i] = {stored};\n}}\n"
    )
}

#[cfg(test)]
mod tests;
