//! Attempts against a core without devices, and against resources that only pretend.

mod admitted;
mod delivery;
mod fakes;
mod speed;
mod terminal;
