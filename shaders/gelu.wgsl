// The Gaussian error linear unit, in its tanh form.
//
// Bindings: 0 `input`, array<f32>, read. 1 `output`, array<f32>, as long as input, written whole.
// Scalars: none.
// Workgroup: 256. Grid: any (n) in x; each invocation strides by the grid.
// Promises: output[i] = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) within 2e-5 + 2e-5 * |x|.

@group(0) @binding(0) var<storage, read> input: array<f32>;
@group(0) @binding(1) var<storage, read_write> output: array<f32>;

fn gelu_of(x: f32) -> f32 {
    // tanh is 1 in f32 from 9.1 on, and some drivers make it of exponentials that overflow: the clamp changes no result.
    let inner = clamp(0.7978845608 * (x + 0.044715 * x * x * x), -12.0, 12.0);
    return 0.5 * x * (1.0 + tanh(inner));
}

@compute @workgroup_size(256)
fn gelu(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let n = arrayLength(&output);
    let stride = groups.x * 256u;
    for (var i = id.x; i < n; i += stride) {
        output[i] = gelu_of(input[i]);
    }
}
