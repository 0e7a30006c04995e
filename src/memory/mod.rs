//! Memory: handles that callers share, accounts that pay, and the pool that decides where bytes lie.

mod account;
mod handle;
mod pool;
pub(crate) mod ranges;
mod usage;

pub use account::{Account, Charge};
pub use handle::{Access, BufferBinding, ClaimKey, DeviceId, Handle, ManagedMemoryId, Memory, MemoryService};
pub use pool::{PageId, PageRequest, Pool, PoolConfig, Reservation, Slice};
pub use usage::{MemoryUsage, TrimReport};
