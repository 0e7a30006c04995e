//! A sealed graph as the driver has it: made from a capture or node by node, changed by node, made anew when that fails.

use super::action::Action;
use super::driver::{Driver, HostPtr};
use super::lanes::Lanes;
use super::order::Points;
use super::pinned::PinnedBytes;
use super::reclaim::{Doomed, EntryNumber, Reclaim};
use super::shared::Shared;
use crate::book::LiveRecording;
use crate::error::Result;
use crate::memory::{BufferBinding, PageId};
use crate::op::Bytes;
use crate::recording::{NodeOp, Tier};

/// A graph of this device.
pub(super) struct HardwareGraph<D: Driver> {
    /// The executable; `None` on the eager tier.
    pub(super) executable: Option<Executable<D>>,
    pub(super) tier: Tier,
    pub(super) live: LiveRecording,
    /// Host bytes that its copies read, in order of those copies.
    pub(super) host: PinnedBytes,
    /// The nodes that are such copies, ascending.
    host_nodes: Vec<u32>,
    /// Its last executable that was replaced and may still run: it goes before what the graph holds.
    pub(super) retired: Option<EntryNumber>,
    /// Where its launches ended: the driver runs one at a time.
    pub(super) launched: Points,
    /// Pages that it names, with their generations, and the pool's epoch when they were last seen right.
    pub(super) pages: Vec<(PageId, u64)>,
    pub(super) epoch: u64,
}

/// What the driver made.
pub(super) struct Executable<D: Driver> {
    pub(super) exec: D::Exec,
    /// The graph it was made from and the nodes of it, while they may be changed.
    source: Option<Source<D>>,
    /// Nodes changed so far; a driver counts each.
    updates: u32,
}

/// A graph that was not made ready yet, with the node of each recorded operation where it is known.
pub(super) struct Source<D: Driver> {
    pub(super) graph: D::Graph,
    pub(super) nodes: Vec<Option<D::Node>>,
}

impl<D: Driver> Source<D> {
    /// Make it ready. The graph is kept where `keep` says that its nodes may be changed.
    ///
    /// # Errors
    ///
    /// What the driver answers; the graph is left to `reclaim` then.
    pub(super) fn instantiate(
        self,
        shared: &Shared<D>,
        lanes: &mut Lanes<D>,
        reclaim: &mut Reclaim<D>,
        keep: bool,
    ) -> Result<Executable<D>> {
        match shared.settle(shared.driver().graph_instantiate(&self.graph), "making a graph ready") {
            Ok(exec) if keep => Ok(Executable { exec, source: Some(self), updates: 0 }),
            Ok(exec) => {
                self.discard(lanes, reclaim);
                Ok(Executable { exec, source: None, updates: 0 })
            }
            Err(error) => {
                self.discard(lanes, reclaim);
                Err(error)
            }
        }
    }

    pub(super) fn discard(self, lanes: &mut Lanes<D>, reclaim: &mut Reclaim<D>) {
        reclaim.push(lanes, Points::default(), vec![Doomed::Graph(self.graph)]);
    }
}

impl<D: Driver> Executable<D> {
    /// Change nodes for launches made after it. Each action belongs to a node that is known.
    ///
    /// # Errors
    ///
    /// What the driver answers; some nodes may have changed then.
    #[expect(unsafe_code, reason = "the graph's claims keep what its nodes reach")]
    pub(super) fn set(&mut self, shared: &Shared<D>, actions: &[(u32, Action<D>)]) -> Result<()> {
        let nodes = self.source.as_ref().map_or(&[][..], |source| &source.nodes);
        for (index, action) in actions {
            let Some(Some(node)) = nodes.get(*index as usize).copied() else { continue };
            // SAFETY: the graph holds its buffers and host bytes until every launch is done, and each replay is ordered.
            let answer = unsafe { action.set(shared.driver(), &mut self.exec, node) };
            self.updates = self.updates.saturating_add(1);
            shared.settle(answer, "changing a node")?;
        }
        Ok(())
    }

    /// Whether every one of these nodes can be changed in place.
    pub(super) fn knows(&self, nodes: impl IntoIterator<Item = u32>) -> bool {
        let known = self.source.as_ref().map_or(&[][..], |source| &source.nodes);
        nodes.into_iter().all(|node| known.get(node as usize).is_some_and(Option::is_some))
    }

    /// Whether changing `more` nodes is more than it should take before it is made anew.
    pub(super) fn is_worn(&self, more: usize, updates_max: Option<u32>) -> bool {
        updates_max.is_some_and(|most| more as u64 + u64::from(self.updates) > u64::from(most))
    }

    /// For destruction: the executable first, then the graph it was made from.
    pub(super) fn into_doomed(self) -> Vec<Doomed<D>> {
        let mut doomed = vec![Doomed::Exec(self.exec)];
        doomed.extend(self.source.map(|source| Doomed::Graph(source.graph)));
        doomed
    }
}

impl<D: Driver> HardwareGraph<D> {
    /// A graph that has no executable yet. `pages` and `epoch` are what its memory lies in now.
    pub(super) fn new(
        tier: Tier,
        live: LiveRecording,
        host: PinnedBytes,
        (pages, epoch): (Vec<(PageId, u64)>, u64),
    ) -> Self {
        let is_write = |op: &NodeOp| matches!(op, NodeOp::HostWrite { .. });
        let nodes = (0u32..).zip(&live.recording.nodes);
        let host_nodes = nodes.filter(|(_, node)| is_write(&node.op)).map(|(index, _)| index).collect();
        Self {
            executable: None,
            tier,
            live,
            host,
            host_nodes,
            retired: None,
            launched: Points::default(),
            pages,
            epoch,
        }
    }

    /// The pinned bytes that node `index` copies from.
    pub(super) fn host_of(&self, index: usize) -> Option<HostPtr> {
        let place = self.host_nodes.binary_search(&u32::try_from(index).ok()?).ok()?;
        self.host.get(place)
    }

    /// Nodes that copy from the host and have no pinned bytes yet, with those bytes.
    pub(super) fn unpinned(&self) -> Vec<Bytes> {
        let bytes = |node: &u32| match self.live.recording.nodes.get(*node as usize)?.op {
            NodeOp::HostWrite { host, .. } => self.live.recording.host.get(host as usize).cloned(),
            _ => None,
        };
        self.host_nodes.iter().skip(self.host.len()).filter_map(bytes).collect()
    }

    /// Put the executable aside until its launches are done, with the buffers that only it still names.
    pub(super) fn retire(&mut self, lanes: &mut Lanes<D>, reclaim: &mut Reclaim<D>, replaced: Vec<BufferBinding>) {
        let Some(old) = self.executable.take() else { return };
        let mut doomed = old.into_doomed();
        doomed.push(Doomed::Holds(Box::new(replaced)));
        self.retired = Some(reclaim.push_after(lanes, self.launched.clone(), doomed, self.retired));
    }

    /// Release it: executable first, then host bytes, then claims (C-83), once its launches are done.
    pub(super) fn release(self, lanes: &mut Lanes<D>, reclaim: &mut Reclaim<D>)
    where
        D: 'static,
    {
        let mut doomed = self.executable.map_or_else(Vec::new, Executable::into_doomed);
        doomed.extend(self.host.into_doomed());
        // The claims' buffers have an order of their own, so only the executable and the kernels' code wait for its launches.
        doomed.push(Doomed::Holds(Box::new(self.live)));
        reclaim.push_after(lanes, self.launched, doomed, self.retired);
    }
}
