//! Exits of a process whose backend is closing. Each runs in a process of its own: this test binary again, with a variable
//! that names the case.

use super::*;

const CASE: &str = "EXIT_CASE";
const TEST: &str = "lifecycle::coordinator::tests::exit::a_process_ends_promptly_whatever_its_cleanup_does";
const STATUS: i32 = 7;

/// What a resource does when it is drained at the exit.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Drains {
    /// It is late, again and again.
    Late,
    /// It does not come back, whatever its deadline.
    Never,
    /// It ends the process itself.
    Exits,
}

const CASES: [(&str, Drains); 3] = [("late", Drains::Late), ("never", Drains::Never), ("exits", Drains::Exits)];

#[derive(Debug)]
struct AtTheExit {
    drains: Drains,
    started: Signal,
}

impl JournaledResource for AtTheExit {
    fn close_and_drain_until(&self, deadline: Instant) -> QueryResult {
        self.started.set();
        match self.drains {
            Drains::Late => thread::sleep(deadline.saturating_duration_since(Instant::now())),
            Drains::Never => thread::sleep(Duration::from_secs(60)),
            Drains::Exits => std::process::exit(STATUS),
        }
        Err(QueryError::cleanup_deadline(operation::CLOSE))
    }
}

fn run_case(drains: Drains) -> ! {
    let resource = Arc::new(AtTheExit { drains, started: Signal::new() });
    let Parts { coordinator, lifecycle, .. } = unleased(resource.clone());
    let _open = lifecycle.try_begin_observation().unwrap();
    process::at_exit("a backend of a test", coordinator.exit_hook());
    coordinator.signal();
    assert!(is_set_in(&resource.started, LONG));
    if drains == Drains::Exits {
        thread::sleep(Duration::from_secs(60));
    }
    std::process::exit(STATUS)
}

/// B-188, B-189, B-191: with its status, and without a wait for permits or for a drain that hangs.
#[test]
fn a_process_ends_promptly_whatever_its_cleanup_does() {
    if let Ok(name) = std::env::var(CASE) {
        run_case(CASES.into_iter().find(|(known, _)| *known == name).unwrap().1);
    }
    for (name, _) in CASES {
        let mut again = Command::new(std::env::current_exe().unwrap());
        let mut child = again.args([TEST, "--exact", "--nocapture"]).env(CASE, name).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(15);
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() < deadline => thread::sleep(Duration::from_millis(5)),
                None => {
                    child.kill().unwrap();
                    panic!("{name}: it did not end");
                }
            }
        };
        assert_eq!(status.code(), Some(STATUS), "{name}");
    }
}
