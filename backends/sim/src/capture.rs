//! Stream capture: from its begin on, a stream records what it is given. A capture here stays on its one stream: whatever would
//! join another to it is misuse, and breaks it.

use graphreel::graph::driver::CaptureState;
use graphreel::sync::Arc;

use crate::failure::{Answer, Fail, Rule};
use crate::graph::{Graph, Node};
use crate::op::{Holder, Work};
use crate::state::State;

/// An open capture.
#[derive(Debug)]
pub(crate) struct Capture {
    /// The id of the graph it will become.
    pub(crate) graph: u64,
    nodes: Vec<Node>,
    /// What the next node depends on.
    pub(crate) tail: Vec<u32>,
    broken: Option<String>,
}

impl Capture {
    /// Refuse what a broken capture cannot take.
    fn whole(&self) -> Result<(), Fail> {
        self.broken.as_ref().map_or(Ok(()), |why| Err(Answer::capture_broken(why).into()))
    }
}

impl State {
    pub(crate) fn capture_begin(&mut self, stream: u64) -> Result<(), Fail> {
        if !self.options.relaxed_capture {
            return Fail::misuse(Rule::NotInCaps, "relaxed captures");
        }
        if self.stream(stream).capture.is_some() {
            return Fail::misuse(Rule::NestedCapture, format!("s{stream}"));
        }
        let graph = self.ids.graph();
        self.stream(stream).capture = Some(Capture { graph, nodes: Vec::new(), tail: Vec::new(), broken: None });
        Ok(())
    }

    pub(crate) fn capture_state(&mut self, stream: u64) -> CaptureState {
        match &self.stream(stream).capture {
            None => CaptureState::None,
            Some(Capture { broken: None, .. }) => CaptureState::Active,
            Some(_) => CaptureState::Invalidated,
        }
    }

    /// The graph's id and the nodes at its end.
    pub(crate) fn capture_tail(&mut self, stream: u64) -> Result<(u64, Vec<u32>), Fail> {
        if !self.options.capture_tail {
            return Fail::misuse(Rule::NotInCaps, "capture_tail");
        }
        let Some(capture) = &self.stream(stream).capture else {
            return Fail::misuse(Rule::NoCapture, format!("s{stream}"));
        };
        capture.whole()?;
        Ok((capture.graph, capture.tail.clone()))
    }

    /// Stop recording. Answers the graph's id where the capture is whole.
    pub(crate) fn capture_end(&mut self, stream: u64) -> Result<u64, Fail> {
        let Some(capture) = self.stream(stream).capture.take() else {
            return Fail::misuse(Rule::NoCapture, format!("s{stream}"));
        };
        for node in &capture.nodes {
            self.release(&node.work.uses, Holder::Capture);
        }
        capture.whole()?;
        for node in &capture.nodes {
            self.hold(&node.work.uses, Holder::Graph);
        }
        self.graphs.insert(capture.graph, Graph { nodes: capture.nodes });
        Ok(capture.graph)
    }

    /// Refuse work on a stream whose capture is broken.
    pub(crate) fn takes_work(&mut self, stream: u64) -> Result<(), Fail> {
        self.stream(stream).capture.as_ref().map_or(Ok(()), Capture::whole)
    }

    /// Append a node to the stream's capture, if it captures.
    pub(crate) fn recorded(&mut self, stream: u64, work: &Arc<Work>) -> bool {
        let Some(capture) = &mut self.stream(stream).capture else { return false };
        let index = u32::try_from(capture.nodes.len()).expect("a graph below four billion nodes");
        let after = std::mem::replace(&mut capture.tail, vec![index]);
        capture.nodes.push(Node { work: Arc::clone(work), after });
        self.hold(&work.uses, Holder::Capture);
        true
    }

    /// Invalidate a stream's capture; `graph` names the one that is meant, where it may have ended meanwhile.
    pub(crate) fn break_capture(&mut self, stream: u64, graph: Option<u64>, why: &str) {
        let Some(found) = self.streams.get_mut(&stream) else { return };
        let Some(capture) = &mut found.capture else { return };
        if graph.is_none_or(|graph| graph == capture.graph) {
            capture.broken.get_or_insert_with(|| why.to_owned());
        }
    }
}
