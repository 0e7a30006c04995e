//! The examples of Graphreel: `cargo run -p graphreel-examples --example NAME` runs one, and a test runs each.
//!
//! | Name | What it shows |
//! | --- | --- |
//! | `saxpy` | the shortest whole program |
//! | `capture_replay` | record once, replay, change a parameter |
//! | `two_streams` | order that follows the data |
//! | `injected_fault` | what a program is told when a driver call fails, on the simulator |
//! | `bring_your_own_device` | over the application's own wgpu device and buffers |

#[cfg(doctest)]
pub mod documents;
