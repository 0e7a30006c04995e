//! Faults on demand: which call or command fails, how, and how far the failure reaches.

use std::collections::BTreeMap;

use graphreel::error::{DriverErrorKind, FaultClass};

use crate::failure::Answer;

/// Rules for faults. Calls, occurrences and commands are counted from 0, from the moment the plan is armed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultPlan {
    /// The rules. The first that fits a call decides.
    pub rules: Vec<FaultRule>,
    /// Seed of the rules that go by chance.
    pub seed: u64,
}

/// One rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FaultRule {
    /// Which call or command.
    pub when: When,
    /// What happens to it.
    pub then: Then,
}

/// Which call or command a rule is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    /// The call of this index; every driver call counts.
    Call(u64),
    /// One occurrence of a call, by the name of the driver's method.
    Nth {
        /// The method.
        call: &'static str,
        /// Which occurrence.
        nth: u64,
    },
    /// The first call of one name after an occurrence of another: what a server does next about it.
    NextAfter {
        /// The method that fails.
        call: &'static str,
        /// The method that comes before it.
        after: &'static str,
        /// Which occurrence of that one.
        nth: u64,
    },
    /// Any call, or any of one name, with this probability.
    Chance {
        /// The method; `None` for every call.
        call: Option<&'static str>,
        /// From 0 to 1.
        probability: f64,
    },
    /// One command as the device comes to run it, alone or as a node of a graph.
    Run {
        /// Its kind.
        kind: RunKind,
        /// Which of that kind.
        nth: u64,
    },
}

/// Kinds of commands that a device runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunKind {
    /// A copy.
    Copy,
    /// A fill.
    Fill,
    /// A kernel.
    Launch,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It fails before it has an effect. A call that destroys or ends has its effect all the same.
    Before(Failure),
    /// It has its effect and fails. What it created is destroyed again; what it enqueued stays enqueued.
    After(Failure),
    /// What it enqueued is passed over for this many turns of the scheduler, or milliseconds under
    /// [`Completion::Prompt`](crate::Completion::Prompt).
    Delay(u32),
    /// What it enqueued does not run before the hangs are released.
    Hang,
    /// It succeeds, and the context fails with the next call. Such a failure is never local to a call.
    Later(Failure),
}

/// A failure as a rule states it. That of a command is never local to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What kind.
    pub kind: DriverErrorKind,
    /// How far it reaches.
    pub class: FaultClass,
}

impl Failure {
    /// The call is refused, and no other is affected.
    pub const REFUSED: Self = Self { kind: DriverErrorKind::Refused, class: FaultClass::CallLocal };
    /// There is not enough memory.
    pub const OUT_OF_MEMORY: Self = Self { kind: DriverErrorKind::OutOfMemory, class: FaultClass::CallLocal };
    /// The context is gone.
    pub const CONTEXT: Self = Self { kind: DriverErrorKind::Lost, class: FaultClass::ContextFatal };
    /// The device is gone.
    pub const DEVICE: Self = Self { kind: DriverErrorKind::Lost, class: FaultClass::DeviceFatal };

    pub(crate) fn answer(self) -> Answer {
        Answer { code: -2, name: "injected fault".to_owned(), kind: self.kind, class: self.class }
    }

    /// As an asynchronous failure.
    pub(crate) fn asynchronous(self) -> Answer {
        Self { class: self.class.max(FaultClass::ContextFatal), ..self }.answer()
    }
}

impl FaultPlan {
    /// One rule.
    pub fn one(when: When, then: Then) -> Self {
        Self { rules: vec![FaultRule { when, then }], seed: 0 }
    }

    /// And another.
    #[must_use]
    pub fn and(mut self, when: When, then: Then) -> Self {
        self.rules.push(FaultRule { when, then });
        self
    }
}

/// A plan with its counters.
#[derive(Debug)]
pub(crate) struct Armed {
    plan: FaultPlan,
    rng: fastrand::Rng,
    calls: u64,
    names: BTreeMap<&'static str, u64>,
    /// Rules of the kind `NextAfter` whose first call has come.
    awaited: Vec<usize>,
    runs: BTreeMap<RunKind, u64>,
}

impl Armed {
    pub(crate) fn new(plan: FaultPlan) -> Self {
        let rng = fastrand::Rng::with_seed(plan.seed);
        Self { plan, rng, calls: 0, names: BTreeMap::new(), awaited: Vec::new(), runs: BTreeMap::new() }
    }

    /// What happens to this call.
    pub(crate) fn call(&mut self, call: &'static str) -> Option<Then> {
        if self.plan.rules.is_empty() {
            return None;
        }
        let index = self.calls;
        self.calls += 1;
        let counted = self.names.entry(call).or_default();
        let occurrence = *counted;
        *counted += 1;
        let mut found = None;
        for (number, rule) in self.plan.rules.iter().enumerate() {
            let fits = match rule.when {
                When::Call(at) => at == index,
                When::Nth { call: name, nth } => name == call && nth == occurrence,
                When::NextAfter { call: name, after, nth } => {
                    if after == call && nth == occurrence {
                        self.awaited.push(number);
                    }
                    let awaited = self.awaited.iter().position(|awaited| *awaited == number);
                    match awaited.filter(|_| name == call) {
                        Some(index) => {
                            self.awaited.swap_remove(index);
                            true
                        }
                        None => false,
                    }
                }
                // Drawn for every call that it is about, so that other rules do not shift the draws.
                When::Chance { call: name, probability } => {
                    name.is_none_or(|name| name == call) && self.rng.f64() < probability
                }
                When::Run { .. } => false,
            };
            if fits && found.is_none() {
                found = Some(rule.then);
            }
        }
        found
    }

    /// What happens to the command that the device is about to run.
    pub(crate) fn run(&mut self, kind: RunKind) -> Option<Then> {
        if self.plan.rules.is_empty() {
            return None;
        }
        let counted = self.runs.entry(kind).or_default();
        let occurrence = *counted;
        *counted += 1;
        let fits =
            |rule: &&FaultRule| matches!(rule.when, When::Run { kind: of, nth } if of == kind && nth == occurrence);
        self.plan.rules.iter().find(fits).map(|rule| rule.then)
    }
}
