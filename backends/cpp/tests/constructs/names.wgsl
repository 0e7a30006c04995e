// Names that C++, its compilers or the prelude have already, letters that C++ has not, and shadows.

struct int { float: u32, unsigned: vec2<u32>, half: f32, x: u32, double_: u32, linux: u32 }
struct vec { y: int, wg_pad0: u32 }
@group(0) @binding(0) var<storage, read> ints: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
@group(0) @binding(2) var<storage, read_write> out_len: array<u32>;
var<workgroup> wg_shared: array<u32, 32>;
var<private> threadIdx: u32 = 1u;

fn add(a: u32, b: u32) -> u32 { return a + b * 2u; }
fn index(i: u32, n: u32) -> u32 { return i * n; }
fn mul(a: u32, b: u32) -> u32 { return add(a, b) - index(b, 2u); }
fn put(a: ptr<function, u32>, b: u32) { *a = b; }
fn erase(void_: u32) -> u32 { let short = void_; var goto_ = short; goto_ += 1u; return goto_; }
fn Größe(größe: u32) -> u32 { let ñ = größe + 1u; return ñ; }
fn min_(static_: u32) -> u32 { return min(static_, 4u); }
fn unix(i386: u32, assert: u32) -> u32 { return i386 + assert; }
fn _e7(_e1: u32) -> u32 { let _e2 = _e1 + 1u; return _e2; }
fn _LP64(_GNU_SOURCE: u32) -> u32 { return _GNU_SOURCE; }
fn wgk_main(signed: u32) -> u32 { return signed; }

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) blockIdx: vec3<u32>, @builtin(local_invocation_index) char: u32) {
    let i = blockIdx.x;
    var auto_ = int(i, vec2(1u, 2u), 3.0, 4u, 5u, 6u);
    var namespace_ = vec(auto_, 7u);
    wg_shared[char] = namespace_.y.unsigned.y + auto_.float + namespace_.wg_pad0 + auto_.linux;
    workgroupBarrier();
    var const_ = add(i, 3u) + mul(2u, i) + erase(i) + Größe(i) + min_(i) + unix(i, 1u) + _e7(i) + _LP64(i) + wgk_main(i);
    { let i = const_ * 2u; const_ += i; { let i = 5u; const_ += i; } const_ -= i; }
    var x_1 = 1u; var x = 2u; var x_ = 3u; var x1 = 4u;
    put(&x, x_1 + x_ + x1);
    let EOF = 3u; let INFINITY = 4u; let e = 5u; let u32_ = 6u; let f32_ = 7u; let slot = 8u; let arr = 9u; let barrier = 10u;
    if i < arrayLength(&out) { out[i] = const_ + x + wg_shared[31u - char] + threadIdx + EOF + INFINITY + e + u32_ + f32_ + slot + arr + barrier; }
    if i < arrayLength(&out_len) { out_len[i] = i; }
}

// A member that is called as a struct, and names that the kernel's symbol and namespace have.
struct A { x: u32 }
struct B { A: A, b: A, B: u32, put: vec3<u32>, u32: u32, vec: u32 }
const wgk_hidden = array<u32, 5>(1u, 2u, 3u, 4u, 5u);

@compute @workgroup_size(32)
fn hidden(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&out) { return; }
    var both = array<B, 2>();
    both[id.x % 2u].A.x = wgk_hidden[id.x % 5u];
    both[1].b = both[0].A;
    both[0].B = both[1].b.x + wgk_main(both[id.x % 2u].vec);
    both[0].u32 = both[0].B;
    out[id.x] = both[0].u32 + both[id.y % 2u].put.x;
}
