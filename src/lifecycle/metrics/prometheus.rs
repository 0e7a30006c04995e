//! The metrics as text for Prometheus, exposition format 0.0.4. Every series has labels of a bounded set of values.

#[cfg(test)]
mod tests;

use std::fmt::{self, Write};

use crate::lifecycle::attempt::ledger::AttemptCountersSnapshot;
use crate::lifecycle::attempt::report::{AttemptDisposition, AttemptOutcome};
use crate::lifecycle::health::BackendHealth;
use crate::lifecycle::metrics::gauges::AdmissionGauges;
use crate::lifecycle::metrics::store::{AttemptDurations, BackendMetricsSnapshot};

/// The content type of the text, for an HTTP answer.
pub const PROMETHEUS_CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What is written. The parts are of different moments, each coherent in itself.
#[derive(Clone, Copy, Debug)]
pub struct PrometheusPage<'a> {
    /// The value of the label `backend` of every series, any text.
    pub backend: &'a str,
    /// The store.
    pub metrics: &'a BackendMetricsSnapshot,
    /// Counts of attempts.
    pub counters: &'a AttemptCountersSnapshot,
    /// Admission, where there is one.
    pub admission: Option<&'a AdmissionGauges>,
    /// Health, where it was asked for.
    pub health: Option<&'a BackendHealth>,
}

type Labels<'a> = &'a [(&'a str, &'a str)];

impl PrometheusPage<'_> {
    /// The page as text.
    pub fn text(&self) -> String {
        self.to_string()
    }

    fn counters(&self, page: &mut Page<'_, '_>) -> fmt::Result {
        let AttemptCountersSnapshot {
            attempts_begun,
            reports_ready,
            completion_queue_pushed,
            completion_queue_overflowed,
            reports_discarded,
        } = *self.counters;
        let counters = [
            ("graphreel_attempts_begun_total", "Attempts that were begun.", attempts_begun),
            ("graphreel_attempt_reports_ready_total", "Attempt reports that became ready.", reports_ready),
            (
                "graphreel_completion_queue_pushed_total",
                "Reports without a receiver that the completion queue took.",
                completion_queue_pushed,
            ),
            (
                "graphreel_completion_queue_overflowed_total",
                "Reports without a receiver that the completion queue had no room for.",
                completion_queue_overflowed,
            ),
            (
                "graphreel_attempt_reports_discarded_total",
                "Reports without a receiver where there is no completion queue.",
                reports_discarded,
            ),
        ];
        counters.into_iter().try_for_each(|(name, help, value)| {
            page.family(name, Kind::Counter, help)?;
            page.sample(name, &[], value)
        })
    }

    fn attempts(&self, page: &mut Page<'_, '_>) -> fmt::Result {
        let name = "graphreel_metrics_generation";
        page.family(name, Kind::Gauge, "Sealed attempts that the store has recorded.")?;
        page.sample(name, &[], self.metrics.generation)?;

        let name = "graphreel_attempts_completed_total";
        page.family(name, Kind::Counter, "Sealed attempts by disposition and outcome.")?;
        for disposition in AttemptDisposition::ALL {
            for outcome in AttemptOutcome::ALL {
                let labels = [("disposition", disposition.as_str()), ("outcome", outcome.as_str())];
                page.sample(name, &labels, self.metrics.attempts.completed(disposition, outcome))?;
            }
        }

        let name = "graphreel_attempts_completed_while_closing_total";
        page.family(name, Kind::Counter, "Sealed attempts that ended while the backend was closing.")?;
        page.sample(name, &[], self.metrics.attempts.completed_while_closing())?;

        let name = "graphreel_attempt_seconds_total";
        page.family(name, Kind::Counter, "Cumulative time of sealed attempts by phase.")?;
        phases(&self.metrics.durations)
            .into_iter()
            .try_for_each(|(phase, ns)| page.sample(name, &[("phase", phase)], Seconds(ns)))
    }

    fn devices(&self, page: &mut Page<'_, '_>) -> fmt::Result {
        if self.metrics.devices.is_empty() {
            return Ok(());
        }
        let name = "graphreel_device_attempts_completed_total";
        page.family(name, Kind::Counter, "Sealed attempts that were admitted to a device, by outcome.")?;
        for device in &self.metrics.devices {
            let ordinal = device.device_ordinal.to_string();
            for outcome in AttemptOutcome::ALL {
                let counts = AttemptDisposition::ALL.map(|disposition| device.attempts.completed(disposition, outcome));
                let labels = [("device", ordinal.as_str()), ("outcome", outcome.as_str())];
                page.sample(name, &labels, counts.into_iter().fold(0, u64::saturating_add))?;
            }
        }
        let name = "graphreel_device_attempt_seconds_total";
        page.family(name, Kind::Counter, "Cumulative time of attempts that were admitted to a device, by phase.")?;
        for device in &self.metrics.devices {
            let ordinal = device.device_ordinal.to_string();
            for (phase, ns) in phases(&device.durations) {
                page.sample(name, &[("device", &ordinal), ("phase", phase)], Seconds(ns))?;
            }
        }
        Ok(())
    }

    fn admission(&self, page: &mut Page<'_, '_>) -> fmt::Result {
        let Some(admission) = self.admission else { return Ok(()) };
        let queue = [
            ("graphreel_admission_queued_requests", "Requests in the admission queue.", admission.queued_requests),
            (
                "graphreel_admission_queue_capacity_requests",
                "The most requests that the admission queue takes.",
                admission.max_queued_requests,
            ),
        ];
        for (name, help, value) in queue {
            page.family(name, Kind::Gauge, help)?;
            page.sample(name, &[], value)?;
        }
        let devices = [
            ("graphreel_admission_capacity_bytes", "Bytes of a device that queries share."),
            ("graphreel_admission_committed_bytes", "Bytes of a device that are granted."),
            ("graphreel_admission_active_attempts", "Attempts that are admitted to a device."),
            ("graphreel_admission_max_active_attempts", "The most attempts of a device at once."),
            ("graphreel_admission_open", "1 while a device admits, 0 once it is quarantined or faulted."),
        ];
        for (at, (name, help)) in devices.into_iter().enumerate().filter(|_| !admission.devices.is_empty()) {
            page.family(name, Kind::Gauge, help)?;
            for device in &admission.devices {
                let values = [
                    device.capacity_bytes,
                    device.committed_bytes,
                    device.active_attempts,
                    device.max_active_attempts,
                    u64::from(device.open),
                ];
                page.sample(name, &[("device", &device.device_ordinal.to_string())], values[at])?;
            }
        }
        Ok(())
    }

    fn health(&self, page: &mut Page<'_, '_>) -> fmt::Result {
        let Some(health) = self.health else { return Ok(()) };
        let name = "graphreel_backend_health";
        page.family(name, Kind::Gauge, "1 for each state of health that holds, else 0.")?;
        let states = [
            ("live", health.live),
            ("ready", health.ready),
            ("degraded", health.degraded),
            ("restart_required", health.restart_required),
        ];
        states.into_iter().try_for_each(|(state, holds)| page.sample(name, &[("state", state)], u64::from(holds)))
    }
}

impl fmt::Display for PrometheusPage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let page = &mut Page { text: f, backend: self.backend };
        let name = "graphreel_backend_info";
        page.family(name, Kind::Gauge, "Always 1; the identity of the backend is in the label.")?;
        page.sample(name, &[("backend_id", &self.metrics.backend_id.to_string())], 1_u64)?;
        self.counters(page)?;
        self.attempts(page)?;
        self.devices(page)?;
        self.admission(page)?;
        self.health(page)
    }
}

fn phases(durations: &AttemptDurations) -> [(&'static str, u64); 4] {
    [
        ("total", durations.total_ns),
        ("planning", durations.planning_ns),
        ("queue_wait", durations.queue_wait_ns),
        ("physical_execution", durations.physical_execution_ns),
    ]
}

enum Kind {
    Counter,
    Gauge,
}

/// Nanoseconds written as seconds, exactly.
struct Seconds(u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// A page under way.
struct Page<'a, 'f> {
    text: &'a mut fmt::Formatter<'f>,
    backend: &'a str,
}

impl Page<'_, '_> {
    fn family(&mut self, name: &str, kind: Kind, help: &str) -> fmt::Result {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        };
        write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n")
    }

    fn sample(&mut self, name: &str, labels: Labels<'_>, value: impl fmt::Display) -> fmt::Result {
        write!(self.text, "{name}{{backend=\"{}\"", Escaped(self.backend))?;
        for (label, text) in labels {
            write!(self.text, ",{label}=\"{}\"", Escaped(text))?;
        }
        writeln!(self.text, "}} {value}")
    }
}

/// A label's value: backslash, quote and line feed are escaped.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|char| match char {
            '\\' => f.write_str("\\\\"),
            '"' => f.write_str("\\\""),
            '\n' => f.write_str("\\n"),
            other => f.write_char(other),
        })
    }
}
