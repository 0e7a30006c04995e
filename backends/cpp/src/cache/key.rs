//! What decides which compiled code is meant: a digest over everything that a compiler's output depends on.

use std::fmt;

use sha2::{Digest, Sha256};

/// Bytes of a digest.
pub(super) const DIGEST_BYTES: usize = 32;

/// Everything that compiled code depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyParts<'a> {
    /// The whole text that the vendor's compiler gets, the prelude included.
    pub source: &'a str,
    /// The compiler's options, in order.
    pub options: &'a [&'a str],
    /// The compiler: its name, version, and whatever else tells its releases apart.
    pub compiler: &'a str,
    /// The driver's version.
    pub driver: &'a str,
    /// What the code is for: `sm_90`, `gfx90a`.
    pub architecture: &'a str,
}

/// The name of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key([u8; DIGEST_BYTES]);

impl Key {
    /// The key of all parts and of this version of the writer, each with its length, so that no two lists make one text.
    pub fn new(parts: &KeyParts<'_>) -> Self {
        let KeyParts { source, options, compiler, driver, architecture } = *parts;
        let mut digest = Sha256::new();
        let mut add = |text: &str| {
            digest.update((text.len() as u64).to_le_bytes());
            digest.update(text);
        };
        for text in [env!("CARGO_PKG_VERSION"), compiler, driver, architecture, source] {
            add(text);
        }
        for option in options {
            add(option);
        }
        Self(digest.finalize().into())
    }

    pub(super) fn bytes(&self) -> &[u8; DIGEST_BYTES] {
        &self.0
    }
}

/// Hexadecimal digits: the name of the entry's file.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_changes_the_key() {
        let parts = KeyParts { source: "s", options: &["a", "b"], compiler: "c", driver: "d", architecture: "e" };
        let keys = [
            parts,
            KeyParts { source: "t", ..parts },
            KeyParts { options: &["a"], ..parts },
            KeyParts { options: &["b", "a"], ..parts },
            KeyParts { options: &["ab"], ..parts },
            KeyParts { compiler: "cd", driver: "", ..parts },
            KeyParts { driver: "x", ..parts },
            KeyParts { architecture: "x", ..parts },
        ]
        .map(|parts| Key::new(&parts));
        for (index, key) in keys.iter().enumerate() {
            assert!(!keys[..index].contains(key), "{index}");
        }
        assert_eq!(keys[0], Key::new(&parts));
        assert_eq!(keys[0].to_string().len(), 2 * DIGEST_BYTES);
    }
}
