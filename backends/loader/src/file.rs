//! Whether a file may be given to the system's loader: an ordinary file that is as long as its own headers say.

use std::fs::{File, FileType};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use crate::Refused;

/// Bytes of the header of a 64-bit ELF file.
const HEADER_BYTES: usize = 64;

/// Bytes of one of its program headers. The loader refuses files with others.
const SEGMENT_BYTES: u16 = 56;

/// The type of a program header whose part of the file is mapped.
const PT_LOAD: u32 = 1;

/// Why a file must not be loaded. What the loader refuses by itself is left to it.
///
/// # Errors
///
/// [`Refused`], in one line.
pub(crate) fn check(path: &Path) -> Result<(), Refused> {
    let broken = |why: String| Err(Refused::Broken(why));
    // Links are followed, and nothing is opened that could keep the call waiting.
    let found = match std::fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(Refused::Absent),
        Err(error) => return broken(format!("it cannot be looked at: {error}")),
    };
    if !found.is_file() {
        return broken(format!("it is {}, not a file", kind(found.file_type())));
    }
    if found.len() == 0 {
        return broken("it is an empty file".to_owned());
    }
    match whole_bytes(path, found.len()) {
        Ok(Some(whole)) if whole > found.len() => broken(format!("it is cut short: {} of {whole} bytes", found.len())),
        Ok(_) => Ok(()),
        Err(error) => broken(format!("it cannot be read: {error}")),
    }
}

/// What is there in the place of a file.
fn kind(found: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if found.is_fifo() {
            return "a pipe";
        }
        if found.is_socket() {
            return "a socket";
        }
        if found.is_block_device() || found.is_char_device() {
            return "a device";
        }
    }
    if found.is_dir() { "a directory" } else { "something else" }
}

/// The bytes that a file has to have by its own headers: the headers themselves, all that is mapped, and the table of sections,
/// which is last in files as linkers write them. `None` for what is no ELF file of this machine's kind. `bytes` is what it has.
fn whole_bytes(path: &Path, bytes: u64) -> io::Result<Option<u64>> {
    let mut file = File::open(path)?;
    let mut header = Vec::new();
    file.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut header)?;
    let is_ours = |header: &[u8]| {
        let ident = header.get(4..6).is_some_and(|kinds| kinds == [2, 1]);
        header.starts_with(b"\x7fELF") && ident && cfg!(all(target_pointer_width = "64", target_endian = "little"))
    };
    if !is_ours(&header) {
        return Ok(None);
    }
    if header.len() < HEADER_BYTES {
        return Ok(Some(HEADER_BYTES as u64));
    }
    let (segments_at, sections_at) = (long(&header, 32), long(&header, 40));
    let (segment_bytes, segments) = (short(&header, 54), short(&header, 56));
    // A table of more than can be counted here says its number in its first entry, which has to be there.
    let sections = if sections_at == 0 { 0 } else { u64::from(short(&header, 60)).max(1) };
    let segments_end = segments_at.saturating_add(u64::from(segment_bytes) * u64::from(segments));
    let sections_end = sections_at.saturating_add(u64::from(short(&header, 58)) * sections);
    let mut whole = segments_end.max(sections_end).max(HEADER_BYTES as u64);
    if segment_bytes != SEGMENT_BYTES || segments_end > bytes {
        return Ok(Some(whole));
    }
    file.seek(SeekFrom::Start(segments_at))?;
    let mut table = Vec::new();
    file.take(u64::from(segment_bytes) * u64::from(segments)).read_to_end(&mut table)?;
    let mapped = table.chunks_exact(usize::from(SEGMENT_BYTES)).filter(|one| one.starts_with(&PT_LOAD.to_le_bytes()));
    for one in mapped.filter(|one| long(one, 32) > 0) {
        whole = whole.max(long(one, 8).saturating_add(long(one, 32)));
    }
    Ok(Some(whole))
}

/// Two bytes of a header that has them.
fn short(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |two| u16::from_le_bytes([two[0], two[1]]))
}

/// Eight bytes, likewise.
fn long(bytes: &[u8], at: usize) -> u64 {
    let eight = bytes.get(at..at + 8).and_then(|eight| <[u8; 8]>::try_from(eight).ok());
    eight.map_or(0, u64::from_le_bytes)
}

#[cfg(all(test, target_os = "linux", target_pointer_width = "64", target_endian = "little"))]
mod tests;
