//! Random kernels of branches, loops, calls, barriers and subgroup operations: one that no lint is told of never diverges on the
//! simulator, which watches every invocation.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use graphreel_cpp::lint;
use graphreel_sim::interp::{Dispatch, FindingKind, Program, ProgramOptions, View};
use graphreel_sim::memory::Memory;

const KERNELS: u64 = 1500;

const HEAD: &str = "
@group(0) @binding(0) var<storage, read> table: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
var<workgroup> counter: atomic<u32>;
var<workgroup> flag: u32;
";

const ENTRY: &str = "
@compute @workgroup_size(32)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>,
        @builtin(subgroup_id) sub: u32, @builtin(num_workgroups) groups: vec3<u32>) {
    var a = group.x;
    var b = lane;
    var c = 1u;
";

/// Writes one kernel.
struct Writer {
    random: fastrand::Rng,
    text: String,
    loops: usize,
    /// Within a loop; within a function that is called.
    in_loop: bool,
    called: bool,
}

impl Writer {
    fn pick<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.random.usize(..of.len())]
    }

    /// A number. Most of them are the same for the workgroup.
    fn value(&mut self) -> String {
        let uniform = if self.called { ["x", "a", "3u", "table[1]"] } else { ["group.x", "a", "groups.x", "c"] };
        match self.random.u32(..16) {
            0 => if self.called { "b" } else { "lane" }.to_owned(),
            1 => if self.called { "a" } else { "sub" }.to_owned(),
            2 => "b".to_owned(),
            3 => format!("table[{} % 64u]", self.value()),
            4 => format!("({} + {})", self.value(), self.value()),
            5 => "subgroupAdd(1u)".to_owned(),
            6 => format!("subgroupMax({})", self.value()),
            7 => "workgroupUniformLoad(&flag)".to_owned(),
            8 if !self.called => format!("f({}, &c)", self.value()),
            _ => self.pick(&uniform).to_owned(),
        }
    }

    fn condition(&mut self) -> String {
        let value = self.value();
        match self.random.u32(..4) {
            0 => format!("{value} > 1u"),
            1 => format!("{value} % 2u == 0u"),
            2 => format!("{value} < 20u && {} != 3u", self.value()),
            _ => format!("{value} == 0u"),
        }
    }

    fn block(&mut self, depth: u32) {
        for _ in 0..self.random.u32(1..4) {
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: u32) {
        let choice = self.random.u32(if depth == 0 { 4 } else { 0 }..16);
        let line = match choice {
            0 => return self.branch(depth),
            1 => return self.switch(depth),
            2 | 3 => return self.turns(depth),
            4 | 5 => "workgroupBarrier();".to_owned(),
            6 => format!("b = subgroupAdd({});", self.value()),
            7 => format!("{} = {};", self.pick(&["a", "b"]), self.pick(&["atomicAdd(&counter, 1u)", "2u", "a"])),
            8 if self.in_loop => format!("if {} {{ {}; }}", self.condition(), self.pick(&["break", "continue"])),
            9 => {
                let leave = if self.called { "return x" } else { "return" };
                format!("if {} {{ {leave}; }}", self.condition())
            }
            10 if !self.called => format!("a = f({}, &{});", self.value(), self.pick(&["b", "c"])),
            11 if self.called => format!("*p = {};", self.value()),
            _ => format!("{} = {};", self.pick(&["a", "b"]), self.value()),
        };
        self.text.push_str(&line);
        self.text.push('\n');
    }

    fn branch(&mut self, depth: u32) {
        let condition = self.condition();
        self.text.push_str(&format!("if {condition} {{\n"));
        self.block(depth - 1);
        if self.random.bool() {
            self.text.push_str("} else {\n");
            self.block(depth - 1);
        }
        self.text.push_str("}\n");
    }

    fn switch(&mut self, depth: u32) {
        let value = self.value();
        self.text.push_str(&format!("switch {value} % 3u {{\ncase 0u: {{\n"));
        self.block(depth - 1);
        self.text.push_str("}\ncase 1u, 2u: {\n");
        self.block(depth - 1);
        self.text.push_str("}\ndefault: {}\n}\n");
    }

    /// A loop of a few rounds.
    fn turns(&mut self, depth: u32) {
        let (outer, bound) = (std::mem::replace(&mut self.in_loop, true), self.value());
        self.loops += 1;
        let i = format!("i{}", self.loops);
        self.text.push_str(&if self.random.bool() {
            format!("for (var {i} = 0u; {i} < {bound} % 4u; {i}++) {{\n")
        } else {
            format!("var {i} = 0u;\nloop {{\nif {i} > 3u {{ break; }}\n")
        });
        let ends_itself = self.text.ends_with("break; }\n");
        self.block(depth - 1);
        if ends_itself {
            let condition = self.pick(&["b > 2u", "a > 2u", "group_ == 1u"]).replace("group_", "table[0]");
            self.text.push_str(&format!("continuing {{\n{i}++;\nbreak if {condition};\n}}\n"));
        }
        self.text.push_str("}\n");
        self.in_loop = outer;
    }
}

fn kernel(seed: u64) -> String {
    let random = fastrand::Rng::with_seed(seed);
    let mut writer = Writer { random, text: HEAD.to_owned(), loops: 0, in_loop: false, called: true };
    writer.text.push_str("fn f(x: u32, p: ptr<function, u32>) -> u32 {\nvar a = x;\nvar b = *p;\n");
    writer.block(1);
    writer.text.push_str("return a;\n}\n");
    writer.called = false;
    writer.text.push_str(ENTRY);
    writer.block(3);
    writer.text.push_str("out[lane] = a + b + c + table[lane];\n}\n");
    writer.text
}

/// Whether invocations part at a barrier or a subgroup operation.
fn diverges(text: &str) -> Option<String> {
    let program = Program::new(&text.into(), ProgramOptions { subgroup_size: 8 }).unwrap();
    let memories = [Memory::new(256, 0), Memory::new(256, 0)];
    for (index, word) in (0u32..).zip(memories[0].words()) {
        word.store(index * 7 % 5, graphreel::sync::atomic::Ordering::Relaxed);
    }
    let buffers = [0, 1].map(|at| View { memory: &memories[at], start: 0, bytes: 256 });
    let dispatch = Dispatch {
        groups: [3, 1, 1],
        scalars: &[],
        buffers: &buffers,
        steps_max: 1 << 24,
        sanitize: true,
        epoch: None,
        threads: 1,
    };
    match program.run(&dispatch) {
        Err(trap) => Some(trap.to_string()),
        Ok(report) => report
            .findings
            .into_iter()
            .find(|finding| finding.kind == FindingKind::Divergence)
            .map(|finding| format!("line {}: {}", finding.line, finding.text)),
    }
}

#[test]
fn what_no_lint_is_told_of_never_diverges() {
    let (mut clean, mut found, mut wrong) = (0, 0, Vec::new());
    for seed in 0..KERNELS {
        let text = kernel(seed);
        let lints = lint(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        let told = lints.iter().any(|lint| lint.rule != graphreel_cpp::Rule::BodyLetInContinuing);
        match (told, diverges(&text)) {
            (false, Some(why)) => wrong.push(format!("seed {seed}: {why}\n{text}")),
            (false, None) => clean += 1,
            (true, Some(_)) => found += 1,
            (true, None) => {}
        }
    }
    assert!(wrong.is_empty(), "{} kernels; the first: {}", wrong.len(), wrong[0]);
    // Enough of both, or nothing was shown.
    assert!(clean >= KERNELS / 20 && found >= KERNELS / 20, "{clean} clean, {found} found");
}
