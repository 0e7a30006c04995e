//! What a backend counts, as one coherent snapshot and as text for Prometheus.

pub mod gauges;
pub mod prometheus;
pub mod store;
