//! How deep a WGSL text may go. naga bounds nested brackets, but walks chains of operators, of `else if` and of declarations
//! by recursion, so that a text of a few kilobytes would end the process by its stack. Such texts are refused here.

use crate::error::KernelProblem;

/// Operators in one expression, those around its brackets included. naga overflows a stack of 2 MiB, a thread's default,
/// between 4,000 and 8,000.
const OPERATORS_MAX: usize = 1000;

/// `else` branches of one chain, those of the chains around it included. The same stack bears over 1,000.
const ELSES_MAX: usize = 500;

/// Declarations of a text, each of which may need the one before it. The same stack bears over 4,000.
const DECLARATIONS_MAX: usize = 2000;

/// Refuse a text that goes too deep. Signs, words and comments are ASCII, and other characters count as words, so that every
/// place looked at begins a character.
///
/// # Errors
///
/// [`KernelProblem::Parse`] with the place where the bound is passed.
pub(super) fn check(wgsl: &str) -> Result<(), KernelProblem> {
    let mut depth = Depth::default();
    let mut at = 0;
    while let Some(rest @ [byte, ..]) = wgsl.as_bytes().get(at..) {
        let step = match byte {
            b'/' if rest.starts_with(b"//") => line_comment(rest),
            b'/' if rest.starts_with(b"/*") => block_comment(rest),
            byte if is_word(*byte) => {
                let len = rest.iter().take_while(|byte| is_word(**byte)).count();
                depth.word(&rest[..len]);
                len
            }
            sign => {
                depth.sign(*sign);
                1
            }
        };
        if let Some(what) = depth.too_deep() {
            return Err(refusal(&wgsl[..at], &what));
        }
        at += step;
    }
    Ok(())
}

/// The chains that are open at a place of the text.
#[derive(Default)]
struct Depth {
    /// For each bracket that is open, and the first outside of any.
    expressions: Vec<Expression>,
    operators: usize,
    /// `else` branches of the chain that each open brace is in.
    blocks: Vec<usize>,
    elses: usize,
    after_else: bool,
    declarations: usize,
}

/// Operators since the last comma, and template lists that may be open.
#[derive(Clone, Copy, Default)]
struct Expression {
    operators: usize,
    templates: usize,
}

impl Depth {
    fn word(&mut self, word: &[u8]) {
        match word {
            b"else" => {
                self.elses += 1;
                if let Some(chain) = self.blocks.last_mut() {
                    *chain += 1;
                }
            }
            b"if" if !self.after_else => self.end_chain(),
            _ => {}
        }
        self.after_else = word == b"else";
    }

    fn sign(&mut self, sign: u8) {
        match sign {
            b'(' | b'[' => {
                self.operator();
                self.expressions.push(Expression::default());
            }
            b')' | b']' => self.end_expression(),
            // Within a template list a comma ends no expression: `a + array<i32, 1>(b)[0] + ..` goes on.
            b',' => {
                if let Some(expression) = self.expressions.last_mut().filter(|expression| expression.templates == 0) {
                    self.operators -= expression.operators;
                    *expression = Expression::default();
                }
            }
            b';' | b'{' | b'}' => self.end_statement(sign),
            _ if sign.is_ascii_punctuation() => {
                self.operator();
                if let Some(expression) = self.expressions.last_mut() {
                    match sign {
                        b'<' => expression.templates += 1,
                        b'>' => expression.templates = expression.templates.saturating_sub(1),
                        _ => {}
                    }
                }
            }
            _ => return,
        }
        self.after_else &= sign != b'{';
    }

    fn operator(&mut self) {
        self.operators += 1;
        match self.expressions.last_mut() {
            Some(expression) => expression.operators += 1,
            None => self.expressions.push(Expression { operators: 1, templates: 0 }),
        }
    }

    fn end_expression(&mut self) {
        if let Some(expression) = self.expressions.pop() {
            self.operators -= expression.operators;
        }
    }

    fn end_statement(&mut self, sign: u8) {
        self.expressions.clear();
        self.operators = 0;
        match sign {
            b'{' => self.blocks.push(0),
            b'}' => {
                self.end_chain();
                self.blocks.pop();
            }
            _ => self.end_chain(),
        }
        self.declarations += usize::from(self.blocks.is_empty());
    }

    fn end_chain(&mut self) {
        if let Some(chain) = self.blocks.last_mut() {
            self.elses -= std::mem::take(chain);
        }
    }

    fn too_deep(&self) -> Option<String> {
        if self.operators > OPERATORS_MAX {
            return Some(format!("an expression has more than {OPERATORS_MAX} operators; split it with `let`"));
        }
        if self.elses > ELSES_MAX {
            return Some(format!("a chain has more than {ELSES_MAX} `else` branches; use `switch` or functions"));
        }
        (self.declarations > DECLARATIONS_MAX)
            .then(|| format!("the text has more than {DECLARATIONS_MAX} declarations; leave out what is not used"))
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

fn line_comment(rest: &[u8]) -> usize {
    rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
}

/// The length of a block comment; they nest, and an open one goes on to the end.
fn block_comment(rest: &[u8]) -> usize {
    let (mut at, mut open) = (0, 0);
    while at < rest.len() {
        let step = match &rest[at..] {
            [b'/', b'*', ..] => {
                open += 1;
                2
            }
            [b'*', b'/', ..] => {
                open -= 1;
                2
            }
            _ => 1,
        };
        at += step;
        if open == 0 {
            break;
        }
    }
    at
}

fn refusal(before: &str, what: &str) -> KernelProblem {
    let line = u32::try_from(before.matches('\n').count() + 1).unwrap_or(u32::MAX);
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    KernelProblem::Parse {
        line,
        column: u32::try_from(column).unwrap_or(u32::MAX),
        message: what.to_owned(),
        rendered: format!("error: {what}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::inspect;

    fn in_body(body: &str) -> String {
        format!("@compute @workgroup_size(1) fn f() {{ var a = 1; {body} }}")
    }

    fn chains(n: usize) -> [String; 6] {
        let needs = |head: &str, tail: &str| -> String {
            (0..n).map(|index| format!("{head}{index}{tail}{}; ", index + 1)).collect()
        };
        [
            in_body(&format!("let x = {}a;", "a + ".repeat(n))),
            in_body(&format!("let x = {}a;", "array<i32, 1>(a)[0] + ".repeat(n))),
            in_body(&format!("{} {{ }}", "if a == 1 { a = 2; } else ".repeat(n))),
            in_body(&format!("let x = vec4(1.0){};", ".xyzw".repeat(n))),
            format!("{}const c{n} = 1;", needs("const c", " = c")),
            format!("{}alias T{n} = f32;", needs("alias T", " = T")),
        ]
    }

    #[test]
    fn a_text_that_would_end_the_process_is_refused_with_its_place() {
        for text in chains(20_000) {
            let refused = inspect(&text).expect_err("naga's recursion does not end in the stack's bounds");
            let KernelProblem::Parse { line: 1, column, .. } = refused.problem else { panic!("{refused:?}") };
            assert!(column > 1);
        }
    }

    #[test]
    fn chains_of_chains_count_together() {
        let chain = |inner: String| format!("{} {{ {inner} }}", "if a == 1 { } else ".repeat(100));
        let nested = (0..20).fold(String::new(), |inner, _| chain(inner));
        assert!(check(&in_body(&nested)).is_err());
    }

    #[test]
    fn long_texts_that_are_not_deep_pass() {
        let table = in_body(&format!("let t = array<f32, 5000>({});", "-1.0 + 0.5, ".repeat(5000)));
        let ifs = in_body(&"if a == 1 { a = 2; } else { a = 3; } ".repeat(5000));
        let lines = in_body(&"a = a * (a + 1) - 2; ".repeat(5000));
        let comment = format!("/* {} /* */ */ // {}\n{}", "+".repeat(5000), "- ".repeat(5000), in_body(""));
        for text in [&table, &ifs, &lines, &comment] {
            assert!(check(text).is_ok(), "{}..", &text[..100]);
        }
        for text in chains(50) {
            assert!(inspect(&text).is_ok(), "{text}");
        }
    }
}
