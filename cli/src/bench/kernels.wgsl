// The work of the launch-bound and the GPU-bound benchmarks: wrapping affine steps on 32-bit integers. They are exact
// on every device and do not commute, so a node that is lost, repeated or moved changes the result.

struct Step {
    factor: u32,
    addend: u32,
    rounds: u32,
}

var<immediate> step_of_node: Step;

@group(0) @binding(0) var<storage, read> left: array<u32>;
@group(0) @binding(1) var<storage, read> right: array<u32>;
@group(0) @binding(2) var<storage, read_write> result: array<u32>;

// result = left * factor + addend, `rounds` times over.
@compute @workgroup_size(64)
fn advance(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < arrayLength(&result); i += groups.x * 64u) {
        var value = left[i];
        for (var round = 0u; round < step_of_node.rounds; round++) {
            value = value * step_of_node.factor + step_of_node.addend;
        }
        result[i] = value;
    }
}

// result = left * factor + right + addend. It has no rounds.
@compute @workgroup_size(64)
fn join(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < arrayLength(&result); i += groups.x * 64u) {
        result[i] = left[i] * step_of_node.factor + right[i] + step_of_node.addend;
    }
}
