//! x

pub mod reference;
