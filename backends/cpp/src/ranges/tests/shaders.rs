//! The kernels that come with the project: only what depends on the shape of the caller's buffers is left.

use graphreel::kernel::KernelSource;
use graphreel::shaders::ALL;

use super::lines;
use crate::Loops;

/// Lines with something unproven, as `file:entry line text`.
fn unproven() -> Vec<String> {
    let mut found = Vec::new();
    for shader in ALL {
        for entry in shader.entries {
            let source: KernelSource = shader.entry(entry).into();
            for (line, answers) in lines(&source, None, Loops::Trusted) {
                let left = answers.iter().filter(|(_, proven)| !proven).count();
                let text = shader.source.lines().nth(line as usize - 1).unwrap().trim();
                if left > 0 {
                    found.push(format!("{entry}: {left} in `{text}`"));
                }
            }
        }
    }
    found
}

#[test]
fn what_is_left_depends_on_buffers() {
    expect_test::expect![[r#"
        add: 2 in `output[i] = a[i] + b[i];`
        argmax: 1 in `let value = input[row * columns + i];`
        dense: 1 in `value = x[row * params.inputs + first + local.x];`
        dense: 1 in `value = w[(first + local.y) * params.outputs + column];`
        dense: 1 in `let biased = sum + b[column];`
        dense: 1 in `y[row * params.outputs + column] = select(biased, max(biased, 0.0), params.relu != 0u);`
        gelu: 1 in `output[i] = gelu_of(input[i]);`
        layer_norm: 1 in `sum += input[start + i];`
        layer_norm: 1 in `let deviation = input[start + i] - mean;`
        layer_norm: 4 in `output[start + i] = (input[start + i] - mean) * scale * gamma[i] + beta[i];`
        matmul: 1 in `value = a[row * params.k + first + local.x];`
        matmul: 1 in `value = b[(first + local.y) * params.n + column];`
        matmul: 1 in `c[row * params.n + column] = sum;`
        mul: 2 in `output[i] = a[i] * b[i];`
        scan_blocks: 1 in `sums[block] = before + sum;`
        add_sums: 1 in `let before = sums[block - 1u];`
        reduce_sum: 1 in `partials[group.x] = sums[0];`
        softmax: 1 in `highest = max(highest, input[start + i]);`
        softmax: 1 in `sum += exp(input[start + i] - highest);`
        softmax: 2 in `output[start + i] = exp(input[start + i] - highest) / sum;`
        transpose: 1 in `tile[local.y][local.x] = input[(top + local.y) * params.columns + side + local.x];`
        transpose: 1 in `output[(side + local.y) * params.rows + top + local.x] = tile[local.x][local.y];`"#]]
    .assert_eq(&unproven().join("\n"));
}
