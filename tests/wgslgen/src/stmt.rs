//! Statements and their text.

use crate::expr::{Expr, filled};
use crate::shape::Type;

pub(crate) type Block = Vec<Stmt>;

/// One case of a switch; the default is one without an end of labels.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Case {
    /// Selectors.
    pub(crate) labels: Vec<Expr>,
    /// Whether `default` is among them.
    pub(crate) is_default: bool,
    pub(crate) body: Block,
}

/// How a loop is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    For,
    While,
    Loop,
}

/// A loop that a counter ends, whatever its body does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Loop {
    pub(crate) style: Style,
    pub(crate) counter: String,
    /// How many rounds: of `u32`, at most the counter's limit.
    pub(crate) rounds: Expr,
    /// What the counter is always below.
    pub(crate) below: u32,
    pub(crate) body: Block,
    /// Of [`Style::Loop`] alone.
    pub(crate) continuing: Block,
    /// Of [`Style::Loop`] alone.
    pub(crate) break_if: Option<Expr>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stmt {
    Let(String, Expr),
    /// `let name = &place;`
    Point(String, Expr),
    Var(String, Type, Option<Expr>),
    /// `place op value`.
    Assign(Expr, &'static str, Expr),
    /// `place++` or `place--`.
    Step(Expr, &'static str),
    /// A call whose result is not used.
    Do(Expr),
    /// `_ = value`.
    Discard(Expr),
    /// Text with `{}` for each operand, on one line.
    Form(String, Vec<Expr>),
    If(Expr, Block, Block),
    Switch(Expr, Vec<Case>),
    Loop(Loop),
    Block(Block),
    Break,
    Continue,
    Return(Option<Expr>),
    /// What all invocations of a workgroup do together.
    Phase(Phase),
}

/// Lines around barriers that stay together: what is shared is written, waited for, and read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Phase {
    /// Lines with `{}` for each operand; `{body}` alone on a line is the body.
    pub(crate) text: String,
    pub(crate) args: Vec<Expr>,
    pub(crate) body: Block,
    /// Names that it declares.
    pub(crate) names: Vec<(String, Type)>,
}

impl Stmt {
    /// The blocks inside.
    pub(crate) fn blocks_mut(&mut self) -> Vec<&mut Block> {
        match self {
            Self::If(_, yes, no) => vec![yes, no],
            Self::Switch(_, cases) => cases.iter_mut().map(|case| &mut case.body).collect(),
            Self::Loop(inner) => vec![&mut inner.body, &mut inner.continuing],
            Self::Block(body) => vec![body],
            Self::Phase(phase) => vec![&mut phase.body],
            _ => Vec::new(),
        }
    }

    /// The expressions of this statement itself that may be replaced by others of their type.
    pub(crate) fn exprs_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Self::Let(_, value) | Self::Var(_, _, Some(value)) | Self::Discard(value) | Self::Do(value) => vec![value],
            Self::Return(Some(value)) | Self::If(value, ..) | Self::Switch(value, _) => vec![value],
            Self::Assign(place, _, value) => vec![place, value],
            Self::Step(place, _) | Self::Point(_, place) => vec![place],
            Self::Form(_, args) => args.iter_mut().collect(),
            Self::Phase(phase) => phase.args.iter_mut().collect(),
            Self::Loop(inner) => std::iter::once(&mut inner.rounds).chain(&mut inner.break_if).collect(),
            Self::Block(_) | Self::Break | Self::Continue | Self::Return(None) | Self::Var(_, _, None) => Vec::new(),
        }
    }

    /// Whether nothing after it in its block is reached.
    pub(crate) fn leaves(&self) -> bool {
        matches!(self, Self::Break | Self::Continue | Self::Return(_))
    }

    fn write(&self, depth: usize, to: &mut String) {
        let mut line = |text: String| push(depth, &text, to);
        match self {
            Self::Let(name, value) => line(format!("let {name} = {};", value.text())),
            Self::Point(name, place) => line(format!("let {name} = &{};", place.text())),
            Self::Var(name, ty, None) => line(format!("var {name}: {};", ty.text())),
            Self::Var(name, ty, Some(value)) => line(format!("var {name}: {} = {};", ty.text(), value.text())),
            Self::Assign(place, op, value) => line(format!("{} {op} {};", place.text(), value.text())),
            Self::Step(place, op) => line(format!("{}{op};", place.text())),
            Self::Do(call) => line(format!("{};", call.text())),
            Self::Discard(value) => line(format!("_ = {};", value.text())),
            Self::Form(text, args) => line(filled(text, &texts(args))),
            Self::Break => line("break;".to_owned()),
            Self::Continue => line("continue;".to_owned()),
            Self::Return(None) => line("return;".to_owned()),
            Self::Return(Some(value)) => line(format!("return {};", value.text())),
            Self::If(condition, yes, no) => write_if(condition, yes, no, depth, to),
            Self::Switch(value, cases) => write_switch(value, cases, depth, to),
            Self::Loop(inner) => inner.write(depth, to),
            Self::Block(body) => braced("", body, depth, to),
            Self::Phase(phase) => phase.write(depth, to),
        }
    }
}

fn texts(args: &[Expr]) -> Vec<String> {
    args.iter().map(Expr::text).collect()
}

fn push(depth: usize, text: &str, to: &mut String) {
    to.push_str(&"    ".repeat(depth));
    to.push_str(text);
    to.push('\n');
}

pub(crate) fn write(block: &Block, depth: usize, to: &mut String) {
    block.iter().for_each(|stmt| stmt.write(depth, to));
}

fn braced(head: &str, body: &Block, depth: usize, to: &mut String) {
    push(depth, &format!("{head}{{"), to);
    write(body, depth + 1, to);
    push(depth, "}", to);
}

fn write_if(condition: &Expr, yes: &Block, no: &Block, depth: usize, to: &mut String) {
    push(depth, &format!("if {} {{", condition.text()), to);
    write(yes, depth + 1, to);
    match &no[..] {
        [] => push(depth, "}", to),
        [Stmt::If(condition, yes, no)] => {
            to.push_str(&"    ".repeat(depth));
            to.push_str("} else ");
            let mut rest = String::new();
            write_if(condition, yes, no, depth, &mut rest);
            to.push_str(rest.trim_start());
        }
        _ => {
            push(depth, "} else {", to);
            write(no, depth + 1, to);
            push(depth, "}", to);
        }
    }
}

fn write_switch(value: &Expr, cases: &[Case], depth: usize, to: &mut String) {
    push(depth, &format!("switch {} {{", value.text()), to);
    for case in cases {
        let mut labels = texts(&case.labels);
        if case.is_default {
            labels.push("default".to_owned());
        }
        let head = if case.labels.is_empty() { "default ".to_owned() } else { format!("case {}: ", labels.join(", ")) };
        braced(&head, &case.body, depth + 1, to);
    }
    push(depth, "}", to);
}

impl Loop {
    fn write(&self, depth: usize, to: &mut String) {
        let (counter, rounds) = (&self.counter, self.rounds.text());
        match self.style {
            Style::For => {
                let head = format!("for (var {counter} = 0u; {counter} < {rounds}; {counter}++) ");
                braced(&head, &self.body, depth, to);
            }
            // The counter moves on before anything can leave the round; the body sees the number of the round.
            Style::While => {
                push(depth, &format!("var {counter}_next = 0u;"), to);
                push(depth, &format!("while {counter}_next < {rounds} {{"), to);
                push(depth + 1, &format!("let {counter} = {counter}_next;"), to);
                push(depth + 1, &format!("{counter}_next += 1u;"), to);
                write(&self.body, depth + 1, to);
                push(depth, "}", to);
            }
            Style::Loop => {
                push(depth, &format!("var {counter} = 0u;"), to);
                push(depth, "loop {", to);
                push(depth + 1, &format!("if {counter} >= {rounds} {{ break; }}"), to);
                write(&self.body, depth + 1, to);
                push(depth + 1, "continuing {", to);
                write(&self.continuing, depth + 2, to);
                push(depth + 2, &format!("{counter} += 1u;"), to);
                if let Some(condition) = &self.break_if {
                    push(depth + 2, &format!("break if {};", condition.text()), to);
                }
                push(depth + 1, "}", to);
                push(depth, "}", to);
            }
        }
    }
}

impl Phase {
    fn write(&self, depth: usize, to: &mut String) {
        for line in filled(&self.text, &texts(&self.args)).lines() {
            if line.trim() == "{body}" {
                write(&self.body, depth, to);
            } else {
                push(depth, line, to);
            }
        }
    }
}
