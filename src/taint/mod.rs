//! Which failure owns which bytes (C-75 to C-82 in docs/CAPTURE.md).
//!
//! A replay is all or nothing, so bytes that a failed one would have written are not results. The [`Ledger`] remembers
//! them, range by range, and a read of them answers the failure.

mod intervals;
mod ledger;

pub use ledger::Ledger;

pub(crate) use ledger::Coverage;
