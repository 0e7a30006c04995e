//! The text is valid: a checker of the exposition format reads it back, and a few broken texts show that it would object.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::lifecycle::health::HealthInput;
use crate::lifecycle::metrics::gauges::DeviceAdmissionGauges;
use crate::lifecycle::metrics::store::BackendMetricsStore;

type Labelled = Vec<(String, String)>;
type Series = BTreeMap<(String, Labelled), f64>;

fn is_name(text: &str, colons: bool) -> bool {
    let first = text.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_' || colons && c == ':');
    first && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || colons && c == ':')
}

/// The labels between the braces, unescaped, and what follows the closing one.
fn labels(mut rest: &str) -> Result<(Labelled, &str), String> {
    let mut labels = Vec::new();
    loop {
        let (name, value) = rest.split_once("=\"").ok_or("a label without a value")?;
        let mut unescaped = String::new();
        let mut chars = value.char_indices();
        let end = loop {
            match chars.next().ok_or("a value without an end")? {
                (at, '"') => break at,
                (_, '\\') => match chars.next().ok_or("an escape without an end")?.1 {
                    'n' => unescaped.push('\n'),
                    char @ ('\\' | '"') => unescaped.push(char),
                    other => return Err(format!("an unknown escape {other}")),
                },
                (_, char) => unescaped.push(char),
            }
        };
        if !is_name(name, false) || name.starts_with("__") || labels.iter().any(|(known, _)| known == name) {
            return Err(format!("a bad label {name}"));
        }
        labels.push((name.to_owned(), unescaped));
        rest = match value[end + 1..].split_at_checked(1) {
            Some((",", more)) => more,
            Some(("}", after)) => return Ok((labels, after)),
            _ => return Err("labels without an end".to_owned()),
        };
    }
}

/// Read a page: each family has HELP, then TYPE, then its samples in one block, no series twice, all numbers.
fn check(text: &str) -> Result<Series, String> {
    if !text.ends_with('\n') {
        return Err("no line feed at the end".to_owned());
    }
    let (mut series, mut families) = (Series::new(), BTreeSet::new());
    let (mut helped, mut family) = (None, None);
    for line in text.lines() {
        let wrong = |what: &str| Err(format!("{what}: {line}"));
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let Some((name, help)) = rest.split_once(' ') else { return wrong("no help") };
            let escapes = help.replace("\\\\", "").replace("\\n", "");
            if !is_name(name, true) || escapes.contains('\\') || !families.insert(name.to_owned()) {
                return wrong("a bad or second family");
            }
            (helped, family) = (Some(name), None);
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let Some((name, kind)) = rest.split_once(' ') else { return wrong("no type") };
            let known = ["counter", "gauge", "histogram", "summary", "untyped"].contains(&kind);
            if helped.take() != Some(name) || !known || name.ends_with("_total") != (kind == "counter") {
                return wrong("a bad type");
            }
            family = Some((name, kind));
        } else {
            let Some((name, rest)) = line.split_once('{') else { return wrong("no labels") };
            let (labels, value) = labels(rest)?;
            let Some(Ok(value)) = value.strip_prefix(' ').map(str::parse::<f64>) else { return wrong("no number") };
            let Some((of, kind)) = family else { return wrong("a sample outside its family") };
            if of != name
                || (kind == "counter" && value < 0.0)
                || series.insert((name.to_owned(), labels), value).is_some()
            {
                return wrong("a bad or second sample");
            }
        }
    }
    match families.iter().find(|family| !series.keys().any(|(name, _)| name == *family)) {
        Some(empty) => Err(format!("a family without samples: {empty}")),
        None => Ok(series),
    }
}

fn value(series: &Series, name: &str, labels: &[(&str, &str)]) -> f64 {
    let labels = labels.iter().map(|(label, value)| ((*label).to_owned(), (*value).to_owned()));
    let key = (name.to_owned(), labels.collect::<Vec<_>>());
    *series.get(&key).unwrap_or_else(|| panic!("no series {key:?}"))
}

#[test]
fn the_checker_objects() {
    let family = "# HELP a_total x\n# TYPE a_total counter\n";
    check(&format!("{family}a_total{{b=\"c\"}} 1\n")).unwrap();
    let broken = [
        "a_total{b=\"c\"} 1".to_owned(),
        "a_total{b=\"c\"} 1\n".to_owned(),
        format!("{family}a_total{{b=\"c\"}} 1\na_total{{b=\"c\"}} 2\n"),
        format!("{family}a_total{{b=\"c\"}} x\n"),
        format!("{family}a_total{{b=\"c\"}} -1\n"),
        format!("{family}a_total{{b=\"c\\d\"}} 1\n"),
        format!("{family}a_total{{b=\"c\" 1\n"),
        format!("{family}a_total{{1b=\"c\"}} 1\n"),
        format!("{family}a_total{{b=\"c\",b=\"d\"}} 1\n"),
        format!("{family}other{{b=\"c\"}} 1\n"),
        format!("{family}{family}a_total{{b=\"c\"}} 1\n"),
        "# TYPE a_total counter\na_total{b=\"c\"} 1\n".to_owned(),
        "# HELP a x\n# TYPE a counter\na{b=\"c\"} 1\n".to_owned(),
        family.to_owned(),
    ];
    for text in broken {
        assert!(check(&text).is_err(), "accepted {text:?}");
    }
}

/// B-178, B-181: the page is valid, whatever the label's text is, and its figures are those of the parts.
#[test]
fn a_page_is_valid_and_complete() {
    let metrics = BackendMetricsStore::new(9, &[0, 63]).unwrap().snapshot();
    let counters = AttemptCountersSnapshot { attempts_begun: u64::MAX, reports_ready: 3, ..Default::default() };
    let device = |device_ordinal| DeviceAdmissionGauges {
        device_ordinal,
        capacity_bytes: 1 << 40,
        committed_bytes: 5,
        open: device_ordinal == 0,
        ..Default::default()
    };
    let admission =
        AdmissionGauges { queued_requests: 4, max_queued_requests: 1024, devices: vec![device(0), device(63)] };
    let health = BackendHealth::assess(&HealthInput::default());
    for backend in ["", "plain", "quote\" back\\slash\nline", "{a=\"b\"} 1", "\\n", "Größe"] {
        let page = PrometheusPage {
            backend,
            metrics: &metrics,
            counters: &counters,
            admission: Some(&admission),
            health: Some(&health),
        };
        let series = check(&page.text()).unwrap_or_else(|wrong| panic!("{wrong}"));
        let of = |name: &str, labels: &[(&str, &str)]| {
            let all: Vec<_> = std::iter::once(("backend", backend)).chain(labels.iter().copied()).collect();
            value(&series, name, &all)
        };
        assert_eq!(of("graphreel_backend_info", &[("backend_id", "9")]), 1.0);
        assert_eq!(of("graphreel_attempts_begun_total", &[]), u64::MAX as f64);
        assert_eq!(of("graphreel_attempt_reports_ready_total", &[]), 3.0);
        assert_eq!(of("graphreel_admission_queued_requests", &[]), 4.0);
        assert_eq!(of("graphreel_admission_capacity_bytes", &[("device", "63")]), (1_u64 << 40) as f64);
        assert_eq!(of("graphreel_admission_open", &[("device", "0")]), 1.0);
        assert_eq!(of("graphreel_admission_open", &[("device", "63")]), 0.0);
        assert_eq!(of("graphreel_backend_health", &[("state", "ready")]), 0.0);
        assert_eq!(of("graphreel_backend_health", &[("state", "live")]), 1.0);
        assert_eq!(series.keys().filter(|(name, _)| name == "graphreel_attempts_completed_total").count(), 15);
    }
}

/// B-178: a page without devices, admission or health has no empty families.
#[test]
fn a_small_page_is_valid_too() {
    let metrics = BackendMetricsStore::new(1, &[]).unwrap().snapshot();
    let counters = AttemptCountersSnapshot::default();
    let empty = AdmissionGauges::default();
    for admission in [None, Some(&empty)] {
        let page = PrometheusPage { backend: "b", metrics: &metrics, counters: &counters, admission, health: None };
        check(&page.text()).unwrap_or_else(|wrong| panic!("{wrong}"));
    }
}

#[test]
fn nanoseconds_are_written_as_seconds_exactly() {
    let text = [0, 1, 999_999_999, 1_000_000_000, u64::MAX].map(|ns| Seconds(ns).to_string());
    let expected = ["0.000000000", "0.000000001", "0.999999999", "1.000000000", "18446744073.709551615"];
    assert_eq!(text, expected);
}
