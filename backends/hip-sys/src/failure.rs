//! What a call answers: nothing more than its name and AMD's number. What a number means is for the backend to say.

use std::ffi::c_uint;

/// The answer of a call.
pub type Answer = Result<(), Failure>;

/// A call that did not answer `hipSuccess`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call} answered {code}")]
pub struct Failure {
    /// The call's name.
    pub call: &'static str,
    /// The `hipError_t`, which may be none that this crate knows.
    pub code: c_uint,
}

/// What `call` answered by `code`.
///
/// # Errors
///
/// [`Failure`] for every code but 0.
pub(crate) fn answer(call: &'static str, code: c_uint) -> Answer {
    if code == 0 { Ok(()) } else { Err(Failure { call, code }) }
}
