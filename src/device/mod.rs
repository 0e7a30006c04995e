//! The handles that callers hold: cheap, cloneable, `Send + Sync`, over one device behind one lock.

mod monitor;

pub use monitor::Monitor;
