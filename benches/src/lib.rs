//! The performance targets of the backends and of the core, each as a ratio whose two sides were measured in one run.
//!
//! `cargo bench -p graphreel-bench` prints the table that `docs/PERFORMANCE.md` keeps. Results are checked against the host
//! before anything is timed; a figure is a median of many runs whose two sides took turns.

pub mod bookkeeping;
pub mod cuda;
pub mod facade;
pub mod files;
pub mod growth;
pub mod hardware;
pub mod hip_on_cuda;
pub mod null;
pub mod replay;
pub mod translate;

/// One measured target.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Finding {
    /// The target's name.
    pub target: &'static str,
    /// What was run.
    pub what: String,
    /// The two sides, with their units.
    pub sides: String,
    /// The figure that the target bounds.
    pub figure: f64,
    /// The bound, as text; empty for a figure that has none.
    pub bound: &'static str,
    /// Whether the figure keeps it.
    pub kept: bool,
}

impl Finding {
    /// Whether the bound is kept, in a word; none where there is no bound.
    pub fn verdict(&self) -> &'static str {
        match (self.bound.is_empty(), self.kept) {
            (true, _) => "",
            (false, true) => "yes",
            (false, false) => "no",
        }
    }
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

/// The smallest of some measurements that `share` of them do not exceed; 0 of none.
pub fn quantile(mut samples: Vec<f64>, share: f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    let rank = (samples.len() as f64 * share).ceil() as usize;
    samples.get(rank.clamp(1, samples.len().max(1)) - 1).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::{Finding, median, quantile};

    #[test]
    fn a_quantile_is_one_of_the_measurements() {
        let samples: Vec<f64> = (1..=1000).rev().map(f64::from).collect();
        let of = |share| quantile(samples.clone(), share);
        assert_eq!([of(0.5), of(0.99), of(0.999), of(1.0), of(0.0)], [500.0, 990.0, 999.0, 1000.0, 1.0]);
        assert_eq!(quantile(vec![7.0], 0.999), 7.0);
        assert_eq!(quantile(Vec::new(), 0.5), 0.0);
    }

    #[test]
    fn a_figure_without_a_bound_has_no_verdict() {
        let verdict = |bound, kept| {
            let (what, sides) = (String::new(), String::new());
            Finding { target: "", what, sides, figure: 0.0, bound, kept }.verdict()
        };
        assert_eq!([verdict("<= 1", true), verdict("<= 1", false), verdict("", true)], ["yes", "no", ""]);
    }

    #[test]
    fn the_median_is_the_middle_or_between_the_middles() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(Vec::new()), 0.0);
    }
}
