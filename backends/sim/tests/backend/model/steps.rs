//! What may happen to a backend, and how often. Whom a step is about is drawn as a number, and found among those there are.

use graphreel::lifecycle::AttemptOutcome;
use proptest::bool::weighted;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, Strategy, any};
use proptest::prop_oneof;

/// The most steps of a life.
const STEPS_MAX: usize = 200;
/// The most requests of a life: fewer than could pass a waiter as often as is allowed.
pub(crate) const REQUESTS_MAX: usize = 60;
pub(crate) const TOKENS: usize = 3;
pub(crate) const KEYS: usize = 4;

/// One of those that a step could be about.
pub(crate) type Which = u8;

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Begin,
    Ask {
        attempt: Which,
        ask: Ask,
    },
    Poll(Which),
    DropFuture(Which),
    CancelToken(usize),
    Plan(Which),
    End(Which, AttemptOutcome),
    DropOwner(Which),
    DropReceiver(Which),
    DropHandle(Which),
    TakeAbandoned,
    Context(Which),
    DropContext(Which),
    Work(Which, u32),
    Overdraw(Which),
    Source(Which),
    Cached {
        attempt: Which,
        key: usize,
        keep: bool,
    },
    DropEntry(Which),
    Quarantine(usize),
    /// The device of an attempt with a context.
    Lose(Which),
    Advance(u64),
    Close,
    CloseAndLook,
    CloneCore,
    DropCore,
    AnotherSession,
    DropSession,
}

#[derive(Clone, Debug)]
pub(crate) struct Ask {
    /// In parts of 64 of what the larger device shares; `None` for the default.
    pub(crate) parts: Option<u64>,
    /// 0 high, 1 normal, 2 low.
    pub(crate) class: usize,
    /// Which devices it names, a bit each; `None` for all.
    pub(crate) devices: Option<u8>,
    pub(crate) needs: Option<&'static str>,
    pub(crate) wait_ms: Option<u64>,
    pub(crate) token: Option<usize>,
}

fn ask() -> impl Strategy<Value = Ask> {
    let parts = prop_oneof![4 => 1_u64..8, 4 => 8_u64..40, 2 => 40_u64..=77];
    let needs = prop_oneof![4 => Just("f16"), 3 => Just("f64"), 1 => Just("f8")];
    let wait = prop_oneof![1 => Just(0_u64), 6 => 1_u64..1500, 2 => 1500_u64..6000];
    let fields = (
        option::weighted(0.85, parts),
        0_usize..3,
        option::weighted(0.25, 0_u8..8),
        option::weighted(0.2, needs),
        option::weighted(0.5, wait),
        option::weighted(0.3, 0..TOKENS),
    );
    fields.prop_map(|(parts, class, devices, needs, wait_ms, token)| Ask {
        parts,
        class,
        devices,
        needs,
        wait_ms,
        token,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let which = any::<Which>;
    let outcome = prop_oneof![
        4 => Just(AttemptOutcome::Succeeded),
        1 => Just(AttemptOutcome::Failed),
        1 => Just(AttemptOutcome::Cancelled),
        1 => Just(AttemptOutcome::Rejected),
    ];
    let requests = prop_oneof![
        12 => Just(Step::Begin),
        14 => (which(), ask()).prop_map(|(attempt, ask)| Step::Ask { attempt, ask }),
        14 => which().prop_map(Step::Poll),
        2 => which().prop_map(Step::DropFuture),
        1 => (0..TOKENS).prop_map(Step::CancelToken),
        4 => prop_oneof![1 => Just(1_u64), 3 => 1_u64..700, 2 => 700_u64..2500].prop_map(Step::Advance),
    ];
    let attempts = prop_oneof![
        2 => which().prop_map(Step::Plan),
        7 => (which(), outcome).prop_map(|(attempt, outcome)| Step::End(attempt, outcome)),
        2 => which().prop_map(Step::DropOwner),
        4 => which().prop_map(Step::DropReceiver),
        1 => which().prop_map(Step::DropHandle),
        1 => Just(Step::TakeAbandoned),
    ];
    let work = prop_oneof![
        10 => which().prop_map(Step::Context),
        2 => which().prop_map(Step::DropContext),
        4 => (which(), any::<u32>()).prop_map(|(attempt, value)| Step::Work(attempt, value)),
        1 => which().prop_map(Step::Overdraw),
        2 => which().prop_map(Step::Source),
        10 => (which(), 0..KEYS, weighted(0.8)).prop_map(|(attempt, key, keep)| Step::Cached { attempt, key, keep }),
        1 => which().prop_map(Step::DropEntry),
    ];
    let backend = prop_oneof![
        2 => (0_usize..3).prop_map(Step::Quarantine),
        2 => which().prop_map(Step::Lose),
        1 => prop_oneof![Just(Step::Close), Just(Step::CloseAndLook)],
        8 => Just(Step::CloneCore),
        6 => Just(Step::DropCore),
        4 => Just(Step::AnotherSession),
        3 => Just(Step::DropSession),
    ];
    prop_oneof![40 => requests, 10 => attempts, 24 => work, 3 => backend]
}

/// A life of a backend.
pub(crate) fn life() -> impl Strategy<Value = Vec<Step>> {
    vec(step(), 1..=STEPS_MAX)
}
