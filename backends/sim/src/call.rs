//! What every driver call goes through: it is counted, traced, held against the fault plan and against the rules on contexts,
//! and only then has its effect.

use graphreel::error::DriverError;
use graphreel::graph::DriverResult;
use graphreel::sync::MutexGuard;

use crate::failure::Fail;
use crate::fault::Then;
use crate::instance::Instance;
use crate::state::State;
use crate::stream::Hold;

impl Instance {
    /// A call that creates nothing.
    pub(crate) fn call<T>(
        &self,
        call: &'static str,
        args: impl FnOnce(&State) -> String,
        effect: impl FnOnce(&mut State) -> Result<T, Fail>,
    ) -> DriverResult<T> {
        self.create(call, args, effect, |_, _| ())
    }

    /// A call that creates what `undo` destroys again, where a fault comes after the effect.
    pub(crate) fn create<T>(
        &self,
        call: &'static str,
        args: impl FnOnce(&State) -> String,
        effect: impl FnOnce(&mut State) -> Result<T, Fail>,
        undo: impl FnOnce(&mut State, T),
    ) -> DriverResult<T> {
        let (mut state, then) = self.enter(call, args);
        let made = match state.refusal(call, then) {
            Some(refused) => Err(refused),
            None => {
                state.mark = state.hold_of(then);
                let made = effect(&mut state);
                state.mark = Hold::Free;
                made.map_err(|fail| state.report(call, fail))
            }
        };
        let result = made.and_then(|made| match state.afterwards(call, then) {
            None => Ok(made),
            Some(failed) => {
                undo(&mut state, made);
                Err(failed)
            }
        });
        self.leave(state, result)
    }

    /// A call that ends something whatever it answers, and may leave something else, which `undo` destroys when it fails.
    pub(crate) fn end<T>(
        &self,
        call: &'static str,
        args: impl FnOnce(&State) -> String,
        effect: impl FnOnce(&mut State) -> Result<T, Fail>,
        undo: impl FnOnce(&mut State, T),
    ) -> DriverResult<T> {
        let (mut state, then) = self.enter(call, args);
        let gone = state.fatal.is_some();
        let refused = state.refusal(call, then);
        // The device may be gone, by this fault or an earlier one; what a caller gives back is taken back then, too.
        let made = effect(&mut state);
        let result = match (made, refused) {
            (Ok(made), Some(refused)) => {
                undo(&mut state, made);
                Err(refused)
            }
            (Ok(made), None) => match state.afterwards(call, then) {
                None => Ok(made),
                Some(failed) => {
                    undo(&mut state, made);
                    Err(failed)
                }
            },
            (Err(_), Some(refused)) if gone => Err(refused),
            (Err(fail), refused) => {
                let failed = state.report(call, fail);
                Err(refused.unwrap_or(failed))
            }
        };
        self.leave(state, result)
    }

    /// A call about the calling thread, which needs no context and survives the loss of one.
    pub(crate) fn bracket<T>(&self, call: &'static str, effect: impl FnOnce(&mut State) -> T) -> DriverResult<T> {
        let (mut state, then) = self.enter(call, |_| String::new());
        let result = match then {
            Some(Then::Before(failure)) => Err(state.inject(call, failure)),
            _ => {
                let made = effect(&mut state);
                state.afterwards(call, then).map_or(Ok(made), Err)
            }
        };
        self.leave(state, result)
    }

    fn enter(&self, call: &'static str, args: impl FnOnce(&State) -> String) -> (MutexGuard<'_, State>, Option<Then>) {
        let mut state = self.state.lock();
        state.calls += 1;
        if state.trace.wants(call) {
            let line = format!("{call} {}", args(&state));
            state.trace.begin(line);
        }
        let then = state.faults.call(call);
        (state, then)
    }

    fn leave<T>(&self, mut state: MutexGuard<'_, State>, result: DriverResult<T>) -> DriverResult<T> {
        state.trace.end(result.as_ref().err());
        self.unlock(state);
        result
    }
}

impl State {
    /// Why the call has no effect.
    fn refusal(&mut self, call: &'static str, then: Option<Then>) -> Option<DriverError> {
        if let Some(fatal) = &self.fatal {
            return Some(fatal.at(call));
        }
        // The call takes the driver away, so its caller has to bind what was there before it, not after.
        if call != "close"
            && let Err(fail) = self.bound()
        {
            return Some(self.report(call, fail));
        }
        match then {
            Some(Then::Before(failure)) => Some(self.inject(call, failure)),
            _ => None,
        }
    }

    /// Why it fails although it had its effect.
    fn afterwards(&mut self, call: &'static str, then: Option<Then>) -> Option<DriverError> {
        match then {
            Some(Then::After(failure)) => Some(self.inject(call, failure)),
            Some(Then::Later(failure)) => {
                self.break_context(failure.asynchronous());
                None
            }
            _ => None,
        }
    }
}
