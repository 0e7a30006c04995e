//! One operation with addresses in the place of handles: given to a stream, added to a graph, or set in an executable.

use super::arguments::Arguments;
use super::driver::{CopyEnd, Driver, DriverResult, LaunchShape, NodeCopy, NodeFill};

/// What the driver is asked to do.
pub(super) enum Action<D: Driver> {
    /// Run a kernel.
    Launch(Box<Launch<D>>),
    /// Copy from the host or on the device.
    Copy(NodeCopy),
    /// Set words.
    Fill(NodeFill),
}

/// A kernel with everything it takes.
pub(super) struct Launch<D: Driver> {
    pub(super) function: D::Function,
    pub(super) shape: LaunchShape,
    pub(super) arguments: Arguments,
}

#[expect(unsafe_code, reason = "hands the caller's word on to the driver")]
impl<D: Driver> Action<D> {
    /// Give it to a stream, which runs or records it.
    ///
    /// # Safety
    ///
    /// As for the driver's call: everything it reaches is live until the work, or every graph that records it, is done, and
    /// other streams' work on that is ordered.
    pub(super) unsafe fn run(&self, driver: &D, stream: &D::Stream) -> DriverResult {
        match self {
            Self::Launch(launch) => {
                let (pointers, len) = launch.arguments.pointers();
                // SAFETY: one pointer for each parameter, to values that live in `launch`; the rest is the caller's word.
                unsafe { driver.launch(launch.function, &launch.shape, &pointers[..len], stream) }
            }
            Self::Copy(copy) => match (copy.src, copy.dst) {
                (CopyEnd::Host(src), CopyEnd::Device(dst)) => {
                    // SAFETY: the caller's word.
                    unsafe { driver.copy_to_device(dst, src, copy.bytes, stream) }
                }
                (CopyEnd::Device(src), CopyEnd::Device(dst)) => {
                    // SAFETY: the caller's word; copies of one operation do not overlap, which its check made sure of.
                    unsafe { driver.copy_on_device(dst, src, copy.bytes, stream) }
                }
                (CopyEnd::Device(src), CopyEnd::Host(dst)) => {
                    // SAFETY: the caller's word.
                    unsafe { driver.copy_to_host(dst, src, copy.bytes, stream) }
                }
                (CopyEnd::Host(_), CopyEnd::Host(_)) => unreachable!("no operation copies from host to host"),
            },
            // SAFETY: the caller's word.
            Self::Fill(fill) => unsafe { driver.fill(fill.dst, fill.word, fill.words, stream) },
        }
    }

    /// Add it to a graph, to run after `after`.
    ///
    /// # Safety
    ///
    /// As for [`Action::run`], until every executable of the graph is destroyed.
    pub(super) unsafe fn add(&self, driver: &D, graph: &mut D::Graph, after: &[D::Node]) -> DriverResult<D::Node> {
        match self {
            Self::Launch(launch) => {
                let (pointers, len) = launch.arguments.pointers();
                // SAFETY: as in `run`.
                unsafe { driver.graph_add_launch(graph, after, launch.function, &launch.shape, &pointers[..len]) }
            }
            // SAFETY: as in `run`.
            Self::Copy(copy) => unsafe { driver.graph_add_copy(graph, after, copy) },
            // SAFETY: as in `run`.
            Self::Fill(fill) => unsafe { driver.graph_add_fill(graph, after, fill) },
        }
    }

    /// Put it in the place of a node of its own kind, for launches made after it.
    ///
    /// # Safety
    ///
    /// As for [`Action::add`].
    pub(super) unsafe fn set(&self, driver: &D, exec: &mut D::Exec, node: D::Node) -> DriverResult {
        match self {
            Self::Launch(launch) => {
                let (pointers, len) = launch.arguments.pointers();
                // SAFETY: as in `run`.
                unsafe { driver.exec_set_launch(exec, node, launch.function, &launch.shape, &pointers[..len]) }
            }
            // SAFETY: as in `run`.
            Self::Copy(copy) => unsafe { driver.exec_set_copy(exec, node, copy) },
            // SAFETY: as in `run`.
            Self::Fill(fill) => unsafe { driver.exec_set_fill(exec, node, fill) },
        }
    }
}
