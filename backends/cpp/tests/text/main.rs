//! What is written, told by its text alone: no compiler is needed.

mod limits;
mod lines;
mod names;
mod options;
mod refusals;
mod rig;
mod snapshots;
