//! The bytes of an entry: a header that says which key it is for and how much follows, and a digest over all of it.

use sha2::{Digest, Sha256};

use super::key::{DIGEST_BYTES, Key};

/// What every entry begins with. The digit is the format's.
const MAGIC: &[u8; 16] = b"graphreel-code-1";

/// Bytes of a length.
const LENGTH_BYTES: usize = 8;

/// Bytes before the code: magic, key, length, digest.
pub(super) const HEADER_BYTES: usize = MAGIC.len() + DIGEST_BYTES + LENGTH_BYTES + DIGEST_BYTES;

/// How an entry differs from what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Corruption {
    /// A folder, a link or the like is in its place.
    #[error("it is no plain file")]
    NotAFile,
    /// It is shorter than a header.
    #[error("it ends within its header")]
    Header,
    /// It does not begin as one.
    #[error("it is of another format")]
    Magic,
    /// It is another key's.
    #[error("it is the entry of another key")]
    Key,
    /// It is shorter or longer than it says.
    #[error("it has another length than it says")]
    Length,
    /// It is not what was written.
    #[error("its digest is wrong")]
    Digest,
}

/// The header of an entry.
pub(super) fn header(key: &Key, code: &[u8]) -> [u8; HEADER_BYTES] {
    let length = (code.len() as u64).to_le_bytes();
    let digest = digest(key, length, code);
    let mut header = [0; HEADER_BYTES];
    let mut rest = header.as_mut_slice();
    for part in [MAGIC.as_slice(), key.bytes(), &length, &digest] {
        let (here, after) = rest.split_at_mut(part.len());
        here.copy_from_slice(part);
        rest = after;
    }
    header
}

/// The code of an entry, if it is whole and the key's.
pub(super) fn code(key: &Key, mut entry: Vec<u8>) -> Result<Vec<u8>, Corruption> {
    let (magic, rest) = entry.split_first_chunk::<{ MAGIC.len() }>().ok_or(Corruption::Header)?;
    let (of, rest) = rest.split_first_chunk::<DIGEST_BYTES>().ok_or(Corruption::Header)?;
    let (length, rest) = rest.split_first_chunk::<LENGTH_BYTES>().ok_or(Corruption::Header)?;
    let (sealed, code) = rest.split_first_chunk::<DIGEST_BYTES>().ok_or(Corruption::Header)?;
    if magic != MAGIC {
        return Err(Corruption::Magic);
    }
    if of != key.bytes() {
        return Err(Corruption::Key);
    }
    if u64::from_le_bytes(*length) != code.len() as u64 {
        return Err(Corruption::Length);
    }
    if digest(key, *length, code) != *sealed {
        return Err(Corruption::Digest);
    }
    entry.drain(..HEADER_BYTES);
    Ok(entry)
}

fn digest(key: &Key, length: [u8; LENGTH_BYTES], code: &[u8]) -> [u8; DIGEST_BYTES] {
    let mut digest = Sha256::new();
    digest.update(MAGIC);
    digest.update(key.bytes());
    digest.update(length);
    digest.update(code);
    digest.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::super::KeyParts;
    use super::*;

    fn key(source: &str) -> Key {
        Key::new(&KeyParts { source, options: &[], compiler: "", driver: "", architecture: "" })
    }

    #[test]
    fn every_byte_counts() {
        let (one, text) = (key("one"), b"some code".as_slice());
        let whole = [&header(&one, text), text].concat();
        assert_eq!(code(&one, whole.clone()).as_deref(), Ok(text));
        assert_eq!(code(&key("two"), whole.clone()), Err(Corruption::Key));
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            let expected = match at {
                0..16 => Corruption::Magic,
                16..48 => Corruption::Key,
                48..56 => Corruption::Length,
                _ => Corruption::Digest,
            };
            assert_eq!(code(&one, changed), Err(expected), "byte {at}");
            let expected = if at < HEADER_BYTES { Corruption::Header } else { Corruption::Length };
            assert_eq!(code(&one, whole[..at].to_vec()), Err(expected), "the first {at} bytes");
        }
        assert_eq!(code(&one, [whole, vec![0]].concat()), Err(Corruption::Length));
    }
}
