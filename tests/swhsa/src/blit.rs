//! The runtime's own kernels, which copy and fill. They come as code objects like all others; what each does is known by its
//! name, the names of its arguments, and what those hold for copies and fills that a test asked for.

use crate::code::{Argument, Kernel};
use crate::dispatch::Failure;
use crate::memory;

/// How the names of these kernels begin.
pub(crate) const PREFIX: &str = "__amd_rocclr_";

/// Arguments by name.
struct Arguments<'a> {
    all: &'a [Argument],
    bytes: &'a [u8],
}

impl Arguments<'_> {
    fn value(&self, name: &str) -> Result<&[u8], String> {
        let argument = self.all.iter().find(|argument| argument.name == name);
        let argument = argument.ok_or_else(|| format!("it has no argument `{name}`"))?;
        let from = argument.offset as usize;
        let value = self.bytes.get(from..from + argument.bytes as usize);
        value.ok_or_else(|| format!("its argument `{name}` lies beyond its segment"))
    }

    /// The words of a value, as wide as 64 bits; a shorter value is one.
    fn words(&self, name: &str) -> Result<Vec<usize>, String> {
        let word = |part: &[u8]| part.iter().rev().fold(0usize, |word, byte| word << 8 | usize::from(*byte));
        Ok(self.value(name)?.chunks(8).map(word).collect())
    }

    fn number(&self, name: &str) -> Result<usize, String> {
        self.words(name)?.first().copied().ok_or_else(|| format!("its argument `{name}` is empty"))
    }

    /// All of them, for a message.
    fn shown(&self) -> String {
        let shown = self.all.iter().filter(|argument| !argument.hidden()).map(|argument| {
            let value = self.value(&argument.name).unwrap_or_default();
            let hex: String = value.iter().rev().map(|byte| format!("{byte:02x}")).collect();
            format!("{}={hex}", argument.name)
        });
        shown.collect::<Vec<_>>().join(", ")
    }
}

/// Run one of them.
pub(crate) fn run(kernel: &Kernel, bytes: &[u8]) -> Result<(), Failure> {
    let arguments = Arguments { all: &kernel.arguments, bytes };
    let done = match kernel.name.strip_prefix(PREFIX).unwrap_or_default() {
        "copyBuffer" => copy(&arguments),
        "fillBufferAligned" => fill(&arguments),
        "fillBufferAligned2D" => fill_rows(&arguments),
        "copyBufferRect" => copy_rows(&arguments, 1),
        "copyBufferRectAligned" => arguments.words("size").and_then(|size| copy_rows(&arguments, size[3])),
        _ => Err("what it does is not known".to_owned()),
    };
    done.map_err(|why| Failure::memory(format!("`{}` ({}): {why}", kernel.name, arguments.shown())))
}

/// `size` bytes from `src` to `dst`.
fn copy(arguments: &Arguments<'_>) -> Result<(), String> {
    memory::copy(arguments.number("dst")?, arguments.number("src")?, arguments.number("size")?)
}

/// From `buf` to `end_ptr`, elements of `pattern_size` times `alignment` bytes, which lie at `pattern`.
fn fill(arguments: &Arguments<'_>) -> Result<(), String> {
    let (from, to) = (arguments.number("buf")?, arguments.number("end_ptr")?);
    let element = arguments.number("pattern_size")? * arguments.number("alignment")?;
    let bytes = to.checked_sub(from).ok_or("its range is empty")?;
    repeat(from, bytes, &memory::read(arguments.number("pattern")?, element)?)
}

fn repeat(from: usize, bytes: usize, element: &[u8]) -> Result<(), String> {
    if element.is_empty() || !bytes.is_multiple_of(element.len()) {
        return Err(format!("{bytes} bytes are no whole number of elements of {} bytes", element.len()));
    }
    memory::write(from, &element.repeat(bytes / element.len()))
}

/// `height` rows of `width` bytes.
fn fill_rows(arguments: &Arguments<'_>) -> Result<(), String> {
    let [offset, width, height, pitch] = ["offset", "width", "height", "pitch"].map(|name| arguments.number(name));
    let base = arguments.number("bufUChar")?;
    if base == 0 {
        return Err("only elements of one byte are known".into());
    }
    let element = memory::read(arguments.number("pattern")?, arguments.number("patternSize")?)?;
    let (offset, width, pitch) = (offset?, width?, pitch?);
    (0..height?).try_for_each(|row| repeat(base + offset + row * pitch, width, &element))
}

/// A box of `size` units, from one with its pitches and beginning to another.
fn copy_rows(arguments: &Arguments<'_>, unit: usize) -> Result<(), String> {
    let (size, to, from) = (arguments.words("size")?, arguments.words("dstRect")?, arguments.words("srcRect")?);
    let (&[width, height, depth, ..], &[to_pitch, to_slice, to_start, ..], &[from_pitch, from_slice, from_start, ..]) =
        (&*size, &*to, &*from)
    else {
        return Err("its boxes are not of four words".into());
    };
    let (to_base, from_base) = (arguments.number("dst")?, arguments.number("src")?);
    for (z, y) in (0..depth).flat_map(|z| (0..height).map(move |y| (z, y))) {
        let to = to_base + unit * (to_start + y * to_pitch + z * to_slice);
        let from = from_base + unit * (from_start + y * from_pitch + z * from_slice);
        memory::copy(to, from, unit * width)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &str, arguments: &[(&str, u32)]) -> Kernel {
        let mut offset = 0;
        let arguments = arguments.iter().map(|(name, bytes)| {
            let argument = Argument { name: (*name).to_owned(), kind: "by_value".into(), offset, bytes: *bytes };
            offset += bytes;
            argument
        });
        Kernel {
            name: format!("{PREFIX}{name}"),
            digest: 0,
            arguments: arguments.collect(),
            kernarg_bytes: 0,
            group_bytes: 0,
            private_bytes: 0,
            object: 0,
        }
    }

    #[test]
    fn a_fill_repeats_its_pattern_and_an_unknown_kernel_fails() {
        let device = memory::device_allocate(4096, 0).unwrap();
        let pattern = memory::host_allocate(4096, 0).unwrap();
        memory::write(pattern, &[1, 2, 3, 4]).unwrap();
        let names = [("buf", 8), ("pattern", 8), ("pattern_size", 4), ("alignment", 4), ("end_ptr", 8)];
        let mut bytes = Vec::new();
        bytes.extend((device as u64).to_le_bytes());
        bytes.extend((pattern as u64).to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
        bytes.extend(4u32.to_le_bytes());
        bytes.extend((device as u64 + 8).to_le_bytes());
        run(&kernel("fillBufferAligned", &names), &bytes).unwrap();
        assert_eq!(memory::read(device, 10).unwrap(), [1, 2, 3, 4, 1, 2, 3, 4, 0xC5, 0xC5]);
        let failure = run(&kernel("copyImage", &[]), &[]).unwrap_err();
        assert!(failure.text.contains("copyImage") && failure.text.contains("not known"));
        memory::free(device);
        memory::free(pattern);
    }
}
