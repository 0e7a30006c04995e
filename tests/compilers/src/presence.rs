//! Whether a compiler is there, and what a test does where it is not.

/// A compiler that cannot be used here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} is absent: {why}")]
pub struct Absent {
    /// Its name, as `GRAPHREEL_REQUIRE` lists it.
    pub name: &'static str,
    /// What was looked for, and how to get it.
    pub why: String,
}

/// What was found; `None`, after saying that `test` is skipped, where the compiler is absent.
///
/// # Panics
///
/// When `GRAPHREEL_REQUIRE` names the compiler and it is absent.
pub fn present<T>(test: &str, found: Result<T, Absent>) -> Option<T> {
    let absent = match found {
        Ok(found) => return Some(found),
        Err(absent) => absent,
    };
    let listed = std::env::var("GRAPHREEL_REQUIRE").unwrap_or_default();
    let required = listed.split(',').any(|wanted| wanted.trim() == absent.name);
    assert!(!required, "GRAPHREEL_REQUIRE names {}: {absent}", absent.name);
    announce(&format!("{test}: SKIPPED, {absent}"));
    None
}

/// Say on the test's own output why it did not run as written.
#[expect(clippy::print_stderr, reason = "a test that is left out has to say so where people look")]
pub fn announce(text: &str) {
    eprintln!("{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_given_and_what_is_not_is_skipped() {
        assert_eq!(present("a_test", Ok(3)), Some(3));
        let absent = Absent { name: "no-such-compiler", why: "nobody wrote it".into() };
        assert_eq!(absent.to_string(), "no-such-compiler is absent: nobody wrote it");
        assert_eq!(present::<u32>("a_test", Err(absent)), None);
    }
}
