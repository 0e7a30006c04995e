// Constants of every type, in tables and in place, indexed by what is known and by what is not.

struct Point { a: vec3<f32>, b: u32, c: array<vec2<i32>, 2> }
const PRIMES = array<u32, 8>(2u, 3u, 5u, 7u, 11u, 13u, 17u, 19u);
const GRID = array<array<vec3<f32>, 2>, 2>(array<vec3<f32>, 2>(vec3(1.0), vec3(2.0, 3.0, 4.0)), array<vec3<f32>, 2>(vec3(5.0), vec3()));
const TURN = mat3x2<f32>(1.0, 2.0, 3.0, 4.0, 5.0, 6.0);
const POINTS = array<Point, 2>(Point(vec3(1.0, 2.0, 3.0), 4u, array(vec2(1, 2), vec2(-3, 4))), Point());
const AXIS: vec4<f32> = vec4(0.5, vec2(1.5), -0.0);
const LOWEST = -2147483647i - 1i;
const TINY = 1.1754943508e-38f;
const HUGE = 3.40282346638528859812e+38f;
override SCALE: u32 = 6u;
override WIDTH: u32 = SCALE + 2u;
@id(7) override ON: bool = true;
var<private> start: Point = POINTS[0];
var<workgroup> sized: array<u32, WIDTH>;

@group(0) @binding(0) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(WIDTH)
fn tables(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = id.x;
    sized[lane] = PRIMES[lane % 8u];
    workgroupBarrier();
    let squares = array<u32, 6>(0u, 1u, 4u, 9u, 16u, 25u);
    var weights = array<f32, 5>(0.5, 1.0, 1.5, 2.0, 2.5);
    weights[i % 5u] += 1.0;
    const LOCAL = array<i32, 5>(-1, 2, -3, LOWEST, 5);
    var sum = f32(squares[i % 6u]) + weights[(i + 2u) % 5u] + f32(LOCAL[i % 5u] / 2);
    sum += f32(PRIMES[i % 8u]) + GRID[i % 2u][(i / 2u) % 2u].y + TURN[i % 3u].y + POINTS[i % 2u].a.z + f32(POINTS[i % 2u].c[1].x);
    sum += AXIS[i % 4u] + start.a.y + f32(sized[(lane + 1u) % WIDTH]) + f32(select(SCALE, 1u, ON)) + array(1.0, 2.0, 3.0)[i % 3u];
    sum += select(0.0, 1.0, TINY > 0.0 && HUGE > 1e38) + select(0.0, 2.0, LOWEST < 0);
    if i < arrayLength(&out) { out[i] = sum; }
}
