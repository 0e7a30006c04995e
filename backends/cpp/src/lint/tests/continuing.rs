//! `continuing` and `break if` beside the body's `let`s.

use super::{CLEAN, LET, check, kernel, lints};

#[test]
fn what_continuing_may_read() {
    check(&[
        ("loop { let x = out[0]; continuing { break if x > 3u; } }", LET),
        ("loop { let x = out[0]; continuing { out[1] = x; break if scalar > 3u; } }", LET),
        ("loop { let x = lane + 1u; if scalar > 3u { break; } continuing { out[1] += x; } }", LET),
        ("loop { let x = atomicAdd(&counter, 1u); continuing { break if x > 3u; } }", LET),
        ("loop { let x = workgroupUniformLoad(&flag); continuing { break if x > 3u; } }", LET),
        ("loop { let x = lane + 1u; continuing { if x > 3u { out[0] = 1u; } break if scalar > 3u; } }", LET),
        ("loop { let x = lane + 1u; continuing { out[0] = x; out[1] = x; break if x > 3u; } }", LET),
        (
            "loop { let x = lane + 1u; let y = lane + 2u; continuing { break if x > y; } }",
            &["body-let-in-continuing"; 2],
        ),
        ("loop { let x = lane + 1u; loop { continuing { break if x > 3u; } } continuing { break if x > 3u; } }", LET),
        (
            "loop { let x = lane + 1u; loop { continuing { break if x > 3u; } } continuing { break if scalar > 3u; } }",
            CLEAN,
        ),
        ("let x = out[0]; loop { continuing { break if x > 3u; } }", CLEAN),
        ("var x = 0u; loop { x = out[0]; continuing { break if x > 3u; } }", CLEAN),
        ("loop { let x = 3u; continuing { break if x > scalar; } }", CLEAN),
        ("loop { const x = 3u; continuing { break if x > scalar; } }", CLEAN),
        ("loop { let x = out[0]; if x > 3u { break; } continuing { out[1] += 1u; } }", CLEAN),
        ("loop { continuing { let x = out[0]; break if x > 3u; } }", CLEAN),
        ("for (var i = 0u; i < 4u; i++) { let x = out[i]; out[i] = x + 1u; }", CLEAN),
        ("var a: array<u32, 4>; loop { let p = &a[2]; continuing { *p += 1u; break if scalar > 3u; } }", CLEAN),
        ("var a: array<u32, 4>; loop { let p = &a[out[0]]; continuing { *p += 1u; break if scalar > 3u; } }", LET),
    ]);
}

#[test]
fn the_reader_and_the_let_are_named() {
    let text =
        kernel("", "loop {\n  let x = out[0];\n  continuing {\n    out[1] = x;\n    break if scalar > 3u;\n  }\n}");
    let [lint] = &lints(&text)[..] else { panic!("{:?}", lints(&text)) };
    let line = |of: &str| text.lines().position(|line| line.contains(of)).expect("it is there") + 1;
    assert_eq!(lint.line as usize, line("out[1] = x"));
    assert!(lint.message.contains(&format!("`x`, a `let` of the loop's body (line {})", line("let x"))));
}
