//! For unit tests: a server with a buffer of the application that can be destroyed under it, so that wgpu refuses what
//! uses it.

use graphreel::Server;
use graphreel::memory::{Account, Handle};
use graphreel::stream::StreamId;

use crate::pages::PAGE_USAGE;
use crate::server::WgpuServer;
use crate::{Options, absence, adapters, open};

/// A server, a wrapped buffer, and the wgpu buffer to destroy.
pub(crate) struct Breakable {
    pub(crate) server: WgpuServer,
    pub(crate) stream: StreamId,
    pub(crate) wrapped: Handle,
    pub(crate) raw: wgpu::Buffer,
    account: Account,
}

impl Breakable {
    /// Open one, or say why there is no device.
    pub(crate) fn open() -> Option<Self> {
        if adapters().is_empty() {
            let required = std::env::var("GRAPHREEL_REQUIRE").unwrap_or_default();
            assert!(!required.split(',').any(|name| name == "wgpu"), "GRAPHREEL_REQUIRE names wgpu: {}", absence());
            eprintln!("skipped: {}", absence());
            return None;
        }
        let mut server = open(Options::default()).expect("there is an adapter");
        let (stream, account) = (StreamId { value: 7 }, Account::new("test", None));
        let raw = wgpu::BufferDescriptor { label: None, size: 16, usage: PAGE_USAGE, mapped_at_creation: false };
        let raw = server.gpu.device.create_buffer(&raw);
        let wrapped = server.wrap_buffer(stream, raw.clone()).expect("it has every usage");
        Some(Self { server, stream, wrapped, raw, account })
    }

    /// 16 bytes of the pool.
    pub(crate) fn alloc(&mut self) -> Handle {
        self.server.alloc(self.stream, 16, &self.account).expect("a small allocation")
    }

    /// Ask for a fill of `handle`.
    pub(crate) fn fill(&mut self, handle: &Handle) {
        let op = graphreel::op::Op::Fill { dst: handle.binding().into(), word: 3 };
        self.server.submit(self.stream, op).expect("a fill");
    }
}
