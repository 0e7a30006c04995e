//! Working beside an application: its device and its buffers, and what of them is refused.

use graphreel::op::Op;
use graphreel::{Config, Server, ServerError};
use graphreel_wgpu::WgpuServer;

use crate::rig::{OWNER, Rig, rig};

fn buffer(rig: &Rig, mapped_at_creation: bool) -> wgpu::Buffer {
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    let (device, _) = rig.server.raw_device();
    device.create_buffer(&wgpu::BufferDescriptor { label: None, size: 16, usage, mapped_at_creation })
}

fn unsupported(refused: graphreel::Result<graphreel::memory::Handle>) -> String {
    match refused {
        Err(error @ ServerError::Unsupported { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_buffer_is_wrapped_once_at_a_time() {
    let Some(mut rig) = rig() else { return };
    let raw = buffer(&rig, false);
    let first = rig.server.wrap_buffer(OWNER, raw.clone()).expect("it has every usage");
    let error = unsupported(rig.server.wrap_buffer(OWNER, raw.clone()));
    let id = first.memory().id().to_string();
    assert!(error.contains(&id) && error.contains("clone the first handle"), "{error}");
    let another = buffer(&rig, false);
    rig.server.wrap_buffer(OWNER, another).expect("another buffer is not in the way");

    // A graph holds what it uses.
    let graph = rig.capture(|rig| rig.run(Op::Fill { dst: first.binding().into(), word: 5 })).expect("a graph");
    drop(first);
    assert!(unsupported(rig.server.wrap_buffer(OWNER, raw.clone())).contains(&id));
    let id = graph.id;
    drop(graph);
    rig.server.graph_destroy(id);
    let again = rig.server.wrap_buffer(OWNER, raw).expect("nothing holds it any more");
    rig.run(Op::Fill { dst: again.binding().into(), word: 9 });
    assert_eq!(rig.read::<u32>(&again), [9; 4]);
}

#[test]
fn a_buffer_of_the_pool_is_not_wrapped() {
    let Some(mut rig) = rig() else { return };
    let ours = rig.upload(&[1u32; 4]);
    let place = rig.server.raw_buffer(&ours.binding()).expect("our own buffer");
    let error = unsupported(rig.server.wrap_buffer(OWNER, place.buffer));
    assert!(error.contains("own pool"), "{error}");
}

#[test]
fn a_mapped_buffer_is_not_wrapped() {
    let Some(mut rig) = rig() else { return };
    let raw = buffer(&rig, true);
    let error = unsupported(rig.server.wrap_buffer(OWNER, raw.clone()));
    assert!(error.contains("unmap it first"), "{error}");
    // The look leaves no view behind: unmapping would panic.
    raw.unmap();
    let handle = rig.server.wrap_buffer(OWNER, raw).expect("it is unmapped");
    assert_eq!(rig.read::<u32>(&handle), [0; 4]);
}

#[test]
fn a_device_that_was_destroyed_is_not_adopted() {
    let Some(rig) = rig() else { return };
    let (device, queue) = rig.server.raw_device();
    let (device, queue) = (device.clone(), queue.clone());
    drop(rig);
    device.destroy();
    let error = WgpuServer::from_device(device, queue, Config::default()).map(drop).expect_err("it is gone");
    assert!(error.is_device_lost(), "{error}");
}
