//! The `graphreel` program as its users run it: exit codes, output, errors, JSON.

mod bench;
mod cache;
mod check;
mod devices;
mod emit;
mod program;
mod serve_check;
mod sim;
mod usage;
