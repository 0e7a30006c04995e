//! Random lives of a whole backend on two simulators against a plain model, in virtual time: who is granted what and when,
//! what is refused and why, what is held, what is reported, and that a close leaves nothing.
//!
//! 300 lives, ten times as many with `GRAPHREEL_THOROUGH=1`; `GRAPHREEL_SEED` repeats a run. A failure is shrunk, and prints
//! the steps of the shortest life.

mod plain;
mod resident;
mod seen;
mod steps;
mod work;
mod world;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use graphreel::lifecycle::one_claiming_test;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use crate::rig::claimable;
use steps::{Step, life};
use world::{SHRINKING, World, pick};

impl World {
    fn step(&mut self, step: Step) {
        match step {
            Step::Begin => self.begin(),
            Step::Ask { attempt, ask } => self.ask(attempt, &ask),
            Step::Poll(which) => self.poll_one(which),
            Step::DropFuture(which) => self.drop_future(which),
            Step::CancelToken(token) => self.cancel(token),
            Step::Plan(which) => self.plan(which),
            Step::End(which, outcome) => self.end(which, outcome),
            Step::DropOwner(which) => self.open_attempt(which).into_iter().for_each(|index| self.drop_owner(index)),
            Step::DropReceiver(which) => self.drop_receiver(which),
            Step::DropHandle(which) => {
                let found = pick(which, self.attempts.len(), |index| self.attempts[index].handle.is_some());
                found.into_iter().for_each(|index| self.attempts[index].handle = None);
            }
            Step::TakeAbandoned => self.take_abandoned(),
            Step::Context(which) => self.acquire(which),
            Step::DropContext(which) => self.drop_context(which),
            Step::Work(which, value) => self.work(which, value),
            Step::Overdraw(which) => self.overdraw(which),
            Step::Source(which) => self.source(which),
            Step::Cached { attempt, key, keep } => self.cached(attempt, key, keep),
            Step::DropEntry(which) => self.drop_entry(which),
            Step::Quarantine(device) => self.quarantine(device),
            Step::Lose(which) => self.lose(which),
            Step::Advance(ms) => self.advance(Duration::from_millis(ms)),
            Step::Close => self.close(),
            Step::CloseAndLook => self.close_and_look(),
            Step::CloneCore => self.cores.extend(self.cores.first().cloned()),
            Step::DropCore => self.drop_core(),
            Step::AnotherSession => self.sessions.extend(self.session()),
            Step::DropSession => drop(self.sessions.pop()),
        }
        self.compare();
    }
}

/// XB-13, XB-14, XB-15, XB-27, XB-28, XB-30, XB-32, B-78, B-79, B-87, B-98, B-102, B-104, B-106, B-109, B-110, B-111, B-112,
/// B-113, B-114, B-116, B-118, B-119, B-120, B-121, B-122, B-124, B-127, B-128, B-130, B-132, B-145, B-146, B-153, B-155.
#[test]
fn random_lives_of_a_backend_agree_with_the_plain_model() {
    let _one = one_claiming_test();
    let thorough = std::env::var("GRAPHREEL_THOROUGH").is_ok_and(|text| text == "1");
    let seed = std::env::var("GRAPHREEL_SEED").ok().and_then(|text| text.trim().parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| fastrand::u64(..));
    let config = Config {
        cases: if thorough { 3_000 } else { 300 },
        failure_persistence: None,
        max_shrink_iters: 1_000,
        max_shrink_time: 60_000,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let (stuck, seen) = (AtomicBool::new(false), RefCell::new(BTreeMap::<&str, u64>::new()));
    let ran = runner.run(&life(), |steps| {
        // A life that never frees its claim is the one to be told of: none after it can be built.
        if stuck.load(Ordering::SeqCst) {
            return Ok(());
        }
        let lived = std::panic::catch_unwind(|| {
            let mut world = World::new();
            steps.into_iter().for_each(|step| world.step(step));
            world.finish()
        });
        let shown = lived.unwrap_or_else(|panic| {
            SHRINKING.store(true, Ordering::SeqCst);
            stuck.store(std::panic::catch_unwind(claimable).is_err(), Ordering::SeqCst);
            std::panic::resume_unwind(panic);
        });
        shown.into_iter().for_each(|(name, count)| *seen.borrow_mut().entry(name).or_default() += count);
        Ok(())
    });
    let seen = seen.into_inner();
    match ran {
        Ok(()) => {
            assert!(seen.values().all(|count| *count > 0), "GRAPHREEL_SEED={seed}: too little was shown: {seen:?}")
        }
        Err(TestError::Fail(why, steps)) => panic!("GRAPHREEL_SEED={seed}: {why}\nthe shortest life: {steps:#?}"),
        Err(error) => panic!("GRAPHREEL_SEED={seed}: {error}"),
    }
}
