//! Programs that know what they have to find, and name the line where they do not.

use super::program::{BOTH, Program};

fn check(main: &str) {
    for optimise in BOTH {
        let Some(program) = Program::new(main, optimise) else { return };
        let output = program.output(&[], &[]);
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert!(output.status.success(), "{text}");
    }
}

#[test]
fn memory_is_laid_out_and_kept() {
    check(include_str!("memory.cpp"));
}

#[test]
fn functions_of_floats_are_what_they_are_called() {
    check(include_str!("floats.cpp"));
}
