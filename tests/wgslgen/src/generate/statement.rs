//! Statements of functions and of the entry point.

use super::scope::Known;
use super::{Flow, Generator, Signature};
use crate::bound::sound;
use crate::expr::Expr;
use crate::module::{Function, Param};
use crate::shape::{BOOL, I32, Scalar, Type, U32};
use crate::stmt::{Block, Case, Loop, Stmt, Style};

impl Generator {
    /// Make one function that those after it may call.
    pub(super) fn function(&mut self, number: u32) {
        self.begin(12, 120);
        self.is_entry = false;
        self.touches_privates = false;
        let mut params = Vec::new();
        let takes_private = self.chance(35);
        self.may_touch_privates = !takes_private;
        for k in 0..self.random.u32(1..4) {
            let ty = self.local_type();
            params.push(Param::Value(format!("x{k}"), ty.clone()));
            self.know(format!("x{k}"), ty, Known::Fixed);
        }
        if self.chance(50) {
            let ty = self.pick(&[U32, I32, Type::Vector(3, Scalar::F32), Type::Struct(0)]);
            params.push(Param::Function("q".into(), ty.clone()));
            self.know("q", ty, Known::Pointer);
        }
        if takes_private {
            let ty = self.module.privates[0].ty.clone();
            params.push(Param::Private("r".into(), ty.clone()));
            self.know("r", ty, Known::Pointer);
        }
        let result = if self.chance(85) { Some(self.local_type()) } else { None };
        self.result.clone_from(&result);
        // Parameters are of the body's own block: names in it differ from theirs.
        let count = self.random.u32(2..5);
        let mut body = self.statements(Flow::default(), count);
        if let Some(ty) = &result {
            let value = self.kept(ty, 3);
            body.push(Stmt::Return(Some(value)));
        }
        let name = format!("f{number}");
        let (cost, touches_privates) = (self.cost + 1, self.touches_privates);
        self.functions.push(Signature {
            name: name.clone(),
            params: params.clone(),
            result: result.clone(),
            cost,
            touches_privates,
        });
        self.module.functions.push(Function { name, params, result, body });
        self.may_touch_privates = true;
    }

    /// A type for variables, parameters and results: often a scalar.
    fn local_type(&mut self) -> Type {
        match self.random.u32(0..10) {
            0..=3 => Type::Scalar(self.scalar()),
            4 => BOOL,
            5 | 6 => Type::Vector(self.random.u32(2..5), self.scalar()),
            7 => Type::Vector(self.random.u32(2..5), Scalar::Bool),
            _ => {
                let structs = self.module.structs.0.len();
                self.shareable(structs, 1)
            }
        }
    }

    /// Statements in the block at hand; names stay for what is put behind them.
    pub(super) fn statements(&mut self, flow: Flow, count: u32) -> Block {
        let mut block = Vec::new();
        for _ in 0..count {
            if self.budget <= 0 || self.cost > self.cost_max {
                break;
            }
            self.budget -= 1;
            self.cost += self.weight;
            self.statement(flow, &mut block);
        }
        block
    }

    /// A block of its own.
    pub(super) fn inner(&mut self, flow: Flow, count: u32) -> Block {
        let (names, block) = (self.scope.len(), self.block);
        self.block = names;
        let made = self.statements(Flow { depth: flow.depth + 1, may_hide: true, ..flow }, count);
        self.scope.truncate(names);
        self.block = block;
        made
    }

    fn statement(&mut self, flow: Flow, to: &mut Block) {
        if flow.is_uniform && self.chance(30) {
            let phase = self.phase(flow);
            to.push(phase);
            return;
        }
        let nested = flow.depth < 3;
        match self.random.u32(0..32) {
            0..=3 => to.push(self.variable(flow)),
            4..=6 => {
                let ty = self.local_type();
                let known = crate::check::knows_lets(&self.module);
                let value = if known { self.runtime(&ty, 3) } else { self.expr(&ty, 3) };
                let value = self.fit(value);
                if known && value.is_const() {
                    return;
                }
                let name = self.named("a", flow.may_hide);
                self.know(&name, ty, Known::Fixed);
                to.push(Stmt::Let(name, value));
            }
            7..=11 => to.extend(self.assignment()),
            12..=14 => to.extend(self.compound()),
            15 => to.extend(self.step()),
            16 => to.extend(self.point()),
            17..=19 if nested => to.push(self.branch(flow)),
            20..=23 if nested && flow.loops < 3 && self.weight < 200 => to.push(self.looped(flow)),
            24 | 25 if nested => to.push(self.switch(flow)),
            26 if nested => {
                let body = self.inner(flow, 3);
                to.push(Stmt::Block(body));
            }
            27 | 28 if !self.functions.is_empty() => {
                let number = self.random.usize(..self.functions.len());
                to.extend(self.call(number, 2).map(Stmt::Do));
            }
            29 => {
                let ty = self.local_type();
                let value = self.runtime(&ty, 2);
                to.push(Stmt::Discard(value));
            }
            30 if flow.depth > 0 && self.result.is_some() && self.chance(50) => {
                let (condition, ty) = (self.runtime(&BOOL, 2), self.result.clone().unwrap_or(U32));
                let value = self.kept(&ty, 2);
                to.push(Stmt::If(condition, vec![Stmt::Return(Some(value))], Vec::new()));
            }
            _ if self.is_entry => to.extend(self.atomic()),
            _ => to.extend(self.assignment()),
        }
    }

    pub(super) fn variable(&mut self, flow: Flow) -> Stmt {
        let ty = self.local_type();
        let value = self.chance(75).then(|| self.kept(&ty, 3));
        let name = self.named("v", flow.may_hide);
        self.know(&name, ty.clone(), Known::Variable);
        Stmt::Var(name, ty, value)
    }

    /// A place that may be written, of a type that is reached from something in scope.
    fn target(&mut self, wanted: impl Fn(&Type) -> bool) -> Option<Expr> {
        let writable = |known| matches!(known, Known::Variable | Known::Private | Known::Pointer);
        let roots = self.visible(|var| writable(var.known));
        if roots.is_empty() {
            return None;
        }
        let root = self.pick(&roots).ty;
        let mut types = vec![root.clone()];
        self.parts(&root, &mut types);
        types.retain(wanted);
        if types.is_empty() {
            return None;
        }
        let ty = self.pick(&types);
        self.place(&ty)
    }

    fn parts(&self, ty: &Type, to: &mut Vec<Type>) {
        let mut add = |part: Type| {
            to.push(part.clone());
            self.parts(&part, to);
        };
        match ty {
            Type::Scalar(_) => {}
            Type::Vector(_, scalar) => add(Type::Scalar(*scalar)),
            Type::Matrix(_, rows) => add(Type::Vector(*rows, Scalar::F32)),
            Type::Array(element, _) => add((**element).clone()),
            Type::Struct(number) => {
                self.module.structs.0[*number].iter().for_each(|member| add(member.ty.clone()));
            }
        }
    }

    fn assignment(&mut self) -> Option<Stmt> {
        let place = self.target(|_| true)?;
        let value = self.kept(&place.ty.clone(), 3);
        let calls = value.calls();
        // Whether an index is computed before a call beside it is better not asked.
        let plain = !calls || place.args.is_empty();
        plain.then_some(Stmt::Assign(place, "=", value))
    }

    fn compound(&mut self) -> Option<Stmt> {
        let place = self.target(|ty| ty.scalar().is_some_and(|scalar| scalar != Scalar::Bool))?;
        let (ty, scalar) = (place.ty.clone(), place.ty.scalar()?);
        if scalar.is_float() {
            return Some(Stmt::Assign(place, "*=", Expr::float(if self.random.bool() { -1.0 } else { 1.0 }, scalar)));
        }
        let ops = ["+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="];
        let op = self.pick(&ops);
        let of = if op.len() == 3 { ty.of(Scalar::U32) } else { ty.clone() };
        let value = self.runtime(&of, 2);
        let plain = !value.calls() || place.args.is_empty();
        let whole = Expr::binary(op.trim_end_matches('='), ty, place.clone(), value.clone());
        (plain && sound(&whole)).then_some(Stmt::Assign(place, op, value))
    }

    fn step(&mut self) -> Option<Stmt> {
        let word = |ty: &Type| matches!(ty, Type::Scalar(Scalar::I32 | Scalar::U32));
        let place = self.target(word)?;
        let op = self.pick(&["++", "--"]);
        Some(Stmt::Step(place, op))
    }

    fn point(&mut self) -> Option<Stmt> {
        let place = self.target(|_| true)?;
        // What is inside a vector cannot be pointed at.
        if place.args.first().is_some_and(|of| matches!(of.ty, Type::Vector(..))) {
            return None;
        }
        let (name, ty) = (self.fresh("p"), place.ty.clone());
        self.know(&name, ty, Known::Pointer);
        Some(Stmt::Point(name, place))
    }

    fn branch(&mut self, flow: Flow) -> Stmt {
        let uniform = flow.is_uniform && self.chance(50);
        let condition = if uniform { self.uniform_truth() } else { self.runtime(&BOOL, 3) };
        let flow = Flow { is_uniform: uniform, ..flow };
        let mut yes = self.inner(flow, 3);
        self.leave(flow, &mut yes);
        let no = match self.random.u32(0..4) {
            0 => {
                let (second, then) = (self.runtime(&BOOL, 2), self.inner(Flow { is_uniform: false, ..flow }, 2));
                let other =
                    if self.random.bool() { self.inner(Flow { is_uniform: false, ..flow }, 2) } else { Vec::new() };
                vec![Stmt::If(second, then, other)]
            }
            1 | 2 => self.inner(flow, 3),
            _ => Vec::new(),
        };
        Stmt::If(condition, yes, no)
    }

    /// At times a block ends by leaving what is around it.
    fn leave(&mut self, flow: Flow, block: &mut Block) {
        if block.last().is_some_and(Stmt::leaves) || flow.is_uniform {
            return;
        }
        if flow.can_break && self.chance(18) {
            block.push(Stmt::Break);
        } else if flow.can_continue && self.chance(18) {
            block.push(Stmt::Continue);
        }
    }

    fn switch(&mut self, flow: Flow) -> Stmt {
        let ty = self.pick(&[I32, U32]);
        let scalar = ty.scalar().unwrap_or(Scalar::U32);
        let value = self.runtime(&ty, 2);
        let value = Expr::binary("%", ty, value, Expr::int(self.random.u32(2..7).into(), scalar));
        let flow = Flow { can_break: true, is_uniform: false, ..flow };
        let mut labels: Vec<i128> = (if scalar == Scalar::I32 { -3 } else { 0 }..6).collect();
        self.random.shuffle(&mut labels);
        let mut labels = labels.into_iter();
        let count = self.random.u32(1..4);
        let mut cases = Vec::new();
        for _ in 0..count {
            let own = labels.by_ref().take(self.random.usize(1..3)).map(|label| Expr::int(label, scalar)).collect();
            cases.push(Case { labels: own, is_default: false, body: self.case(flow) });
        }
        if self.chance(25) {
            cases[0].is_default = true;
        } else {
            let at = self.random.usize(..=cases.len());
            cases.insert(at, Case { labels: Vec::new(), is_default: true, body: self.case(flow) });
        }
        Stmt::Switch(value, cases)
    }

    fn case(&mut self, flow: Flow) -> Block {
        let mut body = self.inner(flow, 2);
        self.leave(flow, &mut body);
        body
    }

    fn looped(&mut self, flow: Flow) -> Stmt {
        let uniform = flow.is_uniform && self.chance(40);
        let below = self.random.u32(1..6);
        let literal = Expr::int(below.into(), Scalar::U32);
        let rounds = if self.chance(60) || below == 1 {
            literal
        } else {
            let value = if uniform { self.uniform_word() } else { self.runtime(&U32, 2) };
            Expr::binary("%", U32, value, Expr::int(i128::from(below) + 1, Scalar::U32))
        };
        let style = self.pick(&[Style::For, Style::While, Style::Loop]);
        let counter = self.fresh("n");
        let (names, block, weight) = (self.scope.len(), self.block, self.weight);
        self.know(&counter, U32, Known::Counter(below));
        self.block = self.scope.len();
        self.weight *= u64::from(below);
        let inner = Flow {
            can_break: !uniform,
            can_continue: !uniform,
            loops: flow.loops + 1,
            depth: flow.depth + 1,
            is_uniform: uniform,
            // What the body hides is hidden from the continuing block, too.
            may_hide: style != Style::Loop,
        };
        let body = self.statements(inner, 4);
        let (mut continuing, mut break_if) = (Vec::new(), None);
        if style == Style::Loop {
            if !self.options.body_lets || crate::check::leaves_round(&body) {
                self.scope.truncate(names + 1);
                self.block = self.scope.len();
            }
            let after = Flow { loops: 3, ..Flow::default() };
            let result = self.result.take();
            continuing = self.statements(after, 2);
            // By then it has moved on, and may be at its limit.
            self.scope.remove(names);
            break_if = (!uniform && self.chance(60)).then(|| self.runtime(&BOOL, 2));
            self.result = result;
        }
        self.scope.truncate(names);
        (self.block, self.weight) = (block, weight);
        Stmt::Loop(Loop { style, counter, rounds, below, body, continuing, break_if })
    }

    /// A change of what is shared, or of the invocation's own atomic.
    fn atomic(&mut self) -> Option<Stmt> {
        if let (Some((name, scalar, op)), true) = (self.gather.clone(), self.chance(70)) {
            let value = self.runtime(&Type::Scalar(scalar), 2);
            return Some(Stmt::Form(format!("{op}(&{name}, {{}});"), vec![value]));
        }
        if self.chance(55) {
            let (name, scalar, op) = self.pick(&self.sums.clone());
            let len = self.module.buffers.iter().find_map(|of| match of.role {
                crate::module::Role::Sums(len) if of.name == name => Some(len),
                _ => None,
            })?;
            let index = self.index(len, 1);
            let value = self.runtime(&Type::Scalar(scalar), 2);
            let stmt = Stmt::Form(format!("{op}(&{name}[{{}}], {{}});"), vec![index, value]);
            return Some(stmt);
        }
        let scalar = self.module.buffers.iter().find(|of| of.name == "own0")?.ty.scalar()?;
        let ty = Type::Scalar(scalar);
        let value = self.runtime(&ty, 2);
        match self.random.u32(0..4) {
            0 => Some(Stmt::Form("atomicStore(&own0[slot], {});".into(), vec![value])),
            // An exchange may fail for no reason, so that it is asked for until it does not.
            1 if !value.calls() => Some(Stmt::Form(
                "loop { if atomicCompareExchangeWeak(&own0[slot], atomicLoad(&own0[slot]), {}).exchanged { break; } }"
                    .into(),
                vec![value],
            )),
            2 => {
                let name = self.fresh("a");
                self.know(&name, ty.clone(), Known::Fixed);
                Some(Stmt::Let(name, Expr::form("atomicLoad(&own0[slot])", ty, Vec::new())))
            }
            _ => {
                let ops = [
                    "atomicAdd",
                    "atomicSub",
                    "atomicMax",
                    "atomicMin",
                    "atomicAnd",
                    "atomicOr",
                    "atomicXor",
                    "atomicExchange",
                ];
                let (name, op) = (self.fresh("a"), self.pick(&ops));
                self.know(&name, ty.clone(), Known::Fixed);
                Some(Stmt::Let(name, Expr::form(format!("{op}(&own0[slot], {{}})"), ty, vec![value])))
            }
        }
    }
}
