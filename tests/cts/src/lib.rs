//! Runs the expectation files of the WebGPU conformance test suite on any Graphreel device: for each builtin, operator and
//! conversion, inputs and the results that WGSL accepts for them.
//!
//! The files are data of that suite and not part of this repository: `GRAPHREEL_CTS_DIR` names the folder that has them.
//! A backend implements `graphreel_testkit::Fixture` and writes `graphreel_cts::lists!(MyFixture);` in a test file.

mod cursor;
pub mod error;
mod expectation;
mod expression;
mod file;
pub mod folder;
mod layout;
mod plan;
pub mod report;
mod run;
pub mod suite;
mod value;

pub use error::{DecodeError, LoadError, PlanError, RunError};
pub use expectation::{Expectation, Interval, judge};
pub use file::{Case, File, List, decode, load};
pub use plan::Plan;
pub use report::{Failure, ListReport, Outcome, Report};
pub use run::{run_all, run_file, run_list, run_widths};
pub use value::{Scalar, ScalarKind, Shape, Value};
