//! What its owner closes stays closed for handles that are left: memory of a revoked account, a retired device.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use graphreel::device::Device;
use graphreel::{Account, Config, ServerError};
use graphreel_sim::{SimOptions, SimServer, open};

const WHY: &str = "its attempt has ended";

fn device() -> Device {
    Device::new(Box::new(open(SimOptions::default(), Config::default()).unwrap()), Config::default())
}

fn is_closed<T>(outcome: Result<T, ServerError>) -> bool {
    outcome.is_err_and(|error| error.is_closed())
}

/// B-102, B-104: a grant's memory goes with it, whoever still holds a handle.
#[test]
fn memory_of_a_revoked_account_is_taken_back() {
    let device = device();
    let account = Account::revocable("attempt", Some(1 << 16));
    let buffer = device.alloc_charged(1024, &account).unwrap();
    buffer.write(&[7_u32; 256]).unwrap();
    let own = device.upload(&[1_u32; 256]).unwrap();
    let (graph, ()) = device.capture(|c| c.copy(&buffer, &own)).unwrap();
    graph.replay().unwrap().wait().unwrap();
    let pending = buffer.read_async::<u32>().unwrap();
    account.revoke(WHY);
    assert!(is_closed(buffer.write(&[8_u32])) && is_closed(buffer.read::<u32>()) && is_closed(buffer.fill(1)));
    assert!(is_closed(own.copy_from(&buffer)) && is_closed(device.capture(|c| c.fill(&buffer, 1))));
    assert!(is_closed(device.alloc_charged(4, &account)), "it pays for nothing more");
    assert_eq!(pending.wait().unwrap(), [7; 256], "what was asked before is answered");
    // Another's graph over it is refused, and what it writes carries that; the next graph finds new memory.
    assert!(is_closed(graph.replay()) && is_closed(own.read::<u32>()));
    assert_eq!(account.used(), 0);
    drop((buffer, graph));
    let again = device.upload(&[9_u32; 256]).unwrap();
    assert_eq!(again.read::<u32>().unwrap(), [9; 256]);
    assert_eq!(device.memory_usage().slices, 2, "it was freed once");
}

/// L14, B-206: no handle keeps a device open, and none panics once it is closed.
#[test]
fn handles_of_a_retired_device_are_refused() {
    let device = device();
    let probe = device.with_server(|server: &mut SimServer| server.driver().probe()).unwrap();
    let buffer = device.upload(&[3_u32; 16]).unwrap();
    let (graph, ()) = device.capture(|c| c.fill(&buffer, 5)).unwrap();
    let stream = device.new_stream();
    stream.graph_prepare().unwrap();
    let (pending, done) = (buffer.read_async::<u32>().unwrap(), graph.replay().unwrap());
    done.wait().unwrap();
    while !device.with_contract(|server| server.is_idle()).unwrap() {}
    let last = graph.replay().unwrap();
    while !device.with_contract(|server| server.is_idle()).unwrap() {}
    assert!(device.retire("its backend has closed"));
    assert!(!device.retire("again"), "once");
    assert!(is_closed(pending.wait()) && is_closed(last.wait()));
    assert!(is_closed(buffer.read::<u32>()) && is_closed(buffer.fill(1)) && is_closed(graph.replay()));
    assert!(is_closed(device.alloc(4)) && is_closed(device.sync()) && is_closed(stream.begin_capture()));
    let error = device.alloc(4).unwrap_err().to_string();
    assert!(error.ends_with("is closed: its backend has closed"), "{error}");
    assert!(device.memory_usage().slices == 0 && device.lost().is_none());
    drop((buffer, graph, stream, device, done, last));
    assert_eq!(probe.misuse(), Vec::new());
    assert_eq!(probe.live(), graphreel_sim::Live::default());
}
