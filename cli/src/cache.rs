//! `graphreel cache`: where compiled code is kept, how much of it there is, and an end to it.

use graphreel_cpp::cache::{Cache, CacheError, Content, Settings};
use serde::Serialize;

use crate::args::CacheArgs;
use crate::devices::size;
use crate::failure::Failure;
use crate::output::{self, Json};

/// The object of `cache --json`. As JSON it leaves out what is not known.
#[derive(Debug, Serialize)]
struct Report {
    schema: &'static str,
    /// Whether compiled code is kept.
    used: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    entries: u64,
    bytes: u64,
    bytes_max: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    removed: Option<Removed>,
}

/// What `--clear` took away.
#[derive(Debug, Serialize)]
struct Removed {
    entries: u64,
    bytes: u64,
}

/// Run the command. A cache that is off is an answer, and has nothing to clear; one that is refused cannot be cleared.
///
/// # Errors
///
/// [`Failure::Cache`] where the folder is not to be used or answers with an error, and what writing the answer ran into.
pub(crate) fn run(args: CacheArgs) -> Result<(), Failure> {
    let json = Json::new(args.json.json);
    json.check()?;
    let settings = Settings::from_environment();
    let cache = Cache::open(&settings);
    let removed = match cache.refusal() {
        None if args.clear => Some(cache.clear()?),
        Some(error) if args.clear && !matches!(error, CacheError::Off) => return Err(error.into()),
        _ => None,
    };
    let report = report(&cache, removed, settings.bytes_max)?;
    json.put(&report)?;
    if json.leaves_stdout() { output::print(&describe(&report)) } else { Ok(()) }
}

fn report(cache: &Cache, removed: Option<Content>, bytes_max: u64) -> Result<Report, Failure> {
    let refusal = cache.refusal();
    let (entries, bytes) = match refusal {
        Some(_) => (0, 0),
        None => cache.stats().map(|stats| (stats.entries, stats.bytes))?,
    };
    Ok(Report {
        schema: "graphreel.cache/1",
        used: refusal.is_none(),
        why_not: refusal.map(|why| why.to_string()),
        folder: cache.folder().map(|folder| folder.display().to_string()),
        entries,
        bytes,
        bytes_max,
        removed: removed.map(|Content { entries, bytes }| Removed { entries, bytes }),
    })
}

fn describe(report: &Report) -> String {
    if let Some(why) = &report.why_not {
        return format!("not used: {why}\n");
    }
    let folder = report.folder.as_deref().unwrap_or_default();
    let mut text = format!("folder: {folder}\n");
    if let Some(removed) = &report.removed {
        text += &format!("removed: {}\n", counted(removed.entries, removed.bytes));
    }
    text + &format!("kept: {}, of at most {}\n", counted(report.entries, report.bytes), size(report.bytes_max))
}

fn counted(entries: u64, bytes: u64) -> String {
    format!("{entries} entr{}, {}", if entries == 1 { "y" } else { "ies" }, size(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_counted_in_english() {
        assert_eq!(counted(0, 0), "0 entries, 0 bytes");
        assert_eq!(counted(1, 4096), "1 entry, 4 KiB");
    }
}
