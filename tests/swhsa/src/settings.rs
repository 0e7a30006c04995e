//! What the environment asks of the device: its personality, the seed of its delays, and whether it tells what it does.

use std::sync::OnceLock;
use std::time::Duration;

use crate::agent::{GFX90A, GFX1100, Personality};

/// The longest delay of one operation where there is a seed.
const DELAY_MAX: Duration = Duration::from_micros(300);

/// What was asked for, once for the process.
pub(crate) struct Settings {
    pub(crate) personality: &'static Personality,
    /// `None`: operations are not delayed, and packets run in their order.
    pub(crate) seed: Option<u64>,
    pub(crate) delay_max: Duration,
    pub(crate) log: bool,
    /// What the environment has that cannot be understood.
    pub(crate) wrong: Option<String>,
}

pub(crate) fn get() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        let read = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        parse(
            read("GRAPHREEL_SWHSA").as_deref(),
            read("GRAPHREEL_SWHSA_SEED").as_deref(),
            read("GRAPHREEL_SWHSA_LOG").is_some(),
        )
    })
}

fn parse(personality: Option<&str>, seed: Option<&str>, log: bool) -> Settings {
    let mut wrong = None;
    let personality = match personality {
        None | Some("gfx1100") => &GFX1100,
        Some("gfx90a") => &GFX90A,
        Some(other) => {
            wrong = Some(format!("GRAPHREEL_SWHSA is `{other}`: use gfx1100 or gfx90a"));
            &GFX1100
        }
    };
    let seed = seed.and_then(|text| match text.parse() {
        Ok(seed) => Some(seed),
        Err(_) => {
            wrong = Some(format!("GRAPHREEL_SWHSA_SEED is `{text}`: use a whole number"));
            None
        }
    });
    Settings { personality, seed, delay_max: DELAY_MAX, log, wrong }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_understood_is_told() {
        assert!(parse(None, None, false).wrong.is_none());
        assert_eq!(parse(Some("gfx90a"), Some("7"), false).personality.wave, 64);
        assert!(parse(Some("gfx9"), None, false).wrong.is_some_and(|text| text.contains("gfx9")));
        assert!(parse(None, Some("x"), false).wrong.is_some_and(|text| text.contains("_SEED")));
    }
}
