//! naga's IR to a flat program, once for each kernel.
//!
//! WGSL has no recursion, so each function has slots of its own at a fixed place: above those of all functions it calls. An
//! operand is then a number known here, and an invocation that stops in the middle keeps nothing but its slots and where it is.

mod body;
mod call;
mod expression;
mod math;
mod memory;
mod place;
mod statement;
mod value;

use graphreel::kernel::Lines;
use naga::valid::ModuleInfo;
use naga::{AddressSpace, Expression, Function, GlobalVariable, Handle, Module};

use self::body::Body;
use super::constant::{Constants, Kept, Known, evaluate};
use super::inst::Inst;
use super::layout::Layout;
use super::program::{Code, Given, Tables};
use super::refusal::{Refusal, unsupported};

/// The most slots of an invocation, and of a workgroup: half a gigabyte is not what a kernel meant.
const SLOTS_MAX: u32 = 1 << 22;

/// Where a global variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GlobalPlace {
    /// Among the slots of each invocation.
    Lane(u32),
    /// Among the slots of the workgroup.
    Group(u32),
    /// In a binding.
    Buffer(u32),
    /// The entry point does not use it.
    Unused,
}

/// Where a function is.
#[derive(Clone, Debug)]
struct FunctionPlace {
    start: u32,
    /// The slot that keeps where to go on after it.
    back: u32,
    /// The first slot of each argument.
    arguments: Vec<u32>,
    result: u32,
    /// The first slot above its own.
    top: u32,
    /// Instructions.
    cost: u32,
}

/// A translation under way.
struct Translator<'m> {
    module: &'m Module,
    info: &'m ModuleInfo,
    layout: Layout<'m>,
    lines: Lines,
    code: Vec<Inst>,
    tables: Tables,
    constants: Constants,
    /// For each constant of the module.
    known: Vec<Known>,
    /// For each global expression.
    global_known: Vec<Option<Known>>,
    globals: Vec<GlobalPlace>,
    /// The number of each global's name.
    global_names: Vec<u32>,
    functions: Vec<FunctionPlace>,
    /// The first slot of private variables, and the first above them.
    private: (u32, u32),
    group: u32,
}

/// Translate a module of one entry point. `bindings` are the group and binding of each buffer, in the order of the arguments.
pub(super) fn translate(
    module: &Module,
    info: &ModuleInfo,
    wgsl: &str,
    bindings: &[(u32, u32)],
) -> Result<Code, Refusal> {
    let mut translator = Translator::new(module, info, wgsl)?;
    let entry = &module.entry_points[0];
    let functions: Vec<_> = module.functions.iter().map(|(handle, function)| (function, &info[handle])).collect();
    let used = info.get_entry_point(0);
    let entry_known = translator.keep_constants(&entry.function, used);
    let known: Vec<_> = functions.iter().map(|(function, info)| translator.keep_constants(function, info)).collect();
    let inits = translator.keep_private()?;
    translator.place_globals(bindings, used)?;
    for ((function, info), known) in functions.into_iter().zip(known) {
        let place = Body::new(&mut translator, function, info, known)?.function()?;
        translator.functions.push(place);
    }
    let start = translator.code.len();
    let (top, builtins) = Body::new(&mut translator, &entry.function, used, entry_known)?.entry(&inits)?;
    translator.finish(start, top, builtins)
}

impl<'m> Translator<'m> {
    fn new(module: &'m Module, info: &'m ModuleInfo, wgsl: &str) -> Result<Self, Refusal> {
        let layout = Layout::new(module)?;
        let mut translator = Self {
            module,
            info,
            layout,
            lines: Lines::new(wgsl),
            code: Vec::new(),
            tables: Tables { names: vec![String::new()], ..Tables::default() },
            constants: Constants::new(),
            known: Vec::new(),
            global_known: Vec::new(),
            globals: Vec::new(),
            global_names: Vec::new(),
            functions: Vec::new(),
            private: (0, 0),
            group: 0,
        };
        translator.evaluate_globals()?;
        Ok(translator)
    }

    /// Constants are made of global expressions, and those of earlier constants.
    fn evaluate_globals(&mut self) -> Result<(), Refusal> {
        let module = self.module;
        let info = self.info;
        let type_of = |handle: Handle<Expression>| info[handle].inner_with(&module.types).clone();
        // A constant may be used by expressions that come before others which later constants need, so they are found in rounds.
        loop {
            let found = evaluate(&self.layout, &module.global_expressions, &self.known, type_of);
            let before = self.known.len();
            for (_, constant) in module.constants.iter().skip(before) {
                let Some(known) = found[constant.init.index()].clone() else { break };
                self.known.push(known);
            }
            if self.known.len() == module.constants.len() {
                self.global_known = evaluate(&self.layout, &module.global_expressions, &self.known, type_of);
                return Ok(());
            }
            if self.known.len() == before {
                return Err(unsupported("a constant that is computed in a way the simulator does not know"));
            }
        }
    }

    /// The constants among a function's expressions. They are kept before any slot is given out, since they come first.
    fn keep_constants(&mut self, function: &Function, info: &naga::valid::FunctionInfo) -> Vec<Option<Kept>> {
        let module = self.module;
        let type_of = |handle: Handle<Expression>| info[handle].ty.inner_with(&module.types).clone();
        let found = evaluate(&self.layout, &function.expressions, &self.known, type_of);
        found.into_iter().map(|known| known.map(|known| self.constants.keep(&known))).collect()
    }

    /// What private variables begin with.
    fn keep_private(&mut self) -> Result<Vec<(Handle<GlobalVariable>, Kept)>, Refusal> {
        let module = self.module;
        let mut inits = Vec::new();
        for (handle, variable) in module.global_variables.iter() {
            if variable.space != AddressSpace::Private {
                continue;
            }
            let kept = match variable.init {
                None => Kept::Zero,
                Some(init) => {
                    let known = self.global_known[init.index()].clone();
                    let known =
                        known.ok_or_else(|| unsupported("a private variable that begins with a computed value"));
                    self.constants.keep(&known?)
                }
            };
            inits.push((handle, kept));
        }
        Ok(inits)
    }

    fn place_globals(&mut self, bindings: &[(u32, u32)], used: &naga::valid::FunctionInfo) -> Result<(), Refusal> {
        let mut lane = u32::try_from(self.constants.pool.len()).expect("a text has fewer constants");
        self.private.0 = lane;
        self.tables.bindings = vec![0; bindings.len() + 1];
        let module = self.module;
        for (handle, variable) in module.global_variables.iter() {
            let slots = self.layout.slots(variable.ty);
            let name = self.name(variable.name.as_deref());
            self.global_names.push(name);
            let place =
                if used[handle].is_empty() { GlobalPlace::Unused } else { self.place(variable, bindings, &mut lane) };
            if let GlobalPlace::Group(first) = place {
                self.group = first.saturating_add(slots);
                self.tables.group_ends.push((self.group, name));
            }
            if let GlobalPlace::Buffer(binding) = place {
                self.tables.bindings[binding as usize] = name;
            }
            self.globals.push(place);
            if lane > SLOTS_MAX || self.group > SLOTS_MAX {
                return Err(unsupported("so large private or workgroup variables"));
            }
        }
        self.private.1 = lane;
        Ok(())
    }

    fn place(&self, variable: &GlobalVariable, bindings: &[(u32, u32)], lane: &mut u32) -> GlobalPlace {
        match variable.space {
            AddressSpace::Private => {
                let first = *lane;
                *lane = lane.saturating_add(self.layout.slots(variable.ty));
                GlobalPlace::Lane(first)
            }
            AddressSpace::WorkGroup => GlobalPlace::Group(self.group),
            AddressSpace::Uniform | AddressSpace::Storage { .. } => {
                let place = variable.binding.as_ref().map(|place| (place.group, place.binding));
                let index = bindings.iter().zip(0..).find(|(binding, _)| Some(**binding) == place);
                index.map_or(GlobalPlace::Unused, |(_, index)| GlobalPlace::Buffer(index))
            }
            // The immediate data is bound behind the buffers.
            AddressSpace::Immediate => GlobalPlace::Buffer(u32::try_from(bindings.len()).expect("few bindings")),
            AddressSpace::Function
            | AddressSpace::Handle
            | AddressSpace::TaskPayload
            | AddressSpace::RayPayload
            | AddressSpace::IncomingRayPayload => GlobalPlace::Unused,
        }
    }

    /// The number of a variable's name.
    fn name(&mut self, name: Option<&str>) -> u32 {
        let Some(name) = name else { return 0 };
        self.tables.names.push(name.to_owned());
        u32::try_from(self.tables.names.len() - 1).expect("a text has fewer names")
    }

    fn finish(mut self, start: usize, top: u32, builtins: Vec<(Given, u32)>) -> Result<Code, Refusal> {
        if top > SLOTS_MAX {
            return Err(unsupported(format!("{top} scalars of variables and values at once")));
        }
        self.tables.constants = self.constants.table;
        Ok(Code {
            code: self.code,
            entry: start,
            tables: self.tables,
            pool: self.constants.pool,
            slots: top as usize,
            group: self.group as usize,
            builtins,
        })
    }
}
