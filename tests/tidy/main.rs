//! The house rules that a program can check. Each failure names the file, the line and the rule; `docs/STYLE.md` says why.

mod citations;
mod code;
mod docs;
mod tree;
