//! The entry point: parameters in the order of the calling convention, what an invocation is told of itself, zeroed memory, and in
//! host C++ the function that runs a grid.

use graphreel::kernel::{AbiParam, Variant, abi};
use naga::proc::NameKey;
use naga::{AddressSpace, Binding, Handle, Statement, TypeInner};

use super::body::Body;
use super::literal::zero;
use super::{STATIC_SHARED_BYTES_MAX, Writer};
use crate::Dialect;
use crate::code::{By, Expr, Function, Item, Param, Printer, Stmt, TemplateArg, Type};
use crate::ir::{self, Flow, Space, Told};
use crate::refusal::{At, Result};

/// Names that the author's cannot be.
const COUNTS: &str = "wg_counts";
const GROUPS: &str = "wg_groups";
const SHARED: &str = "wg_shared";
const SHARED_TYPE: &str = "wg_Shared";
const BODY: &str = "wg_body";

impl Writer<'_> {
    /// The workgroup's size, as arguments of a template.
    pub(crate) fn size_args(&self) -> Vec<TemplateArg> {
        self.lowered.reflection.workgroup_size.iter().map(|side| TemplateArg::Number(*side)).collect()
    }

    /// The entry point, and the bytes of workgroup memory that it uses.
    pub(crate) fn entry(&self) -> Result<(Vec<Item>, u32)> {
        let entry = &self.module.entry_points[0];
        let mut body = Body::new(self, &entry.function, self.info.get_entry_point(0), None)?;
        let mut items = Vec::new();
        let mut stmts = Vec::new();
        self.leave_early(&mut stmts);
        let shared_bytes = self.shared(&mut body, &mut items, &mut stmts)?;
        self.private(&mut body, &mut stmts)?;
        for (index, argument) in (0..).zip(&entry.function.arguments) {
            let name = self.names.of(NameKey::EntryPointArgument(0, index));
            let ty = self.layout.ty(argument.ty)?;
            let value = self.told(argument.binding.as_ref(), argument.ty)?;
            stmts.push(Stmt::Let(ty, name.clone(), value));
            body.arguments.push(Expr::name(name));
        }
        stmts.extend(body.locals()?);
        stmts.extend(body.block(&entry.function.body)?);
        trim(&mut stmts);
        let threads: u32 = self.lowered.reflection.workgroup_size.iter().product();
        let params = self.params();
        if self.options.dialect == Dialect::Host {
            let host = self.host(&params, shared_bytes > 0);
            items.push(Item::Function(Function {
                prefix: "static".to_owned(),
                result: None,
                name: BODY.to_owned(),
                params,
                body: stmts,
            }));
            items.extend(host);
        } else {
            items.push(Item::Function(Function {
                prefix: format!("extern \"C\" WG_KERNEL({threads})"),
                result: None,
                name: self.symbol.clone(),
                params,
                body: stmts,
            }));
        }
        Ok((items, shared_bytes))
    }

    /// The parameters in the order that every launcher counts on.
    fn params(&self) -> Vec<Param> {
        let mut params = Vec::new();
        for param in abi(&self.lowered.reflection, self.options.variant) {
            match param {
                AbiParam::Scalars(_) => {
                    let immediate = self.globals.iter().find(|global| global.space == Space::Immediate);
                    params.extend(immediate.map(|global| Param {
                        ty: global.ty.clone(),
                        by: By::Value,
                        name: global.name.clone(),
                    }));
                }
                AbiParam::Address(index) => {
                    params.extend(self.binding(index).map(|global| Param {
                        ty: global.ty.clone(),
                        by: global.by,
                        name: global.name.clone(),
                    }));
                }
                AbiParam::Elements(index) => {
                    params.extend(self.binding(index).and_then(super::global::Global::length_param));
                }
                AbiParam::Counts => {
                    params.push(Param { ty: Type::Scalar("u32"), by: By::ConstPointer, name: COUNTS.to_owned() });
                }
            }
        }
        params
    }

    /// The variable of a binding.
    fn binding(&self, index: u32) -> Option<&super::global::Global> {
        let info = self.lowered.reflection.bindings.get(index as usize)?;
        let mut variables = self.module.global_variables.iter();
        let found = variables.find(|(_, variable)| {
            variable.binding.is_some_and(|at| (at.group, at.binding) == (info.group, info.binding))
        });
        found.map(|(handle, _)| &self.globals[handle.index()])
    }

    /// Workgroup memory: all variables as one struct, zeroed by all invocations together.
    fn shared(&self, body: &mut Body<'_>, items: &mut Vec<Item>, stmts: &mut Vec<Stmt>) -> Result<u32> {
        let mut bytes = 0u32;
        let mut members = Vec::new();
        for (handle, variable) in self.module.global_variables.iter() {
            if variable.space != AddressSpace::WorkGroup {
                continue;
            }
            let global = &self.globals[handle.index()];
            members.push((global.ty.clone(), global.name.clone()));
            body.globals[handle.index()] = Expr::name(SHARED).member(global.name.clone());
            bytes = bytes.saturating_add(self.layout.shared_bytes(variable.ty));
        }
        if members.is_empty() {
            return Ok(0);
        }
        items.push(Item::Shared { name: SHARED_TYPE.to_owned(), members, bytes });
        let ty = Type::Named(SHARED_TYPE.to_owned());
        let shared = Expr::name(SHARED);
        stmts.push(if bytes > STATIC_SHARED_BYTES_MAX {
            let of = vec![TemplateArg::Type(ty.clone())];
            Stmt::Alias(ty, SHARED.to_owned(), Expr::Helper("dynamic_shared", of, Vec::new()))
        } else {
            Stmt::Shared(ty, SHARED.to_owned())
        });
        stmts.push(Stmt::Do(Expr::Helper("zero_shared", self.size_args(), vec![shared])));
        Ok(bytes)
    }

    /// In the indirect variant, the counts from memory; workgroups beyond them, and all where a count is above the grid,
    /// return before anything else.
    fn leave_early(&self, stmts: &mut Vec<Stmt>) {
        if self.options.variant == Variant::Direct {
            return;
        }
        let ty = Type::Vector("u32", 3);
        let count = |index: u32| Expr::name(COUNTS).index(Expr::Literal(format!("{index}u")));
        let counts = Expr::Make(ty.clone(), (0..3).map(count).collect());
        let groups = Expr::name(GROUPS);
        let over = Expr::helper("any", [Expr::helper("gt", [groups.clone(), Expr::helper("num_workgroups", [])])]);
        let beyond = Expr::helper("any", [Expr::helper("ge", [Expr::helper("workgroup_id", []), groups])]);
        stmts.extend([
            Stmt::Let(ty, GROUPS.to_owned(), counts),
            Stmt::If(Expr::binary("||", over, beyond), vec![Stmt::Return(None)], Vec::new()),
        ]);
    }

    /// Private variables, which are the kernel's own and passed down.
    fn private(&self, body: &mut Body<'_>, stmts: &mut Vec<Stmt>) -> Result<()> {
        for (handle, variable) in self.module.global_variables.iter() {
            if variable.space != AddressSpace::Private {
                continue;
            }
            let global = &self.globals[handle.index()];
            let value = match variable.init {
                Some(init) => self.constant_expression(init)?,
                None => zero(&global.ty),
            };
            stmts.push(Stmt::Var(global.ty.clone(), global.name.clone(), value));
            body.globals[handle.index()] = Expr::name(global.name.clone());
        }
        Ok(())
    }

    /// What an argument of the entry point holds.
    fn told(&self, binding: Option<&Binding>, ty: Handle<naga::Type>) -> Result<Expr> {
        let span = self.module.types.get_span(ty);
        match (binding, &self.module.types[ty].inner) {
            (Some(Binding::BuiltIn(builtin)), _) => Ok(match ir::builtin(*builtin).at(span)? {
                Told::Plain(name) => Expr::helper(name, []),
                Told::Sized(name) => Expr::Helper(name, self.size_args(), Vec::new()),
                Told::Workgroups if self.options.variant == Variant::Indirect => Expr::name(GROUPS),
                Told::Workgroups => Expr::helper("num_workgroups", []),
                Told::WorkgroupSize => {
                    let sides = self.lowered.reflection.workgroup_size;
                    let sides = sides.iter().map(|side| Expr::Literal(format!("{side}u"))).collect();
                    Expr::Make(Type::Vector("u32", 3), sides)
                }
            }),
            (None, TypeInner::Struct { members, .. }) => {
                let parts = members.iter().map(|member| self.told(member.binding.as_ref(), member.ty));
                let parts = parts.collect::<Result<Vec<_>>>()?;
                self.make(ty, parts)
            }
            _ => Err("arguments of the entry point that are no builtins").at(span),
        }
    }

    /// Whether invocations wait for one another.
    fn waits(&self) -> bool {
        let functions = self.module.functions.iter().map(|(_, function)| function);
        let mut waits = false;
        for function in functions.chain([&self.module.entry_points[0].function]) {
            super::hoist::visit(&function.body, |statement: &Statement| {
                waits |= ir::flow(statement) == Ok(Flow::Meets);
            });
        }
        waits
    }

    /// The function that the host calls: it takes parameters as launches of CUDA and HIP do, by the addresses of their values.
    fn host(&self, params: &[Param], has_shared: bool) -> Vec<Item> {
        let mut args = Vec::new();
        for (index, param) in params.iter().enumerate() {
            let ty = Printer::spelled(&param.ty);
            args.push(match param.by {
                By::Pointer => format!("*static_cast<{ty}* const*>(wg_args[{index}])"),
                By::ConstPointer => format!("*static_cast<const {ty}* const*>(wg_args[{index}])"),
                _ => format!("*static_cast<const {ty}*>(wg_args[{index}])"),
            });
        }
        let [x, y, z] = self.lowered.reflection.workgroup_size;
        let waits = u32::from(has_shared || self.waits());
        let unused = if params.is_empty() { "    (void)wg_args;\n" } else { "" };
        let text = format!(
            "static void wg_call(void* const* wg_args) {{\n{unused}    {BODY}({});\n}}\n\
             extern \"C\" void {symbol}(const unsigned* {GROUPS}, void* const* wg_args) {{\n    \
             static const unsigned wg_size[3] = {{{x}u, {y}u, {z}u}};\n    \
             wg_host_run({GROUPS}, wg_size, {waits}, wg_call, wg_args);\n}}",
            args.join(", "),
            symbol = self.symbol,
        );
        vec![Item::Text(text)]
    }
}

/// Leave out each `return` after which nothing would come anyway.
pub(crate) fn trim(stmts: &mut Vec<Stmt>) {
    while stmts.last() == Some(&Stmt::Return(None)) {
        stmts.pop();
        if let Some(Stmt::Line(_)) = stmts.last() {
            stmts.pop();
        }
    }
    match stmts.last_mut() {
        Some(Stmt::If(_, accept, reject)) => {
            trim(accept);
            trim(reject);
        }
        Some(Stmt::Block(inner)) => trim(inner),
        _ => {}
    }
}
