//! AMD's own HIP runtime on the software device: what a program does with it comes out right, on each version and at both wave
//! sizes, with the device's operations delayed by a seed.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod below;
mod capture;
mod eager;
mod faults;
mod graphs;
mod hip;
mod leaks;
mod matrix;
mod promises;
