//! What kernels in CUDA C++ do to a device that nothing checks: a wild store, a trap, a misaligned load, a stack that is too
//! deep. NVIDIA's driver gets over none within its process, so each has a child of its own, which must end by itself.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod child;
mod device;
mod facade;
mod kernels;
mod pressure;

use graphreel::recording::Tier;

use child::{CASE, ends};
use kernels::Fault;

/// The entry of a child, and nothing in any other run.
#[test]
fn child_entry() {
    let Ok(case) = std::env::var(CASE) else { return };
    let (form, name) = case.split_once('/').expect("a case is a form and a fault");
    let fault = Fault::ALL.into_iter().find(|fault| fault.name() == name).expect("there is such a fault");
    child::watch(&case);
    match form {
        "eager" => device::eager(fault),
        "captured" => device::replayed(fault, Tier::Captured),
        "built" => device::replayed(fault, Tier::Built),
        "backend" => facade::attempt(fault),
        other => panic!("there is no form {other}"),
    }
}

/// One test for each form of each fault.
macro_rules! cases {
    ($($fault:ident, $module:ident;)*) => {
        $(mod $module {
            use super::{Fault, ends};

            #[test]
            fn an_eager_launch() {
                ends("eager", Fault::$fault);
            }

            #[test]
            fn a_captured_replay() {
                ends("captured", Fault::$fault);
            }

            #[test]
            fn a_built_replay() {
                ends("built", Fault::$fault);
            }

            #[test]
            fn an_attempt_of_a_backend() {
                ends("backend", Fault::$fault);
            }
        })*
    };
}

cases! {
    OutOfRange, out_of_range;
    Trap, trap;
    Misaligned, misaligned;
    Stack, stack_overflow;
}
