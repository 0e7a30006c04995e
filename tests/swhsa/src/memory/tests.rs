//! Memory: what is reached, what is refused, and what the host cannot read.

use super::*;

/// Whether the host may read a page, as the kernel's own list of mappings has it.
fn readable(address: usize) -> bool {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let line = maps.lines().find(|line| {
        let (range, _) = line.split_once(' ').unwrap();
        let (from, to) = range.split_once('-').unwrap();
        (usize::from_str_radix(from, 16).unwrap()..usize::from_str_radix(to, 16).unwrap()).contains(&address)
    });
    line.unwrap().split(' ').nth(1).unwrap().starts_with('r')
}

#[test]
fn device_memory_is_read_by_kernels_alone() {
    let at = device_allocate(5000, 0).unwrap();
    assert!(!readable(at));
    let opened = open();
    assert!(readable(at) && readable(at + PAGE));
    assert!(!readable(at + 2 * PAGE), "the page behind an allocation has no access");
    drop(opened);
    assert!(!readable(at));
    write(at + 10, b"bytes").unwrap();
    assert_eq!(read(at + 9, 6).unwrap(), b"\xC5bytes", "fresh memory is no zeroes");
    assert_eq!(free(at), Status::SUCCESS);
    assert_eq!(free(at), Status::INVALID_ALLOCATION);
}

#[test]
fn what_is_not_the_devices_is_not_reached() {
    let own = vec![7u8; 3 * PAGE];
    let base = own.as_ptr() as usize;
    assert!(reach(base, 8).unwrap_err().contains("nor locked"));
    assert_eq!(lock(base, own.len(), 0), Status::SUCCESS);
    let at = device_allocate(PAGE, 0).unwrap();
    copy(at, base, PAGE).unwrap();
    assert_eq!(read(at, 4).unwrap(), [7; 4]);
    assert!(copy(at + 1, base, PAGE).unwrap_err().contains("1 bytes beyond"));
    assert_eq!(unlock(base), Status::SUCCESS);
    assert!(copy(at, base, 8).is_err());
    assert_eq!(free(at), Status::SUCCESS);
}

#[test]
fn locked_memory_may_lie_in_locked_memory() {
    let own = vec![7u8; 4 * PAGE];
    let base = own.as_ptr() as usize;
    assert_eq!(lock(base, own.len(), 0), Status::SUCCESS);
    assert_eq!(lock(base + PAGE, 16, 0), Status::SUCCESS);
    assert_eq!(reach(base + PAGE + 100, 8), Ok(base + PAGE + 100));
    assert_eq!(unlock(base), Status::SUCCESS);
    assert!(reach(base + PAGE + 100, 8).is_err());
    assert_eq!(unlock(base + PAGE), Status::SUCCESS);
    assert_eq!(unlock(base + PAGE), Status::INVALID_ALLOCATION);
}

#[test]
fn more_than_the_device_has_is_refused() {
    assert_eq!(device_allocate(usize::try_from(DEVICE_BYTES).unwrap() + PAGE, 0), Err(Status::OUT_OF_RESOURCES));
    assert_eq!(device_allocate(0, 0), Err(Status::INVALID_ARGUMENT));
    assert_eq!(device_allocate(usize::MAX, 0), Err(Status::INVALID_ARGUMENT));
}

#[test]
fn mapped_memory_is_reached_once_access_is_set() {
    let at = reserve(4 * PAGE, 1 << 21).unwrap();
    assert!(at.is_multiple_of(1 << 21));
    let handle = handle_create(2 * PAGE, 0).unwrap();
    assert_eq!(map(at + PAGE, 2 * PAGE, 0, handle), Status::SUCCESS);
    assert_eq!(map(at + PAGE, PAGE, 0, handle), Status::INVALID_ALLOCATION);
    assert_eq!(map(at, 8 * PAGE, 0, handle), Status::INVALID_ARGUMENT);
    assert!(write(at + PAGE, b"x").unwrap_err().contains("without access"));
    assert_eq!(set_access(at, 4 * PAGE, true), Status::SUCCESS);
    write(at + PAGE, b"x").unwrap();
    assert_eq!(handle_release(handle), Status::SUCCESS);
    let again = handle_retain(at + PAGE + 5).unwrap();
    assert_eq!(address_free(at, 4 * PAGE), Status(46), "something is mapped there");
    assert_eq!(unmap(at + PAGE, 2 * PAGE), Status::SUCCESS);
    assert_eq!(address_free(at, 4 * PAGE), Status::SUCCESS);
    assert_eq!(handle_release(again), Status::SUCCESS);
    assert_eq!(handle_release(again), Status::INVALID_ALLOCATION);
}
