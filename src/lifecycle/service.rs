//! The installed devices of one backend, as the generation holds them.

/// What close releases first: every device of the backend.
#[derive(Debug, Default)]
pub(crate) struct BackendService {}
