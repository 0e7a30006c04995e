//! A kernel's declarations and functions, and the text of what its entry point reaches.

use std::fmt::Write;

use crate::expr::Expr;
use crate::shape::{Structs, Type};
use crate::stmt::{self, Block};

/// What a function takes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Param {
    Value(String, Type),
    /// `ptr<function, T>`.
    Function(String, Type),
    /// `ptr<private, T>`.
    Private(String, Type),
}

/// A function.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) params: Vec<Param>,
    pub(crate) result: Option<Type>,
    pub(crate) body: Block,
}

/// What a buffer is for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Role {
    /// Read alone, of so many elements.
    Input(u32),
    /// A uniform.
    Uniform,
    /// One element for each invocation.
    Output,
    /// One element for each invocation, behind a header.
    Tail,
    /// So many atomics, which any invocation may change by one commutative operation.
    Sums(u32),
    /// One atomic for each invocation.
    Own,
    /// One element for each invocation, which others of its workgroup read behind barriers.
    Scratch,
}

/// A buffer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Buffer {
    pub(crate) name: String,
    pub(crate) role: Role,
    /// An element, or the whole of a uniform.
    pub(crate) ty: Type,
}

/// A variable or constant of the module.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Global {
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) init: Option<Expr>,
}

/// Everything that is written down.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Module {
    pub(crate) enables: Vec<&'static str>,
    pub(crate) structs: Structs,
    pub(crate) constants: Vec<Global>,
    /// With their defaults, and the values that they are given, if any.
    pub(crate) overrides: Vec<(Global, Option<f64>)>,
    /// Members of the immediate struct.
    pub(crate) params: Vec<(String, Type)>,
    pub(crate) buffers: Vec<Buffer>,
    /// Workgroup variables, with the text of their types; `{N}` is the number of invocations of a workgroup.
    pub(crate) shared: Vec<(String, String)>,
    pub(crate) privates: Vec<Global>,
    pub(crate) functions: Vec<Function>,
    pub(crate) body: Block,
    pub(crate) workgroup: [u32; 3],
    pub(crate) groups: [u32; 3],
    /// Invocations at the end of the grid that return at once.
    pub(crate) idle: u32,
    /// Whether the entry point takes what it is in its subgroup.
    pub(crate) subgroups: bool,
}

/// Whether a name stands alone somewhere in a text.
fn names(text: &str, name: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back().is_none_or(|c| !part(c) && c != '.');
        before && text[at + name.len()..].chars().next().is_none_or(|c| !part(c))
    })
}

impl Module {
    /// Invocations of a workgroup.
    pub(crate) fn lanes(&self) -> u32 {
        self.workgroup.iter().product()
    }

    /// Invocations that do something.
    pub(crate) fn slots(&self) -> u32 {
        (self.lanes() * self.groups.iter().product::<u32>()).saturating_sub(self.idle).max(1)
    }

    /// The text of the functions that the entry point reaches, itself last.
    fn code(&self) -> String {
        let mut entry = String::new();
        stmt::write(&self.body, 1, &mut entry);
        let mut reached: Vec<String> = Vec::new();
        let mut seen = entry.clone();
        for function in self.functions.iter().rev() {
            if names(&seen, &function.name) {
                let text = function.text();
                seen.push_str(&text);
                reached.push(text);
            }
        }
        let [x, y, z] = self.workgroup;
        let mut text: String = reached.into_iter().rev().collect();
        let mut head = format!("@compute @workgroup_size({x}, {y}, {z})\nfn main(\n");
        let builtins = [
            ("global_invocation_id", "id: vec3<u32>"),
            ("local_invocation_id", "local: vec3<u32>"),
            ("local_invocation_index", "lid: u32"),
            ("workgroup_id", "wid: vec3<u32>"),
            ("num_workgroups", "nwg: vec3<u32>"),
        ];
        for (builtin, name) in builtins {
            let _ = writeln!(head, "    @builtin({builtin}) {name},");
        }
        if self.subgroups {
            head.push_str("    @builtin(subgroup_size) lanes: u32,\n    @builtin(subgroup_invocation_id) lane: u32,\n");
        }
        let _ =
            writeln!(head, ") {{\n    let slot = ((wid.z * nwg.y + wid.y) * nwg.x + wid.x) * {}u + lid;", self.lanes());
        if self.idle > 0 {
            let _ = writeln!(head, "    if slot >= {}u {{ return; }}", self.slots());
        }
        text.push_str(&head);
        text.push_str(&entry);
        text.push_str("}\n");
        text.replace("{N}", &self.lanes().to_string())
    }

    /// The buffers that the code names, with their bindings.
    pub(crate) fn used(&self) -> Vec<(usize, &Buffer)> {
        let code = self.code();
        self.buffers.iter().enumerate().filter(|(_, buffer)| names(&code, &buffer.name)).collect()
    }

    /// Whether the code reads the immediate struct.
    pub(crate) fn takes_params(&self) -> bool {
        names(&self.code(), "params")
    }

    pub(crate) fn text(&self) -> String {
        let code = self.code();
        let mut text: String = self.enables.iter().map(|name| format!("enable {name};\n")).collect();
        for (number, members) in self.structs.0.iter().enumerate() {
            let _ = writeln!(text, "struct S{number} {{");
            for member in members {
                let align = member.align.map_or(String::new(), |align| format!("@align({align}) "));
                let size = member.size.map_or(String::new(), |size| format!("@size({size}) "));
                let _ = writeln!(text, "    {align}{size}{}: {},", member.name, member.ty.text());
            }
            text.push_str("}\n");
        }
        // A constant may be made from those before it, and is kept with them.
        for Global { name, ty, init } in &self.constants {
            let value = init.as_ref().map_or(String::new(), Expr::text);
            let _ = writeln!(text, "const {name}: {} = {value};", ty.text());
        }
        for (Global { name, ty, init }, _) in self.overrides.iter().filter(|(of, _)| names(&code, &of.name)) {
            let value = init.as_ref().map_or(String::new(), Expr::text);
            let _ = writeln!(text, "override {name}: {} = {value};", ty.text());
        }
        if names(&code, "params") {
            let members: Vec<String> = self.params.iter().map(|(name, ty)| format!("{name}: {}", ty.text())).collect();
            let _ = writeln!(text, "struct Params {{ {} }}\nvar<immediate> params: Params;", members.join(", "));
        }
        for (binding, buffer) in self.buffers.iter().enumerate().filter(|(_, buffer)| names(&code, &buffer.name)) {
            text.push_str(&buffer.text(binding));
        }
        for (name, ty) in self.shared.iter().filter(|(name, _)| names(&code, name)) {
            let ty = ty.replace("{N}", &self.lanes().to_string());
            let _ = writeln!(text, "var<workgroup> {name}: {ty};");
        }
        for Global { name, ty, init } in self.privates.iter().filter(|of| names(&code, &of.name)) {
            let value = init.as_ref().map_or(String::new(), |value| format!(" = {}", value.text()));
            let _ = writeln!(text, "var<private> {name}: {}{value};", ty.text());
        }
        text.push_str(&code);
        text
    }
}

impl Function {
    fn text(&self) -> String {
        let params = self.params.iter().map(|param| match param {
            Param::Value(name, ty) => format!("{name}: {}", ty.text()),
            Param::Function(name, ty) => format!("{name}: ptr<function, {}>", ty.text()),
            Param::Private(name, ty) => format!("{name}: ptr<private, {}>", ty.text()),
        });
        let params: Vec<String> = params.collect();
        let result = self.result.as_ref().map_or(String::new(), |ty| format!(" -> {}", ty.text()));
        let mut text = format!("fn {}({}){result} {{\n", self.name, params.join(", "));
        stmt::write(&self.body, 1, &mut text);
        text.push_str("}\n");
        text
    }
}

impl Buffer {
    fn text(&self, binding: usize) -> String {
        let (name, ty) = (&self.name, self.ty.text());
        let (space, ty) = match self.role {
            Role::Input(_) => ("storage, read", format!("array<{ty}>")),
            Role::Uniform => ("uniform", ty),
            Role::Output | Role::Scratch => ("storage, read_write", format!("array<{ty}>")),
            Role::Tail => {
                let declared = format!("struct Tail_{name} {{ head: vec4<u32>, items: array<{ty}> }}\n");
                return format!(
                    "{declared}@group(0) @binding({binding}) var<storage, read_write> {name}: Tail_{name};\n"
                );
            }
            Role::Sums(len) => ("storage, read_write", format!("array<atomic<{ty}>, {len}>")),
            Role::Own => ("storage, read_write", format!("array<atomic<{ty}>>")),
        };
        format!("@group(0) @binding({binding}) var<{space}> {name}: {ty};\n")
    }
}
