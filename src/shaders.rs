//! The kernels that come with Graphreel, as WGSL text. The one place that includes `shaders/`; its README says how to launch each.

use crate::kernel::{KernelSource, Wgsl};

/// One file of `shaders/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shader {
    /// The file's name, without `.wgsl`.
    pub name: &'static str,
    /// The text.
    pub source: &'static str,
    /// Its compute entry points, in the order of the text.
    pub entries: &'static [&'static str],
}

impl Shader {
    /// The shader with one of its entry points chosen; a shader that has only one needs no choice.
    pub fn entry(&self, entry: &str) -> Wgsl {
        Wgsl::new(self.source).entry(entry)
    }
}

impl From<Shader> for KernelSource {
    fn from(shader: Shader) -> Self {
        shader.source.into()
    }
}

impl From<Shader> for Wgsl {
    fn from(shader: Shader) -> Self {
        Self::new(shader.source)
    }
}

macro_rules! shaders {
    ($($(#[$doc:meta])* $constant:ident = $file:literal: $($entry:literal),+;)*) => {
        $(
            $(#[$doc])*
            pub const $constant: Shader = Shader {
                name: $file,
                source: include_str!(concat!("../shaders/", $file, ".wgsl")),
                entries: &[$($entry),+],
            };
        )*

        /// Every shader, by name.
        pub const ALL: &[Shader] = &[$($constant),*];
    };
}

shaders! {
    /// `output = a + b`.
    ADD = "add": "add";
    /// The column of the greatest element of each row.
    ARGMAX = "argmax": "argmax";
    /// `y = x w + b`, rectified where asked.
    DENSE = "dense": "dense";
    /// Every element one value.
    FILL = "fill": "fill";
    /// The Gaussian error linear unit.
    GELU = "gelu": "gelu";
    /// How often each value occurs.
    HISTOGRAM = "histogram": "histogram";
    /// One more in every element.
    INCREMENT = "increment": "increment";
    /// Layer normalisation of rows.
    LAYER_NORM = "layer_norm": "layer_norm";
    /// The product of two matrices.
    MATMUL = "matmul": "matmul";
    /// `output = a * b`.
    MUL = "mul": "mul";
    /// The inclusive prefix sum, in three launches.
    PREFIX_SUM = "prefix_sum": "scan_blocks", "scan_sums", "add_sums";
    /// Partial sums, then their sum.
    REDUCE_SUM = "reduce_sum": "reduce_sum";
    /// `y = a x + y`.
    SAXPY = "saxpy": "saxpy";
    /// Softmax of rows.
    SOFTMAX = "softmax": "softmax";
    /// A busy device for a given number of steps.
    SPIN = "spin": "spin";
    /// The transpose of a matrix.
    TRANSPOSE = "transpose": "transpose";
}

/// The shader of a name.
pub fn find(name: &str) -> Option<Shader> {
    ALL.iter().find(|shader| shader.name == name).copied()
}
