//! A sealed graph: replay it, change its parameters, look into it.

use std::fmt;

use super::capture::Capture;
use super::wait::Done;
use super::{Buffer, Device};
use crate::error::{GraphOp, Result, ServerError};
use crate::kernel::Value;
use crate::memory::ClaimKey;
use crate::recording::{GraphReport, ParamKind, Recorded, Recording};
use crate::server::{GraphId, GraphUpdate, ParamUpdate, Sealed};
use crate::stream::StreamId;
use crate::sync::{Arc, OnceLock, Weak};

/// Work that was recorded once. Cheap to clone; the last clone's drop releases it without waiting for the device.
///
/// The graph holds everything it touches: buffers, kernels and host bytes. An output shows the bytes of the last replay;
/// a buffer that existed before the capture keeps its bytes until a replay changes them.
#[derive(Clone)]
pub struct Graph(Arc<GraphInner>);

struct GraphInner {
    device: Device,
    id: GraphId,
    report: GraphReport,
    recording: Arc<Recording>,
    buffers: Arc<[ClaimKey]>,
    /// Where plain replays go, unless that is the calling thread's stream.
    home: Option<StreamId>,
    /// Why its owner destroyed it, once that did.
    closed: OnceLock<Arc<str>>,
}

impl Drop for GraphInner {
    fn drop(&mut self) {
        if self.closed.get().is_none() {
            self.device.inner.lock().graph_destroy(self.id);
        }
    }
}

/// A graph that its owner can destroy however many handles are left; holds nothing.
#[derive(Clone, Debug)]
pub(super) struct WeakGraph(Weak<GraphInner>);

impl WeakGraph {
    /// Whether a handle is left.
    pub(super) fn is_held(&self) -> bool {
        self.0.strong_count() > 0
    }

    /// Destroy the graph. Handles that are left are refused with `why`.
    pub(super) fn close(&self, why: &str) {
        if let Some(graph) = self.0.upgrade()
            && graph.closed.set(why.into()).is_ok()
        {
            graph.device.inner.lock().graph_destroy(graph.id);
        }
    }
}

impl Graph {
    pub(super) fn new(device: Device, sealed: Sealed, home: Option<StreamId>) -> Self {
        let Sealed { id, report, recording, buffers } = sealed;
        let graph =
            Self(Arc::new(GraphInner { device, id, report, recording, buffers, home, closed: OnceLock::new() }));
        if let Some(stream) = home {
            graph.0.device.inner.note_graph(stream, graph.downgrade());
        }
        graph
    }

    fn downgrade(&self) -> WeakGraph {
        WeakGraph(Arc::downgrade(&self.0))
    }

    fn home(&self) -> StreamId {
        self.0.home.unwrap_or_else(StreamId::current)
    }

    fn check_open(&self) -> Result<()> {
        match self.0.closed.get() {
            None => Ok(()),
            Some(why) => Err(ServerError::closed(format!("graph {}", self.0.id.0), why.clone())),
        }
    }

    /// Its identity.
    pub fn id(&self) -> GraphId {
        self.0.id
    }

    /// The device it runs on.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// How it runs, why so, and what it holds.
    pub fn report(&self) -> &GraphReport {
        &self.0.report
    }

    /// What it recorded.
    pub fn recording(&self) -> &Arc<Recording> {
        &self.0.recording
    }

    /// Run it on the calling thread's stream, that of an attempt on the attempt's own: all of it, or nothing. Does not block; overlapping replays of one graph run
    /// one after the other, and each is ordered after the last writers and readers of what it touches, on any stream.
    ///
    /// # Errors
    ///
    /// `Tainted` when an input carries a failure, `GraphState` in the caller's own window, or what failed before the
    /// first submission. Its outputs carry the failure then, and a retry is possible unless the device is lost.
    pub fn replay(&self) -> Result<Done> {
        self.replay_on(self.home(), false)
    }

    /// As [`Graph::replay`], on a stream of choice.
    ///
    /// # Errors
    ///
    /// As [`Graph::replay`]; `ForeignHandle` for a stream of another device.
    pub fn replay_on_stream(&self, stream: &super::Stream) -> Result<Done> {
        let what = || format!("stream {:?}", stream.id());
        self.0.device.inner.check_owner(what, stream.device().inner.id)?;
        self.replay_on(stream.id(), false)
    }

    /// As [`Graph::replay`], with the time of each node in the [`Done`]'s report where the device can tell. Slower.
    ///
    /// # Errors
    ///
    /// As [`Graph::replay`].
    pub fn replay_timed(&self) -> Result<Done> {
        self.replay_on(self.home(), true)
    }

    fn replay_on(&self, stream: StreamId, timed: bool) -> Result<Done> {
        let inner = &self.0.device.inner;
        inner.refuse_in_closure(GraphOp::Replay, "a replay after the capture")?;
        self.check_open()?;
        let (ticket, pressure) = {
            let mut server = inner.lock_on(stream)?;
            (server.replay(stream, self.0.id, timed)?, server.pressure())
        };
        if let Some(fence) = pressure {
            super::wait::for_room(inner, &*fence, inner.deadline())?;
        }
        Ok(Done::new(inner.clone(), ticket))
    }

    /// Change parameters for the replays issued after this: all of them, or none. Lasts until the next update.
    ///
    /// ```no_run
    /// # fn demo(graph: &graphreel::device::Graph, other: &graphreel::device::Buffer) -> graphreel::Result<()> {
    /// graph.update(|u| u.set("rate", 0.01f32).bind("input", other).grid("rows", [4, 1, 1]))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `InvalidParam` for an unknown name, another type, length or kind; `ForeignHandle`. Nothing is changed then.
    pub fn update(&self, change: impl FnOnce(&mut Update) -> &mut Update) -> Result<()> {
        let mut update = Update(GraphUpdate::default());
        change(&mut update);
        self.apply(update.0)
    }

    fn apply(&self, update: GraphUpdate) -> Result<()> {
        let inner = &self.0.device.inner;
        inner.refuse_in_closure(GraphOp::Update, "an update after the capture")?;
        self.check_open()?;
        inner.lock().graph_update(self.0.id, update)
    }

    /// Run a capture closure again and compare what it asks for with what was recorded: declared parameters may differ.
    ///
    /// # Errors
    ///
    /// `BakedValueChanged` naming a frozen argument that differs, `TopologyChanged` naming the first node that differs.
    pub fn verify<R>(&self, closure: impl FnOnce(&mut Capture) -> Result<R>) -> Result<R> {
        Ok(self.compare(closure)?.0)
    }

    /// Run a capture closure again and make its declared parameters this graph's: scalars, grids and slots. Anything else
    /// that differs is refused, and nothing is changed.
    ///
    /// # Errors
    ///
    /// As [`Graph::verify`] and [`Graph::update`].
    pub fn update_from<R>(&self, closure: impl FnOnce(&mut Capture) -> Result<R>) -> Result<R> {
        let (value, recorded) = self.compare(closure)?;
        let changes = recorded.recording.params.iter().map(|param| {
            let update = match &param.kind {
                ParamKind::Value(value) => ParamUpdate::Value(*value),
                ParamKind::Grid { groups, .. } => ParamUpdate::Grid(*groups),
                ParamKind::Buffer(buffer) => ParamUpdate::Buffer(recorded.buffers[*buffer as usize].clone()),
            };
            (param.name.clone(), update)
        });
        self.apply(GraphUpdate { changes: changes.collect() })?;
        Ok(value)
    }

    fn compare<R>(&self, closure: impl FnOnce(&mut Capture) -> Result<R>) -> Result<(R, Recorded)> {
        let (value, _, recorded) = self.0.device.collect(GraphOp::Capture, "verify", None, None, closure)?;
        if let Some(difference) = self.0.recording.diff(&recorded.recording, &recorded.kernels) {
            return Err(difference.into());
        }
        for (index, decl) in recorded.recording.buffers.iter().enumerate() {
            let now = recorded.buffers[index].claim_key();
            if decl.slot.is_none() && self.0.buffers.get(index) != Some(&now) {
                let touches =
                    |node: &crate::recording::Node| node.uses.iter().any(|used| used.place.buffer == index as u32);
                let node = recorded.recording.nodes.iter().position(touches).unwrap_or(0) as u32;
                let what = format!("it uses buffer {} now; declare it with `c.slot` to replace it", now.memory);
                return Err(ServerError::TopologyChanged { node, what: what.into() });
            }
        }
        Ok((value, recorded))
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph").field("id", &self.0.id).field("report", &self.0.report).finish_non_exhaustive()
    }
}

/// Changes to a graph's parameters, for [`Graph::update`].
#[derive(Debug)]
pub struct Update(GraphUpdate);

impl Update {
    /// Set a scalar declared by `c.param`.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) -> &mut Self {
        self.0.changes.push((name.into(), ParamUpdate::Value(value.into())));
        self
    }

    /// Put another buffer of the same length into a slot declared by `c.slot`.
    pub fn bind(&mut self, name: &str, buffer: &Buffer) -> &mut Self {
        self.0.changes.push((name.into(), ParamUpdate::Buffer(buffer.binding())));
        self
    }

    /// Set a grid declared by `c.grid_param`, in workgroups.
    pub fn grid(&mut self, name: &str, groups: [u32; 3]) -> &mut Self {
        self.0.changes.push((name.into(), ParamUpdate::Grid(groups)));
        self
    }
}
