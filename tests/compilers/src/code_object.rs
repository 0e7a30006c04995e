//! What AMD's compiler says of the kernels in a code object: which arguments each takes and where, its waves, and the memory
//! that it needs. It is the part of the file that the runtime reads before a launch.

use object::Endianness;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use rmpv::Value;

/// The kind of the note that has it.
const NT_AMDGPU_METADATA: u32 = 32;

/// One argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// What it is: `global_buffer`, `by_value`, or something hidden.
    pub kind: String,
    /// Its first byte.
    pub offset: u32,
    /// How many bytes it has.
    pub bytes: u32,
}

/// One kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeKernel {
    /// Its symbol.
    pub name: String,
    /// Its arguments, without those that the runtime adds.
    pub arguments: Vec<Argument>,
    /// Lanes of a wave.
    pub wave: u32,
    /// Bytes of workgroup memory that are declared.
    pub shared_bytes: u32,
    /// Vector registers that did not suffice.
    pub spills: u32,
}

/// The kernels of a code object.
///
/// # Errors
///
/// What is wrong with the file, in one line.
pub fn kernels(code: &[u8]) -> Result<Vec<CodeKernel>, String> {
    let broken = |what: &dyn std::fmt::Display| format!("no code object of AMD's: {what}");
    let header = FileHeader64::<Endianness>::parse(code).map_err(|error| broken(&error))?;
    let endian = header.endian().map_err(|error| broken(&error))?;
    for segment in header.program_headers(endian, code).map_err(|error| broken(&error))? {
        let Some(mut notes) = segment.notes(endian, code).map_err(|error| broken(&error))? else { continue };
        while let Some(note) = notes.next().map_err(|error| broken(&error))? {
            if note.name() == b"AMDGPU" && note.n_type(endian).0 == NT_AMDGPU_METADATA {
                let value = rmpv::decode::read_value(&mut note.desc()).map_err(|error| broken(&error))?;
                let kernels = of(&value, "amdhsa.kernels").and_then(Value::as_array);
                let kernels = kernels.ok_or_else(|| broken(&"it lists no kernels"))?;
                return kernels.iter().map(|one| kernel(one).ok_or_else(|| broken(&"a kernel is not whole"))).collect();
            }
        }
    }
    Err(broken(&"it has no metadata"))
}

fn of<'a>(map: &'a Value, key: &str) -> Option<&'a Value> {
    map.as_map()?.iter().find(|(name, _)| name.as_str() == Some(key)).map(|(_, value)| value)
}

fn number(map: &Value, key: &str) -> Option<u32> {
    u32::try_from(of(map, key)?.as_u64()?).ok()
}

fn kernel(value: &Value) -> Option<CodeKernel> {
    let argument = |value: &Value| {
        let kind = of(value, ".value_kind")?.as_str()?.to_owned();
        Some(Argument { kind, offset: number(value, ".offset")?, bytes: number(value, ".size")? })
    };
    // A kernel without arguments has no list of them.
    let arguments = of(value, ".args").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let arguments: Vec<Argument> = arguments.iter().map(argument).collect::<Option<_>>()?;
    Some(CodeKernel {
        name: of(value, ".name")?.as_str()?.to_owned(),
        arguments: arguments.into_iter().filter(|argument| !argument.kind.starts_with("hidden_")).collect(),
        wave: number(value, ".wavefront_size")?,
        shared_bytes: number(value, ".group_segment_fixed_size")?,
        spills: number(value, ".vgpr_spill_count").unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_code_object_is_told() {
        for bytes in [&b""[..], b"\x7fELF", b"not an ELF file at all, but long enough to have had a header of one"] {
            let error = kernels(bytes).expect_err("it is none");
            assert!(error.starts_with("no code object") && !error.contains('\n'), "{error}");
        }
    }
}
