//! Packets of a queue, as the public header lays them out.
#![expect(unsafe_code, reason = "packets lie in memory that the runtime above writes")]

use std::sync::atomic::{AtomicU16, Ordering};

use crate::abi::Signal;

/// Bytes of a packet.
pub(crate) const BYTES: usize = 64;

/// The type of a packet that nobody wrote yet, or that was done.
pub(crate) const INVALID: u16 = 1;

/// What a packet asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Dispatch(Dispatch),
    /// All of the signals are zero.
    BarrierAnd([Signal; 5]),
    /// One of the signals is zero.
    BarrierOr([Signal; 5]),
    /// A signal's masked value satisfies a condition.
    BarrierValue {
        signal: Signal,
        value: i64,
        mask: i64,
        condition: u32,
    },
    /// A packet of no known type.
    Unknown(u16),
}

/// One launch of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dispatch {
    pub(crate) workgroup: [u32; 3],
    /// Invocations in each dimension.
    pub(crate) grid: [u32; 3],
    pub(crate) group_bytes: u32,
    pub(crate) object: u64,
    pub(crate) arguments: usize,
}

/// A packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) work: Work,
    /// Whether it waits for all before it.
    pub(crate) barrier: bool,
    pub(crate) completion: Signal,
}

fn half(bytes: &[u8; BYTES], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn word(bytes: &[u8; BYTES], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn long(bytes: &[u8; BYTES], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

impl Packet {
    /// Read a packet whose header is written.
    pub(crate) fn decode(bytes: &[u8; BYTES]) -> Self {
        let header = half(bytes, 0);
        let signals = || std::array::from_fn(|at| Signal(long(bytes, 8 + 8 * at)));
        let work = match (header & 0xFF, bytes[2]) {
            (2, _) => Work::Dispatch(Dispatch {
                workgroup: std::array::from_fn(|at| u32::from(half(bytes, 4 + 2 * at))),
                grid: std::array::from_fn(|at| word(bytes, 12 + 4 * at)),
                group_bytes: word(bytes, 28),
                object: long(bytes, 32),
                arguments: usize::try_from(long(bytes, 40)).unwrap_or(0),
            }),
            (3, _) => Work::BarrierAnd(signals()),
            (5, _) => Work::BarrierOr(signals()),
            (0, 2) => Work::BarrierValue {
                signal: Signal(long(bytes, 8)),
                value: long(bytes, 16).cast_signed(),
                mask: long(bytes, 24).cast_signed(),
                condition: word(bytes, 32),
            },
            (kind, _) => Work::Unknown(kind),
        };
        Self { work, barrier: header >> 8 & 1 == 1, completion: Signal(long(bytes, 56)) }
    }
}

/// The header of the packet at an address of a queue's ring.
fn header(at: usize) -> &'static AtomicU16 {
    // SAFETY: rings are made by this library, aligned, and live as long as their queue's thread, which alone calls this.
    unsafe { AtomicU16::from_ptr(at as *mut u16) }
}

/// The packet at an address, once its header is written.
pub(crate) fn published(at: usize) -> Option<Packet> {
    if header(at).load(Ordering::Acquire) & 0xFF == INVALID {
        return None;
    }
    // SAFETY: as in `header`; whoever writes a packet writes its header last.
    let bytes = unsafe { std::ptr::read(at as *const [u8; BYTES]) };
    Some(Packet::decode(&bytes))
}

/// Free the place of a packet that is done.
pub(crate) fn retire(at: usize) {
    header(at).store(INVALID, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_read_as_the_header_lays_them_out() {
        let mut bytes = [0u8; BYTES];
        bytes[..2].copy_from_slice(&(2u16 | 1 << 8).to_le_bytes());
        bytes[4..6].copy_from_slice(&64u16.to_le_bytes());
        bytes[12..16].copy_from_slice(&128u32.to_le_bytes());
        bytes[32..40].copy_from_slice(&7u64.to_le_bytes());
        bytes[56..].copy_from_slice(&9u64.to_le_bytes());
        let packet = Packet::decode(&bytes);
        assert!(packet.barrier);
        assert_eq!(packet.completion, Signal(9));
        let Work::Dispatch(dispatch) = packet.work else { panic!("{packet:?}") };
        assert_eq!((dispatch.workgroup[0], dispatch.grid[0], dispatch.object), (64, 128, 7));
        let mut bytes = [0u8; BYTES];
        bytes[2] = 2;
        bytes[32] = 3;
        assert!(matches!(Packet::decode(&bytes).work, Work::BarrierValue { condition: 3, .. }));
        bytes[0] = 77;
        assert_eq!(Packet::decode(&bytes).work, Work::Unknown(77));
    }
}
