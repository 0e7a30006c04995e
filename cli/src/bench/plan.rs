//! Work as data: kernels, buffers, nodes and the bytes they must leave. Every way to run it starts from the same plan.

use graphreel::KernelSource;
use graphreel::kernel::Value;

/// The word that fills every buffer but the inputs before a verified run, so that work which did not run shows.
pub(crate) const POISON: u32 = 0xdead_beef;

/// Work to be run eagerly, as a graph, and by hand.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Kernels, each once.
    pub(crate) kernels: Vec<KernelSource>,
    /// Buffers, each an allocation of its own.
    pub(crate) buffers: Vec<Contents>,
    /// Launches, in order.
    pub(crate) nodes: Vec<Node>,
    /// What must be found when all nodes have run.
    pub(crate) expected: Vec<Expected>,
}

/// What a buffer holds before the nodes run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Contents {
    /// These bytes. No node writes it.
    Input(Vec<u8>),
    /// Nothing of use, this many bytes long.
    Result(u64),
}

/// One launch.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Index in [`Plan::kernels`].
    pub(crate) kernel: usize,
    /// Workgroups in x, y and z.
    pub(crate) groups: [u32; 3],
    /// Indices in [`Plan::buffers`], in order of the kernel's bindings.
    pub(crate) buffers: Vec<usize>,
    /// Scalars of 4 bytes, in order of the kernel's immediate members.
    pub(crate) scalars: Vec<Value>,
}

/// Bytes that a buffer must hold in the end, from the host reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    /// Index in [`Plan::buffers`].
    pub(crate) buffer: usize,
    /// All of its bytes.
    pub(crate) bytes: Vec<u8>,
}

impl Contents {
    /// The bytes that a new buffer is filled with.
    pub(crate) fn initial(&self) -> Vec<u8> {
        match self {
            Self::Input(bytes) => bytes.clone(),
            Self::Result(bytes) => POISON.to_le_bytes().iter().copied().cycle().take(*bytes as usize).collect(),
        }
    }
}

impl Expected {
    /// Hold what was read against it.
    ///
    /// # Errors
    ///
    /// The first word that differs, for people.
    pub(crate) fn check(&self, found: &[u8]) -> Result<(), String> {
        if self.bytes == found {
            return Ok(());
        }
        if self.bytes.len() != found.len() {
            return Err(format!("buffer {} has {} bytes, not {}", self.buffer, found.len(), self.bytes.len()));
        }
        let words = |bytes: &[u8]| -> Vec<u32> {
            bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
        };
        let (want, have) = (words(&self.bytes), words(found));
        let wrong = want.iter().zip(&have).filter(|(want, have)| want != have).count();
        let index = want.iter().zip(&have).position(|(want, have)| want != have).unwrap_or(0);
        Err(format!(
            "{wrong} of {} words of buffer {} differ from the host's, first word {index}: {:#010x}, not {:#010x}",
            want.len(),
            self.buffer,
            have[index],
            want[index],
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_word_is_found_and_told() {
        let expected = Expected { buffer: 3, bytes: vec![1, 0, 0, 0, 2, 0, 0, 0] };
        assert_eq!(expected.check(&[1, 0, 0, 0, 2, 0, 0, 0]), Ok(()));
        let error = expected.check(&[1, 0, 0, 0, 7, 0, 0, 0]).expect_err("word 1 differs");
        assert!(error.contains("first word 1: 0x00000007, not 0x00000002"), "{error}");
        assert!(expected.check(&[1, 0, 0, 0]).is_err());
    }

    #[test]
    fn results_start_as_poison() {
        assert_eq!(Contents::Result(8).initial(), [POISON.to_le_bytes(), POISON.to_le_bytes()].concat());
    }
}
