//! What is known of an expression once it was evaluated.

use super::place::Place;

/// Where an expression's value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// Not evaluated.
    None,
    /// In slots of the invocation, from this one on.
    Slots(u32),
    /// In the table of constants, from this place on.
    Table(u32),
    /// All zeros, and too large to be written out.
    Zero,
    /// It is a pointer.
    Place(Place),
}
