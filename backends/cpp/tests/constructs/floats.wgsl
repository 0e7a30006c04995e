// Float builtins, on scalars and vectors of every width. Close results are enough: values are the conformance lists' business.
// close: 4e-6

@group(0) @binding(0) var<storage, read> floats: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn scalars(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if (i + 1u) * 48u > arrayLength(&out) { return; }
    let x = clamp(floats[i % arrayLength(&floats)], -8.0, 8.0);
    let y = clamp(floats[(i * 7u + 3u) % arrayLength(&floats)], -8.0, 8.0);
    let p = abs(x) + 0.25;
    let s = x / 8.0;
    let at = i * 48u;
    out[at] = sin(x); out[at + 1u] = cos(x); out[at + 2u] = tan(s); out[at + 3u] = sinh(s); out[at + 4u] = cosh(s); out[at + 5u] = tanh(x);
    out[at + 6u] = asin(s); out[at + 7u] = acos(s); out[at + 8u] = atan(x); out[at + 9u] = atan2(y + 0.1, p); out[at + 10u] = asinh(x);
    out[at + 11u] = acosh(p + 1.0); out[at + 12u] = atanh(s * 0.9); out[at + 13u] = radians(x); out[at + 14u] = degrees(x);
    out[at + 15u] = ceil(x); out[at + 16u] = floor(x); out[at + 17u] = round(x); out[at + 18u] = fract(x); out[at + 19u] = trunc(x);
    out[at + 20u] = exp(s); out[at + 21u] = exp2(x); out[at + 22u] = log(p); out[at + 23u] = log2(p); out[at + 24u] = pow(p, s);
    out[at + 25u] = sqrt(p); out[at + 26u] = inverseSqrt(p); out[at + 27u] = sign(x); out[at + 28u] = fma(x, y, 1.0);
    out[at + 29u] = mix(x, y, 0.25); out[at + 30u] = step(y, x); out[at + 31u] = smoothstep(-2.0, 3.0, x); out[at + 32u] = saturate(x);
    out[at + 33u] = min(x, y); out[at + 34u] = max(x, y); out[at + 35u] = x % p; out[at + 36u] = quantizeToF16(x);
    out[at + 37u] = ldexp(x, i32(i % 9u) - 4); let m = modf(x); out[at + 38u] = m.fract; out[at + 39u] = m.whole;
    let f = frexp(x); out[at + 40u] = f.fract; out[at + 41u] = f32(f.exp); out[at + 42u] = length(x); out[at + 43u] = distance(x, y);
    out[at + 44u] = -x; out[at + 45u] = x / p; out[at + 46u] = abs(y); out[at + 47u] = clamp(y, min(x, 0.0), max(x, 0.0));
}

@compute @workgroup_size(64)
fn vectors(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if (i + 1u) * 48u > arrayLength(&out) { return; }
    let x = clamp(floats[i % arrayLength(&floats)], -8.0, 8.0);
    let y = clamp(floats[(i * 7u + 3u) % arrayLength(&floats)], -8.0, 8.0);
    let a = vec3(x, y, x - y);
    let b = vec3(y, 2.0, x * 0.5);
    let q = vec4(a, 0.5);
    let d = vec2(x, y) / 8.0;
    var sum = sin(a) + cos(a) + tanh(a) + atan(a) + atan2(b + 20.0, abs(a) + 0.25) + floor(a) * ceil(b) + round(a) + trunc(b) + fract(a);
    sum += exp(a / 8.0) + log(abs(a) + 1.0) + sqrt(abs(b)) + inverseSqrt(abs(b) + 1.0) + sign(a) + fma(a, b, a) + pow(abs(a) + 0.5, b / 8.0);
    sum += mix(a, b, 0.25) + mix(a, b, vec3(0.5, 0.25, 1.0)) + step(a, b) + smoothstep(vec3(-2.0), vec3(3.0), a) + saturate(b);
    sum += min(a, b) + max(a, b) + clamp(a, vec3(-1.0), vec3(1.0)) + a % (abs(b) + 1.0) + quantizeToF16(a) + ldexp(a, vec3(1, -2, 3));
    sum += asinh(a) + radians(a) + degrees(b) + cross(a, b) + normalize(b + vec3(0.0, 9.0, 0.0)) + faceForward(a, b, vec3(0.1, 1.0, 0.0));
    sum += reflect(a, vec3(0.0, 1.0, 0.0)) + refract(vec3(0.6, -0.8, 0.0), vec3(0.0, 1.0, 0.0), 0.75) + modf(a).fract + modf(b).whole + frexp(a).fract;
    sum += vec3<f32>(frexp(b).exp) - a / (abs(b) + 1.0) + a * 2.0 + 3.0 * b - -a + (1.0 - b);
    let parts = asin(d) + acos(d) + atanh(d * 0.9) + sinh(d) + cosh(d) + tan(d) + exp2(d) + log2(abs(d) + 1.0) + acosh(abs(d) + 1.0);
    let m = mat3x3<f32>(a, b, vec3(1.0, 2.0, 3.0));
    let n = mat4x2<f32>(d, d.yx, vec2(1.0), vec2(2.0, 3.0));
    let r = transpose(m) * m + m * 2.0 - 0.5 * m;
    let t = n * q;
    let u = d * n;
    let w = mat2x4<f32>(q, q.wzyx);
    let o = n * w;
    let at = i * 48u;
    for (var k = 0u; k < 3u; k++) { out[at + k] = sum[k]; out[at + 3u + k] = r[k][(k + 1u) % 3u]; }
    out[at + 6u] = parts.x; out[at + 7u] = parts.y; out[at + 8u] = determinant(m * 0.125); out[at + 9u] = t.x + t.y; out[at + 10u] = u.x + u.w;
    out[at + 11u] = o[1].y; out[at + 12u] = dot(a, b); out[at + 13u] = length(q); out[at + 14u] = distance(a, b);
    out[at + 15u] = determinant(mat2x2<f32>(d, d.yx + 1.0)); out[at + 16u] = determinant(mat4x4<f32>(q, q.wzyx, vec4(1.0, 2.0, 0.0, 1.0), vec4(0.5)) * 0.125);
    out[at + 17u] = (m * a).y; out[at + 18u] = (b * m).z; out[at + 19u] = transpose(n)[1].w; out[at + 20u] = length(d);
    let g = m;
    out[at + 21u] = g[i % 3u][(i / 3u) % 3u]; out[at + 22u] = normalize(d + 9.0).x;
}
