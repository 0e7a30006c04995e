//! The facade as plainly as it can be written: lists that are searched for every decision, and a time that is told. It says
//! what must be granted and refused, which reports there must be, and what must be held.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::time::Duration;

use graphreel::lifecycle::AttemptOutcome;
use graphreel::lifecycle::admission::AdmissionCounters;

/// The most that wait.
pub(crate) const QUEUED_MAX: usize = 4;
pub(crate) const DEFAULT_WAIT: Duration = Duration::from_secs(3);
/// The most reports that are kept for nobody.
pub(crate) const ABANDONED_MAX: usize = 3;
const AGEING_STEP: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub(crate) struct PlainDevice {
    pub(crate) capacity: u64,
    pub(crate) default: u64,
    pub(crate) active_max: usize,
    pub(crate) capabilities: &'static [&'static str],
    pub(crate) quarantined: bool,
    pub(crate) lost: bool,
    /// The grants, by their requests.
    pub(crate) held: Vec<(usize, u64)>,
}

impl PlainDevice {
    pub(crate) fn committed(&self) -> u64 {
        self.held.iter().map(|(_, bytes)| bytes).sum()
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.quarantined && !self.lost
    }

    fn need(&self, bytes: Option<u64>) -> u64 {
        bytes.unwrap_or(self.default)
    }

    fn fits(&self, bytes: Option<u64>) -> bool {
        self.is_open() && self.held.len() < self.active_max && self.committed() + self.need(bytes) <= self.capacity
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct PlainAttempt {
    pub(crate) begun_at: Duration,
    /// The request that waits, or was granted and not taken.
    pub(crate) pending: Option<usize>,
    pub(crate) placed: Option<Placed>,
    pub(crate) planned_at: Option<Duration>,
    /// Whether it had a context.
    pub(crate) used: bool,
    pub(crate) end: Option<End>,
    pub(crate) has_receiver: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) request: usize,
    pub(crate) device: usize,
    pub(crate) bytes: u64,
    pub(crate) wait: Duration,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pub(crate) outcome: AttemptOutcome,
    pub(crate) at: Duration,
    pub(crate) was_closing: bool,
    /// Whether its device was lost by then.
    pub(crate) lost: bool,
}

/// What is asked for an attempt.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) attempt: usize,
    pub(crate) bytes: Option<u64>,
    /// 0 high, 1 normal, 2 low.
    pub(crate) class: usize,
    pub(crate) devices: Vec<usize>,
    pub(crate) needs: Vec<&'static str>,
    pub(crate) wait: Option<Duration>,
    pub(crate) token: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Waiting,
    Granted(Placed),
    Refused(&'static str),
    /// Its answer was taken, or nobody wants it.
    Over,
}

#[derive(Clone, Debug)]
pub(crate) struct PlainRequest {
    pub(crate) asked: Asked,
    /// Those that have what it needs.
    capable: Vec<usize>,
    /// Those of them that are open and large enough.
    pub(crate) devices: Vec<usize>,
    pub(crate) deadline: Duration,
    since: Duration,
    passed: u64,
    pub(crate) stage: Stage,
}

/// What a poll of a request must answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Pending,
    Handle(Placed),
    Refused(&'static str),
}

#[derive(Debug)]
pub(crate) struct Plain {
    pub(crate) devices: Vec<PlainDevice>,
    pub(crate) attempts: Vec<PlainAttempt>,
    pub(crate) requests: Vec<PlainRequest>,
    pub(crate) tokens: Vec<bool>,
    pub(crate) now: Duration,
    pub(crate) counters: AdmissionCounters,
    pub(crate) closing: bool,
    /// Reports without a receiver that are kept, and how many there were no places for.
    pub(crate) abandoned: VecDeque<usize>,
    pub(crate) pushed: u64,
    pub(crate) overflowed: u64,
}

impl Plain {
    pub(crate) fn new(devices: Vec<PlainDevice>, tokens: usize) -> Self {
        Self {
            devices,
            attempts: Vec::new(),
            requests: Vec::new(),
            tokens: vec![false; tokens],
            now: Duration::ZERO,
            counters: AdmissionCounters::default(),
            closing: false,
            abandoned: VecDeque::new(),
            pushed: 0,
            overflowed: 0,
        }
    }

    pub(crate) fn waiting(&self) -> impl Iterator<Item = (usize, &PlainRequest)> {
        self.requests.iter().enumerate().filter(|(_, request)| request.stage == Stage::Waiting)
    }

    /// Who may use the devices: requests with a grant or on their way to one, and attempts that have one.
    pub(crate) fn gpu_permits(&self) -> u64 {
        self.on_their_way() + self.active().count() as u64
    }

    pub(crate) fn observation_permits(&self) -> u64 {
        self.on_their_way() + self.attempts.iter().filter(|attempt| attempt.end.is_none()).count() as u64
    }

    pub(crate) fn active(&self) -> impl Iterator<Item = &PlainAttempt> {
        self.attempts.iter().filter(|attempt| attempt.end.is_none() && attempt.placed.is_some())
    }

    fn on_their_way(&self) -> u64 {
        let is_on_its_way = |request: &&PlainRequest| matches!(request.stage, Stage::Waiting | Stage::Granted(_));
        self.requests.iter().filter(is_on_its_way).count() as u64
    }

    /// Where a waiter stands: smaller is earlier.
    fn place(&self, id: usize) -> (u64, usize) {
        let request = &self.requests[id];
        let steps = ((self.now - request.since).as_nanos() / AGEING_STEP.as_nanos()) as u64;
        ((request.asked.class as u64).saturating_sub(steps), id)
    }

    fn room(&self, devices: &[usize], bytes: Option<u64>) -> Option<usize> {
        let fitting = devices.iter().copied().filter(|device| self.devices[*device].fits(bytes));
        let free = |device: usize| self.devices[device].capacity - self.devices[device].committed();
        fitting.max_by_key(|device| (free(*device), Reverse(*device)))
    }

    fn room_of(&self, id: usize) -> Option<usize> {
        self.room(&self.requests[id].devices, self.requests[id].asked.bytes)
    }

    /// One gets a grant on `device`: count it for those that it passes. Lives here are too short for the bound on that.
    fn pass(&mut self, place: (u64, usize), device: usize) {
        let is_passed = |id: usize| {
            let shares = self.requests[id].devices.contains(&device) && id != place.1;
            shares && (self.place(id) < place || (id < place.1 && self.room_of(id).is_none()))
        };
        let passed: Vec<usize> = self.waiting().map(|(id, _)| id).filter(|id| is_passed(*id)).collect();
        for id in passed {
            self.requests[id].passed += 1;
            assert!(self.requests[id].passed < 64, "a life is too long for this model");
            self.counters.overtakes_max = self.counters.overtakes_max.max(self.requests[id].passed);
        }
    }

    fn commit_to(&mut self, id: usize, device: usize) -> Placed {
        let request = &self.requests[id];
        let bytes = self.devices[device].need(request.asked.bytes);
        let placed = Placed { request: id, device, bytes, wait: self.now - request.since };
        self.devices[device].held.push((id, bytes));
        self.counters.granted += 1;
        self.requests[id].stage = Stage::Granted(placed);
        placed
    }

    fn serve(&mut self) {
        loop {
            let mut order: Vec<usize> = self.waiting().map(|(id, _)| id).collect();
            order.sort_by_key(|id| self.place(*id));
            let Some((id, device)) = order.into_iter().find_map(|id| Some((id, self.room_of(id)?))) else { return };
            self.pass(self.place(id), device);
            self.commit_to(id, device);
        }
    }

    fn refuse(&mut self, id: usize, reason: &'static str) {
        self.requests[id].stage = Stage::Refused(reason);
        self.attempts[self.requests[id].asked.attempt].pending = None;
        match reason {
            "admission_wait_elapsed" => self.counters.expired += 1,
            "admission_cancelled" => self.counters.cancelled += 1,
            _ => self.counters.refused_in_queue += 1,
        }
    }

    fn give_back(&mut self, placed: Placed) {
        let held = &mut self.devices[placed.device].held;
        let index = held.iter().position(|(id, _)| *id == placed.request).expect("a grant is held until it goes back");
        held.swap_remove(index);
        self.counters.released += 1;
        self.serve();
    }

    pub(crate) fn advance(&mut self, by: Duration) {
        self.now += by;
        let due: Vec<usize> = self.waiting().filter(|(_, r)| r.deadline <= self.now).map(|(id, _)| id).collect();
        due.iter().for_each(|id| self.refuse(*id, "admission_wait_elapsed"));
        if !due.is_empty() {
            self.serve();
        }
    }

    fn eligible(&self, capable: &[usize], bytes: Option<u64>) -> Result<Vec<usize>, &'static str> {
        let open: Vec<usize> = capable.iter().copied().filter(|device| self.devices[*device].is_open()).collect();
        let is_large = |device: &usize| self.devices[*device].need(bytes) <= self.devices[*device].capacity;
        let large: Vec<usize> = open.iter().copied().filter(is_large).collect();
        match (capable.is_empty(), open.is_empty(), large.is_empty()) {
            (true, ..) => Err("no_capable_device"),
            (_, true, _) => Err("no_healthy_device"),
            (.., true) => Err("grant_exceeds_device_capacity"),
            _ => Ok(large),
        }
    }

    pub(crate) fn begin(&mut self) {
        self.attempts.push(PlainAttempt { begun_at: self.now, has_receiver: true, ..PlainAttempt::default() });
    }

    pub(crate) fn ask(&mut self, asked: Asked) {
        let attempt = &self.attempts[asked.attempt];
        let turned_away = match attempt {
            _ if self.closing => Some("backend_closing"),
            attempt if attempt.end.is_some() => Some("attempt_already_terminal"),
            attempt if attempt.pending.is_some() || attempt.placed.is_some() => Some("attempt_already_admitted"),
            _ => None,
        };
        let has_it = |device: &usize| asked.needs.iter().all(|need| self.devices[*device].capabilities.contains(need));
        let capable: Vec<usize> = asked.devices.iter().copied().filter(has_it).collect();
        let deadline = self.now + asked.wait.unwrap_or(DEFAULT_WAIT);
        let id = self.requests.len();
        let eligible = self.eligible(&capable, asked.bytes);
        let (bytes, class, owner, token) = (asked.bytes, asked.class as u64, asked.attempt, asked.token);
        let devices = eligible.clone().unwrap_or_default();
        let (since, stage) = (self.now, Stage::Over);
        self.requests.push(PlainRequest { asked, capable, devices, deadline, since, passed: 0, stage });
        if let Some(reason) = turned_away {
            self.requests[id].stage = Stage::Refused(reason);
            return;
        }
        self.counters.submitted += 1;
        let refused = match eligible {
            _ if token.is_some_and(|token| self.tokens[token]) => "admission_cancelled",
            Err(reason) => reason,
            Ok(_) if deadline <= self.now => "admission_wait_elapsed",
            Ok(devices) => {
                if let Some(device) = self.room(&devices, bytes) {
                    self.pass((class, id), device);
                    self.counters.placed_at_once += 1;
                    self.commit_to(id, device);
                } else if self.waiting().count() < QUEUED_MAX {
                    self.counters.queued_total += 1;
                    self.requests[id].stage = Stage::Waiting;
                }
                "admission_queue_full"
            }
        };
        if self.requests[id].stage == Stage::Over {
            self.counters.refused_at_once += 1;
            self.requests[id].stage = Stage::Refused(refused);
        } else {
            self.attempts[owner].pending = Some(id);
        }
    }

    pub(crate) fn poll(&mut self, id: usize) -> Answer {
        match self.requests[id].stage.clone() {
            Stage::Waiting => Answer::Pending,
            Stage::Over => Answer::Refused("admission_answer_taken"),
            Stage::Refused(reason) => {
                self.requests[id].stage = Stage::Over;
                Answer::Refused(reason)
            }
            Stage::Granted(placed) => {
                self.requests[id].stage = Stage::Over;
                let attempt = &mut self.attempts[self.requests[id].asked.attempt];
                attempt.pending = None;
                let refused = match attempt.end {
                    _ if self.devices[placed.device].lost => Some("device_lost"),
                    Some(_) => Some("admission_cancelled"),
                    None => None,
                };
                if let Some(reason) = refused {
                    self.give_back(placed);
                    return Answer::Refused(reason);
                }
                attempt.placed = Some(placed);
                Answer::Handle(placed)
            }
        }
    }

    fn withdraw(&mut self, id: usize) {
        if self.requests[id].stage == Stage::Waiting {
            self.refuse(id, "admission_cancelled");
            self.serve();
        }
    }

    pub(crate) fn drop_future(&mut self, id: usize) {
        self.withdraw(id);
        let stage = std::mem::replace(&mut self.requests[id].stage, Stage::Over);
        if let Stage::Granted(placed) = stage {
            self.attempts[self.requests[id].asked.attempt].pending = None;
            self.give_back(placed);
        }
    }

    pub(crate) fn cancel(&mut self, token: usize) {
        self.tokens[token] = true;
        let asked: Vec<usize> =
            self.waiting().filter(|(_, r)| r.asked.token == Some(token)).map(|(id, _)| id).collect();
        asked.into_iter().for_each(|id| self.withdraw(id));
    }

    /// An attempt ends; false if it had ended before.
    pub(crate) fn end(&mut self, index: usize, outcome: AttemptOutcome) -> bool {
        let attempt = &mut self.attempts[index];
        if attempt.end.is_some() {
            return false;
        }
        let lost = attempt.used && attempt.placed.is_some_and(|placed| self.devices[placed.device].lost);
        attempt.end = Some(End { outcome, at: self.now, was_closing: self.closing, lost });
        let (pending, placed, has_receiver) = (attempt.pending, attempt.placed, attempt.has_receiver);
        if let Some(id) = pending {
            self.withdraw(id);
        }
        if let Some(placed) = placed {
            self.give_back(placed);
        }
        if has_receiver {
            return true;
        }
        if self.abandoned.len() < ABANDONED_MAX {
            self.pushed += 1;
            self.abandoned.push_back(index);
        } else {
            self.overflowed += 1;
        }
        true
    }

    /// A device is out of service: quarantined, or lost.
    pub(crate) fn close_device(&mut self, index: usize, lost: bool) -> bool {
        let was_closed = !self.devices[index].is_open();
        self.devices[index].quarantined |= !lost;
        self.devices[index].lost |= lost;
        if was_closed {
            return true;
        }
        let mut stranded = Vec::new();
        for (id, request) in self.requests.iter_mut().enumerate().filter(|(_, r)| r.stage == Stage::Waiting) {
            request.devices.retain(|device| *device != index);
            stranded.extend(request.devices.is_empty().then_some(id));
        }
        for id in stranded {
            let refused = self.eligible(&self.requests[id].capable, self.requests[id].asked.bytes);
            self.refuse(id, refused.err().unwrap_or("no_healthy_device"));
        }
        self.serve();
        false
    }
}
