//! Writes one entry point: what all parts of it share, and the order in which they come.

mod body;
mod bypass;
mod compose;
mod entry;
mod expression;
mod function;
mod global;
mod hoist;
mod literal;
mod operator;
mod place;
mod plan;
mod room;
mod statement;
mod weight;

use std::cell::RefCell;
use std::collections::HashMap;

use graphreel::kernel::{Lines, Lowered};
use naga::valid::ModuleInfo;
use naga::{Constant, Expression, Handle, Module, TypeInner};

use crate::code::{Expr, Item, Stmt};
use crate::layout::Layout;
use crate::names::Names;
use crate::options::Removed;
use crate::ranges::{Proven, prove};
use crate::refusal::{Refusal, Result};
use crate::{Dialect, Options};

/// Threads of a block that CUDA and HIP allow.
const INVOCATIONS_MAX: u64 = 1024;

/// Bytes of workgroup memory that code can declare by itself on CUDA; more is asked for with the launch.
pub(crate) const STATIC_SHARED_BYTES_MAX: u32 = 48 << 10;

/// An expression of a function, or of the entry point, which is none.
type Placed = (Option<Handle<naga::Function>>, Handle<Expression>);

/// What the parts of a translation share.
pub(crate) struct Writer<'a> {
    pub(crate) module: &'a Module,
    pub(crate) info: &'a ModuleInfo,
    pub(crate) lowered: &'a Lowered,
    pub(crate) options: &'a Options,
    pub(crate) names: &'a Names,
    pub(crate) layout: Layout<'a>,
    pub(crate) lines: Lines,
    pub(crate) proven: Proven,
    pub(crate) globals: Vec<global::Global>,
    /// Names of the constants that are tables.
    constants: HashMap<Handle<Constant>, String>,
    /// Tables, those of constants first, then constant arrays that were met within functions.
    tables: RefCell<Vec<Item>>,
    /// The names of those.
    promoted: RefCell<HashMap<Placed, String>>,
    /// Functions too large to be written into each caller.
    large: Vec<bool>,
    pub(crate) symbol: String,
}

/// A kernel's own code, as a tree.
pub(crate) struct Written {
    pub(crate) items: Vec<Item>,
    pub(crate) symbol: String,
    pub(crate) shared_bytes: u32,
}

/// Write the one entry point of a module.
pub(crate) fn write(lowered: &Lowered, wgsl: &str, options: &Options) -> Result<Written> {
    let module = &lowered.module;
    let symbol = options.symbol.clone().unwrap_or_else(|| format!("wgk_{}", symbol_part(&module.entry_points[0].name)));
    let names = Names::new(module, &symbol);
    check_workgroup(lowered, wgsl)?;
    room::check(module)?;
    let subgroup_size = (options.dialect == Dialect::Cuda).then_some(32);
    let layout = Layout::new(module, &names)?;
    let globals = global::globals(module, lowered, &names, &layout)?;
    let mut writer = Writer {
        module,
        info: &lowered.info,
        lowered,
        options,
        names: &names,
        layout,
        lines: Lines::new(wgsl),
        proven: match options.removed {
            Removed::Kept => Proven::default(),
            Removed::Dropped | Removed::Asserted => prove(module, &lowered.info, subgroup_size, options.loops),
        },
        globals,
        constants: HashMap::new(),
        tables: RefCell::default(),
        promoted: RefCell::default(),
        large: weight::large(module),
        symbol,
    };
    writer.name_constants()?;
    let mut functions = Vec::new();
    for (handle, _) in module.functions.iter() {
        functions.push(Item::Function(writer.function(handle)?));
    }
    let (entry, shared_bytes) = writer.entry()?;
    let mut items = writer.structures()?;
    items.append(&mut writer.tables.borrow_mut());
    items.extend(functions);
    items.extend(entry);
    Ok(Written { items, symbol: writer.symbol.clone(), shared_bytes })
}

/// A part of a C symbol made of an entry point's name, which may have letters that C has not.
fn symbol_part(name: &str) -> String {
    let mut part = String::new();
    for letter in name.chars() {
        if letter.is_ascii_alphanumeric() || letter == '_' {
            part.push(letter);
        } else {
            part.push_str(&format!("u{:04x}", letter as u32));
        }
    }
    part
}

fn check_workgroup(lowered: &Lowered, wgsl: &str) -> Result<()> {
    let size = lowered.reflection.workgroup_size;
    let invocations: u64 = size.iter().map(|side| u64::from(*side)).product();
    if invocations > INVOCATIONS_MAX || size[2] > 64 {
        return Err(Refusal {
            span: entry_span(wgsl, &lowered.module.entry_points[0].name),
            text: format!(
                "the workgroup size {size:?} is too large: a block of CUDA or HIP has at most {INVOCATIONS_MAX} invocations, and \
                 64 in z; take a smaller one"
            ),
        });
    }
    Ok(())
}

/// Where an entry point's name stands: naga keeps no place of it. A comment that says the same before it would be taken for it.
fn entry_span(wgsl: &str, name: &str) -> naga::Span {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let found = wgsl.match_indices(name).find(|(at, _)| {
        let before = wgsl[..*at].trim_end();
        let after = wgsl[at + name.len()..].chars().next();
        before.len() < *at && before.ends_with("fn") && !after.is_some_and(is_word)
    });
    let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    found.map_or_else(naga::Span::default, |(at, name)| naga::Span::new(offset(at), offset(at + name.len())))
}

impl Writer<'_> {
    /// The declarations of the structs that values and buffers are made of.
    fn structures(&self) -> Result<Vec<Item>> {
        let mut items = Vec::new();
        for (handle, _) in self.module.types.iter() {
            if let Some(structure) = self.layout.structure(handle)? {
                let put = self.put_of(handle, &structure);
                items.push(Item::Struct(structure));
                items.extend(put);
            }
        }
        Ok(items)
    }

    /// A store that leaves padding as it is. A struct's own function is in the kernel's namespace, and hides the prelude's there.
    pub(crate) fn put(&self, handle: Handle<naga::Type>, place: Expr, value: Expr) -> Stmt {
        let own = matches!(self.module.types[handle].inner, TypeInner::Struct { .. }) && self.layout.has_holes(handle);
        let parts = [place, value];
        Stmt::Do(if own { Expr::Call("put".to_owned(), parts.into()) } else { Expr::helper("put", parts) })
    }

    /// How a struct with padding is stored: member by member, so that the padding keeps its bytes.
    fn put_of(&self, handle: Handle<naga::Type>, structure: &crate::code::Struct) -> Option<Item> {
        use crate::code::{By, Field, Function, Param, Type};
        let TypeInner::Struct { members, .. } = &self.module.types[handle].inner else { return None };
        if structure.size.is_none() || !self.layout.has_holes(handle) {
            return None;
        }
        let ty = Type::Named(structure.name.clone());
        let names = structure.fields.iter().filter_map(|field| match field {
            Field::Member { name, .. } => Some(name),
            Field::Padding { .. } => None,
        });
        let put = |(name, member): (&String, &naga::StructMember)| {
            let [to, from] = ["wg_to", "wg_from"].map(|side| Expr::name(side).member(name.clone()));
            self.put(member.ty, to, from)
        };
        Some(Item::Function(Function {
            prefix: "WG_FUNCTION".to_owned(),
            result: None,
            name: "put".to_owned(),
            params: vec![
                Param { ty: ty.clone(), by: By::Reference, name: "wg_to".to_owned() },
                Param { ty, by: By::ConstReference, name: "wg_from".to_owned() },
            ],
            body: names.zip(members).map(put).collect(),
        }))
    }

    /// Give a table to each constant that is no scalar or vector, so that it stands once and can be indexed where it is.
    fn name_constants(&mut self) -> Result<()> {
        for (handle, constant) in self.module.constants.iter() {
            let inner = &self.module.types[constant.ty].inner;
            if matches!(inner, TypeInner::Scalar(_) | TypeInner::Vector { .. }) {
                continue;
            }
            let ty = self.layout.ty(constant.ty)?;
            let value = self.constant_expression(constant.init)?;
            let name = self.names.of(naga::proc::NameKey::Constant(handle));
            self.tables.borrow_mut().push(Item::Table(ty, name.clone(), value));
            self.constants.insert(handle, name);
        }
        Ok(())
    }

    /// A constant where it is used.
    pub(crate) fn constant(&self, handle: Handle<Constant>) -> Result<Expr> {
        match self.constants.get(&handle) {
            Some(name) => Ok(Expr::name(name.clone())),
            None => self.constant_expression(self.module.constants[handle].init),
        }
    }
}
