//! The driver's streams: one for each slot, a side stream where a window needs one, and one for the server's own work.
//!
//! Work on one stream records no event. An event is recorded on a stream only when another stream, a wait or a
//! destruction first needs it, and never while it records a capture.

use std::collections::{HashMap, HashSet, VecDeque};

use super::driver::{CaptureState, Driver, EventTiming};
use super::order::{LaneId, Point, Points};
use super::shared::{EventCell, Shared};
use crate::error::{GraphOp, GraphRule, GraphState, Result, ServerError};
use crate::stream::SlotIndex;
use crate::sync::Arc;

/// Recorded events kept for each lane; older ones thin out, which costs only precision.
const MARKS_MAX: usize = 32;

/// What a lane serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Role {
    /// A slot's own work and its captures.
    Main(SlotIndex),
    /// Neighbours' work while the slot records.
    Side(SlotIndex),
    /// The server's own: zeroing memory.
    Service,
}

/// A driver stream, and how far it has come.
struct Lane<D: Driver> {
    stream: D::Stream,
    /// Operations given to it; a captured one does not count, since it does not run.
    issued: u64,
    /// Operations known to be done.
    passed: u64,
    /// Recorded events with what they stand for, ascending.
    marks: VecDeque<(u64, Arc<EventCell<D>>)>,
    /// For each lane, how many of its operations this one already comes after.
    follows: HashMap<LaneId, u64>,
    capturing: bool,
}

impl<D: Driver> Lane<D> {
    fn new(stream: D::Stream) -> Self {
        Self { stream, issued: 0, passed: 0, marks: VecDeque::new(), follows: HashMap::new(), capturing: false }
    }
}

/// An application records a stream that it lent.
pub(super) fn captures() -> ServerError {
    let why = "the application records it, and this would break that or become a part of it; end that capture first";
    ServerError::unsupported("using a stream of the application", why)
}

/// All lanes of a device. A lane lives as long as the device.
pub(super) struct Lanes<D: Driver> {
    shared: Arc<Shared<D>>,
    lanes: Vec<Lane<D>>,
    roles: HashMap<Role, LaneId>,
    /// Lanes over an application's streams, which serve their role until they are let go.
    adopted: HashSet<LaneId>,
}

impl<D: Driver> Lanes<D> {
    pub(super) fn new(shared: Arc<Shared<D>>) -> Self {
        Self { shared, lanes: Vec::new(), roles: HashMap::new(), adopted: HashSet::new() }
    }

    /// The lane of that role, made when first needed.
    pub(super) fn of(&mut self, role: Role) -> Result<LaneId> {
        if let Some(id) = self.roles.get(&role) {
            return Ok(*id);
        }
        let stream = self.shared.settle(self.shared.driver().stream_create(), "making a stream")?;
        Ok(self.add(role, stream))
    }

    fn add(&mut self, role: Role, stream: D::Stream) -> LaneId {
        let id = LaneId(self.lanes.len());
        self.lanes.push(Lane::new(stream));
        self.roles.insert(role, id);
        id
    }

    /// Let an application's stream serve that role. What served it before keeps its place for those who come after it.
    pub(super) fn adopt(&mut self, role: Role, stream: D::Stream) {
        let id = self.add(role, stream);
        self.adopted.insert(id);
    }

    /// The role is free: an application's stream serves it no more. It is asked about as long as the device lives.
    pub(super) fn let_go(&mut self, role: Role) {
        if self.roles.get(&role).is_some_and(|lane| self.adopted.contains(lane)) {
            self.roles.remove(&role);
        }
    }

    /// The lane of that role, if it was needed before.
    pub(super) fn existing(&self, role: Role) -> Option<LaneId> {
        self.roles.get(&role).copied()
    }

    pub(super) fn stream(&self, lane: LaneId) -> &D::Stream {
        &self.lanes[lane.0].stream
    }

    /// Refuse a call that would break a capture of the lane's stream, or become a part of it: one of ours, which is known, or an
    /// application's on a stream that it lent, of which the driver is asked.
    ///
    /// # Errors
    ///
    /// `GraphState` for one of ours, `Unsupported` for an application's; the device's loss.
    pub(super) fn check_runs(&self, lane: LaneId) -> Result<()> {
        if self.lanes[lane.0].capturing {
            return Err(GraphState::new(GraphOp::Other, GraphRule::RefusedInWindow).into());
        }
        self.check_lent(lane)
    }

    /// As [`Lanes::check_runs`], for what belongs to our own capture.
    pub(super) fn check_lent(&self, lane: LaneId) -> Result<()> {
        if !self.adopted.contains(&lane) || self.lanes[lane.0].capturing {
            return Ok(());
        }
        let state = self.shared.driver().capture_state(self.stream(lane));
        match self.shared.settle(state, "asking about a stream of the application")? {
            CaptureState::None => Ok(()),
            CaptureState::Active | CaptureState::Invalidated => Err(captures()),
        }
    }

    pub(super) fn set_capturing(&mut self, lane: LaneId, capturing: bool) {
        self.lanes[lane.0].capturing = capturing;
    }

    /// Count one more operation of the lane, given to the driver or about to be: a call that fails may have been taken.
    pub(super) fn issue(&mut self, lane: LaneId) -> Point {
        let known = &mut self.lanes[lane.0];
        known.issued += 1;
        Point { lane, count: known.issued }
    }

    /// All that was given to the lane.
    pub(super) fn end(&self, lane: LaneId) -> Point {
        Point { lane, count: self.lanes[lane.0].issued }
    }

    /// The end of every lane that has work not known to be done.
    pub(super) fn ends(&self) -> Points {
        let mut points = Points::default();
        for (index, lane) in self.lanes.iter().enumerate() {
            if lane.issued > lane.passed {
                points.add(Point { lane: LaneId(index), count: lane.issued });
            }
        }
        points
    }

    /// Whether the point is known to be passed, without asking.
    pub(super) fn is_known_passed(&self, point: Point) -> bool {
        self.lanes[point.lane.0].passed >= point.count
    }

    /// Let `lane` come after `points`. Its own order and what it follows already cost nothing.
    pub(super) fn follow(&mut self, lane: LaneId, points: &Points) -> Result<()> {
        for point in points.iter() {
            let known = self.lanes[lane.0].follows.get(&point.lane).copied().unwrap_or(0);
            if point.lane == lane || known >= point.count || self.is_known_passed(point) {
                continue;
            }
            let (count, event) = self.mark(point)?;
            self.check_runs(lane)?;
            let driver = self.shared.driver();
            let waited = driver.stream_wait_event(&self.lanes[lane.0].stream, event.event());
            self.shared.settle(waited, "ordering work across streams")?;
            self.lanes[lane.0].follows.insert(point.lane, count);
        }
        Ok(())
    }

    /// An event that stands for the point or for more of its lane, and for how much.
    pub(super) fn mark(&mut self, point: Point) -> Result<(u64, Arc<EventCell<D>>)> {
        let lane = &mut self.lanes[point.lane.0];
        let found = lane.marks.partition_point(|(count, _)| *count < point.count);
        if let Some((count, event)) = lane.marks.get(found) {
            return Ok((*count, event.clone()));
        }
        debug_assert!(!lane.capturing, "all work before a window has a mark, and none comes in it");
        self.check_runs(point.lane)?;
        let lane = &mut self.lanes[point.lane.0];
        let event = self.shared.event(EventTiming::Off)?;
        let recorded = self.shared.driver().event_record(event.event(), &lane.stream);
        self.shared.settle(recorded, "marking a stream")?;
        let (count, event) = (lane.issued, Arc::new(event));
        lane.marks.push_back((count, event.clone()));
        if lane.marks.len() > MARKS_MAX {
            self.advance(point.lane)?;
            self.thin(point.lane);
        }
        Ok((count, event))
    }

    /// Events that stand for all of `points`.
    pub(super) fn marks(&mut self, points: &Points) -> Result<Vec<Arc<EventCell<D>>>> {
        let mut events = Vec::new();
        for point in points.iter() {
            if !self.is_known_passed(point) {
                events.push(self.mark(point)?.1);
            }
        }
        Ok(events)
    }

    /// Events recorded already that stand for `points`.
    pub(super) fn known_marks(&self, points: &Points) -> Vec<Arc<EventCell<D>>> {
        let known = |point: Point| {
            let marks = &self.lanes[point.lane.0].marks;
            marks.get(marks.partition_point(|(count, _)| *count < point.count)).map(|(_, event)| event.clone())
        };
        points.iter().filter_map(known).collect()
    }

    /// Whether all of `points` are passed, asking the driver where there are events to ask about.
    ///
    /// # Errors
    ///
    /// The device's loss.
    pub(super) fn are_passed(&mut self, points: &Points) -> Result<bool> {
        self.are_passed_but_for(points, &mut Vec::new())
    }

    /// As [`Lanes::are_passed`], without asking about the lanes in `asked`, to which those that were asked about are added.
    pub(super) fn are_passed_but_for(&mut self, points: &Points, asked: &mut Vec<LaneId>) -> Result<bool> {
        for point in points.iter() {
            if !self.is_known_passed(point) && !asked.contains(&point.lane) {
                asked.push(point.lane);
                self.advance(point.lane)?;
            }
            if !self.is_known_passed(point) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the device has nothing to do, asking the driver.
    pub(super) fn is_idle(&mut self) -> Result<bool> {
        let ends = self.ends();
        if let Err(error) = self.marks(&ends) {
            return if error.is_device_lost() { Err(error) } else { Ok(false) };
        }
        self.are_passed(&ends)
    }

    /// Ask how far the lane has come. A look that is refused is no failure of the call that took it: the next one sees more.
    fn advance(&mut self, lane: LaneId) -> Result<()> {
        let lane = &mut self.lanes[lane.0];
        while let Some((count, event)) = lane.marks.front() {
            match event.query() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) if error.is_device_lost() => return Err(error),
                Err(error) => {
                    tracing::debug!(%error, "a look at a stream was refused");
                    break;
                }
            }
            lane.passed = lane.passed.max(*count);
            lane.marks.pop_front();
        }
        Ok(())
    }

    /// Keep every second event, and the last.
    fn thin(&mut self, lane: LaneId) {
        let marks = &mut self.lanes[lane.0].marks;
        if marks.len() <= MARKS_MAX {
            return;
        }
        let last = marks.pop_back();
        let mut index = 0;
        marks.retain(|_| {
            index += 1;
            index % 2 == 0
        });
        marks.extend(last);
    }

    /// Destroy every stream. All work is done, or the device is lost.
    #[expect(unsafe_code, reason = "the caller says that the work is done")]
    pub(super) fn destroy(&mut self) {
        for lane in self.lanes.drain(..) {
            drop(lane.marks);
            // SAFETY: the caller says that its work is done, and windows are closed before.
            let answer = unsafe { self.shared.driver().stream_destroy(lane.stream) };
            self.shared.destroyed(answer, "destroying a stream");
        }
        self.roles.clear();
    }
}
