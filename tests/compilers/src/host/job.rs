//! One launch: what goes in, and its form in the file that the child reads.

use graphreel::kernel::AbiParam;

use super::Kernel;

/// One launch of a kernel of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// Which kernel of the program.
    pub kernel: usize,
    /// Workgroups that are launched, in x, y and z.
    pub groups: [u32; 3],
    /// The immediate struct, as [`PackedScalars`](graphreel::kernel::PackedScalars) lays it out.
    pub scalars: Vec<u8>,
    /// What is bound, in the order of the reflection's bindings. Each is allocated at exactly this size.
    pub buffers: Vec<Vec<u8>>,
    /// The workgroup counts in memory, for the indirect variant.
    pub counts: [u32; 3],
}

impl Job {
    /// Append the job to the words of a file, as `main.cpp` describes them.
    pub(super) fn write(&self, kernel: &Kernel, file: &mut Vec<u8>) {
        let bindings = kernel.reflection.bindings.len();
        assert_eq!(self.buffers.len(), bindings, "{} takes {bindings} buffers", kernel.name);
        word(file, self.kernel);
        self.groups.iter().for_each(|count| word(file, *count as usize));
        word(file, self.buffers.len() + 1);
        let counts: Vec<u8> = self.counts.iter().flat_map(|count| count.to_le_bytes()).collect();
        for buffer in self.buffers.iter().chain([&counts]) {
            word(file, buffer.len());
            block(file, buffer);
        }
        word(file, kernel.params.len());
        for param in &kernel.params {
            match *param {
                AbiParam::Scalars(bytes) => {
                    let mut value = self.scalars.clone();
                    value.resize(bytes as usize, 0);
                    inline(file, &value);
                }
                AbiParam::Address(binding) => address(file, binding as usize),
                AbiParam::Elements(binding) => {
                    let bytes = self.buffers[binding as usize].len() as u64;
                    let elements = kernel.reflection.bindings[binding as usize].elements(bytes);
                    inline(file, &u32::try_from(elements).expect("a test's array is small").to_le_bytes());
                }
                AbiParam::Counts => address(file, self.buffers.len()),
            }
        }
    }

    /// The buffers after the run, from the bytes that the child left.
    pub(super) fn split(&self, mut bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
        let mut split = Vec::with_capacity(self.buffers.len());
        for buffer in &self.buffers {
            let (own, rest) = bytes.split_at_checked(buffer.len())?;
            split.push(own.to_vec());
            bytes = rest;
        }
        // The counts come last, and are no buffer of the caller's.
        (bytes.len() == size_of_val(&self.counts)).then_some(split)
    }
}

pub(super) fn word(file: &mut Vec<u8>, value: usize) {
    file.extend_from_slice(&(value as u64).to_le_bytes());
}

fn block(file: &mut Vec<u8>, bytes: &[u8]) {
    file.extend_from_slice(bytes);
    file.resize(file.len().next_multiple_of(8), 0);
}

fn inline(file: &mut Vec<u8>, value: &[u8]) {
    word(file, 0);
    word(file, value.len());
    block(file, value);
}

fn address(file: &mut Vec<u8>, buffer: usize) {
    word(file, 1);
    word(file, buffer);
}
