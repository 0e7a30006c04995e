//! Where a replay is cut into submissions, so that the device runs the first nodes while the next are encoded.
//!
//! Measured on an NVIDIA H200 (`docs/PERFORMANCE.md`): a node takes 1.4 to 2.5 us to encode, 2.5 us to run where it waits
//! for the one before and less than 1 us where it does not, and a submission costs about 30 us. So a chain is cut evenly:
//! its device starts early and has little left to do when the last submission comes. Work that is independent runs faster
//! than it is encoded, and gains from no cut until there is much of it.

/// What decides where to cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Nodes of the graph.
    pub(crate) nodes: usize,
    /// Nodes on its longest chain of dependences.
    pub(crate) critical_path: usize,
    /// Whether the device is the processor: encoding and running then take turns, and a cut gains nothing.
    pub(crate) software: bool,
    /// The same number of nodes for each submission, where the configuration says so.
    pub(crate) fixed: Option<usize>,
}

/// Submissions of a deep graph, in nodes: as many as keep the last one short beside the whole.
const DEEP: std::ops::RangeInclusive<usize> = 32..=64;
/// A submission of a wide graph, in nodes.
const WIDE: usize = 4096;
/// A rest shorter than this goes with the submission before it.
const REST: usize = 16;

/// One past the last node of each submission.
pub(crate) fn cuts(shape: Shape) -> Vec<usize> {
    let Shape { nodes, critical_path, software, fixed } = shape;
    let deep = critical_path.saturating_mul(2) >= nodes;
    let (step, rest) = match fixed {
        Some(fixed) => (fixed.max(1), 0),
        None if software => (nodes.max(1), 0),
        None if deep => ((nodes / 3).clamp(*DEEP.start(), *DEEP.end()), REST),
        None => (WIDE, REST),
    };
    let mut ends: Vec<usize> = (0..nodes).step_by(step).skip(1).filter(|end| nodes - end >= rest).collect();
    if nodes > 0 {
        ends.push(nodes);
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(nodes: usize, critical_path: usize) -> Shape {
        Shape { nodes, critical_path, software: false, fixed: None }
    }

    #[test]
    fn a_chain_is_cut_so_that_its_end_is_short() {
        assert_eq!(cuts(shape(40, 40)), [40]);
        assert_eq!(cuts(shape(100, 100)), [33, 66, 100]);
        assert_eq!(cuts(shape(200, 200)), [64, 128, 200]);
        assert_eq!(cuts(shape(1000, 1000)).len(), 16);
    }

    #[test]
    fn independent_work_is_one_submission_unless_there_is_much() {
        assert_eq!(cuts(shape(1000, 1)), [1000]);
        assert_eq!(cuts(shape(10_000, 2)), [4096, 8192, 10_000]);
    }

    #[test]
    fn software_and_configuration_decide_first() {
        assert_eq!(cuts(Shape { software: true, ..shape(1000, 1000) }), [1000]);
        assert_eq!(cuts(Shape { fixed: Some(5), software: true, ..shape(12, 1) }), [5, 10, 12]);
        assert_eq!(cuts(Shape { fixed: Some(0), ..shape(2, 1) }), [1, 2]);
        assert!(cuts(shape(0, 0)).is_empty());
    }
}
