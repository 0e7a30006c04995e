//! Logs go to standard error, filtered by `GRAPHREEL_LOG`, else `RUST_LOG`, else only warnings.

use std::io;

use tracing_subscriber::EnvFilter;

use crate::failure::Failure;

/// Without a wish: warnings. wgpu's own complaint that a machine has no driver is none: the program says that itself, in a line.
/// It comes through where another part of a build has `log` records passed on.
const QUIET: &str = "warn,wgpu_hal=off";

/// Start logging. `verbose` is the filter where no variable sets one: what was chosen and why.
///
/// # Errors
///
/// [`Failure::Usage`] when a variable does not hold a filter.
pub(crate) fn start(verbose: bool) -> Result<(), Failure> {
    let filter = filter(|name| std::env::var(name).ok(), verbose)?;
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_ansi(false);
    subscriber.try_init().map_err(|error| Failure::Usage(format!("cannot start logging: {error}")))
}

fn filter(var: impl Fn(&str) -> Option<String>, verbose: bool) -> Result<EnvFilter, Failure> {
    for name in ["GRAPHREEL_LOG", "RUST_LOG"] {
        if let Some(text) = var(name).filter(|text| !text.is_empty()) {
            return EnvFilter::try_new(&text)
                .map_err(|error| Failure::Usage(format!("{name}=`{text}` is not a log filter: {error}")));
        }
    }
    Ok(EnvFilter::new(if verbose { "info,graphreel=debug" } else { QUIET }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_variable_comes_before_rusts() {
        let both = |name: &str| Some(if name == "GRAPHREEL_LOG" { "error".to_owned() } else { "trace".to_owned() });
        assert_eq!(filter(both, true).expect("valid").to_string(), "error");
        let quiet = filter(|_| None, false).expect("valid").to_string();
        assert!(quiet.contains("warn") && quiet.contains("wgpu_hal=off"), "{quiet}");
    }

    #[test]
    fn a_bad_filter_is_named() {
        let bad = |name: &str| (name == "RUST_LOG").then(|| "a=b=c".to_owned());
        let failure = filter(bad, false).expect_err("not a filter");
        assert!(failure.to_string().contains("RUST_LOG"), "{failure}");
    }
}
