//! Files that are no libraries, and libraries that are no longer whole.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use super::*;

/// A part of the file that is mapped: where, and how many bytes.
type Mapped = (u64, u64);

/// A file that has headers as a library's: these parts, and a table of `sections` at its end.
fn library(mapped: &[Mapped], sections: u16) -> Vec<u8> {
    let segments_end = HEADER_BYTES as u64 + mapped.len() as u64 * u64::from(SEGMENT_BYTES);
    let sections_at = mapped.iter().map(|(at, bytes)| at + bytes).max().unwrap_or(0).max(segments_end);
    let mut file = vec![0; usize::try_from(sections_at + u64::from(sections) * 64).expect("it is small")];
    file[..6].copy_from_slice(b"\x7fELF\x02\x01");
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    put(32, &(HEADER_BYTES as u64).to_le_bytes());
    put(40, &(if sections == 0 { 0 } else { sections_at }).to_le_bytes());
    put(54, &SEGMENT_BYTES.to_le_bytes());
    put(56, &u16::try_from(mapped.len()).expect("they are few").to_le_bytes());
    put(58, &64u16.to_le_bytes());
    put(60, &sections.to_le_bytes());
    for (index, (at, bytes)) in mapped.iter().enumerate() {
        let place = HEADER_BYTES + index * usize::from(SEGMENT_BYTES);
        put(place, &PT_LOAD.to_le_bytes());
        put(place + 8, &at.to_le_bytes());
        put(place + 32, &bytes.to_le_bytes());
    }
    file
}

/// What is said of a file of these bytes; empty where it may be loaded.
fn said(bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let file = folder.path().join("lib.so");
    std::fs::write(&file, bytes).expect("a file in it");
    check(&file).err().map_or_else(String::new, |why| why.to_string())
}

#[test]
fn a_whole_library_may_be_loaded() {
    for sections in [0, 3] {
        assert_eq!(said(&library(&[(0, 100), (4096, 500)], sections)), "");
    }
    let this = std::env::current_exe().expect("a test has a file");
    assert_eq!(check(&this), Ok(()));
}

#[test]
fn every_cut_is_seen_where_there_is_a_table_of_sections() {
    let whole = library(&[(0, 300), (512, 100)], 2);
    for bytes in 6..whole.len() {
        let told = said(&whole[..bytes]);
        let expected = if bytes < HEADER_BYTES { HEADER_BYTES } else { whole.len() };
        assert_eq!(told, format!("it is cut short: {bytes} of {expected} bytes"));
    }
}

#[test]
fn a_cut_is_seen_in_what_is_mapped_without_a_table_of_sections() {
    let whole = library(&[(512, 100), (0, 300)], 0);
    assert_eq!(whole.len(), 612);
    assert_eq!(said(&whole[..611]), "it is cut short: 611 of 612 bytes");
    // The part that says what is mapped is gone itself.
    assert_eq!(said(&whole[..100]), "it is cut short: 100 of 176 bytes");
}

#[test]
fn memory_without_bytes_in_the_file_is_no_part_of_it() {
    let mut file = library(&[(0, 200), (200, 0)], 0);
    let place = HEADER_BYTES + usize::from(SEGMENT_BYTES) + 8;
    file[place..place + 8].copy_from_slice(&u64::MAX.to_le_bytes());
    assert_eq!(said(&file), "");
}

#[test]
fn headers_that_name_more_than_can_be_are_cut_short_and_no_overflow() {
    for at in [32, 40, HEADER_BYTES + 8, HEADER_BYTES + 32] {
        let mut file = library(&[(100, 200)], 2);
        file[at..at + 8].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(said(&file).contains(&format!("of {} bytes", u64::MAX)), "at {at}: {}", said(&file));
    }
}

#[test]
fn what_is_no_file_is_told_and_not_opened() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let (pipe, link) = (folder.path().join("pipe"), folder.path().join("link"));
    let name = CString::new(pipe.as_os_str().as_bytes()).expect("a path has no zero byte");
    // SAFETY: the name ends with a zero byte.
    #[expect(unsafe_code, reason = "nothing else makes a pipe with a name")]
    let made = unsafe { libc::mkfifo(name.as_ptr(), 0o600) };
    assert_eq!(made, 0);
    std::os::unix::fs::symlink(&pipe, &link).expect("a link in it");
    let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket")).expect("a socket in it");
    let broken = |path: PathBuf| check(&path).expect_err("it is no file").to_string();
    assert_eq!(broken(pipe), "it is a pipe, not a file");
    assert_eq!(broken(link), "it is a pipe, not a file");
    assert_eq!(broken(folder.path().join("socket")), "it is a socket, not a file");
    assert_eq!(broken("/dev/zero".into()), "it is a device, not a file");
    assert_eq!(broken(folder.path().into()), "it is a directory, not a file");
    assert_eq!(said(b""), "it is an empty file");
}

#[test]
fn what_is_not_there_is_absent_and_what_is_no_elf_file_is_the_loaders_to_refuse() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let dangling = folder.path().join("dangling");
    std::os::unix::fs::symlink("/nowhere/lib.so", &dangling).expect("a link in it");
    assert_eq!(check(&dangling), Err(Refused::Absent));
    assert_eq!(said(b"not a library"), "");
    let mut small = library(&[(0, 100)], 2);
    small[4] = 1;
    assert_eq!(said(&small[..70]), "", "of 32 bits");
}
