//! Loops: what differs in one round is in the next.

use super::{BARRIER, CLEAN, RETURN, SUBGROUP, check};

#[test]
fn barriers_in_loops() {
    check(&[
        ("for (var i = 0u; i < 4u; i++) { workgroupBarrier(); }", CLEAN),
        ("for (var i = 0u; i < params.n; i++) { workgroupBarrier(); }", CLEAN),
        ("for (var i = group.x; i < table[0]; i += groups.x) { workgroupBarrier(); }", CLEAN),
        ("for (var i = lane; i < 64u; i += 8u) { workgroupBarrier(); }", BARRIER),
        ("for (var i = 0u; i < lane; i++) { workgroupBarrier(); }", BARRIER),
        ("for (var i = 0u; i < lane; i++) { } workgroupBarrier();", CLEAN),
        ("for (var i = 0u; i < 10u; i++) { workgroupBarrier(); if (lane + i) > 7u { break; } }", BARRIER),
        ("for (var i = 0u; i < 10u; i++) { workgroupBarrier(); if (group.x + i) > 7u { break; } }", CLEAN),
        ("for (var i = 0u; i < 10u; i++) { if lane > 7u { continue; } workgroupBarrier(); }", BARRIER),
        ("for (var i = 0u; i < 10u; i++) { if i == 7u { continue; } workgroupBarrier(); }", CLEAN),
        ("for (var i = 0u; i < 10u; i++) { if lane > i { out[lane] = i; } workgroupBarrier(); }", CLEAN),
        ("while table[group.x] > 3u { workgroupBarrier(); }", CLEAN),
        ("while table[lane] > 3u { workgroupBarrier(); }", BARRIER),
        ("while group.x < 3u && scalar > 2u { workgroupBarrier(); }", CLEAN),
        ("while group.x < 3u && lane > 2u { workgroupBarrier(); }", BARRIER),
        ("while out[0] > 3u { workgroupBarrier(); }", BARRIER),
        ("loop { workgroupBarrier(); break; }", CLEAN),
        ("loop { workgroupBarrier(); continuing { break if scalar > 3u; } }", CLEAN),
        ("loop { workgroupBarrier(); continuing { break if table[lane] > 3u; } }", BARRIER),
        ("loop { if lane > 3u { break; } } workgroupBarrier();", CLEAN),
        ("loop { if lane > 3u { break; } if group.x > 3u { return; } } workgroupBarrier();", RETURN),
        ("loop { if group.x > 3u { return; } if groups.x > 3u { break; } } workgroupBarrier();", CLEAN),
        (
            "for (var i = 0u; i < 4u; i++) { for (var j = 0u; j < lane; j++) { out[j] = i; } workgroupBarrier(); }",
            CLEAN,
        ),
        ("for (var i = 0u; i < lane; i++) { for (var j = 0u; j < 4u; j++) { workgroupBarrier(); } }", BARRIER),
        (
            "for (var i = 0u; i < 4u; i++) { switch i { case 2u: { if lane > 3u { continue; } } default: {} } \
          workgroupBarrier(); }",
            BARRIER,
        ),
        (
            "for (var i = 0u; i < 4u; i++) { switch i { case 2u: { if lane > 3u { break; } } default: {} } \
          workgroupBarrier(); }",
            CLEAN,
        ),
    ]);
}

#[test]
fn variables_carried_by_loops() {
    check(&[
        ("var x = 0u; for (var i = 0u; i < 4u; i++) { x += i; } if x > 3u { workgroupBarrier(); }", CLEAN),
        ("var x = 0u; for (var i = 0u; i < 4u; i++) { x += lane; } if x > 3u { workgroupBarrier(); }", BARRIER),
        ("var x = 0u; for (var i = 0u; i < lane; i++) { x += 1u; } if x > 3u { workgroupBarrier(); }", BARRIER),
        ("var x = 0u; for (var i = 0u; i < 4u; i++) { if x > 3u { workgroupBarrier(); } x += lane; }", BARRIER),
        ("var x = 0u; for (var i = 0u; i < 4u; i++) { x = lane; x = 0u; if x > 3u { workgroupBarrier(); } }", CLEAN),
        (
            "var x = 0u; var y = 0u; for (var i = 0u; i < 4u; i++) { if y > 3u { workgroupBarrier(); } y = x; x = lane; }",
            BARRIER,
        ),
        ("for (var i = 0u; i < 4u; i++) { var x = 0u; if x > 3u { workgroupBarrier(); } x = lane; }", CLEAN),
        ("for (var i = 0u; i < 4u; i++) { var x: u32; if x > 3u { workgroupBarrier(); } x = lane; }", CLEAN),
        (
            "var x = 0u; loop { if group.x > 3u { x = lane; break; } if scalar > 3u { x = 1u; break; } } \
          if x > 3u { workgroupBarrier(); }",
            BARRIER,
        ),
        (
            "var x = lane; loop { if group.x > 3u { x = 2u; break; } if scalar > 3u { x = 1u; break; } } \
          if x > 3u { workgroupBarrier(); }",
            CLEAN,
        ),
        (
            "var x = 0u; loop { x = 1u; if lane > 3u { break; } x = 2u; if scalar > 3u { break; } } \
          if x == 1u { workgroupBarrier(); }",
            BARRIER,
        ),
        (
            "var x = 0u; loop { if group.x > 3u { x = lane; continue; } x = 0u; \
          continuing { if x > 3u { workgroupBarrier(); } break if scalar > 3u; } }",
            BARRIER,
        ),
        (
            "var x = lane; loop { if group.x > 3u { x = 1u; continue; } x = 0u; \
          continuing { if x > 3u { workgroupBarrier(); } break if scalar > 3u; } }",
            CLEAN,
        ),
        ("var x = 0u; while x < 9u { x += 1u; workgroupBarrier(); }", CLEAN),
        ("var x = lane; while x < 9u { x += 1u; out[x] = subgroupAdd(x); }", SUBGROUP),
        ("var x = sub; while x < 9u { x += 1u; out[x] = subgroupAdd(x); }", CLEAN),
        ("var x = 1u; while subgroupAny(x < lane) { x += subgroupAdd(x); }", CLEAN),
        // The usual tree reduction, and the usual grid-stride loop.
        (
            "for (var step = 32u; step > 0u; step /= 2u) { if lane < step { shared_[lane] += shared_[lane + step]; } \
          workgroupBarrier(); } if lane == 0u { out[group.x] = shared_[0]; }",
            CLEAN,
        ),
        ("for (var i = id.x; i < params.n; i += groups.x * 64u) { out[i] = table[i]; }", CLEAN),
        (
            "for (var base = group.x * 64u; base < params.n; base += groups.x * 64u) { var x = 0u; \
          if base + lane < params.n { x = table[base + lane]; } shared_[lane] = x; workgroupBarrier(); \
          out[base + lane] = subgroupAdd(shared_[63u - lane]); workgroupBarrier(); }",
            CLEAN,
        ),
    ]);
}
