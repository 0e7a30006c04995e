//! Attempts: one execution try of one query, from its begin to the report that everybody can rely on.
//!
//! | Module | What it holds |
//! | --- | --- |
//! | `core` | what outlives the GPU resources: counters, queue, delivery |
//! | `state` | what an attempt is doing, as decisions without locks |
//! | `cell` | an attempt under its lock, and the order of its end |
//! | `owner`, `binding` | who ends it, and who may attach to it |
//! | `resources` | what it holds of a device, and how that is given back |
//! | `completion`, `ledger` | where its report goes |
//! | `report`, `activity` | the report, and what is dropped last |

pub mod activity;
pub mod binding;
mod cell;
pub mod completion;
pub(crate) mod core;
pub mod ledger;
pub mod owner;
pub mod report;
pub(crate) mod resources;
mod state;
#[cfg(test)]
mod tests;
