//! How long WGSL takes to become C++: a text of some 500 lines, and all of `shaders/`. No device, and no vendor's compiler.

use std::hint::black_box;
use std::time::Instant;

use graphreel::kernel::{KernelSource, reflect};
use graphreel::shaders::ALL;
use graphreel_cpp::{Dialect, Options, translate};

use crate::{Finding, median};

/// Functions of the long text, each of them called.
const FUNCTIONS: usize = 24;

/// What the long text may take, in milliseconds.
const LONG_MS_MAX: f64 = 20.0;

/// Medians of `rounds` translations, beside what parsing, validation and reflection take of them.
///
/// # Errors
///
/// What a translation answers.
pub fn findings(rounds: u32) -> Result<Vec<Finding>, String> {
    let text = long();
    let lines = text.lines().count();
    let long = sides(&text.as_str().into(), rounds)?;
    let mut found = vec![Finding {
        bound: "<= 20 ms",
        kept: long.translated <= LONG_MS_MAX,
        ..finding(format!("{lines} lines to CUDA C++"), &long)
    }];
    let mut shaders = Vec::new();
    for shader in ALL {
        for entry in shader.entries {
            shaders
                .push((format!("shaders/{}.wgsl, {entry}", shader.name), sides(&shader.entry(entry).into(), rounds)?));
        }
    }
    let sum = |of: fn(&Sides) -> f64| shaders.iter().map(|(_, sides)| of(sides)).sum();
    let all = Sides { translated: sum(|sides| sides.translated), reflected: sum(|sides| sides.reflected) };
    let slowest = shaders.iter().max_by(|(_, a), (_, b)| a.translated.total_cmp(&b.translated));
    found.extend(slowest.map(|(name, sides)| finding(format!("{name}, the slowest of them"), sides)));
    found.push(finding(format!("all {} kernels of shaders/", shaders.len()), &all));
    Ok(found)
}

/// Milliseconds of one kernel.
struct Sides {
    /// From WGSL to C++.
    translated: f64,
    /// From WGSL to a reflection, which is the part of it that every backend has.
    reflected: f64,
}

fn finding(what: String, sides: &Sides) -> Finding {
    let Sides { translated, reflected } = *sides;
    let sides = format!("{translated:.2} ms / {reflected:.2} ms to parse, validate and reflect");
    Finding { target: "translate, ms", what, sides, figure: translated, bound: "", kept: true }
}

fn sides(source: &KernelSource, rounds: u32) -> Result<Sides, String> {
    let options = Options::new(Dialect::Cuda);
    let (mut translated, mut reflected) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let begun = Instant::now();
        let translation = translate(black_box(source), &options).map_err(|error| error.to_string())?;
        let text = translation.source();
        translated.push(begun.elapsed().as_secs_f64() * 1e3);
        if !text.contains(&translation.symbol) {
            return Err(format!("`{}` is not in its own text", translation.symbol));
        }
        let begun = Instant::now();
        let reflection = reflect(black_box(source)).map_err(|error| error.to_string())?;
        reflected.push(begun.elapsed().as_secs_f64() * 1e3);
        black_box(reflection);
    }
    Ok(Sides { translated: median(translated), reflected: median(reflected) })
}

/// A kernel with loops, branches, vectors, a matrix, workgroup memory and barriers, over and over with other numbers.
fn long() -> String {
    let mut text = String::from(
        "struct Cell { place: vec3<f32>, weight: f32, turn: mat2x2<f32>, kind: u32 }
struct Scalars { count: u32, rate: f32 }
var<immediate> s: Scalars;
@group(0) @binding(0) var<storage, read> cells: array<Cell>;
@group(0) @binding(1) var<storage, read> table: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4<f32>>;
var<workgroup> tile: array<f32, 64>;
",
    );
    for index in 0..FUNCTIONS {
        text += &format!(
            "
fn step_{index}(at: u32, given: vec4<f32>) -> vec4<f32> {{
    var sum = given * {index}.5;
    let cell = cells[at];
    for (var i = 0u; i < 8u; i += 1u) {{
        let other = cells[(at + i * {odd}u) % s.count];
        let away = other.place - cell.place;
        let near = dot(away, away);
        if near < {index}.25 && other.kind != cell.kind {{
            sum += vec4<f32>(normalize(away) * other.weight, inverseSqrt(near + 1.0));
        }} else {{
            sum.w += clamp(near, 0.0, s.rate);
        }}
        sum = vec4<f32>(cell.turn * sum.xy, sum.zw);
    }}
    let bits = table[at % {odd}u] ^ (at << {shift}u);
    if countOneBits(bits) > {shift}u {{ return sum.wzyx; }}
    return mix(sum, given, vec4<f32>(f32(bits & 255u) / 255.0));
}}
",
            odd = 2 * index + 3,
            shift = index % 13 + 1,
        );
    }
    text += "
@compute @workgroup_size(64)
fn long(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let at = min(id.x, s.count - 1u);
    var value = vec4<f32>(0.0);
";
    for index in 0..FUNCTIONS {
        text += &format!("    value = step_{index}(at, value);\n");
    }
    text + "    tile[lane] = value.x;
    workgroupBarrier();
    value.y += tile[63u - lane];
    if id.x < arrayLength(&out) { out[id.x] = value; }
}
"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_text_is_as_long_as_it_is_said_to_be() {
        let lines = long().lines().count();
        assert!((480..=580).contains(&lines), "{lines}");
        let found = findings(1).expect("every kernel can be written");
        assert_eq!(found.len(), 3);
        assert_eq!(found.iter().filter(|one| !one.bound.is_empty()).count(), 1);
        assert!(found[0].what.starts_with(&format!("{lines} lines")), "{}", found[0].what);
    }
}
