//! Files to device memory: one pool of threads for the whole process reads them in pieces straight into staging memory, and
//! writes the pieces in order (B-193 to B-196).
//!
//! | Module | What it holds |
//! | --- | --- |
//! | [`config`] | threads and size of a piece, as asked for and in effect |
//! | `pool` | the threads, and who waits for a turn |
//! | `process` | the one pool, set up and set up again |
//! | [`source`] | what a caller asks for and holds |
//! | `transfer` | one read: pieces begun, filled and written |
//! | `file`, `failure` | reads at positions, and what goes wrong |

pub mod config;
mod failure;
mod file;
mod pool;
mod process;
pub mod source;
mod transfer;

pub use config::{IoPoolMode, IoPoolProcessConfig};
pub use process::configure_io_pool_process;
pub use source::{SourceProgress, SourceRead, SourceWork, read_source};
