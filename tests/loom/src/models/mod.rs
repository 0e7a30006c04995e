//! What the checker explores. Models live beside the core's files, since those show their parts to this crate alone.

pub mod admission;
