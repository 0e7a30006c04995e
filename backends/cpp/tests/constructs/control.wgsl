// Every form of control flow, with values that cross it.

@group(0) @binding(0) var<storage, read> ints: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

var<private> touched: u32;

fn touch(value: u32) -> bool {
    touched = touched * 31u + value + 1u;
    return value % 3u == 0u;
}

@compute @workgroup_size(32)
fn loops(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i >= arrayLength(&out) { return; }
    var sum = ints[i % arrayLength(&ints)];
    for (var a = 0u; a < 5u; a++) {
        if a == 3u { continue; }
        for (var b = a; b < 7u; b += 2u) {
            if (b + i) % 5u == 0u { break; }
            sum = sum * 3u + b;
        }
        sum += a;
    }
    var n = i % 9u;
    while n > 0u {
        n -= 1u;
        if n == 4u { continue; }
        sum ^= n << 2u;
    }
    loop {
        sum += 7u;
        if sum % 4u == 1u { break; }
        continuing {
            sum += 1u;
            break if sum % 11u == 0u;
        }
    }
    out[i] = sum;
}

// Values of the body that `continuing` and `break if` read, with and without jumps over the rest of the body.
@compute @workgroup_size(32)
fn hoisted(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i >= arrayLength(&out) { return; }
    var sum = i;
    var round = 0u;
    loop {
        let step = round * 2u + 1u;
        let twice = step * step;
        var kept = twice + i;
        if twice % 3u == 0u { continue; }
        switch round % 4u {
            case 1u: { kept += 5u; continue; }
            case 2u, 3u: { sum += kept; }
            default: { break; }
        }
        sum += 2u;
        continuing {
            let late = step + round;
            sum = sum * 3u + late + twice;
            round += 1u;
            for (var k = 0u; k < step % 3u; k++) {
                if k == 1u { continue; }
                sum += k + twice;
            }
            break if late > 12u || touch(step + twice);
        }
    }
    out[i] = sum + touched;
}

// Parts of values, taken in the body and read after it.
@compute @workgroup_size(32)
fn hoisted_parts(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i >= arrayLength(&out) { return; }
    var sum = i;
    var n = 0u;
    loop {
        if n >= 5u { break; }
        let element = vec3<u32>(i, n, 7u)[n % 3u];
        let pair = array<vec2<u32>, 2>(vec2(n, i), vec2(3u, n))[(n + i) % 2u];
        let part = pair.y;
        if part % 5u == 4u { continue; }
        sum += 1u;
        continuing {
            sum = sum * 3u + element + part + pair.x;
            n += 1u;
            break if element > 1000u;
        }
    }
    out[i] = sum;
}

fn early(value: u32, limit: u32) -> u32 {
    for (var a = 0u; a < limit; a++) {
        if a * a > value { return a; }
        switch a {
            case 3u: { if value % 2u == 0u { return 100u + a; } }
            case 4u, 5u: { continue; }
            default: {}
        }
        loop {
            if value > 20u { break; }
            return value + a;
        }
    }
    return limit;
}

fn forever(value: u32) -> u32 {
    var x = value;
    loop {
        if x > 100u { return x; }
        x = x * 2u + 1u;
    }
    return 0u;
}

@compute @workgroup_size(32)
fn returns(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i >= arrayLength(&out) { return; }
    out[i] = early(i, 9u) * 1000u + forever(i);
    if i % 2u == 0u { return; } else if i % 3u == 0u { out[i] += 1u; return; }
    out[i] += 2u;
}

@compute @workgroup_size(32)
fn switches(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i >= arrayLength(&out) { return; }
    var sum = 0u;
    switch i32(i) - 3 {
        case -3, -2: { sum = 1u; }
        default: { sum = 2u; if i == 9u { break; } sum = 3u; }
        case 0: { }
        case 4: { sum = 4u; switch i { case 7u: { sum += 40u; } default: { sum += 50u; } } }
        case -2147483648: { sum = 99u; }
    }
    switch i % 7u { default { sum += 10u; } }
    switch i % 5u { case 0u { sum += 100u; } case default, 4u { sum += 200u; } case 1u { return; } }
    out[i] = sum;
}

// Operands with effects: the right one only where it decides.
@compute @workgroup_size(32)
fn circuits(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i >= arrayLength(&out) { return; }
    var flags = 0u;
    if touch(i) && touch(i + 1u) || touch(i + 2u) { flags |= 1u; }
    if !(touch(i * 2u) || touch(i + 4u)) && (i % 2u == 0u) { flags |= 2u; }
    let both = touch(i) & touch(i + 3u);
    let one = touch(i) | touch(7u);
    out[i] = touched * 16u + flags + select(0u, 4u, both) + select(0u, 8u, one);
}

fn kind(x: u32) -> u32 {
    if x == 0u { return 10u; } else if x * 3u == 3u { return 11u; } else if x == 2u { return 12u; } else if x == 3u { return 13u; }
    else if x == 4u { return 14u; } else if x == 5u { return 15u; } else if x == 6u { return 16u; } else if x == 7u { return 17u; }
    else if x == 8u { return 18u; } else if x == 9u { return 19u; } else if x == 10u { return 20u; } else if x == 11u { return 21u; }
    else if x == 12u { return 22u; } else if x == 13u { return 23u; } else if x == 14u { return 24u; } else if x == 15u { return 25u; }
    else if x == 16u { return 26u; } else if x == 17u { return 27u; } else if x == 18u { return 28u; } else if x == 19u { return 29u; }
    else { return 30u; }
}

@compute @workgroup_size(32)
fn chains(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i >= arrayLength(&out) { return; }
    var x = kind(i);
    for (var a = 0u; a < 3u; a++) {
        let y = x * x + a;
        if y % 20u == 0u { x += 1u; } else if y % 20u == 1u { x += 2u; continue; } else if y % 20u == 2u { x += 3u; }
        else if y % 20u == 3u { x += 4u; } else if y % 20u == 4u { x += 5u; } else if y % 20u == 5u { x += 6u; break; }
        else if y % 20u == 6u { x += 7u; } else if y % 20u == 7u { x += 8u; } else if y % 20u == 8u { x += 9u; }
        else if y % 20u == 9u { x += 10u; } else if y % 20u == 10u { x += 11u; } else if y % 20u == 11u { x += 12u; }
        else if y % 20u == 12u { x += 13u; } else if y % 20u == 13u { x += 14u; } else if y % 20u == 14u { x += 15u; }
        else if y % 20u == 15u { x += 16u; } else if y % 20u == 16u { x += 17u; } else if y % 20u == 17u { x += 18u; }
        else if y % 20u == 18u { x += 19u; } else { x += 20u; }
    }
    out[i] = x;
}

// Loads keep the value of their moment, whatever is stored before they are used.
@compute @workgroup_size(32)
fn moments(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i >= arrayLength(&out) { return; }
    var a = i;
    var b = i + 1u;
    let before = a;
    a = b * 2u;
    let pair = vec2(a, b);
    b = a + before;
    let c = a;
    a = b; b = c;
    var v = array<u32, 3>(a, b, c);
    let j = before % 3u;
    let p = &v[j];
    a = 77u;
    *p = *p + v[(j + 1u) % 3u];
    let copy = v;
    v[0] = 9u;
    out[i] = copy[0] + copy[1] * 3u + copy[2] * 5u + v[0] + pair.x + pair.y * 7u + a + b;
}
