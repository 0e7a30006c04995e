//! Why an expectation file cannot be read, or a list of it cannot be run.

use std::path::PathBuf;

use graphreel::ServerError;

use crate::Shape;

/// What is wrong with the bytes of a file, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {at}: {flaw}; fetch the file again")]
pub struct DecodeError {
    /// Where the item that is wrong begins.
    pub at: usize,
    /// What is wrong with it.
    pub flaw: Flaw,
}

/// What can be wrong at one place of a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Flaw {
    /// The item needs more bytes than are left.
    #[error("the file ends within an item that needs {need} more bytes than there are")]
    Truncated {
        /// How many bytes are missing.
        need: usize,
    },
    /// A bool is neither 0 nor 255.
    #[error("{0} is no bool")]
    Bool(u8),
    /// A string holds half of a surrogate pair.
    #[error("a name is no text")]
    Text,
    /// A tag names nothing.
    #[error("{tag} is no kind of {what}")]
    Tag {
        /// What the tag should name.
        what: &'static str,
        /// The tag.
        tag: u8,
    },
    /// A vector or matrix has a width that no WGSL type has.
    #[error("{0} is no width of a vector or matrix")]
    Width(u16),
    /// A matrix of intervals does not have as many as its columns and rows say.
    #[error("a matrix of {columns} by {rows} has {count} intervals")]
    Matrix {
        /// Columns.
        columns: u16,
        /// Rows.
        rows: u16,
        /// How many intervals there are.
        count: usize,
    },
    /// An interval's lower bound is not at or below its upper bound.
    #[error("an interval has its bounds the wrong way round")]
    Bounds,
    /// Expectations within expectations go deeper than any file's.
    #[error("expectations are nested too deep")]
    Depth,
    /// There is something after the last list.
    #[error("{0} bytes follow the last list, which are no padding")]
    Trailing(usize),
}

/// Why a file could not be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file or folder cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// Its bytes are no expectation file.
    #[error("{}: {source}", path.display())]
    Decode {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: DecodeError,
    },
}

/// Why no kernel can be made for a list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The table of expressions has no such list.
    #[error("no expression is known for list `{list}` of `{file}`; add it to the table of expressions")]
    Unknown {
        /// The file.
        file: String,
        /// The list.
        list: String,
    },
    /// The list is for constant evaluation.
    #[error("the list has constant expressions only; it does not run on a device")]
    Constant,
    /// The list has no case.
    #[error("the list has no case; fetch the file again")]
    Empty,
    /// A case has inputs of other types than the first one.
    #[error("case {case} has inputs of other types than the first; fetch the file again")]
    Inputs {
        /// The case, from 0.
        case: usize,
    },
    /// A case has a result of another type than an earlier one.
    #[error("case {case} expects {found} where an earlier one expects {expected}; fetch the file again")]
    Output {
        /// The case, from 0.
        case: usize,
        /// The type it expects.
        found: Shape,
        /// The type that an earlier case expects.
        expected: Shape,
    },
    /// No case says of which type the result is.
    #[error("no case says of which type the result is; the list cannot be run")]
    NoOutput,
    /// A type has no place in a buffer.
    #[error("{0} has no place in a buffer; the list cannot be run")]
    NotShareable(Shape),
    /// The expression takes the list as it is only.
    #[error("the expression does not work by component; run the list with 1 lane")]
    Lanes,
    /// No vector has so many lanes.
    #[error("{0} is no number of lanes; use 1 to 4")]
    NoLanes(u8),
}

/// Why the results of a dispatch could not be had.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// No kernel can be made.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The device refused or failed a call.
    #[error(transparent)]
    Device(#[from] ServerError),
    /// The device gave fewer bytes than there are results.
    #[error("{got} bytes came back of {need}; the device is at fault")]
    Short {
        /// How many bytes came.
        got: usize,
        /// How many there should be.
        need: usize,
    },
    /// A bool came back as something else than 0 or 1.
    #[error("result {index} is {word} where a bool is 0 or 1; the device is at fault")]
    NoBool {
        /// Which result, from 0.
        index: usize,
        /// What came.
        word: u32,
    },
}
