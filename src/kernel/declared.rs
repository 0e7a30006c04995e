//! Declaring a kernel in a vendor's own language: what its function takes, in the order of the calling convention, and the
//! word of its author that this is so.

use super::native::Vouched;
use super::{
    BindingInfo, BindingSpace, KernelSource, MemberInfo, NativeCode, NativeLanguage, Reflection, SCALAR_BYTES_MAX,
    ValueType,
};
use crate::error::{InvalidKernel, KernelProblem};
use crate::memory::Access;
use crate::sync::Arc;

/// The most that a buffer's declared alignment can be: what every allocation has.
const ALIGNMENT_MAX: u32 = 256;

/// The longest symbol.
const SYMBOL_BYTES_MAX: usize = 1024;

/// One buffer parameter of a native kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeBuffer {
    name: String,
    access: Access,
    stride: Option<u32>,
    min_bytes: u64,
    align: u32,
}

impl NativeBuffer {
    /// An array of elements of `stride` bytes: its address, followed by the number of elements that are bound, a `u32`. One
    /// element must be bound at least.
    pub fn array(name: impl Into<String>, access: Access, stride: u32) -> Self {
        Self { name: name.into(), access, stride: Some(stride), min_bytes: stride.into(), align: 1 }
    }

    /// At least `bytes` bytes: their address alone.
    pub fn block(name: impl Into<String>, access: Access, bytes: u64) -> Self {
        Self { name: name.into(), access, stride: None, min_bytes: bytes, align: 1 }
    }

    /// Bytes that must be bound at least.
    #[must_use]
    pub fn min_bytes(mut self, bytes: u64) -> Self {
        self.min_bytes = bytes;
        self
    }

    /// Alignment of the address in bytes: a power of two, at most 256. It is 16 where this asks for less.
    #[must_use]
    pub fn align(mut self, bytes: u32) -> Self {
        self.align = bytes;
        self
    }

    fn binding(&self, index: u32) -> BindingInfo {
        BindingInfo {
            group: 0,
            binding: index,
            name: self.name.clone(),
            space: BindingSpace::Storage,
            declared_write: self.access.writes(),
            access: Some(self.access),
            min_bytes: self.min_bytes,
            runtime_stride: self.stride,
            runtime_offset: 0,
            align: self.align,
        }
    }

    fn check(&self) -> Result<(), String> {
        let Self { name, stride, min_bytes, align, .. } = self;
        if *stride == Some(0) || *min_bytes == 0 {
            return Err(format!("buffer `{name}` has an element or a least size of 0 bytes; give at least 1"));
        }
        if stride.is_some_and(|stride| *min_bytes < stride.into()) {
            return Err(format!("buffer `{name}` may be bound with less than one element; raise `min_bytes`"));
        }
        if !align.is_power_of_two() || *align > ALIGNMENT_MAX {
            return Err(format!(
                "buffer `{name}` is aligned to {align} bytes; give a power of two up to {ALIGNMENT_MAX}"
            ));
        }
        Ok(())
    }
}

/// A scalar parameter: a member of the struct that is passed first.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NativeScalar {
    name: String,
    ty: ValueType,
    offset: Option<u32>,
}

/// A kernel in a vendor's own language with its declared signature; becomes a [`KernelSource`] by [`NativeKernel::vouch`].
///
/// The function is a `extern "C"` kernel that takes, in this order: one struct of all scalars by value, if there are any (a single
/// scalar may be taken as itself); for each buffer its address, followed by its number of elements (`u32`) if it is a
/// [`NativeBuffer::array`]; and in the indirect variant the address of three `u32`.
///
/// ```
/// use graphreel::Access;
/// use graphreel::kernel::{NativeBuffer, NativeKernel, NativeLanguage, ScalarType};
///
/// const SAXPY: &str = r#"
/// extern "C" __global__ void saxpy(float a, const float* x, unsigned x_len, float* y, unsigned y_len) {
///     unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
///     if (i < x_len && i < y_len) { y[i] = a * x[i] + y[i]; }
/// }"#;
///
/// let saxpy = NativeKernel::new(NativeLanguage::CudaCpp, SAXPY, "saxpy", [256, 1, 1])
///     .scalar("a", ScalarType::F32)
///     .buffer(NativeBuffer::array("x", Access::Read, 4))
///     .buffer(NativeBuffer::array("y", Access::ReadWrite, 4));
/// // SAFETY: `saxpy` takes just these parameters, stays below the lengths it is given, reads `x` and `y`, writes `y` and ends.
/// let source = unsafe { saxpy.vouch() }?;
/// assert_eq!(source.native().map(|native| native.language()), Some(NativeLanguage::CudaCpp));
/// // let kernel = device.kernel(source)?;
/// // device.launch(&kernel, Grid::cover(n), (0.5f32, &x, &y))?;
/// # Ok::<(), graphreel::error::InvalidKernel>(())
/// ```
///
/// Two scalars and more are one struct, `struct Params { float a; unsigned n; };`, and the kernel's first parameter is a `Params`.
#[derive(Clone, Debug)]
#[must_use = "a declaration is no kernel until it is vouched for"]
pub struct NativeKernel {
    language: NativeLanguage,
    code: Hidden,
    options: Vec<String>,
    entry: Arc<str>,
    indirect: Option<Arc<str>>,
    workgroup_size: [u32; 3],
    scalars: Vec<NativeScalar>,
    scalar_bytes: Option<u32>,
    buffers: Vec<NativeBuffer>,
    shared_bytes: u32,
    needs: Vec<String>,
}

/// Code, which `Debug` counts and does not print.
#[derive(Clone)]
struct Hidden(Arc<[u8]>);

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl NativeKernel {
    /// A kernel of `code` by the symbol `entry`, launched in workgroups of `workgroup_size` (x, y, z), that takes nothing yet.
    pub fn new(
        language: NativeLanguage,
        code: impl AsRef<[u8]>,
        entry: impl Into<Arc<str>>,
        workgroup_size: [u32; 3],
    ) -> Self {
        Self {
            language,
            code: Hidden(code.as_ref().into()),
            options: Vec::new(),
            entry: entry.into(),
            indirect: None,
            workgroup_size,
            scalars: Vec::new(),
            scalar_bytes: None,
            buffers: Vec::new(),
            shared_bytes: 0,
            needs: Vec::new(),
        }
    }

    /// The next scalar, laid out as a C member: at the next multiple of its component's size. A vector is an array of its
    /// components: three `f32` are `float v[3]`.
    pub fn scalar(mut self, name: impl Into<String>, ty: impl Into<ValueType>) -> Self {
        self.scalars.push(NativeScalar { name: name.into(), ty: ty.into(), offset: None });
        self
    }

    /// The next scalar at byte `offset` of the struct, where its type or its place is another than [`NativeKernel::scalar`]
    /// gives: a `float4` behind a `float` is four `f32` at 16.
    pub fn scalar_at(mut self, name: impl Into<String>, ty: impl Into<ValueType>, offset: u32) -> Self {
        self.scalars.push(NativeScalar { name: name.into(), ty: ty.into(), offset: Some(offset) });
        self
    }

    /// The size of the struct of scalars in bytes, where it ends with more padding than its members need.
    pub fn scalar_bytes(mut self, bytes: u32) -> Self {
        self.scalar_bytes = Some(bytes);
        self
    }

    /// The next buffer.
    pub fn buffer(mut self, buffer: NativeBuffer) -> Self {
        self.buffers.push(buffer);
        self
    }

    /// Bytes of dynamic workgroup memory that each launch asks for. What the code declares itself is not counted here.
    pub fn shared_bytes(mut self, bytes: u32) -> Self {
        self.shared_bytes = bytes;
        self
    }

    /// The symbol of a variant for indirect launches, which takes the address of three `u32`, the workgroup counts, as its last
    /// parameter. It is launched over the largest grid: workgroups beyond the counts return first, and none does anything
    /// where a count is above the launched grid. Without one, indirect launches are refused.
    pub fn indirect(mut self, symbol: impl Into<Arc<str>>) -> Self {
        self.indirect = Some(symbol.into());
        self
    }

    /// Something the device must have, by the names of [`Reflection::needs`]; a device without it refuses the kernel.
    pub fn need(mut self, feature: impl Into<String>) -> Self {
        self.needs.push(feature.into());
        self
    }

    /// An option for the vendor's compiler of C++, such as `-DTILE=16` or `--include-path=..`.
    pub fn option(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }

    /// The declared signature as the reflection of a kernel.
    ///
    /// # Errors
    ///
    /// [`KernelProblem::Signature`] for what cannot be: a symbol that is no identifier, names that are missing or given twice, a
    /// workgroup of nothing, scalars that overlap or are more than 128 bytes, a buffer without bytes.
    pub fn reflection(&self) -> Result<Reflection, InvalidKernel> {
        self.checked().map_err(|why| self.invalid(why))
    }

    /// Make it a kernel's source. Compilers find mistakes in the code, and devices refuse what they cannot run; nothing else
    /// reads it.
    ///
    /// # Errors
    ///
    /// As [`NativeKernel::reflection`]; and for code that is empty or not of its language, or options without a compiler.
    ///
    /// # Safety
    ///
    /// The caller vouches for the code, under whatever options it is compiled with, and for each launch that passes the checks
    /// of its arguments:
    ///
    /// - The entry, and the indirect variant if there is one, take exactly the declared parameters, with these sizes and
    ///   alignments, in the order above, and are launched in workgroups of the declared size with the declared dynamic memory.
    /// - Each invocation reads and writes device memory only within the bound ranges of its buffers, whatever their lengths
    ///   (the declared minimum at least), contents, scalars and grid; a length is that of the bound range.
    /// - A buffer that is declared [`Access::Read`] is not written. One that is declared [`Access::Write`] is not read, and is
    ///   written whole; declare [`Access::ReadWrite`] for what is written in part.
    /// - Buffers may be bound to the same memory where none of them is written.
    /// - It keeps no address beyond its end, and uses no memory, stream or state of the device that others use: no globals that
    ///   outlive a launch, no device-side launches, no host callbacks.
    /// - It comes to an end, and its workgroups do not wait for one another.
    /// - Compiled code is complete, and was made by the vendor's compiler for the devices that it is given to.
    #[expect(unsafe_code, reason = "nothing checks native code, so its caller vouches for it")]
    pub unsafe fn vouch(self) -> Result<KernelSource, InvalidKernel> {
        let reflection = self.reflection()?;
        self.check_code().map_err(|why| self.invalid(why))?;
        let Self { language, code, options, indirect, .. } = self;
        Ok(NativeCode::new(Vouched { language, code: code.0, options, reflection, indirect }).into())
    }

    fn invalid(&self, why: String) -> InvalidKernel {
        let kernel = (!self.entry.is_empty()).then(|| self.entry.to_string());
        InvalidKernel { kernel, problem: KernelProblem::Signature(why) }
    }

    fn checked(&self) -> Result<Reflection, String> {
        check_symbol(&self.entry)?;
        if let Some(indirect) = &self.indirect {
            check_symbol(indirect)?;
            if *indirect == self.entry {
                return Err("its indirect variant takes one parameter more, so it needs a symbol of its own".to_owned());
            }
        }
        if self.workgroup_size.contains(&0) {
            return Err(format!("its workgroup size is {:?}; give at least 1 in each dimension", self.workgroup_size));
        }
        self.check_names()?;
        self.buffers.iter().try_for_each(NativeBuffer::check)?;
        let (immediates, immediate_bytes) = self.layout()?;
        Ok(Reflection {
            entry: self.entry.clone(),
            bindings: (0..).zip(&self.buffers).map(|(index, buffer)| buffer.binding(index)).collect(),
            immediates,
            immediate_bytes,
            workgroup_size: self.workgroup_size,
            workgroup_bytes: self.shared_bytes,
            uses_num_workgroups: false,
            needs: self.needs.clone(),
        })
    }

    /// Messages name parameters, so each has a name of its own.
    fn check_names(&self) -> Result<(), String> {
        let scalars = self.scalars.iter().map(|scalar| &scalar.name);
        let mut names: Vec<&String> = scalars.chain(self.buffers.iter().map(|buffer| &buffer.name)).collect();
        names.sort_unstable();
        if names.first().is_some_and(|name| name.is_empty()) {
            return Err("a parameter has no name; give each one a name".to_owned());
        }
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("two parameters are named `{}`; give each one its own", pair[0])),
            None => Ok(()),
        }
    }

    /// The struct of scalars, and its size.
    fn layout(&self) -> Result<(Vec<MemberInfo>, u32), String> {
        let (mut members, mut end, mut align) = (Vec::with_capacity(self.scalars.len()), 0u32, 1u32);
        for NativeScalar { name, ty, offset } in &self.scalars {
            if !(1..=4).contains(&ty.lanes) {
                return Err(format!("scalar `{name}` has {} components; give 1 to 4", ty.lanes));
            }
            let size = ty.scalar.bytes() as u32;
            let start = offset.unwrap_or_else(|| end.next_multiple_of(size));
            if start < end || start % size != 0 {
                return Err(format!(
                    "scalar `{name}` lies at byte {start}; it must begin at {end} or later, at a multiple of {size}"
                ));
            }
            if start as usize + ty.bytes() > SCALAR_BYTES_MAX {
                return Err(format!(
                    "scalar `{name}` ends beyond byte {SCALAR_BYTES_MAX}, and no more can be passed; put the rest in a buffer"
                ));
            }
            (end, align) = (start + ty.bytes() as u32, align.max(size));
            members.push(MemberInfo { name: name.clone(), ty: *ty, offset: start });
        }
        let least = end.next_multiple_of(align);
        let bytes = self.scalar_bytes.unwrap_or(least);
        if bytes < least || bytes as usize > SCALAR_BYTES_MAX || (members.is_empty() && bytes > 0) {
            return Err(format!(
                "its scalars are declared as {bytes} bytes and fill {least}; at most {SCALAR_BYTES_MAX} can be passed"
            ));
        }
        Ok((members, bytes))
    }

    fn check_code(&self) -> Result<(), String> {
        let (language, code) = (self.language, &*self.code.0);
        if code.is_empty() {
            return Err(format!("its code is empty; give the {language}"));
        }
        if language.is_text() && (code.contains(&0) || std::str::from_utf8(code).is_err()) {
            return Err(format!("its code is no text in UTF-8 without zero bytes; {language} is"));
        }
        if !language.is_text() && !language.beginnings().iter().any(|beginning| code.starts_with(beginning)) {
            return Err(format!("its code does not begin as {language} does; give the compiler's output as it is"));
        }
        if !language.is_cpp() && !self.options.is_empty() {
            return Err(format!("options are for compilers of C++, and it is {language}; leave them out"));
        }
        Ok(())
    }
}

/// An identifier of C or of PTX, which also has dollar signs.
fn check_symbol(symbol: &str) -> Result<(), String> {
    let begins = symbol.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '$');
    let goes_on = symbol.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$');
    if begins && goes_on && symbol.len() <= SYMBOL_BYTES_MAX {
        return Ok(());
    }
    let shown: String = symbol.chars().take(60).collect();
    Err(format!("`{}` is no symbol; give the name of an `extern \"C\"` function", shown.escape_debug()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{AbiParam, ScalarType, Variant, abi, inspect, reflect};

    fn vec(lanes: u8, scalar: ScalarType) -> ValueType {
        ValueType { scalar, lanes }
    }

    fn declared() -> NativeKernel {
        NativeKernel::new(NativeLanguage::CudaCpp, "code", "saxpy", [64, 2, 1])
            .scalar("a", ScalarType::F32)
            .buffer(NativeBuffer::array("x", Access::Read, 4))
            .buffer(NativeBuffer::block("y", Access::ReadWrite, 64).align(128))
    }

    #[expect(unsafe_code, reason = "the code of these tests is never run")]
    fn vouched(kernel: NativeKernel) -> Result<KernelSource, InvalidKernel> {
        // SAFETY: nothing runs it.
        unsafe { kernel.vouch() }
    }

    fn refusal(kernel: NativeKernel) -> String {
        let error = vouched(kernel).expect_err("must be refused");
        assert!(matches!(error.problem, KernelProblem::Signature(_)), "{error:?}");
        error.to_string()
    }

    #[test]
    fn the_declared_signature_is_the_reflection() {
        let source = vouched(declared().shared_bytes(512).need("f16").indirect("saxpy_n")).expect("valid");
        let native = source.native().expect("native");
        let reflection = native.reflection();
        assert_eq!((&*reflection.entry, source.entry.as_deref()), ("saxpy", Some("saxpy")));
        assert_eq!((reflection.workgroup_size, reflection.workgroup_bytes), ([64, 2, 1], 512));
        assert_eq!(reflection.needs, ["f16"]);
        let direct = [AbiParam::Scalars(4), AbiParam::Address(0), AbiParam::Elements(0), AbiParam::Address(1)];
        assert_eq!(abi(reflection, Variant::Direct), direct);
        let [x, y] = &reflection.bindings[..] else { panic!("{reflection:?}") };
        assert_eq!(
            (x.min_bytes, x.runtime_stride, x.access, x.declared_write),
            (4, Some(4), Some(Access::Read), false)
        );
        assert_eq!((y.min_bytes, y.runtime_stride, y.align, y.declared_write), (64, None, 128, true));
        assert_eq!([Variant::Direct, Variant::Indirect].map(|of| native.symbol(of)), [Some("saxpy"), Some("saxpy_n")]);
        assert!(native.check_variant(Variant::Indirect).is_ok());
        let without = vouched(declared()).expect("valid");
        let error = without.native().expect("native").check_variant(Variant::Indirect).expect_err("has none");
        assert!(
            error.to_string().contains("kernel `saxpy`") && error.to_string().contains("`.indirect(..)`"),
            "{error}"
        );
    }

    #[test]
    fn scalars_are_laid_out_as_a_c_struct() {
        let kernel = NativeKernel::new(NativeLanguage::Ptx, "code", "k", [1; 3])
            .scalar("half", ScalarType::F16)
            .scalar("wide", ScalarType::U64)
            .scalar("dir", vec(3, ScalarType::F32))
            .scalar_at("float4", vec(4, ScalarType::F32), 32);
        let offsets = |kernel: &NativeKernel| {
            let reflection = kernel.reflection().expect("valid");
            let offsets: Vec<u32> = reflection.immediates.iter().map(|member| member.offset).collect();
            (offsets, reflection.immediate_bytes)
        };
        assert_eq!(offsets(&kernel), (vec![0, 8, 16, 32], 48));
        assert_eq!(offsets(&kernel.clone().scalar("tail", ScalarType::U32)), (vec![0, 8, 16, 32, 48], 56));
        assert_eq!(offsets(&kernel.scalar_bytes(64)).1, 64);
    }

    #[test]
    fn what_no_kernel_can_be_is_refused_with_the_remedy() {
        let named = |symbol: &str| NativeKernel::new(NativeLanguage::CudaCpp, "code", symbol, [1; 3]);
        for symbol in ["", "9lives", "a b", "naïve", "nul\0", &"x".repeat(2000)] {
            assert!(refusal(named(symbol)).contains("is no symbol"), "{symbol}");
        }
        assert!(vouched(named("_Z5saxpyf$1")).is_ok());
        assert!(refusal(declared().indirect("saxpy")).contains("symbol of its own"));
        assert!(refusal(NativeKernel::new(NativeLanguage::Ptx, "code", "k", [8, 0, 1])).contains("[8, 0, 1]"));
        assert!(refusal(declared().scalar("x", ScalarType::U32)).contains("two parameters are named `x`"));
        assert!(refusal(declared().scalar("", ScalarType::U32)).contains("no name"));
        assert!(refusal(declared().scalar_at("b", ScalarType::U32, 2)).contains("must begin at 4"));
        assert!(refusal(declared().scalar_at("b", ScalarType::U64, u32::MAX - 7)).contains("beyond byte 128"));
        assert!(refusal(declared().scalar("b", vec(5, ScalarType::U32))).contains("1 to 4"));
        assert!(refusal(declared().scalar_bytes(2)).contains("2 bytes and fill 4"));
        assert!(refusal(declared().scalar_bytes(132)).contains("at most 128"));
        assert!(refusal(named("k").scalar_bytes(4)).contains("fill 0"));
        let buffer = |buffer| refusal(declared().buffer(buffer));
        assert!(buffer(NativeBuffer::array("z", Access::Read, 0)).contains("0 bytes"));
        assert!(buffer(NativeBuffer::block("z", Access::Read, 0)).contains("0 bytes"));
        assert!(buffer(NativeBuffer::array("z", Access::Read, 8).min_bytes(4)).contains("less than one element"));
        for align in [0, 3, 512] {
            assert!(buffer(NativeBuffer::array("z", Access::Read, 4).align(align)).contains("power of two"));
        }
    }

    #[test]
    fn code_that_is_not_of_its_language_is_refused() {
        let of = |language, code: &[u8]| NativeKernel::new(language, code, "k", [1; 3]);
        assert!(refusal(of(NativeLanguage::Ptx, b"")).contains("give the PTX"));
        assert!(refusal(of(NativeLanguage::Ptx, b".version\0")).contains("zero bytes"));
        assert!(refusal(of(NativeLanguage::CudaCpp, b"\xff")).contains("UTF-8"));
        assert!(refusal(of(NativeLanguage::Cubin, b"text")).contains("does not begin as compiled code of CUDA"));
        assert!(refusal(of(NativeLanguage::SpirV, b"\x7fELF")).contains("SPIR-V"));
        assert!(refusal(of(NativeLanguage::Cubin, b"\x7fELF..").option("-O3")).contains("leave them out"));
        assert!(vouched(of(NativeLanguage::Cubin, b"\x7fELF..")).is_ok());
        assert!(vouched(of(NativeLanguage::HipCpp, b"code").option("-DN=1")).is_ok());
    }

    #[test]
    fn what_reads_wgsl_refuses_native_code_by_name() {
        let source = vouched(declared()).expect("valid");
        let error = reflect(&source).expect_err("it is no WGSL");
        assert!(matches!(error.problem, KernelProblem::Unsupported(_)), "{error:?}");
        let text = error.to_string();
        for part in ["kernel `saxpy`", "CUDA C++", "open a CUDA device"] {
            assert!(text.contains(part), "{text}");
        }
        assert!(inspect(&source.wgsl).expect("an empty text is valid").is_empty());
    }

    #[test]
    fn code_is_neither_printed_nor_read_back() {
        let source = vouched(NativeKernel::new(NativeLanguage::Ptx, "secret", "k", [1; 3])).expect("valid");
        let shown = format!("{source:?} {:?}", declared());
        assert!(shown.contains("Ptx") && shown.contains("code_bytes: 6") && !shown.contains("secret"), "{shown}");
        let json = serde_json::to_string(&source).expect("plain fields");
        assert!(json.contains(r#""language":"ptx","code":"secret""#), "{json}");
        let error = serde_json::from_str::<KernelSource>(&json).expect_err("nobody vouches for it");
        assert!(error.to_string().contains("vouch for it"), "{error}");
    }
}
