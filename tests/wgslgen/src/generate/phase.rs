//! What a workgroup does together: values that are exchanged, gathered, reduced and broadcast around barriers, and subgroup
//! operations.

use super::scope::Known;
use super::{Flow, Generator};
use crate::expr::{Expr, Kind};
use crate::options::Subgroups;
use crate::shape::{BOOL, I32, Scalar, Type, U32};
use crate::stmt::{Phase, Stmt};

impl Generator {
    pub(super) fn phase(&mut self, flow: Flow) -> Stmt {
        if self.options.subgroups != Subgroups::None && self.chance(50) {
            return self.subgroup();
        }
        match self.random.u32(0..8) {
            0 | 1 => self.exchange(),
            2 => self.turn(),
            3 | 4 => self.gather(flow),
            5 => self.reduce(),
            6 => self.once(),
            _ => self.never(),
        }
    }

    fn phase_of(&mut self, text: String, args: Vec<Expr>, names: Vec<(String, Type)>) -> Stmt {
        names.iter().for_each(|(name, ty)| self.know(name, ty.clone(), Known::Fixed));
        Stmt::Phase(Phase { text, args, body: Vec::new(), names })
    }

    /// The type of a workgroup variable, by its text.
    fn shared_type(&self, name: &str) -> Type {
        let text = self.module.shared.iter().find(|(known, _)| known == name).map_or("u32", |(_, text)| text);
        let all = [U32, I32, crate::shape::F32, Type::Vector(3, Scalar::U32), Type::Vector(4, Scalar::F32)];
        let element = text.strip_prefix("array<").and_then(|rest| rest.strip_suffix(", {N}>")).unwrap_or(text);
        all.into_iter().find(|ty| ty.text() == element).unwrap_or(U32)
    }

    /// Each writes its own, and reads others'.
    fn exchange(&mut self) -> Stmt {
        let array = self.pick(&["w0", "w1", "w2"]);
        let ty = self.shared_type(array);
        let mut args = vec![self.kept(&ty, 3)];
        let mut text = format!("{array}[lid] = {{}};\nworkgroupBarrier();\n");
        let mut names = Vec::new();
        for _ in 0..self.random.u32(1..3) {
            let name = self.fresh("a");
            text.push_str(&format!("let {name} = {array}[{{}} % {{N}}u];\n"));
            args.push(self.runtime(&U32, 2));
            names.push((name, ty.clone()));
        }
        text.push_str("workgroupBarrier();");
        self.phase_of(text, args, names)
    }

    /// The same through a buffer.
    fn turn(&mut self) -> Stmt {
        let ty = self.module.buffers.iter().find(|of| of.name == "turn0").map_or(U32, |of| of.ty.clone());
        let name = self.fresh("a");
        let text = format!(
            "turn0[slot] = {{}};\nstorageBarrier();\nlet {name} = turn0[slot - lid + {{}} % {{N}}u];\nstorageBarrier();"
        );
        let args = vec![self.kept(&ty, 2), self.runtime(&U32, 2)];
        self.phase_of(text, args, vec![(name, ty)])
    }

    /// All change one atomic, and then read it.
    fn gather(&mut self, flow: Flow) -> Stmt {
        let number = self.random.usize(..3);
        let (name, scalar) = (format!("gather{number}"), if number == 1 { Scalar::I32 } else { Scalar::U32 });
        // One operation for each variable: two different ones do not commute.
        let op = ["atomicAdd", "atomicMax", "atomicXor"][number];
        let before = self.gather.replace((name.clone(), scalar, op));
        let ty = Type::Scalar(scalar);
        let first = self.runtime(&ty, 2);
        let mut body = self.inner(Flow { is_uniform: false, can_break: false, can_continue: false, ..flow }, 3);
        body.insert(0, Stmt::Form(format!("{op}(&{name}, {{}});"), vec![first]));
        self.gather = before;
        let read = self.fresh("a");
        self.know(&read, ty.clone(), Known::Fixed);
        let text = format!(
            "{{{{\n{{body}}\n}}}}\nworkgroupBarrier();\nlet {read} = atomicLoad(&{name});\nworkgroupBarrier();"
        );
        let text = text.replace("{{", "{").replace("}}", "}");
        Stmt::Phase(Phase { text, args: Vec::new(), body, names: vec![(read, ty)] })
    }

    /// A ring in which each joins what it has with another's, in a loop around barriers.
    fn reduce(&mut self) -> Stmt {
        let arrays: Vec<&str> =
            ["w0", "w1", "w2"].into_iter().filter(|name| matches!(self.shared_type(name), U32 | I32)).collect();
        if arrays.is_empty() {
            return self.once();
        }
        let array = self.pick(&arrays);
        let ty = self.shared_type(array);
        let joined =
            self.pick(&["{a} + {b}", "{a} ^ {b}", "max({a}, {b})", "min({a}, {b})", "{a} | {b}", "{a} * 3 + {b}"]);
        let (name, step, other) = (self.fresh("a"), self.fresh("n"), self.fresh("a"));
        let joined = joined.replace("{a}", &format!("{array}[lid]")).replace("{b}", &other);
        let text = format!(
            "{array}[lid] = {{}};\nworkgroupBarrier();\nfor (var {step} = 1u; {step} < {{N}}u; {step} = {step} << 1u) {{\n    \
             let {other} = {array}[(lid + {step}) % {{N}}u];\n    workgroupBarrier();\n    {array}[lid] = {joined};\n    \
             workgroupBarrier();\n}}\nlet {name} = {array}[lid];\nworkgroupBarrier();"
        );
        let args = vec![self.kept(&ty, 3)];
        self.phase_of(text, args, vec![(name, ty)])
    }

    /// One writes, and all read it.
    fn once(&mut self) -> Stmt {
        let variable = self.pick(&["once0", "once1", "once2"]);
        let ty = self.shared_type(variable);
        let name = self.fresh("a");
        let text =
            format!("if lid == {{}} {{\n    {variable} = {{}};\n}}\nlet {name} = workgroupUniformLoad(&{variable});");
        let lane = Expr::int(self.random.u32(..self.module.lanes()).into(), Scalar::U32);
        let args = vec![lane, self.kept(&ty, 3)];
        self.phase_of(text, args, vec![(name, ty)])
    }

    /// Workgroup memory that nobody wrote is zero.
    fn never(&mut self) -> Stmt {
        let name = self.fresh("a");
        let args = vec![self.runtime(&U32, 2)];
        self.phase_of(format!("let {name} = never[{{}} % {{N}}u];"), args, vec![(name, Type::Vector(3, Scalar::U32))])
    }

    /// A word on which a workgroup agrees.
    pub(super) fn uniform_word(&mut self) -> Expr {
        let part = |name: &str, lane: &str| {
            let of = Expr::name(name, Type::Vector(3, Scalar::U32));
            Expr::new(Kind::Swizzle(lane.to_owned()), U32, vec![of])
        };
        match self.random.u32(0..4) {
            0 => part("wid", "x"),
            1 => part("nwg", "y"),
            _ => Expr::name("params.a", U32),
        }
    }

    pub(super) fn uniform_truth(&mut self) -> Expr {
        let word = self.uniform_word();
        let by = Expr::binary("%", U32, word, Expr::int(3, Scalar::U32));
        let op = self.pick(&["==", "!=", "<", ">="]);
        Expr::binary(op, BOOL, by, Expr::int(1, Scalar::U32))
    }

    fn subgroup(&mut self) -> Stmt {
        let name = self.fresh("a");
        if let Subgroups::Exact(_) = self.options.subgroups
            && self.chance(75)
        {
            return self.sized(name);
        }
        let quads = self.module.lanes().is_multiple_of(4);
        let value = self.runtime(&U32, 3);
        let sum = self.sums[0].clone();
        // A sum over subgroups is the same however they are cut.
        let total = match (sum.2, self.random.u32(0..8)) {
            ("atomicAdd", 0..=2) => Some("subgroupAdd"),
            ("atomicMax", 0..=2) => Some("subgroupMax"),
            ("atomicMin", 0..=2) => Some("subgroupMin"),
            ("atomicAnd", 0..=2) => Some("subgroupAnd"),
            ("atomicOr", 0..=2) => Some("subgroupOr"),
            ("atomicXor", 0..=2) => Some("subgroupXor"),
            _ => None,
        };
        if let Some(op) = total {
            let value = self.runtime(&Type::Scalar(sum.1), 3);
            let text = format!("let {name} = {op}({{}});\nif lane == 0u {{ {}(&{}[0], {name}); }}", sum.2, sum.0);
            return self.phase_of(text, vec![value], Vec::new());
        }
        let text = match self.random.u32(0..7) {
            0 => format!(
                "let {name}_of = {{}};\nlet {name} = subgroupInclusiveAdd({name}_of) - subgroupExclusiveAdd({name}_of);"
            ),
            1 if quads => format!("let {name} = quadSwapX({{}});"),
            2 if quads => format!("let {name} = quadSwapY(quadSwapDiagonal({{}}));"),
            3 if quads => format!("let {name} = quadBroadcast({{}}, 2u);"),
            4 if quads => format!("let {name} = subgroupShuffleXor({{}}, 3u);"),
            5 => format!(
                "let {name} = select(0u, 1u, subgroupAll(lane < lanes)) + select(0u, 2u, subgroupAny(lane == 0u)) + ({{}} & 1u);\nsubgroupBarrier();"
            ),
            _ => {
                let text = format!("let {name} = subgroupBroadcastFirst({{}});");
                let word = self.uniform_word();
                return self.phase_of(text, vec![word], vec![(name, U32)]);
            }
        };
        self.phase_of(text, vec![value], vec![(name, U32)])
    }

    /// Operations whose results say how large a subgroup is, in workgroups of whole subgroups.
    fn sized(&mut self, name: String) -> Stmt {
        let Subgroups::Exact(size) = self.options.subgroups else { unreachable!("asked for with a size alone") };
        let plain = [
            "Add",
            "Mul",
            "Min",
            "Max",
            "And",
            "Or",
            "Xor",
            "InclusiveAdd",
            "InclusiveMul",
            "ExclusiveAdd",
            "ExclusiveMul",
        ];
        let text = match self.random.u32(0..8) {
            0 => format!("let {name} = subgroupShuffle({{}}, (lane * 5u + 3u) % {size}u);"),
            1 => format!("let {name} = subgroupShuffleXor({{}}, {}u);", self.random.u32(1..size)),
            2 => format!("let {name} = subgroupBroadcast({{}}, {}u);", self.random.u32(..size)),
            3 => format!("let {name}_of = subgroupBallot(({{}} & 1u) == 1u);\nlet {name} = {name}_of.x ^ {name}_of.y;"),
            _ => format!("let {name} = subgroup{}({{}});", self.pick(&plain)),
        };
        let value = self.runtime(&U32, 3);
        self.phase_of(text, vec![value], vec![(name, U32)])
    }
}
