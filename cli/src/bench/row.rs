//! The benchmark's answer: one row for each graph, as JSON and as a table for people.

use std::time::Duration;

use comfy_table::{CellAlignment, Table, TableComponent};
use serde::Serialize;

use crate::simulated::NO_DEVICE;

/// One workload at one size on one device. What was not measured is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Row {
    /// The backend's name.
    pub(crate) backend: String,
    /// The device's name.
    pub(crate) device: String,
    /// Whether that is no device, but the simulator: its times are those of a CPU interpreter. Absent on a device.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) simulated: bool,
    /// The workload's name.
    pub(crate) workload: &'static str,
    /// Launches of one replay.
    pub(crate) nodes: usize,
    /// How replays ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tier: Option<&'static str>,
    /// Which tiers were allowed.
    pub(crate) policy: String,
    /// Whether every run that was looked at gave the host's bytes.
    pub(crate) verified: bool,
    /// Why the row failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// How often each figure was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) replays: Option<u32>,
    /// Eager launches, from the first call to the end of the work, in microseconds; medians, as all times here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) eager_us: Option<f64>,
    /// A replay, until the call returns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) issue_us: Option<f64>,
    /// A replay, until the work is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) total_us: Option<f64>,
    /// CPU time of the calling thread for a replay, until the work is done, for each node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cpu_us_per_node: Option<f64>,
    /// The whole capture, seal included; once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) capture_us: Option<f64>,
    /// Making the executable form; once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seal_us: Option<f64>,
    /// Device bytes that the graph holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pinned_bytes: Option<u64>,
    /// Submissions of one replay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) submits: Option<usize>,
    /// The same work as hand-written wgpu in one submit, until it is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) baseline_one_submit_us: Option<f64>,
    /// The same with a submit every so many nodes, at the best of a few such numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) baseline_cut_submits_us: Option<f64>,
    /// That number of nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) baseline_cut_nodes: Option<usize>,
    /// As `cpu_us_per_node`, of the one of both whose total is shorter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) baseline_cpu_us_per_node: Option<f64>,
    /// Why there is no baseline, where one was to be expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) baseline_absent: Option<String>,
    /// The share of images read right, 0 to 1; only of `digits`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) accuracy: Option<f64>,
    /// How many images that is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) images: Option<usize>,
}

/// Microseconds, to a tenth of a nanosecond and no further.
pub(crate) fn micros(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e10).round() / 1e4
}

/// All rows as a table.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_preset(comfy_table::presets::UTF8_HORIZONTAL_ONLY);
    table.remove_style(TableComponent::HorizontalLines).remove_style(TableComponent::MiddleIntersections);
    table.set_header([
        "workload",
        "nodes",
        "tier",
        "verified",
        "eager",
        "issue",
        "total",
        "CPU/node",
        "capture",
        "seal",
        "pinned",
        "by hand: one",
        "cut",
        "CPU/node",
    ]);
    for row in rows {
        table.add_row(cells(row));
    }
    for column in table.column_iter_mut().skip(1).filter(|column| ![2, 3].contains(&column.index)) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n")
}

fn cells(row: &Row) -> [String; 14] {
    let time = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), human);
    [
        row.workload.to_owned(),
        row.nodes.to_string(),
        row.tier.unwrap_or("-").to_owned(),
        if row.verified { "yes".to_owned() } else { "FAILED".to_owned() },
        time(row.eager_us),
        time(row.issue_us),
        time(row.total_us),
        time(row.cpu_us_per_node),
        time(row.capture_us),
        time(row.seal_us),
        row.pinned_bytes.map_or_else(|| "-".to_owned(), |bytes| format!("{} KiB", bytes.div_ceil(1024))),
        time(row.baseline_one_submit_us),
        time(row.baseline_cut_submits_us),
        time(row.baseline_cpu_us_per_node),
    ]
}

fn human(micros: f64) -> String {
    match micros {
        time if time < 100.0 => format!("{time:.1} µs"),
        time if time < 10_000.0 => format!("{time:.0} µs"),
        time => format!("{:.1} ms", time / 1e3),
    }
}

/// What the table has no room for: failures, accuracy, missing baselines.
pub(crate) fn remarks(row: &Row) -> Option<String> {
    let name = format!("{} of {} nodes", row.workload, row.nodes);
    match (row, row.accuracy, row.images) {
        (Row { error: Some(error), .. }, ..) => Some(format!("FAILED: {name}: {error}")),
        (_, Some(accuracy), Some(images)) => Some(format!(
            "digits: {images} handwritten digits, {:.2} % read right, image for image as on the host{}",
            accuracy * 100.0,
            if row.simulated { format!(" ({NO_DEVICE})") } else { String::new() },
        )),
        _ => row.baseline_absent.as_ref().map(|why| format!("{name}: no hand-written wgpu beside it: {why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_is_absent() {
        let row = Row { workload: "chain", nodes: 1, ..Row::default() };
        let text = serde_json::to_string(&row).expect("a row is JSON");
        assert_eq!(text, r#"{"backend":"","device":"","workload":"chain","nodes":1,"policy":"","verified":false}"#);
    }

    #[test]
    fn a_failed_row_says_so_twice() {
        let row = Row { workload: "chain", nodes: 3, error: Some("word 1".to_owned()), ..Row::default() };
        assert!(table(std::slice::from_ref(&row)).contains("FAILED"));
        assert_eq!(remarks(&row).as_deref(), Some("FAILED: chain of 3 nodes: word 1"));
    }

    #[test]
    fn times_have_a_fitting_unit() {
        assert_eq!([human(1.26), human(1234.4), human(12_345.6)], ["1.3 µs", "1234 µs", "12.3 ms"]);
        assert_eq!(micros(Duration::from_nanos(1_500)), 1.5);
    }
}
