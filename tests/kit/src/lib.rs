//! The conformance suites that every backend runs: one set of tests over the handles and `dyn Server`, and a smaller one over the
//! [`Driver`](graphreel::graph::Driver) trait ([`waist`]) for backends that have one.
//!
//! A backend names itself by a [`Fixture`] and writes `graphreel_testkit::conformance!(MyFixture);` in a test file: each
//! entry of [`suite`] becomes a `#[test]` there. What a backend cannot do is listed in [`Fixture::expect`], so that a gap
//! is a line that people read and not a test that nobody wrote.

#[macro_use]
mod registry;

pub mod eager;
pub mod env;
pub mod fixture;
pub mod kernels;
pub mod reference;
pub mod storm;
pub mod suite;
pub mod waist;
pub mod watched;

pub use env::Env;
pub use fixture::{Expect, Faults, Fixture, Opened, announce, opened, run};
