//! Bundles of code objects, as clang's offload bundler makes them: one file for several architectures, of which AMD's runtime takes
//! the one of its device.

/// What a bundle begins with; the number of its entries comes next.
const BEGINNING: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";

/// Where an entry begins is a multiple of it, as pages are.
const ALIGNMENT: usize = 4096;

/// The number that `bytes` begins with, and what comes after it.
fn number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((usize::try_from(u64::from_le_bytes(*number)).ok()?, rest))
}

/// Every code object of an image: itself where it is no bundle. What lies outside of a bundle is left out.
pub(crate) fn code_objects(image: &[u8]) -> Vec<&[u8]> {
    let Some((count, mut rest)) = image.strip_prefix(BEGINNING).and_then(number) else { return vec![image] };
    let mut entry = || {
        let (offset, after) = number(rest)?;
        let (bytes, after) = number(after)?;
        let (name, after) = number(after)?;
        rest = after.get(name..)?;
        image.get(offset..)?.get(..bytes)
    };
    (0..count).map_while(|_| entry()).filter(|code| !code.is_empty()).collect()
}

/// A bundle of nothing for the host and of a code object for each architecture.
pub fn bundle(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let named = entries.iter().map(|(architecture, code)| (format!("hipv4-amdgcn-amd-amdhsa--{architecture}"), *code));
    let host = ("host-x86_64-unknown-linux-gnu-".to_owned(), &[][..]);
    let entries: Vec<(String, &[u8])> = std::iter::once(host).chain(named).collect();
    let header = BEGINNING.len() + 8 + entries.iter().map(|(name, _)| 24 + name.len()).sum::<usize>();
    let (mut head, mut at) = (BEGINNING.to_vec(), header.next_multiple_of(ALIGNMENT));
    head.extend((entries.len() as u64).to_le_bytes());
    let mut body = Vec::new();
    for (name, code) in &entries {
        for number in [at, code.len(), name.len()] {
            head.extend((number as u64).to_le_bytes());
        }
        head.extend(name.bytes());
        body.extend_from_slice(code);
        body.resize(body.len().next_multiple_of(ALIGNMENT), 0);
        at += code.len().next_multiple_of(ALIGNMENT);
    }
    head.resize(header.next_multiple_of(ALIGNMENT), 0);
    head.extend(body);
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_bundled_is_found() {
        let large = vec![7; 5000];
        let made = bundle(&[("gfx90a", b"one"), ("gfx1100", &large)]);
        assert_eq!(code_objects(&made), [&b"one"[..], &large]);
        assert_eq!(code_objects(b"\x7fELF and more"), [b"\x7fELF and more"]);
    }

    #[test]
    fn a_bundle_that_is_cut_ends_early() {
        let made = bundle(&[("gfx90a", b"one"), ("gfx1100", b"two")]);
        for bytes in 0..made.len() {
            assert!(code_objects(&made[..bytes]).len() <= 2, "{bytes}");
        }
        assert_eq!(code_objects(&made[..BEGINNING.len() + 8]).len(), 0);
        assert_eq!(code_objects(&made[..8192]), [b"one"]);
    }
}
