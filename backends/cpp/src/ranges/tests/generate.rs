//! Random kernels of integers: nested control flow, variables, calls, and indexes that are sometimes out of range. Each access
//! has a line of its own; each division and shift first notes in `bad` whether its right operand is one that WGSL has to mend.

use std::fmt::Write;

use fastrand::Rng;

/// Elements of `bad`.
pub(super) const BAD: usize = 96;

/// A kernel, and which element of `bad` tells of which line.
pub(super) struct Generated {
    pub(super) wgsl: String,
    pub(super) noted: Vec<(u32, usize)>,
}

const HEAD: &str = "struct Params { n: u32, m: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> data: array<u32>;
@group(0) @binding(1) var<storage, read_write> bad: array<atomic<u32>, 96>;
var<workgroup> w32: array<u32, 32>;
var<private> p8: array<u32, 8>;
";

const ENTRY: &str = "@compute @workgroup_size(4, 2) fn main(@builtin(local_invocation_index) lane: u32,
@builtin(local_invocation_id) local: vec3<u32>, @builtin(global_invocation_id) id: vec3<u32>,
@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
";

const LOCALS: &str = "var l4: array<u32, 4>; var l16: array<u32, 16>; var v: vec4<u32>;
var x = 0u; var y = 3u; var z = data[1]; var s = bitcast<i32>(data[2]); var r = 1; var c = false; var fuel = 300u;
";

struct Generator {
    rng: Rng,
    text: String,
    noted: Vec<(u32, usize)>,
    /// Names of u32 that can be read, and how many of them there are outside of each open block.
    names: Vec<String>,
    blocks: Vec<usize>,
    count: usize,
    /// Loops that are open.
    loops: usize,
    /// Whether this is the function that the entry point calls.
    helper: bool,
}

/// The kernel of a seed.
pub(super) fn generate(seed: u64) -> Generated {
    let mut own = Generator {
        rng: Rng::with_seed(seed),
        text: HEAD.to_owned(),
        noted: Vec::new(),
        names: Vec::new(),
        blocks: Vec::new(),
        count: 0,
        loops: 0,
        helper: true,
    };
    own.helpers();
    own.helper = false;
    own.text.push_str(ENTRY);
    own.text.push_str(LOCALS);
    own.names = ["x", "y", "z", "lane", "local.x", "id.x", "group.x", "groups.x", "params.n", "v.x", "v.w"]
        .map(str::to_owned)
        .to_vec();
    own.block(3);
    own.text.push_str(
        "atomicAdd(&bad[0], x + y + z + u32(s) + u32(r) + u32(c) + v.y + fuel + p8[0] + w32[0] + l4[0] + l16[0]);\n}\n",
    );
    Generated { wgsl: own.text, noted: own.noted }
}

impl Generator {
    fn helpers(&mut self) {
        self.text.push_str("fn add_to(p: ptr<function, u32>, a: u32) {\n*p = *p + a;\n}\n");
        self.text.push_str("fn low(a: u32) -> u32 {\nif a > 9u { return 3u; }\nreturn a;\n}\n");
        self.text.push_str(
            "fn mixed(a: u32, b: u32) -> u32 {\nvar l4: array<u32, 4>; var l16: array<u32, 16>; var v: vec4<u32>;\n",
        );
        self.text.push_str(
            "var x = a; var y = b; var z = 0u; var s = bitcast<i32>(b); var r = 1; var c = false; var fuel = 30u;\n",
        );
        self.names = ["x", "y", "z", "a", "b", "v.x", "v.w"].map(str::to_owned).to_vec();
        self.block(1);
        self.text.push_str("return x + l4[0] + l16[0] + v.x + u32(s) + u32(r) + u32(c) + fuel;\n}\n");
    }

    fn below(&mut self, end: usize) -> usize {
        self.rng.usize(..end)
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn block(&mut self, depth: usize) {
        self.blocks.push(self.names.len());
        for _ in 0..2 + self.below(3) {
            self.statement(depth);
        }
        let before = self.blocks.pop().unwrap();
        self.names.truncate(before);
    }

    fn literal(&mut self) -> String {
        const COMMON: [u32; 20] =
            [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 255, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];
        let at = if self.rng.bool() { self.below(12) } else { self.below(COMMON.len()) };
        format!("{}u", COMMON[at])
    }

    fn name(&mut self) -> String {
        let at = self.below(self.names.len());
        // What was declared last is the most interesting.
        if self.rng.u8(..3) == 0 { self.names[self.names.len() - 1].clone() } else { self.names[at].clone() }
    }

    /// A u32 that the front end does not compute: its left operand is always a name.
    fn value(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.name();
        }
        let a = self.value(depth - 1);
        let b = if self.rng.u8(..3) > 0 { self.literal() } else { self.value(depth - 1) };
        let n = self.name();
        match self.below(25) {
            0..=3 => format!("({a} + {b})"),
            4..=5 => format!("({a} - {b})"),
            6 => format!("({a} * {b})"),
            7 => format!("({a} / ({n} | 1u))"),
            8 => format!("({a} % ({n} & 15u))"),
            9 => format!("({a} % 17u)"),
            10..=12 => format!("({a} & {b})"),
            13 => format!("({a} | {b})"),
            14 => format!("({a} ^ {b})"),
            15 => format!("({a} << ({n} & 7u))"),
            16 => format!("({a} >> {n})"),
            17 => format!("min({a}, {b})"),
            18 => format!("max({a}, {b})"),
            19 => format!("clamp({a}, {b}, {n})"),
            20 => format!("select({a}, {b}, {})", self.condition(depth - 1)),
            21 => format!("u32({})", self.signed(depth - 1)),
            22 => {
                const FUNCTIONS: [&str; 4] =
                    ["countOneBits", "firstLeadingBit", "countLeadingZeros", "firstTrailingBit"];
                format!("{}({a})", FUNCTIONS[self.rng.usize(..4)])
            }
            23 => format!("extractBits({a}, {n}, {b})"),
            _ => format!("low({a})"),
        }
    }

    fn signed(&mut self, depth: usize) -> String {
        let name = if self.rng.bool() { "s" } else { "r" };
        let literal = self.rng.i32(-3..18);
        match self.below(if depth == 0 { 2 } else { 9 }) {
            0 => name.to_owned(),
            1 => format!("({name} + {literal})"),
            2 => format!("({} - {literal})", self.signed(depth - 1)),
            3 => format!("-{}", self.signed(0)),
            4 => format!("abs({})", self.signed(depth - 1)),
            5 => format!("({} % 9)", self.signed(depth - 1)),
            6 => format!("bitcast<i32>({})", self.value(depth - 1)),
            7 => format!("clamp({name}, {literal}, 15)"),
            _ => format!("({} >> 3u)", self.signed(depth - 1)),
        }
    }

    fn condition(&mut self, depth: usize) -> String {
        const COMPARISONS: [&str; 6] = ["<", "<", "<=", ">=", "==", "!="];
        let comparison = COMPARISONS[self.below(6)];
        match self.below(if depth == 0 { 4 } else { 9 }) {
            0..=1 => format!("{} {comparison} {}", self.name(), self.literal()),
            2 => format!("{} {comparison} {}", self.name(), self.name()),
            3 => format!("{} {comparison} {}", self.signed(0), self.rng.i32(-2..18)),
            4 => format!("({}) && ({})", self.condition(depth - 1), self.condition(depth - 1)),
            5 => format!("({}) || ({})", self.condition(depth - 1), self.condition(depth - 1)),
            6 => format!("!({})", self.condition(depth - 1)),
            7 => "c".to_owned(),
            _ => format!("{} {comparison} arrayLength(&data)", self.value(depth - 1)),
        }
    }

    fn statement(&mut self, depth: usize) {
        match self.below(if depth == 0 { 13 } else { 20 }) {
            0..=3 => self.access(),
            4 => self.guarded(),
            5..=6 => self.assignment(),
            7 => {
                let (name, value) = (format!("t{}", self.count), self.value(2));
                self.count += 1;
                self.line(&format!("let {name} = {value};"));
                self.names.push(name);
            }
            8 => {
                let value = self.value(1);
                let target = ["x", "y", "z"][self.below(3)];
                let call = match self.below(3) {
                    0 if !self.helper => format!("{target} = mixed({value}, {});", self.name()),
                    1 => format!("{target} = low({value});"),
                    _ => format!("add_to(&{target}, {value});"),
                };
                self.line(&call);
            }
            9 if self.loops > 0 => {
                let condition = self.condition(1);
                let jump = if self.rng.bool() { "continue" } else { "break" };
                self.line(&format!("if {condition} {{ {jump}; }}"));
            }
            10 if self.rng.u8(..4) == 0 => {
                let condition = self.condition(1);
                let value = if self.helper { " x" } else { "" };
                self.line(&format!("if {condition} {{ return{value}; }}"));
            }
            9..=10 => self.access(),
            11..=12 => self.related(),
            13..=15 => self.branch(depth),
            16 => self.switch(depth),
            _ => self.round(depth),
        }
    }

    fn assignment(&mut self) {
        let (value, target) = (self.value(2), ["x", "y", "z", "v.x", "v.w"][self.below(5)]);
        let (small, step) = (self.below(9), ["1u", "1u", "2u", "4u"][self.below(4)]);
        let line = match self.below(9) {
            0..=1 => format!("{target} = {value};"),
            2..=3 => format!("{target} = {small}u;"),
            7..=8 => format!("{target} += {step};"),
            4 => format!("s = {};", self.signed(2)),
            5 => format!("r = {};", self.signed(2)),
            _ => format!("c = {};", self.condition(2)),
        };
        self.line(&line);
    }

    fn access(&mut self) {
        let array = ["l4", "l16", "w32", "p8", "data", "v", "l16"][self.below(7)];
        let index = match self.below(8) {
            0..=2 => self.name(),
            3 => format!("{} + 1u", self.name()),
            4 => self.signed(1),
            5 => format!("{} + {}", self.name(), self.name()),
            _ => self.value(2),
        };
        let line = match (array, self.below(3)) {
            ("data" | "w32", _) | (_, 0) => format!("x = x + {array}[{index}];"),
            (_, 1) => format!("{array}[{index}] = {};", self.name()),
            _ => format!("if {} {{ y = {array}[{index}]; }}", self.condition(1)),
        };
        self.line(&line);
    }

    /// An access that only a comparison of two values can vouch for, often with a fault in it.
    fn related(&mut self) {
        let (a, b) = (self.name(), self.name());
        let (less, size) = (["<", "<", "<="][self.below(3)], ["15u", "16u", "17u"][self.below(3)]);
        let width = if self.rng.bool() { self.name() } else { ["2u", "3u", "4u"][self.below(3)].to_owned() };
        let other = if self.rng.u8(..4) == 0 { self.name() } else { width.clone() };
        let lines = match self.below(6) {
            0 => format!("if {a} >= {b} && {a} {less} {b} + {size} {{\nx += l16[{a} - {b}];\n}}"),
            1 => format!("if {a} >= {b} {{\nl16[{a} - {b}] = x;\n}}"),
            2 => {
                let rows = format!("arrayLength(&data) / {width}");
                format!("if {a} {less} {rows} && {b} < {other} {{\ny = data[{a} * {width} + {b}];\n}}")
            }
            3 => format!("z = l16[select(0u, {a}, {a} {less} {size})];"),
            4 => format!("if {a} {less} {b} && {b} {less} {size} {{\nl16[{a}] = y;\n}}"),
            _ => format!("if {a} {less} min({b}, arrayLength(&data)) {{\nx ^= data[{a}];\n}}"),
        };
        self.line(&lines);
    }

    /// A division, remainder or shift.
    fn guarded(&mut self) {
        let number = self.noted.len() + 1;
        if number >= BAD {
            return;
        }
        let (name, kind) = (format!("d{}", self.count), self.below(3));
        self.count += 1;
        let (value, wrong, line) = match kind {
            0 => {
                let operation = ["/", "%"][self.below(2)];
                (self.value(2), format!("{name} == 0u"), format!("z = {} {operation} {name};", self.name()))
            }
            1 => {
                let overflows = format!("({name} == -1 && s == bitcast<i32>(0x80000000u))");
                (self.signed(2), format!("{name} == 0 || {overflows}"), format!("r = s / {name};"))
            }
            _ => {
                let operation = ["<<", ">>"][self.below(2)];
                (self.value(2), format!("{name} >= 32u"), format!("z = {} {operation} {name};", self.name()))
            }
        };
        self.line(&format!("let {name} = {value};\nif {wrong} {{ atomicStore(&bad[{number}], 1u); }}"));
        let at = self.text.lines().count() as u32 + 1;
        self.line(&line);
        self.noted.push((at, number));
    }

    fn branch(&mut self, depth: usize) {
        let condition = self.condition(2);
        self.line(&format!("if {condition} {{"));
        self.block(depth - 1);
        if self.rng.bool() {
            self.line("} else {");
            self.block(depth - 1);
        }
        self.line("}");
    }

    fn switch(&mut self, depth: usize) {
        let selector = self.value(1);
        self.line(&format!("switch {selector} {{\ncase 1u, 3u: {{"));
        self.block(depth - 1);
        self.line("}\ncase 7u: {");
        self.block(depth - 1);
        self.line("}\ndefault: {");
        self.block(depth - 1);
        self.line("}\n}");
    }

    fn round(&mut self, depth: usize) {
        let name = format!("k{}", self.count);
        self.count += 1;
        let (start, end) = (if self.rng.bool() { self.literal() } else { self.name() }, self.literal());
        let end = if self.rng.u8(..4) == 0 { "arrayLength(&data)".to_owned() } else { end };
        let step = ["+= 1u", "+= 1u", "+= 3u", "-= 1u", ">>= 1u", "*= 2u", "+= 64u"][self.below(7)];
        let compare = if step.starts_with(['-', '>']) {
            [">", ">=", "!="][self.below(3)]
        } else {
            ["<", "<=", "!="][self.below(3)]
        };
        let fuel = "if fuel == 0u { break; }\nfuel -= 1u;";
        let mut text = String::new();
        let form = self.below(3);
        let written = match form {
            0 => write!(text, "for (var {name} = {start}; {name} {compare} {end}; {name} {step}) {{\n{fuel}"),
            1 => write!(text, "var {name} = {start};\nwhile {name} {compare} {end} {{\n{fuel}"),
            _ => write!(text, "var {name} = {start};\nloop {{\n{fuel}"),
        };
        written.unwrap();
        self.line(&text);
        self.blocks.push(self.names.len());
        self.names.push(name.clone());
        self.loops += 1;
        self.block(depth - 1);
        if self.rng.u8(..6) == 0 {
            let value = self.value(1);
            self.line(&format!("{name} = {value};"));
        }
        self.loops -= 1;
        match form {
            0 => self.line("}"),
            1 => self.line(&format!("{name} {step};\n}}")),
            _ => self.line(&format!("continuing {{\n{name} {step};\nbreak if !({name} {compare} {end});\n}}\n}}")),
        }
        let before = self.blocks.pop().unwrap();
        self.names.truncate(before);
    }
}
