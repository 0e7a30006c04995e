//! The handle on a compiled kernel.

use std::any::Any;
use std::fmt;

use super::{KernelSource, Reflection};
use crate::error::ServerError;
use crate::memory::DeviceId;
use crate::op::Op;
use crate::sync::Arc;
use crate::sync::atomic::{AtomicU64, Ordering};

static NEXT_KERNEL: AtomicU64 = AtomicU64::new(1);

/// One compiled kernel. Never used twice in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KernelId(pub u64);

/// A compiled kernel of one device. Cheap to clone; a recording that uses it keeps it.
#[derive(Clone)]
pub struct Kernel(Arc<KernelInner>);

struct KernelInner {
    id: KernelId,
    device: DeviceId,
    source: KernelSource,
    reflection: Reflection,
    compiled: Box<dyn Any + Send + Sync>,
}

impl Kernel {
    /// Wrap what a backend compiled. Backends call this from their [`Compiler`].
    pub fn new(
        device: DeviceId,
        source: KernelSource,
        reflection: Reflection,
        compiled: Box<dyn Any + Send + Sync>,
    ) -> Self {
        let id = KernelId(NEXT_KERNEL.fetch_add(1, Ordering::Relaxed));
        Self(Arc::new(KernelInner { id, device, source, reflection, compiled }))
    }

    /// Its identity.
    pub fn id(&self) -> KernelId {
        self.0.id
    }

    /// The device it was compiled for.
    pub fn device(&self) -> DeviceId {
        self.0.device
    }

    /// What it was made from.
    pub fn source(&self) -> &KernelSource {
        &self.0.source
    }

    /// What it takes.
    pub fn reflection(&self) -> &Reflection {
        &self.0.reflection
    }

    /// The entry point's name.
    pub fn entry(&self) -> &Arc<str> {
        &self.0.reflection.entry
    }

    /// The backend's form of it.
    pub fn compiled<T: 'static>(&self) -> Option<&T> {
        self.0.compiled.downcast_ref()
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel").field("id", &self.0.id).field("entry", self.entry()).finish_non_exhaustive()
    }
}

/// Compiles kernels for one device, without the device's lock.
pub trait Compiler: Send + Sync {
    /// Compile `source`.
    ///
    /// # Errors
    ///
    /// [`ServerError::InvalidKernel`] with the place in the source, or [`ServerError::DeviceLost`].
    fn compile(&self, source: &KernelSource) -> Result<Kernel, ServerError>;

    /// Compile whatever else this operation will need, so that the server finds it. Called before the lock is taken; cheap
    /// when there is nothing to do.
    ///
    /// # Errors
    ///
    /// As [`Compiler::compile`].
    fn prepare(&self, op: &Op) -> Result<(), ServerError>;
}
