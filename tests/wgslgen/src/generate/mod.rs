//! Makes a kernel from a seed: declarations first, then functions, then the entry point.

mod expression;
mod integer;
mod module;
mod phase;
mod real;
mod scope;
mod statement;
mod truth;

use fastrand::Rng;

use self::scope::{Known, Var};
use crate::kernel::Kernel;
use crate::module::{Module, Param};
use crate::options::Options;
use crate::shape::{Scalar, Type};
use crate::stmt::Stmt;

/// What a function of the module is to those who call it.
struct Signature {
    name: String,
    params: Vec<Param>,
    result: Option<Type>,
    /// Statements of a call, those of its own calls included.
    cost: u64,
    touches_privates: bool,
}

/// Where the statements that are being made stand.
#[derive(Clone, Copy, Default)]
struct Flow {
    can_break: bool,
    can_continue: bool,
    /// Loops around.
    loops: u32,
    /// Blocks around.
    depth: u32,
    /// Whether barriers may stand here.
    is_uniform: bool,
    /// Whether a name of this block may be one from outside of it.
    may_hide: bool,
}

/// What a kernel is made with.
struct Generator {
    random: Rng,
    options: Options,
    module: Module,
    functions: Vec<Signature>,
    /// What is named here, the innermost last.
    scope: Vec<Var>,
    /// Where the names of the innermost block begin.
    block: usize,
    next: u32,
    /// Statements that may still be made for this function.
    budget: i32,
    /// Statements that a run of this function executes at most.
    cost: u64,
    cost_max: u64,
    /// How often a statement here runs, at most.
    weight: u64,
    is_entry: bool,
    /// What this function gives back.
    result: Option<Type>,
    may_touch_privates: bool,
    touches_privates: bool,
    /// Shared sums by name, scalar and operation.
    sums: Vec<(String, Scalar, &'static str)>,
    /// The atomic that the block at hand gathers in, with its scalar and operation.
    gather: Option<(String, Scalar, &'static str)>,
}

/// Make a kernel: the same one for the same seed and options.
pub fn generate(seed: u64, options: Options) -> Kernel {
    let mut made = Generator {
        random: Rng::with_seed(seed),
        options,
        module: Module::default(),
        functions: Vec::new(),
        scope: Vec::new(),
        block: 0,
        next: 0,
        budget: 0,
        cost: 0,
        cost_max: 0,
        weight: 1,
        is_entry: false,
        result: None,
        may_touch_privates: true,
        touches_privates: false,
        sums: Vec::new(),
        gather: None,
    };
    made.declarations();
    let functions = made.random.u32(1..5);
    for number in 0..functions {
        made.function(number);
    }
    made.entry();
    Kernel { seed, module: made.module }
}

impl Generator {
    /// Something that happens so many times in a hundred.
    fn chance(&mut self, percent: u32) -> bool {
        self.random.u32(0..100) < percent
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.random.usize(..from.len())].clone()
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.next += 1;
        format!("{prefix}{}", self.next)
    }

    fn entry(&mut self) {
        self.begin(40, 6_000);
        self.is_entry = true;
        self.result = None;
        for (name, ty, writable) in crate::check::entry_names(&self.module) {
            self.know(name, ty, if writable { Known::Variable } else { Known::Fixed });
        }
        for (name, ty) in self.module.params.clone() {
            self.know(format!("params.{name}"), ty, Known::Fixed);
        }
        let is_uniform = self.module.idle == 0;
        let flow = Flow { is_uniform, ..Flow::default() };
        let mut body: Vec<Stmt> = (0..4).map(|_| self.variable(flow)).collect();
        let count = self.random.u32(5..10);
        body.extend(self.statements(flow, count));
        // Something always comes of it, from what there is at the end.
        let outputs: Vec<Var> = self.scope.iter().filter(|var| var.name.ends_with("[slot]")).cloned().collect();
        for output in outputs {
            let value = self.kept(&output.ty, 3);
            body.push(Stmt::Assign(crate::expr::Expr::name(&output.name, output.ty), "=", value));
        }
        self.module.body = body;
    }

    /// Begin a function that may have so many statements, and run so many.
    fn begin(&mut self, budget: i32, cost_max: u64) {
        self.scope.clear();
        self.block = 0;
        self.weight = 1;
        (self.budget, self.cost, self.cost_max) = (budget, 0, cost_max);
        self.globals();
    }
}
