//! Executables: a graph's snapshot, what it keeps in use, and its launches in flight.

use graphreel::sync::Arc;

use crate::failure::{Answer, Fail, Rule};
use crate::graph::Plan;
use crate::op::{Holder, Use, Work};
use crate::state::State;
use crate::stream::{Point, Todo};

/// A graph made ready to launch.
#[derive(Debug)]
pub(crate) struct Exec {
    /// The graph it was made from, which may be gone.
    pub(crate) graph: u64,
    pub(crate) plan: Arc<Plan>,
    /// The work of each node. A launch in flight shares it, so an update copies it then.
    pub(crate) works: Arc<Vec<Arc<Work>>>,
    /// The launch made last.
    last: Option<Arc<Point>>,
    pub(crate) in_flight: u32,
    updates: u32,
    /// Whether the order of its nodes has been looked at since it changed.
    pub(crate) checked: bool,
}

/// A launch on its way.
#[derive(Debug)]
pub(crate) struct GraphRun {
    pub(crate) exec: u64,
    plan: Arc<Plan>,
    works: Arc<Vec<Arc<Work>>>,
    /// The launch before this one.
    pub(crate) after: Option<Arc<Point>>,
    pub(crate) done: Arc<Point>,
    progress: Option<Progress>,
    /// The node that runs next, where one was chosen and then held.
    pub(crate) chosen: Option<u32>,
}

#[derive(Debug)]
struct Progress {
    waits: Vec<u32>,
    ready: Vec<u32>,
    left: usize,
    /// Virtual time at which each node may start.
    starts: Vec<u64>,
    end: u64,
}

impl GraphRun {
    pub(crate) fn work(&self, node: u32) -> &Arc<Work> {
        &self.works[node as usize]
    }

    /// Choose a node that may run; `None` when all are done. `time` is when the launch starts, if it has not.
    pub(crate) fn choose(&mut self, time: u64, rng: &mut fastrand::Rng) -> Option<u32> {
        if let Some(chosen) = self.chosen.take() {
            return Some(chosen);
        }
        let progress = self.progress.get_or_insert_with(|| {
            let time = self.after.as_ref().map_or(time, |after| time.max(after.time()));
            Progress {
                waits: self.plan.waits.clone(),
                ready: self.plan.roots.clone(),
                left: self.works.len(),
                starts: vec![time; self.works.len()],
                end: time,
            }
        });
        if progress.left == 0 {
            return None;
        }
        let index = rng.usize(..progress.ready.len());
        Some(progress.ready.swap_remove(index))
    }

    /// A node is done; the nodes that waited for it alone may run. Answers whether it was the last.
    pub(crate) fn finish(&mut self, node: u32, cost: u64) -> bool {
        let progress = self.progress.as_mut().expect("a node ran");
        let end = progress.starts[node as usize] + cost;
        progress.end = progress.end.max(end);
        progress.left -= 1;
        for next in self.plan.next(node) {
            let index = *next as usize;
            progress.starts[index] = progress.starts[index].max(end);
            progress.waits[index] -= 1;
            if progress.waits[index] == 0 {
                progress.ready.push(*next);
            }
        }
        progress.left == 0
    }

    /// Virtual time at which its last node ended.
    pub(crate) fn end(&self) -> u64 {
        self.progress.as_ref().map_or(0, |progress| progress.end)
    }
}

impl State {
    pub(crate) fn graph_instantiate(&mut self, graph: u64) -> Result<u64, Fail> {
        let nodes = self.graph(graph).nodes.clone();
        for (index, node) in nodes.iter().enumerate() {
            if let Some(gone) = node.work.uses.iter().find(|used| !self.is_live(used)) {
                let rule = if matches!(gone, Use::Module(_)) { Rule::StaleHandle } else { Rule::UseAfterFree };
                return Fail::misuse(rule, format!("node g{graph}.{index} uses what was given back"));
            }
        }
        let Some(plan) = Plan::new(&nodes) else {
            return Fail::misuse(Rule::BadEdge, format!("g{graph} has a circle"));
        };
        let works: Vec<Arc<Work>> = nodes.into_iter().map(|node| node.work).collect();
        for work in &works {
            self.hold(&work.uses, Holder::Exec);
        }
        let id = self.ids.exec();
        let exec = Exec {
            graph,
            plan: Arc::new(plan),
            works: Arc::new(works),
            last: None,
            in_flight: 0,
            updates: 0,
            checked: false,
        };
        self.execs.insert(id, exec);
        Ok(id)
    }

    pub(crate) fn exec_launch(&mut self, exec: u64, stream: u64) -> Result<(), Fail> {
        self.refuse_in_capture(exec, stream)?;
        self.ordered_inside(exec)?;
        if let Some(last) = self.exec(exec).last.clone() {
            self.comes_after(stream, last.clock());
        }
        let works = Arc::clone(&self.exec(exec).works);
        self.ordered(stream, &works)?;
        let done = Arc::new(Point::new(self.clock_of(stream)));
        let found = self.exec(exec);
        let run = GraphRun {
            exec,
            plan: Arc::clone(&found.plan),
            works,
            after: found.last.replace(Arc::clone(&done)),
            done,
            progress: None,
            chosen: None,
        };
        found.in_flight += 1;
        self.enqueue(stream, Todo::Graph(Box::new(run)));
        Ok(())
    }

    /// Nothing has to be brought anywhere; the call has its place in the stream's order, behind earlier launches.
    pub(crate) fn exec_upload(&mut self, exec: u64, stream: u64) -> Result<(), Fail> {
        if !self.options.graph_upload {
            return Fail::misuse(Rule::NotInCaps, "graph_upload");
        }
        self.refuse_in_capture(exec, stream)?;
        if let Some(last) = self.exec(exec).last.clone() {
            self.comes_after(stream, last.clock());
            self.enqueue(stream, Todo::Wait(last));
        }
        Ok(())
    }

    fn refuse_in_capture(&mut self, exec: u64, stream: u64) -> Result<(), Fail> {
        self.takes_work(stream)?;
        if self.stream(stream).capture.is_none() {
            return Ok(());
        }
        self.break_capture(stream, None, "a graph was launched into it");
        Fail::misuse(Rule::LaunchIntoCapture, format!("x{exec} on s{stream}"))
    }

    /// Refuse an update that names no node of the executable's graph. Asked before its new work is looked at.
    pub(crate) fn exec_node(&mut self, exec: u64, graph: u64, node: u32) -> Result<(), Fail> {
        let of = self.exec(exec).graph;
        let count = self.graphs.get(&of).map(|found| found.nodes.len());
        if of != graph || count.is_none() {
            return Fail::misuse(Rule::ForeignNode, format!("node g{graph}.{node} and x{exec} of g{of}"));
        }
        if node as usize >= self.exec(exec).works.len() {
            return Fail::misuse(Rule::ForeignNode, format!("node g{graph}.{node} was added after x{exec} was made"));
        }
        Ok(())
    }

    pub(crate) fn exec_set(&mut self, exec: u64, node: u32, work: Work) -> Result<(), Fail> {
        let most = self.options.updates_per_exec_max;
        let found = self.exec(exec);
        let old = Arc::clone(&found.works[node as usize]);
        if !old.op.is_like(&work.op) {
            return Fail::misuse(Rule::NodeKind, format!("node {node} of x{exec}"));
        }
        if most.is_some_and(|most| found.updates >= most) {
            return Fail::misuse(Rule::TooManyUpdates, format!("{} of x{exec}", found.updates + 1));
        }
        found.updates += 1;
        found.checked = false;
        let work = Arc::new(work);
        Arc::make_mut(&mut found.works)[node as usize] = Arc::clone(&work);
        self.hold(&work.uses, Holder::Exec);
        self.release(&old.uses, Holder::Exec);
        Ok(())
    }

    /// All nodes, from a graph of the same shape. Refused as a whole: nothing has changed then.
    pub(crate) fn exec_update(&mut self, exec: u64, graph: u64) -> Result<(), Fail> {
        let most = self.options.updates_per_exec_max;
        let nodes = self.graph(graph).nodes.clone();
        let shape = Plan::new(&nodes);
        let found = self.exec(exec);
        let old = Arc::clone(&found.works);
        let same = shape.is_some_and(|shape| shape == *found.plan)
            && old.iter().zip(&nodes).all(|(old, node)| old.op.is_like(&node.work.op));
        if !same {
            return Err(Answer::refused(910, format!("x{exec} and g{graph} have other nodes or edges")).into());
        }
        let updates = found.updates.saturating_add(u32::try_from(nodes.len()).unwrap_or(u32::MAX));
        if most.is_some_and(|most| updates > most) {
            return Fail::misuse(Rule::TooManyUpdates, format!("{updates} of x{exec}"));
        }
        found.updates = updates;
        found.checked = false;
        found.works = Arc::new(nodes.iter().map(|node| Arc::clone(&node.work)).collect());
        for node in &nodes {
            self.hold(&node.work.uses, Holder::Exec);
        }
        for work in old.iter() {
            self.release(&work.uses, Holder::Exec);
        }
        Ok(())
    }

    pub(crate) fn exec_destroy(&mut self, exec: u64) -> Result<(), Fail> {
        let Some(found) = self.execs.remove(&exec) else { return Ok(()) };
        for work in found.works.iter() {
            self.release(&work.uses, Holder::Exec);
        }
        if found.in_flight > 0 {
            return Fail::misuse(Rule::ExecInFlight, format!("x{exec}: {}", found.in_flight));
        }
        Ok(())
    }
}
