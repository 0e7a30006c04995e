//! Examples of Graphreel are in this package's `examples` folder; here is only what keeps the documents' code true.

#[cfg(doctest)]
pub mod documents;
