//! The frame itself: an absent backend is skipped, or refused when it is required, and the entries are well named.

use graphreel::{Config, Device};
use graphreel_testkit::{Env, Expect, Faults, Fixture, Opened};

struct Nowhere;

impl Fixture for Nowhere {
    const NAME: &'static str = "nowhere";

    fn open(_config: Config) -> Opened {
        Opened::Absent("it exists for this test only".to_owned())
    }

    fn expect(test: &str) -> Expect {
        match test {
            "frame::unsupported" => Expect::Unsupported("it is made up"),
            _ => Expect::Pass,
        }
    }

    fn faults() -> Option<&'static dyn Faults> {
        None
    }

    fn audit(_test: &str) {}
}

// Every entry of the suite, skipped one by one: what this proves is that the macro makes them.
graphreel_testkit::conformance!(Nowhere);

fn never(env: &Env) {
    let device: &Device = &env.device;
    panic!("there is no device: {device:?}");
}

#[test]
fn what_is_not_supported_does_not_open_a_device() {
    graphreel_testkit::run::<Nowhere, _>("frame::unsupported", never);
}

#[test]
fn what_is_absent_does_not_run() {
    graphreel_testkit::run::<Nowhere, _>("frame::absent", never);
}

#[test]
fn no_entry_is_listed_twice() {
    let mut entries = graphreel_testkit::suite::ENTRIES.to_vec();
    entries.sort_unstable();
    let all = entries.len();
    entries.dedup();
    assert!(all > 0 && entries.len() == all);
}

#[test]
fn every_shader_has_an_entry_of_its_name() {
    let entries = graphreel_testkit::suite::ENTRIES;
    let missing = graphreel::shaders::ALL.iter().map(|shader| format!("shaders::{}", shader.name));
    let missing: Vec<String> = missing.filter(|name| !entries.contains(&name.as_str())).collect();
    assert!(missing.is_empty(), "nobody runs these on a device: {missing:?}");
}

/// A machine that is to have the backend says so by `GRAPHREEL_REQUIRE`: there, absence fails instead of skipping.
#[test]
fn what_is_required_and_absent_fails() {
    let with = |required: &str| {
        let mut again = std::process::Command::new(std::env::current_exe().expect("a test has an executable"));
        again.args(["--exact", "what_is_absent_does_not_run"]).env("GRAPHREEL_REQUIRE", required);
        again.output().expect("the test can run itself")
    };
    assert!(with("").status.success());
    assert!(with("somewhere, else").status.success());
    let refused = with("somewhere, nowhere");
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stdout).contains("GRAPHREEL_REQUIRE names nowhere, which is absent"));
}
