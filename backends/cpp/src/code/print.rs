//! Prints the tree: indentation, no more parentheses than C++ and its compilers' warnings ask for, `#line` where the WGSL's
//! line is not the one that a compiler would count, and the names of the prelude that were met.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::{By, Case, Expr, Field, Function, Item, Param, Stmt, Struct, TemplateArg, Type};

/// How tightly an expression holds together; what is looser than its place asks gets parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tightness {
    Any,
    Conditional,
    Or,
    And,
    BitOr,
    BitXor,
    BitAnd,
    Equality,
    Order,
    Shift,
    Sum,
    Product,
    Prefix,
    Whole,
}

impl Tightness {
    fn of(expr: &Expr) -> Self {
        match expr {
            Expr::Binary(sign, _) => Self::of_sign(sign),
            Expr::Conditional(_) => Self::Conditional,
            Expr::Unary(..) => Self::Prefix,
            _ => Self::Whole,
        }
    }

    fn of_sign(sign: &str) -> Self {
        match sign {
            "||" => Self::Or,
            "&&" => Self::And,
            "|" => Self::BitOr,
            "^" => Self::BitXor,
            "&" => Self::BitAnd,
            "==" | "!=" => Self::Equality,
            "<" | "<=" | ">" | ">=" => Self::Order,
            "<<" | ">>" => Self::Shift,
            "+" | "-" => Self::Sum,
            _ => Self::Product,
        }
    }

    /// What the operands of an infix operator have to be. Compilers warn of mixtures that C++ allows and people misread, so
    /// that only sums and products stand bare within other operators.
    fn of_operands(sign: &str) -> (Self, Self) {
        match Self::of_sign(sign) {
            Self::Product => (Self::Product, Self::Prefix),
            Self::Sum => (Self::Sum, Self::Product),
            Self::Order | Self::Equality => (Self::Sum, Self::Sum),
            Self::And | Self::Or => (Self::Equality, Self::Equality),
            _ => (Self::Prefix, Self::Prefix),
        }
    }
}

/// The text so far.
pub(crate) struct Printer<'a> {
    text: String,
    level: usize,
    /// The file that `#line` names, if any is wanted.
    file: Option<&'a str>,
    /// The line that a compiler gives to the next line of text; `u32::MAX`, and no line of the WGSL, until a directive was given.
    line: u32,
    uses: BTreeSet<&'static str>,
}

impl<'a> Printer<'a> {
    pub(crate) fn new(file: Option<&'a str>) -> Self {
        Self { text: String::new(), level: 0, file, line: u32::MAX, uses: BTreeSet::new() }
    }

    /// The text, and the names of the prelude that it uses.
    pub(crate) fn finish(self) -> (String, Vec<&'static str>) {
        (self.text, self.uses.into_iter().collect())
    }

    /// A type as it is written.
    pub(crate) fn spelled(ty: &Type) -> String {
        let mut printer = Self::new(None);
        printer.ty(ty);
        printer.text
    }

    /// Count a name of the prelude that stands in no expression.
    pub(crate) fn uses(&mut self, name: &'static str) {
        self.uses.insert(name);
    }

    /// One line of text.
    pub(crate) fn raw(&mut self, text: &str) {
        self.begin();
        self.text.push_str(text);
        self.end();
    }

    pub(crate) fn item(&mut self, item: &Item) {
        match item {
            Item::Struct(item) => self.structure(item),
            Item::Shared { name, members, bytes } => self.shared(name, members, *bytes),
            Item::Table(ty, name, value) => {
                self.uses("WG_TABLE");
                self.begin();
                self.text.push_str("WG_TABLE const ");
                self.ty(ty);
                let _ = write!(self.text, " {name} = ");
                self.expr(value, Tightness::Any);
                self.text.push(';');
                self.end();
            }
            Item::Function(function) => self.function(function),
            Item::Text(text) => text.lines().for_each(|line| self.raw(line)),
        }
    }

    fn begin(&mut self) {
        self.text.extend(std::iter::repeat_n("    ", self.level));
    }

    fn end(&mut self) {
        self.text.push('\n');
        self.line = self.line.saturating_add(1);
    }

    fn structure(&mut self, item: &Struct) {
        let Struct { name, align, size, fields } = item;
        let aligned = if *align > 1 { format!("alignas({align}) ") } else { String::new() };
        self.raw(&format!("struct {aligned}{name} {{"));
        self.level += 1;
        for field in fields {
            self.begin();
            match field {
                Field::Member { ty, name, .. } => {
                    self.ty(ty);
                    let _ = write!(self.text, " {name};");
                }
                Field::Padding { bytes, number } => {
                    let _ = write!(self.text, "unsigned char wg_pad{number}[{bytes}];");
                }
            }
            self.end();
        }
        self.level -= 1;
        self.raw("};");
        if let Some(size) = size {
            self.raw(&format!("static_assert(sizeof({name}) == {size}, \"layout\");"));
        }
        for field in fields {
            if let Field::Member { name: member, offset: Some(offset), .. } = field {
                self.uses("WG_OFFSET");
                self.raw(&format!("static_assert(WG_OFFSET({name}, {member}) == {offset}, \"layout\");"));
            }
        }
    }

    fn shared(&mut self, name: &str, members: &[(Type, String)], bytes: u32) {
        self.raw(&format!("struct alignas(16) {name} {{"));
        self.level += 1;
        for (ty, member) in members {
            self.begin();
            self.text.push_str("alignas(16) ");
            self.ty(ty);
            let _ = write!(self.text, " {member};");
            self.end();
        }
        self.level -= 1;
        self.raw("};");
        self.raw(&format!("static_assert(sizeof({name}) == {bytes}, \"layout\");"));
    }

    fn function(&mut self, function: &Function) {
        let Function { prefix, result, name, params, body } = function;
        self.begin();
        if !prefix.is_empty() {
            let _ = write!(self.text, "{prefix} ");
        }
        match result {
            Some(ty) => self.ty(ty),
            None => self.text.push_str("void"),
        }
        let _ = write!(self.text, " {name}(");
        for (index, param) in params.iter().enumerate() {
            if index > 0 {
                self.text.push_str(", ");
            }
            self.param(param);
        }
        self.text.push_str(") {");
        self.end();
        self.block(body);
        self.raw("}");
    }

    fn param(&mut self, param: &Param) {
        let Param { ty, by, name } = param;
        if !matches!(by, By::Reference | By::Pointer) {
            self.text.push_str("const ");
        }
        self.ty(ty);
        let sign = match by {
            By::Value => " ",
            By::ConstReference | By::Reference => "& ",
            By::ConstPointer | By::Pointer => {
                self.uses("WG_RESTRICT");
                "* WG_RESTRICT "
            }
        };
        self.text.push_str(sign);
        self.text.push_str(name);
    }

    fn block(&mut self, body: &[Stmt]) {
        self.level += 1;
        body.iter().for_each(|stmt| self.stmt(stmt));
        self.level -= 1;
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Line(line) => self.directive(*line),
            Stmt::Label(label) => self.raw(&format!("{label}:;")),
            Stmt::If(condition, accept, reject) => self.chain(condition, accept, reject),
            Stmt::Loop(body) => self.braced("for (;;) {", body),
            Stmt::Block(body) => self.braced("{", body),
            Stmt::Switch(selector, cases) => self.switch(selector, cases),
            Stmt::Let(..)
            | Stmt::Var(..)
            | Stmt::Shared(..)
            | Stmt::Alias(..)
            | Stmt::Assign(..)
            | Stmt::Do(_)
            | Stmt::Break
            | Stmt::Continue
            | Stmt::Return(_)
            | Stmt::Goto(_) => {
                self.begin();
                self.simple(stmt);
                self.text.push(';');
                self.end();
            }
        }
    }

    fn simple(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Let(ty, name, value) => {
                self.text.push_str("const ");
                self.declaration(ty, " ", name, value);
            }
            Stmt::Var(ty, name, value) => self.declaration(ty, " ", name, value),
            Stmt::Alias(ty, name, value) => self.declaration(ty, "& ", name, value),
            Stmt::Shared(ty, name) => {
                self.uses("WG_SHARED");
                self.text.push_str("WG_SHARED ");
                self.ty(ty);
                let _ = write!(self.text, " {name}");
            }
            Stmt::Assign(left, right) => {
                self.expr(left, Tightness::Any);
                self.text.push_str(" = ");
                self.expr(right, Tightness::Any);
            }
            Stmt::Do(expr) => self.expr(expr, Tightness::Any),
            Stmt::Break => self.text.push_str("break"),
            Stmt::Continue => self.text.push_str("continue"),
            Stmt::Goto(label) => {
                let _ = write!(self.text, "goto {label}");
            }
            Stmt::Return(None) => self.text.push_str("return"),
            Stmt::Return(Some(value)) => {
                self.text.push_str("return ");
                self.expr(value, Tightness::Any);
            }
            _ => {}
        }
    }

    fn declaration(&mut self, ty: &Type, sign: &str, name: &str, value: &Expr) {
        self.ty(ty);
        let _ = write!(self.text, "{sign}{name}");
        match value {
            // `T name{..}` says the type once.
            Expr::Make(made, parts) if made == ty => self.list('{', parts, '}'),
            _ => {
                self.text.push_str(" = ");
                self.expr(value, Tightness::Any);
            }
        }
    }

    fn directive(&mut self, line: u32) {
        let Some(file) = self.file.filter(|_| line > 0 && self.line != line) else { return };
        let file = file.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ");
        let _ = writeln!(self.text, "#line {line} \"{file}\"");
        self.line = line;
    }

    fn braced(&mut self, head: &str, body: &[Stmt]) {
        self.raw(head);
        self.block(body);
        self.raw("}");
    }

    /// `if` with its `else if`s, which are walked and not recursed into.
    fn chain(&mut self, condition: &Expr, accept: &[Stmt], reject: &[Stmt]) {
        self.begin();
        let (mut condition, mut accept, mut reject) = (condition, accept, reject);
        loop {
            self.text.push_str("if (");
            self.expr(condition, Tightness::Any);
            self.text.push_str(") {");
            self.end();
            self.block(accept);
            match reject {
                [] => return self.raw("}"),
                [Stmt::If(next, then, otherwise)] => {
                    self.begin();
                    self.text.push_str("} else ");
                    (condition, accept, reject) = (next, then, otherwise);
                }
                _ => {
                    self.raw("} else {");
                    self.block(reject);
                    return self.raw("}");
                }
            }
        }
    }

    fn switch(&mut self, selector: &Expr, cases: &[Case]) {
        self.begin();
        self.text.push_str("switch (");
        self.expr(selector, Tightness::Any);
        self.text.push_str(") {");
        self.end();
        self.level += 1;
        for case in cases {
            for (index, value) in case.values.iter().enumerate() {
                self.begin();
                match value {
                    Some(value) => {
                        self.text.push_str("case ");
                        self.expr(value, Tightness::Any);
                    }
                    None => self.text.push_str("default"),
                }
                self.text.push_str(if index + 1 == case.values.len() { ": {" } else { ":" });
                self.end();
            }
            self.block(&case.body);
            if !case.falls {
                self.block(&[Stmt::Break]);
            }
            self.raw("}");
        }
        self.level -= 1;
        self.raw("}");
    }

    fn ty(&mut self, ty: &Type) {
        let _ = match ty {
            Type::Scalar(name) => {
                self.uses.insert(name);
                self.text.write_str(name)
            }
            Type::Vector(scalar, size) => {
                self.uses.extend(["vec", *scalar]);
                write!(self.text, "vec<{scalar}, {size}>")
            }
            Type::Matrix(scalar, columns, rows) => {
                self.uses.extend(["mat", *scalar]);
                write!(self.text, "mat<{scalar}, {columns}, {rows}>")
            }
            Type::Array(element, len) => {
                self.uses.insert("arr");
                self.text.push_str("arr<");
                self.ty(element);
                write!(self.text, ", {len}>")
            }
            Type::Slot(element) => {
                self.uses.insert("slot");
                self.text.push_str("slot<");
                self.ty(element);
                self.text.write_str(">")
            }
            Type::Named(name) => self.text.write_str(name),
        };
    }

    fn list(&mut self, open: char, parts: &[Expr], close: char) {
        self.text.push(open);
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                self.text.push_str(", ");
            }
            self.expr(part, Tightness::Any);
        }
        self.text.push(close);
    }

    fn expr(&mut self, expr: &Expr, at_least: Tightness) {
        let bare = Tightness::of(expr) >= at_least;
        if !bare {
            self.text.push('(');
        }
        self.bare(expr);
        if !bare {
            self.text.push(')');
        }
    }

    fn bare(&mut self, expr: &Expr) {
        match expr {
            Expr::Name(text) | Expr::Literal(text) => self.text.push_str(text),
            Expr::Member(value, member) => {
                let (value, sign) = match &**value {
                    Expr::Unary("*", pointer) => (pointer, "->"),
                    _ => (value, "."),
                };
                self.expr(value, Tightness::Whole);
                let _ = write!(self.text, "{sign}{member}");
            }
            Expr::Index(parts) => {
                self.expr(&parts[0], Tightness::Whole);
                self.list('[', &parts[1..], ']');
            }
            Expr::Unary(sign, value) => {
                self.text.push_str(sign);
                // `--x` is another operator than `-(-x)`.
                let nested = matches!(&**value, Expr::Unary(inner, _) if inner == sign);
                self.expr(value, if nested { Tightness::Whole } else { Tightness::Prefix });
            }
            Expr::Binary(sign, parts) => {
                let (mut left, right) = Tightness::of_operands(sign);
                if matches!((&parts[0], *sign), (Expr::Binary(inner, _), "&" | "|" | "^" | "&&" | "||") if inner == sign)
                {
                    left = Tightness::of_sign(sign);
                }
                self.expr(&parts[0], left);
                let _ = write!(self.text, " {sign} ");
                self.expr(&parts[1], right);
            }
            Expr::Conditional(parts) => {
                self.expr(&parts[0], Tightness::Or);
                self.text.push_str(" ? ");
                self.expr(&parts[1], Tightness::Or);
                self.text.push_str(" : ");
                self.expr(&parts[2], Tightness::Or);
            }
            Expr::Call(name, args) => {
                self.text.push_str(name);
                self.list('(', args, ')');
            }
            Expr::Helper(name, of, args) => self.helper(name, of, args),
            Expr::Make(ty, parts) => {
                self.ty(ty);
                self.list('{', parts, '}');
            }
            Expr::Braces(parts) => self.list('{', parts, '}'),
            Expr::Cast(ty, value) => {
                self.ty(ty);
                self.text.push('(');
                self.expr(value, Tightness::Any);
                self.text.push(')');
            }
        }
    }

    fn helper(&mut self, name: &'static str, of: &[TemplateArg], args: &[Expr]) {
        self.uses.insert(name);
        let _ = write!(self.text, "wg::{name}");
        for (index, arg) in of.iter().enumerate() {
            self.text.push_str(if index == 0 { "<" } else { ", " });
            match arg {
                TemplateArg::Type(ty) => self.ty(ty),
                TemplateArg::Number(number) => {
                    let _ = write!(self.text, "{number}");
                }
            }
        }
        if !of.is_empty() {
            self.text.push('>');
        }
        self.list('(', args, ')');
    }
}
