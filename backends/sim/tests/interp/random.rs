//! Random programs against a plain evaluation of the same text: values must be those of the moment they were read, whatever
//! the translation leaves out or moves.

use std::collections::HashMap;
use std::fmt::Write;

use fastrand::Rng;

use crate::rig::Rig;

/// An expression of `u32`.
#[derive(Clone, Debug)]
enum Expr {
    Number(u32),
    /// A variable or an earlier `let`.
    Name(String),
    Component(char),
    Element(Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A function that changes the private variable and gives back its argument joined with it.
    Touch(Box<Expr>),
}

#[derive(Clone, Debug)]
enum Stmt {
    Let(String, Expr),
    /// The whole vector or array, read now and used later.
    LetVector(String),
    UseVector(String, char, String),
    Set(String, Expr),
    SetComponent(char, Expr),
    SetElement(Expr, Expr),
    AddElement(Expr, Expr),
    /// A pointer to a pair, kept, with its parts read and written through it.
    Point(String, Expr),
    ReadPair(String, char, String),
    WritePair(String, char, Expr),
    Swizzle([char; 3]),
    VectorSum(Expr),
    Bump(String, Expr),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// A loop of so many rounds, its counter's name, the body, and a round from which `continue` or `break` leaves early.
    Loop(u32, String, Vec<Stmt>, Option<(u32, bool)>),
    Switch(Expr, [Vec<Stmt>; 3]),
}

const VARIABLES: [&str; 4] = ["a", "b", "c", "g"];

struct Writer {
    random: Rng,
    next: u32,
}

impl Writer {
    fn expr(&mut self, depth: u32, lets: &[String]) -> Expr {
        let leaf = depth == 0 || self.random.u32(0..4) == 0;
        let sub = |this: &mut Self| Box::new(this.expr(depth - 1, lets));
        match self.random.u32(0..if leaf { 4 } else { 9 }) {
            0 => Expr::Number(self.random.u32(0..5)),
            1 if !lets.is_empty() => Expr::Name(lets[self.random.usize(0..lets.len())].clone()),
            2 => Expr::Component(self.component()),
            1 | 3 => Expr::Name(self.variable()),
            4 => Expr::Element(sub(self)),
            5 => Expr::Touch(sub(self)),
            6 => Expr::Select(sub(self), sub(self), sub(self)),
            _ => Expr::Binary(["+", "*", "^", "-"][self.random.usize(0..4)], sub(self), sub(self)),
        }
    }

    fn component(&mut self) -> char {
        ['x', 'y', 'z'][self.random.usize(0..3)]
    }

    fn variable(&mut self) -> String {
        VARIABLES[self.random.usize(0..4)].to_owned()
    }

    fn name(&mut self) -> String {
        self.next += 1;
        format!("t{}", self.next)
    }

    fn block(&mut self, depth: u32, lets: &[String], vectors: &[String]) -> Vec<Stmt> {
        let (mut lets, mut vectors) = (lets.to_vec(), vectors.to_vec());
        (0..self.random.u32(2..7)).map(|_| self.stmt(depth, &mut lets, &mut vectors)).collect()
    }

    fn stmt(&mut self, depth: u32, lets: &mut Vec<String>, vectors: &mut Vec<String>) -> Stmt {
        let inner = |this: &mut Self, lets: &[String], vectors: &[String]| this.block(depth - 1, lets, vectors);
        let is_pointer = |name: &&String| name.starts_with('p');
        let pointers: Vec<String> = vectors.iter().filter(is_pointer).cloned().collect();
        let values: Vec<String> = vectors.iter().filter(|name| !is_pointer(name)).cloned().collect();
        match self.random.u32(0..if depth == 0 { 15 } else { 19 }) {
            0 | 1 => {
                let (value, name) = (self.expr(2, lets), self.name());
                lets.push(name.clone());
                Stmt::Let(name, value)
            }
            2 => {
                let name = self.name();
                vectors.push(name.clone());
                Stmt::LetVector(name)
            }
            3 if !values.is_empty() => {
                let from = values[self.random.usize(0..values.len())].clone();
                Stmt::UseVector(self.variable(), self.component(), from)
            }
            4 => Stmt::SetComponent(self.component(), self.expr(2, lets)),
            5 => Stmt::SetElement(self.expr(1, lets), self.expr(2, lets)),
            6 => Stmt::AddElement(self.expr(1, lets), self.expr(2, lets)),
            7 => Stmt::Swizzle(std::array::from_fn(|_| self.component())),
            8 => Stmt::VectorSum(self.expr(1, lets)),
            9 => Stmt::Bump(["a", "b", "c"][self.random.usize(0..3)].to_owned(), self.expr(2, lets)),
            11 => {
                let (name, index) = (format!("p{}", self.name()), self.expr(1, lets));
                vectors.push(name.clone());
                Stmt::Point(name, index)
            }
            12 | 13 if !pointers.is_empty() => {
                let from = pointers[self.random.usize(0..pointers.len())].clone();
                let part = ['x', 'y'][self.random.usize(0..2)];
                if self.random.bool() {
                    Stmt::ReadPair(self.variable(), part, from)
                } else {
                    Stmt::WritePair(from, part, self.expr(2, lets))
                }
            }
            15 => Stmt::If(self.expr(2, lets), inner(self, lets, vectors), inner(self, lets, vectors)),
            16 | 17 => {
                let (rounds, counter) = (self.random.u32(1..4), self.name());
                let leave = self.random.bool().then(|| (self.random.u32(0..3), self.random.bool()));
                Stmt::Loop(rounds, counter, inner(self, lets, vectors), leave)
            }
            18 => Stmt::Switch(self.expr(2, lets), std::array::from_fn(|_| inner(self, lets, vectors))),
            _ => Stmt::Set(self.variable(), self.expr(3, lets)),
        }
    }
}

fn text(expr: &Expr) -> String {
    match expr {
        Expr::Number(value) => format!("{value}u"),
        Expr::Name(name) => name.clone(),
        Expr::Component(component) => format!("v.{component}"),
        Expr::Element(index) => format!("list[({}) % 4u]", text(index)),
        Expr::Binary(op, left, right) => format!("({} {op} {})", text(left), text(right)),
        Expr::Select(no, yes, test) => format!("select({}, {}, {} % 2u == 1u)", text(no), text(yes), text(test)),
        Expr::Touch(value) => format!("touch({})", text(value)),
    }
}

fn write(block: &[Stmt], to: &mut String) {
    let inner = |block: &[Stmt]| {
        let mut text = String::new();
        write(block, &mut text);
        text
    };
    for stmt in block {
        let line = match stmt {
            Stmt::Let(name, value) => format!("let {name} = {};", text(value)),
            Stmt::LetVector(name) => format!("let {name} = v;"),
            Stmt::UseVector(variable, component, from) => format!("{variable} = {from}.{component};"),
            Stmt::Set(name, value) => format!("{name} = {};", text(value)),
            Stmt::SetComponent(component, value) => format!("v.{component} = {};", text(value)),
            Stmt::SetElement(index, value) => format!("list[({}) % 4u] = {};", text(index), text(value)),
            Stmt::AddElement(index, value) => format!("list[({}) % 4u] += {};", text(index), text(value)),
            Stmt::Point(name, index) => format!("let {name} = &pairs[({}) % 3u];", text(index)),
            Stmt::ReadPair(variable, part, from) => format!("{variable} = (*{from}).{part};"),
            Stmt::WritePair(to, part, value) => format!("(*{to}).{part} = {};", text(value)),
            Stmt::Swizzle([x, y, z]) => format!("v = v.{x}{y}{z};"),
            Stmt::VectorSum(value) => format!("v = v + v.yzx * {};", text(value)),
            Stmt::Bump(name, value) => format!("bump(&{name}, {});", text(value)),
            Stmt::If(test, yes, no) => format!("if {} > 3u {{ {} }} else {{ {} }}", text(test), inner(yes), inner(no)),
            Stmt::Loop(rounds, counter, body, leave) => {
                let leave = leave.map_or(String::new(), |(round, is_break)| {
                    format!("if {counter} == {round}u {{ {}; }}", if is_break { "break" } else { "continue" })
                });
                format!("for (var {counter} = 0u; {counter} < {rounds}u; {counter}++) {{ {leave} {} }}", inner(body))
            }
            Stmt::Switch(test, [zero, one, other]) => format!(
                "switch ({}) % 3u {{ case 0u: {{ {} }} case 1u: {{ {} }} default: {{ {} }} }}",
                text(test),
                inner(zero),
                inner(one),
                inner(other)
            ),
        };
        writeln!(to, "{line}").unwrap();
    }
}

/// The state of a plain evaluation.
#[derive(Default)]
struct State {
    names: HashMap<String, u32>,
    vectors: HashMap<String, [u32; 3]>,
    v: [u32; 3],
    list: [u32; 4],
    pairs: [[u32; 2]; 3],
    pointers: HashMap<String, usize>,
}

fn place(component: char) -> usize {
    component as usize - 'x' as usize
}

impl State {
    fn expr(&mut self, expr: &Expr) -> u32 {
        match expr {
            Expr::Number(value) => *value,
            Expr::Name(name) => self.names[name],
            Expr::Component(component) => self.v[place(*component)],
            Expr::Element(index) => {
                let index = self.expr(index) as usize % 4;
                self.list[index]
            }
            Expr::Binary(op, left, right) => {
                let (left, right) = (self.expr(left), self.expr(right));
                match *op {
                    "+" => left.wrapping_add(right),
                    "*" => left.wrapping_mul(right),
                    "-" => left.wrapping_sub(right),
                    _ => left ^ right,
                }
            }
            Expr::Select(no, yes, test) => {
                let (no, yes, test) = (self.expr(no), self.expr(yes), self.expr(test));
                if test % 2 == 1 { yes } else { no }
            }
            Expr::Touch(value) => {
                let value = self.expr(value);
                let g = self.names.get_mut("g").unwrap();
                *g = g.wrapping_mul(3).wrapping_add(1);
                value ^ *g
            }
        }
    }

    fn set(&mut self, name: &str, value: u32) {
        self.names.insert(name.to_owned(), value);
    }

    fn block(&mut self, block: &[Stmt]) {
        block.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Let(name, value) | Stmt::Set(name, value) => {
                let value = self.expr(value);
                self.set(name, value);
            }
            Stmt::LetVector(name) => {
                self.vectors.insert(name.clone(), self.v);
            }
            Stmt::UseVector(variable, component, from) => self.set(variable, self.vectors[from][place(*component)]),
            Stmt::SetComponent(component, value) => self.v[place(*component)] = self.expr(value),
            Stmt::SetElement(index, value) => {
                let index = self.expr(index) as usize % 4;
                self.list[index] = self.expr(value);
            }
            Stmt::AddElement(index, value) => {
                let index = self.expr(index) as usize % 4;
                // The sum's left side is read before its right side is computed.
                let old = self.list[index];
                self.list[index] = old.wrapping_add(self.expr(value));
            }
            Stmt::Point(name, index) => {
                let index = self.expr(index) as usize % 3;
                self.pointers.insert(name.clone(), index);
            }
            Stmt::ReadPair(variable, part, from) => {
                self.set(variable, self.pairs[self.pointers[from]][place(*part)]);
            }
            Stmt::WritePair(to, part, value) => {
                self.pairs[self.pointers[to]][place(*part)] = self.expr(value);
            }
            Stmt::Swizzle(order) => self.v = order.map(|component| self.v[place(component)]),
            Stmt::VectorSum(value) => {
                let (v, by) = (self.v, self.expr(value));
                self.v = std::array::from_fn(|k| v[k].wrapping_add(v[(k + 1) % 3].wrapping_mul(by)));
            }
            Stmt::Bump(name, value) => {
                let by = self.expr(value);
                let sum = self.names[name].wrapping_add(by) ^ self.names["g"];
                self.set(name, sum);
            }
            Stmt::If(test, yes, no) => {
                let side = if self.expr(test) > 3 { yes } else { no };
                self.block(side);
            }
            Stmt::Loop(rounds, counter, body, leave) => {
                for round in 0..*rounds {
                    self.set(counter, round);
                    match leave {
                        Some((at, true)) if *at == round => break,
                        Some((at, false)) if *at == round => continue,
                        _ => self.block(body),
                    }
                }
            }
            Stmt::Switch(test, cases) => {
                let case = self.expr(test) as usize % 3;
                self.block(&cases[case]);
            }
        }
    }
}

/// Where the array and the pairs are: the same program over every kind of memory.
const SPACES: [&str; 4] = ["", "var<private> ", "var<workgroup> ", "@group(0) @binding(1) var<storage, read_write> "];

/// Run a body in three invocations, which begin with an `a` of 1 to 3: the words of each.
fn run(body: &str, space: &str) -> Vec<Vec<u32>> {
    let (outside, inside) = match space {
        "" => (String::new(), "var m: M;".to_owned()),
        space => (format!("{space} m: M;"), String::new()),
    };
    let body = body.replace("list[", "m.list[").replace("pairs[", "m.pairs[");
    let alone = space.contains("workgroup") || space.contains("storage");
    let size = if alone { 1 } else { 3 };
    let rig = Rig::new(&*format!(
        "struct M {{ list: array<u32, 4>, pairs: array<vec2<u32>, 3> }}
         {outside}
         @group(0) @binding(0) var<storage, read_write> out: array<array<u32, 17>>;
         var<private> g: u32;
         fn touch(x: u32) -> u32 {{ g = g * 3u + 1u; return x ^ g; }}
         fn bump(p: ptr<function, u32>, x: u32) {{ *p = (*p + x) ^ g; }}
         @compute @workgroup_size({size}) fn main(@builtin(local_invocation_index) lane: u32) {{
             {inside}
             var a = lane + 1u; var b = 2u; var c = 3u; g = 4u;
             var v = vec3(5u, 6u, 7u);
             m.list = array(8u, 9u, 10u, 11u);
             {body}
             out[lane] = array(a, b, c, g, v.x, v.y, v.z, m.list[0], m.list[1], m.list[2], m.list[3],
                 m.pairs[0].x, m.pairs[0].y, m.pairs[1].x, m.pairs[1].y, m.pairs[2].x, m.pairs[2].y);
         }}"
    ));
    let rig = rig.buffer(&vec![0; 17 * size]);
    let rig = if space.contains("storage") { rig.buffer(&[0; 10]) } else { rig };
    rig.run().words(0).chunks(17).map(<[u32]>::to_vec).collect()
}

/// What a body leaves behind when `a` is 1, 2, 3.
fn evaluated(block: &[Stmt]) -> Vec<Vec<u32>> {
    let words = (1..=3).map(|a| {
        let mut state = State { v: [5, 6, 7], list: [8, 9, 10, 11], ..State::default() };
        for (name, value) in VARIABLES.iter().zip([a, 2, 3, 4]) {
            state.set(name, value);
        }
        state.block(block);
        let memory = state.list.into_iter().chain(state.pairs.into_iter().flatten());
        VARIABLES.map(|name| state.names[name]).into_iter().chain(state.v).chain(memory).collect()
    });
    words.collect()
}

#[test]
fn programs_do_what_they_say() {
    for seed in 0..600 {
        let mut writer = Writer { random: Rng::with_seed(seed), next: 0 };
        let block = writer.block(3, &[], &[]);
        let mut body = String::new();
        write(&block, &mut body);
        let space = SPACES[seed as usize % 4];
        let (got, expected) = (run(&body, space), evaluated(&block));
        assert_eq!(got, expected[..got.len()], "seed {seed}, {space}:\n{body}");
    }
}

/// The same with waits between the outermost statements, which change nothing.
#[test]
fn an_invocation_that_waits_goes_on_as_it_was() {
    let waits =
        ["workgroupBarrier();", "b = subgroupShuffle(b, lane);", "storageBarrier();", "v = subgroupShuffle(v, lane);"];
    for seed in 1000..1300 {
        let mut writer = Writer { random: Rng::with_seed(seed), next: 0 };
        let block = writer.block(3, &[], &[]);
        let mut body = String::new();
        for (stmt, wait) in block.iter().zip(waits.iter().cycle()) {
            write(std::slice::from_ref(stmt), &mut body);
            body.push_str(wait);
        }
        let space = SPACES[seed as usize % 2];
        assert_eq!(run(&body, space), evaluated(&block), "seed {seed}, {space}:\n{body}");
    }
}
