//! Declarations: structs, constants, overrides, scalars, buffers and variables of the module.

use super::Generator;
use super::scope::Known;
use crate::expr::Expr;
use crate::module::{Buffer, Global, Role};
use crate::shape::{F32, I32, Member, Scalar, Structs, Type, U32};

/// Operations on shared atomics that commute.
const SUMS: [&str; 7] = ["atomicAdd", "atomicSub", "atomicMax", "atomicMin", "atomicAnd", "atomicOr", "atomicXor"];

impl Generator {
    pub(super) fn declarations(&mut self) {
        let options = self.options;
        if options.f16 {
            self.module.enables.push("f16");
        }
        if options.int16 {
            self.module.enables.push("wgpu_int16");
        }
        self.grid();
        let structs = self.random.usize(2..5);
        for number in 0..structs {
            let members = self.members(number);
            self.module.structs.0.push(members);
        }
        self.constants();
        self.params();
        self.buffers();
        self.variables();
    }

    fn grid(&mut self) {
        let sizes =
            [[1, 1, 1], [8, 1, 1], [32, 1, 1], [64, 1, 1], [4, 4, 1], [3, 2, 2], [33, 1, 1], [8, 2, 3], [5, 1, 1]];
        let groups = [[1, 1, 1], [2, 1, 1], [3, 1, 1], [2, 2, 1], [1, 1, 2]];
        self.module.workgroup = self.pick(&sizes);
        if let super::super::options::Subgroups::Exact(size) = self.options.subgroups {
            self.module.workgroup = [size * self.random.u32(1..3), 1, 1];
        }
        // The place of an invocation in its subgroup is known only where workgroups have one dimension.
        let no_subgroups = self.options.subgroups == super::super::options::Subgroups::None;
        if !no_subgroups && self.module.workgroup[1..] != [1, 1] {
            self.module.workgroup = [self.module.lanes(), 1, 1];
        }
        self.module.groups = self.pick(&groups);
        let all = self.module.slots();
        // A barrier wants every invocation, so only some kernels have a tail that returns at once.
        if all > 4 && self.chance(20) && no_subgroups {
            self.module.idle = self.random.u32(1..all.min(20));
        }
        self.module.subgroups = !no_subgroups;
    }

    /// A scalar type; `bool` is left out, since it cannot be shared.
    pub(super) fn scalar(&mut self) -> Scalar {
        let mut all = vec![Scalar::I32, Scalar::U32, Scalar::F32, Scalar::I32, Scalar::U32, Scalar::F32];
        let options = self.options;
        all.extend(options.f16.then_some(Scalar::F16));
        all.extend(options.int64.then_some([Scalar::I64, Scalar::U64]).into_iter().flatten());
        all.extend(options.int16.then_some([Scalar::I16, Scalar::U16]).into_iter().flatten());
        self.pick(&all)
    }

    /// A type that buffers may hold, made from structs below `structs`.
    pub(super) fn shareable(&mut self, structs: usize, depth: u32) -> Type {
        match self.random.u32(0..if depth == 0 { 7 } else { 12 }) {
            0..=2 => Type::Scalar(self.scalar()),
            3..=5 => Type::Vector(self.random.u32(2..5), self.scalar()),
            6 => Type::Matrix(self.random.u32(2..5), self.random.u32(2..5)),
            7 | 8 => Type::Array(Box::new(self.shareable(structs, depth - 1)), self.random.u32(2..5)),
            _ if structs > 0 => Type::Struct(self.random.usize(..structs)),
            _ => Type::Vector(3, self.scalar()),
        }
    }

    fn members(&mut self, number: usize) -> Vec<Member> {
        let count = self.random.usize(2..5);
        let mut members = Vec::new();
        for k in 0..count {
            let ty = self.shareable(number, 1);
            let structs = &self.module.structs;
            let (align, size) = (structs.align(&ty), structs.size(&ty));
            let align = self.chance(8).then_some((align * 2).clamp(4, 32));
            let size = self.chance(8).then_some(size + 4 * self.random.u32(0..4));
            members.push(Member { name: format!("m{k}"), ty, align, size });
        }
        // Every module has a vector of three with something right behind it, where layouts go wrong.
        if number == 0 {
            members[0].ty = Type::Vector(3, self.scalar());
            (members[0].align, members[0].size) = (None, None);
        }
        // naga forgets an `@align` above those of the members' types once the struct is inside another, and lays the outer one
        // out more densely than WGSL says.
        let natural = members.iter().map(|member| self.module.structs.align(&member.ty)).max().unwrap_or(4);
        members.iter_mut().for_each(|member| member.align = member.align.filter(|align| *align <= natural));
        members
    }

    fn constants(&mut self) {
        for k in 0..self.random.u32(2..5) {
            let name = format!("C{k}");
            let ty = match k {
                0 => Type::Array(Box::new(Type::Scalar(self.scalar())), self.random.u32(3..7)),
                1 => self.pick(&[U32, I32, F32]),
                _ => self.shareable(self.module.structs.0.len(), 1),
            };
            let ty = if structs_are_large(&self.module.structs, &ty) { U32 } else { ty };
            let init = Some(self.constant(&ty));
            self.module.constants.push(Global { name, ty, init });
        }
        // A constant made from another is computed by the compiler; no operand is large enough to overflow.
        let sum = Expr::form("(C9 * 3u + 2u) % 7u", U32, Vec::new());
        self.module.constants.push(Global { name: "C9".into(), ty: U32, init: Some(Expr::int(5, Scalar::U32)) });
        self.module.constants.push(Global { name: "C10".into(), ty: U32, init: Some(sum) });
        for k in 0..self.random.u32(0..3) {
            let ty = self.pick(&[U32, I32, F32]);
            let given = self.random.u32(1..9);
            let init = Some(self.constant(&ty));
            let value = self.chance(50).then_some(f64::from(given));
            self.module.overrides.push((Global { name: format!("o{k}"), ty, init }, value));
        }
    }

    /// A value that is written down.
    pub(super) fn constant(&mut self, ty: &Type) -> Expr {
        match ty {
            Type::Scalar(Scalar::Bool) => Expr::bool(self.random.bool()),
            Type::Scalar(Scalar::F16) => Expr::float(f64::from(self.random.i32(-32..=32)) / 2.0, Scalar::F16),
            Type::Scalar(Scalar::F32) => {
                let wide = if self.chance(70) { 16 } else { 1024 };
                Expr::float(f64::from(self.random.i32(-wide..=wide)) / 4.0, Scalar::F32)
            }
            Type::Scalar(scalar) => self.integer_literal(*scalar),
            Type::Vector(lanes, scalar) => {
                let part = Type::Scalar(*scalar);
                match self.random.u32(0..4) {
                    0 => Expr::zero(ty.clone()),
                    1 => Expr::make(ty.clone(), vec![self.constant(&part)]),
                    _ => Expr::make(ty.clone(), (0..*lanes).map(|_| self.constant(&part)).collect()),
                }
            }
            Type::Matrix(columns, rows) => {
                let column = Type::Vector(*rows, Scalar::F32);
                Expr::make(ty.clone(), (0..*columns).map(|_| self.constant(&column)).collect())
            }
            Type::Array(element, len) => Expr::make(ty.clone(), (0..*len).map(|_| self.constant(element)).collect()),
            Type::Struct(number) => {
                let members = self.module.structs.0[*number].clone();
                Expr::make(ty.clone(), members.iter().map(|member| self.constant(&member.ty)).collect())
            }
        }
    }

    fn integer_literal(&mut self, scalar: Scalar) -> Expr {
        let bits = scalar.bits();
        let most = if scalar.is_signed() { (1i128 << (bits - 1)) - 1 } else { (1i128 << bits) - 1 };
        let value = match self.random.u32(0..10) {
            0 => most,
            1 if scalar == Scalar::I32 => i128::from(i32::MIN),
            2 if scalar.is_signed() => -i128::from(self.random.u32(1..100)),
            3 => i128::from(self.random.u64(..)) % most,
            _ => i128::from(self.random.u32(0..40)),
        };
        Expr::int(value, scalar)
    }

    /// Members of the immediate struct, within the 128 bytes that every device passes.
    fn params(&mut self) {
        self.module.params = vec![("a".into(), U32), ("b".into(), I32)];
        let extra =
            [F32, Type::Vector(2, Scalar::F32), Type::Vector(3, Scalar::U32), Type::Vector(4, Scalar::I32), U32];
        for name in ["c", "d", "e"] {
            let ty = self.pick(&extra);
            if self.random.bool() {
                self.module.params.push((name.to_owned(), ty));
            }
        }
    }

    fn buffers(&mut self) {
        let structs = self.module.structs.0.len();
        let mut add = |name: &str, role, ty| self.module.buffers.push(Buffer { name: name.into(), role, ty });
        add("in0", Role::Input(24), U32);
        add("out0", Role::Output, U32);
        let ty = self.pick(&[F32, I32, Type::Vector(3, Scalar::F32), Type::Struct(0), Type::Vector(4, Scalar::I32)]);
        self.module.buffers.push(Buffer { name: "in1".into(), role: Role::Input(self.random.u32(1..20)), ty });
        if self.chance(40) {
            let plain = [
                Type::Vector(4, Scalar::U32),
                Type::Vector(3, Scalar::F32),
                I32,
                F32,
                Type::Matrix(3, 3),
                Type::Matrix(2, 2),
            ];
            let member = |k: usize, ty| Member { name: format!("m{k}"), ty, align: None, size: None };
            let members = (0..3).map(|k| member(k, self.pick(&plain))).collect();
            self.module.structs.0.push(members);
            let ty = Type::Struct(self.module.structs.0.len() - 1);
            self.module.buffers.push(Buffer { name: "uni".into(), role: Role::Uniform, ty });
        }
        let ty = self.shareable(structs, 2);
        self.module.buffers.push(Buffer { name: "out1".into(), role: Role::Output, ty });
        let ty = self.shareable(structs, 1);
        let role = if self.chance(50) { Role::Tail } else { Role::Output };
        self.module.buffers.push(Buffer { name: "out2".into(), role, ty });
        for name in ["sum0", "sum1"] {
            let scalar = self.pick(&[Scalar::U32, Scalar::I32]);
            let op = self.pick(&SUMS);
            let role = Role::Sums(self.random.u32(1..5));
            self.module.buffers.push(Buffer { name: name.into(), role, ty: Type::Scalar(scalar) });
            self.sums.push((name.to_owned(), scalar, op));
        }
        let ty = self.pick(&[U32, I32]);
        self.module.buffers.push(Buffer { name: "own0".into(), role: Role::Own, ty });
        let ty = self.pick(&[U32, I32, Type::Vector(2, Scalar::U32)]);
        self.module.buffers.push(Buffer { name: "turn0".into(), role: Role::Scratch, ty });
    }

    fn variables(&mut self) {
        let types = [U32, I32, F32, Type::Vector(3, Scalar::U32), Type::Vector(4, Scalar::F32)];
        for k in 0..3 {
            let ty = self.pick(&types);
            self.module.shared.push((format!("w{k}"), format!("array<{}, {{N}}>", ty.text())));
            self.module.shared.push((format!("once{k}"), ty.text()));
            self.module.shared.push((format!("gather{k}"), format!("atomic<{}>", if k == 1 { "i32" } else { "u32" })));
        }
        self.module.shared.push(("never".to_owned(), "array<vec3<u32>, {N}>".to_owned()));
        for k in 0..self.random.u32(1..4) {
            let ty = if k == 0 { U32 } else { self.shareable(self.module.structs.0.len(), 1) };
            let init = self.chance(50).then(|| self.constant(&ty));
            self.module.privates.push(Global { name: format!("g{k}"), ty, init });
        }
    }

    /// What every function knows.
    pub(super) fn globals(&mut self) {
        let constants: Vec<_> =
            self.module.constants.iter().chain(self.module.overrides.iter().map(|(of, _)| of)).cloned().collect();
        for of in constants {
            self.know(of.name, of.ty, Known::Constant);
        }
        for of in self.module.buffers.clone().into_iter().filter(|of| of.role == Role::Uniform) {
            self.know(of.name, of.ty, Known::Fixed);
        }
        for of in self.module.privates.clone() {
            self.know(of.name, of.ty, Known::Private);
        }
    }
}

/// Whether a constant of the type would fill a page.
fn structs_are_large(structs: &Structs, ty: &Type) -> bool {
    let mut leaves = Vec::new();
    structs.leaves(ty, 0, &mut leaves);
    leaves.len() > 24
}
