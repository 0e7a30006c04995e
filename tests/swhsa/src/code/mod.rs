//! Code objects: read, loaded into device memory, and their symbols found. Their instructions are never executed.

mod metadata;
mod object_file;

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::abi::{Executable, LoadedCode, Reader, Status, Symbol};
use crate::count::{self, Kind};
use crate::{fault, memory, report, settings};

pub(crate) use metadata::Argument;
pub(crate) use object_file::ObjectFile;

/// A kernel of a loaded code object.
#[derive(Debug)]
pub(crate) struct Kernel {
    /// Its name, without `.kd`.
    pub(crate) name: String,
    /// Which code object it is of.
    pub(crate) digest: u64,
    /// What it takes, in order, hidden arguments among them.
    pub(crate) arguments: Vec<Argument>,
    /// Bytes of its arguments in all.
    pub(crate) kernarg_bytes: u32,
    /// Bytes of workgroup memory that it declares.
    pub(crate) group_bytes: u32,
    /// Bytes of memory of each invocation.
    pub(crate) private_bytes: u32,
    /// The address of its descriptor.
    pub(crate) object: u64,
}

/// A variable of a loaded code object.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) address: u64,
    pub(crate) bytes: u32,
}

/// What a symbol is.
#[derive(Clone, Debug)]
pub(crate) enum Meaning {
    Kernel(Arc<Kernel>),
    Variable(Variable),
}

struct Loaded {
    base: usize,
    symbols: HashMap<String, u64>,
}

#[derive(Default)]
struct Program {
    frozen: bool,
    loaded: Vec<Loaded>,
}

#[derive(Default)]
struct Tables {
    next: u64,
    readers: HashMap<u64, Vec<u8>>,
    programs: HashMap<u64, Program>,
    symbols: HashMap<u64, (String, Meaning)>,
    kernels: BTreeMap<u64, Arc<Kernel>>,
}

impl Tables {
    fn handle(&mut self) -> u64 {
        self.next += 1;
        0x2_0000 + self.next
    }
}

static TABLES: Mutex<Option<Tables>> = Mutex::new(None);

fn with<T>(use_it: impl FnOnce(&mut Tables) -> T) -> T {
    let mut tables: MutexGuard<'_, Option<Tables>> = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    use_it(tables.get_or_insert_default())
}

/// What tells one code object from another: its bytes.
pub(crate) fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// Keep the bytes of a code object for loading.
pub(crate) fn reader(bytes: Vec<u8>) -> Reader {
    count::made(Kind::Reader);
    with(|tables| {
        let handle = tables.handle();
        tables.readers.insert(handle, bytes);
        Reader(handle)
    })
}

pub(crate) fn reader_destroy(reader: Reader) -> Status {
    if with(|tables| tables.readers.remove(&reader.0)).is_none() {
        return Status::INVALID_CODE_OBJECT_READER;
    }
    count::gone(Kind::Reader);
    Status::SUCCESS
}

/// A program with nothing in it.
pub(crate) fn program() -> Executable {
    count::made(Kind::Executable);
    with(|tables| {
        let handle = tables.handle();
        tables.programs.insert(handle, Program::default());
        Executable(handle)
    })
}

pub(crate) fn freeze(program: Executable) -> Status {
    with(|tables| match tables.programs.get_mut(&program.0) {
        Some(program) => {
            program.frozen = true;
            Status::SUCCESS
        }
        None => Status::INVALID_EXECUTABLE,
    })
}

/// Load a code object into a program.
pub(crate) fn load(program: Executable, reader: Reader) -> Result<LoadedCode, Status> {
    if let Some(status) = fault::take(fault::Kind::Code) {
        return Err(status);
    }
    let bytes = with(|tables| {
        match tables.programs.get(&program.0) {
            Some(Program { frozen: false, .. }) => {}
            Some(_) => return Err(Status::FROZEN_EXECUTABLE),
            None => return Err(Status::INVALID_EXECUTABLE),
        }
        tables.readers.get(&reader.0).cloned().ok_or(Status::INVALID_CODE_OBJECT_READER)
    })?;
    let refuse = |why: String| {
        report::fail(&format!("a code object of {} bytes is refused: {why}", bytes.len()));
        Status::INVALID_CODE_OBJECT
    };
    let file = ObjectFile::read(&bytes).map_err(refuse)?;
    let personality = settings::get().personality;
    if file.machine != personality.machine {
        report::fail(&format!("a code object is for machine {:#x}, the device is {}", file.machine, personality.name));
        return Err(Status::INVALID_ISA);
    }
    let base = memory::device_allocate(file.image.len(), 4)?;
    memory::write(base, &file.image).map_err(refuse)?;
    Ok(with(|tables| enter(tables, program, base, &file, digest(&bytes))))
}

/// Enter what was loaded at `base` into the tables.
fn enter(tables: &mut Tables, program: Executable, base: usize, file: &ObjectFile, digest: u64) -> LoadedCode {
    let mut symbols = HashMap::new();
    for kernel in &file.kernels {
        let object = base as u64 + kernel.descriptor;
        let loaded = Arc::new(Kernel {
            name: kernel.name.clone(),
            digest,
            arguments: kernel.arguments.clone(),
            kernarg_bytes: kernel.kernarg_bytes,
            group_bytes: kernel.group_bytes,
            private_bytes: kernel.private_bytes,
            object,
        });
        count::made(Kind::Kernel);
        report::note(|| format!("kernel `{}` of code object {digest:016x} at {object:#x}", kernel.name));
        tables.kernels.insert(object, Arc::clone(&loaded));
        let handle = tables.handle();
        let name = format!("{}.kd", kernel.name);
        tables.symbols.insert(handle, (name.clone(), Meaning::Kernel(loaded)));
        symbols.insert(name, handle);
    }
    for variable in &file.variables {
        let handle = tables.handle();
        let meaning = Variable { address: base as u64 + variable.at, bytes: variable.bytes };
        tables.symbols.insert(handle, (variable.name.clone(), Meaning::Variable(meaning)));
        symbols.insert(variable.name.clone(), handle);
    }
    let loaded = tables.handle();
    if let Some(program) = tables.programs.get_mut(&program.0) {
        program.loaded.push(Loaded { base, symbols });
    }
    LoadedCode(loaded)
}

pub(crate) fn program_destroy(program: Executable) -> Status {
    let bases = with(|tables| {
        let program = tables.programs.remove(&program.0)?;
        let mut bases = Vec::new();
        for loaded in program.loaded {
            for handle in loaded.symbols.values() {
                if let Some((_, Meaning::Kernel(kernel))) = tables.symbols.remove(handle) {
                    tables.kernels.remove(&kernel.object);
                    count::gone(Kind::Kernel);
                }
            }
            bases.push(loaded.base);
        }
        Some(bases)
    });
    let Some(bases) = bases else { return Status::INVALID_EXECUTABLE };
    bases.into_iter().for_each(|base| {
        memory::free(base);
    });
    count::gone(Kind::Executable);
    Status::SUCCESS
}

/// The symbol of a name.
pub(crate) fn symbol(program: Executable, name: &str) -> Result<Symbol, Status> {
    with(|tables| {
        let program = tables.programs.get(&program.0).ok_or(Status::INVALID_EXECUTABLE)?;
        let found = program.loaded.iter().find_map(|loaded| loaded.symbols.get(name));
        found.map(|handle| Symbol(*handle)).ok_or(Status::INVALID_SYMBOL_NAME)
    })
}

/// All symbols of a program.
pub(crate) fn symbols(program: Executable) -> Result<Vec<Symbol>, Status> {
    with(|tables| {
        let program = tables.programs.get(&program.0).ok_or(Status::INVALID_EXECUTABLE)?;
        let mut all: Vec<u64> = program.loaded.iter().flat_map(|loaded| loaded.symbols.values().copied()).collect();
        all.sort_unstable();
        Ok(all.into_iter().map(Symbol).collect())
    })
}

/// What a symbol is called and means.
pub(crate) fn meaning(symbol: Symbol) -> Result<(String, Meaning), Status> {
    with(|tables| tables.symbols.get(&symbol.0).cloned().ok_or(Status::INVALID_EXECUTABLE_SYMBOL))
}

/// The kernel whose descriptor is at an address.
pub(crate) fn kernel(object: u64) -> Option<Arc<Kernel>> {
    with(|tables| tables.kernels.get(&object).cloned())
}

/// The program whose memory an address is in.
pub(crate) fn program_at(address: usize) -> Option<Executable> {
    let base = memory::find(address)?.base;
    with(|tables| {
        let has = |program: &Program| program.loaded.iter().any(|loaded| loaded.base == base);
        tables.programs.iter().find(|(_, program)| has(program)).map(|(handle, _)| Executable(*handle))
    })
}
