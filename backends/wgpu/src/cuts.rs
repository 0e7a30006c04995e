//! Where a replay is cut into submissions, so that the device runs the first nodes while the next are encoded.
//!
//! Measured on an NVIDIA H200 (`docs/PERFORMANCE.md`): a node takes about 1.4 us to encode and 2.5 us to run where it waits
//! for the one before, less than 1 us where it does not, and a submission costs about 30 us. So a chain gains from an
//! early first submission, and each may then be longer than the last by less than the ratio of both times; work that
//! is independent gains nothing until there is much of it.

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

/// The first submission of a deep graph, in nodes.
const DEEP_FIRST: usize = 32;
/// The first submission of a wide graph, in nodes.
const WIDE_FIRST: usize = 1024;

/// One past the last node of each submission.
pub(crate) fn cuts(shape: Shape) -> Vec<usize> {
    let Shape { nodes, critical_path, software, fixed } = shape;
    let deep = critical_path.saturating_mul(2) >= nodes;
    let mut step = match fixed {
        Some(fixed) => fixed.max(1),
        None if software => nodes.max(1),
        None if deep => DEEP_FIRST,
        None => WIDE_FIRST,
    };
    let mut ends = Vec::new();
    let mut end = 0;
    while end < nodes {
        let left = nodes - end;
        // A short rest is not worth a submission.
        end = if left < step + step / 2 && fixed.is_none() { nodes } else { end + step.min(left) };
        ends.push(end);
        if fixed.is_none() {
            step = if deep { step + step / 2 } else { step.saturating_mul(4) };
        }
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
    fn a_chain_starts_early_and_its_submissions_grow() {
        assert_eq!(cuts(shape(40, 40)), [40]);
        assert_eq!(cuts(shape(100, 100)), [32, 100]);
        assert_eq!(cuts(shape(1000, 1000)), [32, 80, 152, 260, 422, 665, 1000]);
    }

    #[test]
    fn independent_work_is_one_submission_unless_there_is_much() {
        assert_eq!(cuts(shape(1535, 1)), [1535]);
        assert_eq!(cuts(shape(10_000, 2)), [1024, 5120, 10_000]);
    }

    #[test]
    fn software_and_configuration_decide_first() {
        assert_eq!(cuts(Shape { software: true, ..shape(1000, 1000) }), [1000]);
        assert_eq!(cuts(Shape { fixed: Some(5), software: true, ..shape(12, 1) }), [5, 10, 12]);
        assert_eq!(cuts(Shape { fixed: Some(0), ..shape(2, 1) }), [1, 2]);
        assert!(cuts(shape(0, 0)).is_empty());
    }
}
