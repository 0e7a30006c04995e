//! A service in place of the core's: what the models need of it is that it is there.

/// Nothing is installed in it.
#[derive(Debug, Default)]
pub struct BackendService {}
