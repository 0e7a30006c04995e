//! A code object as a file: an ELF for the device, with descriptors of kernels, variables, and a note of metadata.

use object::elf::{self, PT_LOAD, PT_NOTE};
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader, Sym};
use object::{Endianness, Object, ObjectSymbol, SymbolKind};

use super::metadata::{self, Argument, Described};

/// The type of the note with the metadata, by the documentation of LLVM's target.
const NOTE_METADATA: u32 = 32;
/// `EF_AMDGPU_MACH`: the bits of the flags that name the device.
const MACHINE: u32 = 0xFF;
/// Bytes of a kernel's descriptor.
const DESCRIPTOR_BYTES: u64 = 64;
/// The largest image: larger ones are no code.
const IMAGE_MAX: u64 = 1 << 30;

/// A kernel.
#[derive(Clone, Debug)]
pub(crate) struct FileKernel {
    pub(crate) name: String,
    /// Where its descriptor is in the image.
    pub(crate) descriptor: u64,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) kernarg_bytes: u32,
    pub(crate) group_bytes: u32,
    pub(crate) private_bytes: u32,
}

/// A variable.
#[derive(Clone, Debug)]
pub(crate) struct FileVariable {
    pub(crate) name: String,
    /// Where it is in the image.
    pub(crate) at: u64,
    pub(crate) bytes: u32,
}

/// What the loader needs of a file.
#[derive(Clone, Debug)]
pub(crate) struct ObjectFile {
    pub(crate) machine: u32,
    /// What is loaded, from address zero on.
    pub(crate) image: Vec<u8>,
    pub(crate) kernels: Vec<FileKernel>,
    pub(crate) variables: Vec<FileVariable>,
}

impl ObjectFile {
    /// Read a file.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        let file = ElfFile64::<Endianness>::parse(bytes).map_err(|error| format!("it is no ELF file: {error}"))?;
        let header = file.elf_header();
        let endian = file.endian();
        if header.e_machine(endian) != elf::EM_AMDGPU {
            return Err(format!("it is for machine {}, not for AMD's devices", header.e_machine(endian).0));
        }
        let image = image(&file, bytes)?;
        let described = described(&file, bytes)?;
        let mut read = Self { machine: header.e_flags(endian).0 & MACHINE, image, kernels: vec![], variables: vec![] };
        for symbol in file.dynamic_symbols() {
            let name = symbol.name().map_err(|error| format!("a name: {error}"))?;
            let raw = symbol.elf_symbol();
            let (at, length) = (symbol.address(), symbol.size());
            let inside = at.checked_add(length).is_some_and(|end| end <= read.image.len() as u64);
            if raw.is_undefined(endian) || symbol.kind() != SymbolKind::Data {
                continue;
            }
            if !inside {
                return Err(format!("symbol `{name}` lies outside of what is loaded"));
            }
            match described.iter().find(|described| described.symbol == name) {
                Some(described) if length >= DESCRIPTOR_BYTES => read.kernels.push(kernel(&read.image, described, at)),
                Some(_) => return Err(format!("the descriptor `{name}` has {length} bytes")),
                None => {
                    let bytes = u32::try_from(length).map_err(|_| format!("`{name}` is too large"))?;
                    read.variables.push(FileVariable { name: name.to_owned(), at, bytes });
                }
            }
        }
        match described.iter().find(|one| !read.kernels.iter().any(|kernel| kernel.is(one))) {
            Some(missing) => Err(format!("the descriptor `{}` is missing", missing.symbol)),
            None => Ok(read),
        }
    }
}

impl FileKernel {
    fn is(&self, described: &Described) -> bool {
        described.symbol.strip_suffix(".kd") == Some(&self.name)
    }
}

/// A kernel with what its descriptor says: bytes of workgroup and private memory come first.
fn kernel(image: &[u8], described: &Described, at: u64) -> FileKernel {
    let word = |offset: u64| {
        let from = usize::try_from(at + offset).unwrap_or(usize::MAX);
        image.get(from..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u32::from_le_bytes(*bytes))
    };
    FileKernel {
        name: described.symbol.strip_suffix(".kd").unwrap_or(&described.symbol).to_owned(),
        descriptor: at,
        arguments: described.arguments.clone(),
        kernarg_bytes: described.kernarg_bytes,
        group_bytes: word(0),
        private_bytes: word(4),
    }
}

type Parsed<'a> = ElfFile64<'a, Endianness>;

fn segments<'a>(file: &Parsed<'a>) -> &'a [elf::ProgramHeader64<Endianness>] {
    file.elf_program_headers()
}

/// The segments, at their addresses.
fn image(file: &Parsed<'_>, bytes: &[u8]) -> Result<Vec<u8>, String> {
    let endian = file.endian();
    let loads = segments(file).iter().filter(|segment| segment.p_type(endian) == PT_LOAD);
    let end = |segment: &elf::ProgramHeader64<Endianness>| segment.p_vaddr(endian).checked_add(segment.p_memsz(endian));
    let ends: Option<Vec<u64>> = loads.clone().map(end).collect();
    let length = ends.and_then(|ends| ends.into_iter().max()).filter(|length| *length <= IMAGE_MAX);
    let length = length.ok_or("it has no segments that can be loaded")?;
    let mut image = vec![0; usize::try_from(length).map_err(|error| error.to_string())?];
    for segment in loads {
        let content = segment.data(endian, bytes).map_err(|()| "a segment lies outside of the file")?;
        let from = usize::try_from(segment.p_vaddr(endian)).map_err(|error| error.to_string())?;
        let place = image.get_mut(from..).and_then(|rest| rest.get_mut(..content.len()));
        place.ok_or("a segment is larger in the file than in memory")?.copy_from_slice(content);
    }
    Ok(image)
}

/// The kernels of the note.
fn described(file: &Parsed<'_>, bytes: &[u8]) -> Result<Vec<Described>, String> {
    let endian = file.endian();
    for segment in segments(file).iter().filter(|segment| segment.p_type(endian) == PT_NOTE) {
        let notes = segment.notes(endian, bytes).map_err(|error| format!("its notes: {error}"))?;
        let Some(mut notes) = notes else { continue };
        while let Some(note) = notes.next().map_err(|error| format!("a note: {error}"))? {
            if note.name() == b"AMDGPU" && note.n_type(endian).0 == NOTE_METADATA {
                return metadata::read(note.desc());
            }
        }
    }
    Err("it has no note of metadata".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_code_object_is_refused() {
        assert!(ObjectFile::read(b"").unwrap_err().contains("no ELF"));
        assert!(ObjectFile::read(&[0; 64]).unwrap_err().contains("no ELF"));
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(ObjectFile::read(&own).unwrap_err().contains("machine 62"));
    }
}
