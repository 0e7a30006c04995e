//! The performance targets of the wgpu backend and of the core, each as a ratio whose two sides were measured in one run.
//!
//! `cargo bench -p graphreel-bench` prints the table that `docs/PERFORMANCE.md` keeps. Results are checked against the host
//! before anything is timed; a figure is a median of many runs whose two sides took turns.

pub mod bookkeeping;
pub mod files;
pub mod growth;
pub mod hardware;
pub mod null;
pub mod replay;

/// One measured target.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The target's name.
    pub target: &'static str,
    /// What was run.
    pub what: String,
    /// The two sides, with their units.
    pub sides: String,
    /// The figure that the target bounds.
    pub figure: f64,
    /// The bound, as text.
    pub bound: &'static str,
    /// Whether the figure keeps it.
    pub kept: bool,
}

/// The median of some measurements; 0 of none.
pub fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    match samples.len() {
        0 => 0.0,
        n if n % 2 == 1 => samples[n / 2],
        n => f64::midpoint(samples[n / 2 - 1], samples[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_is_the_middle_or_between_the_middles() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(Vec::new()), 0.0);
    }
}
