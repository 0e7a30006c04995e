//! Host C++ through g++: many kernels in one program, under the address and undefined-behaviour sanitizers, run in a child
//! process that may crash or hang.

mod job;
mod program;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use graphreel::kernel::{AbiParam, Reflection};

use crate::{Absent, child, place};

pub use job::Job;
pub use program::{Cause, Failure, Program};

/// How `GRAPHREEL_REQUIRE` lists it.
pub const NAME: &str = "host";

/// What g++ is told of every file: sanitizers whose findings end the program, no contraction of floats, and debug lines
/// for their reports.
const OPTIONS: [&str; 8] = [
    "-std=c++17",
    "-O0",
    "-g1",
    "-ffp-contract=off",
    "-fsanitize=undefined,address",
    // Conversions out of range are no part of `undefined`: kernels saturate them.
    "-fsanitize=float-cast-overflow",
    "-fno-sanitize-recover=all",
    "-fno-omit-frame-pointer",
];

/// Warnings that fail the compile of generated code.
const WARNINGS: [&str; 3] = ["-Wall", "-Wextra", "-Werror"];

/// Warnings that generated code may cause, each with its reason.
const WARNINGS_ALLOWED: [&str; 10] = [
    // WGSL lets a kernel declare or compute what it does not use: parameters, variables, values, functions and the labels that
    // leave loops.
    "-Wno-unused-parameter",
    "-Wno-unused-variable",
    "-Wno-unused-but-set-variable",
    "-Wno-unused-function",
    "-Wno-unused-label",
    "-Wno-unused-value",
    // It may also compare what is always equal, or never below zero.
    "-Wno-tautological-compare",
    "-Wno-type-limits",
    // What compilers before GCC 4.6 did with wide vectors matters to nobody: all of it is compiled by one.
    "-Wno-psabi",
    // A padding-preserving store leaves out members on purpose.
    "-Wno-missing-field-initializers",
];

/// The longest that one compile takes before it counts as hanging.
const COMPILE_MAX: Duration = Duration::from_secs(600);

/// g++, found on this machine.
#[derive(Clone, Debug)]
pub struct Host {
    version: String,
    /// `WG_SUBGROUP_SIZE`, where it is set.
    subgroup_size: Option<u32>,
}

/// A kernel of a program.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// What failures call it.
    pub name: String,
    /// Its C symbol, of type `void(const unsigned groups[3], void* const* args)`.
    pub symbol: String,
    /// What it takes.
    pub reflection: Reflection,
    /// Its parameters, in order.
    pub params: Vec<AbiParam>,
}

/// A text with several kernels: one translation unit.
#[derive(Clone, Debug)]
pub struct Unit<'a> {
    /// C++ that defines the symbols of all kernels.
    pub source: String,
    /// The kernels.
    pub kernels: Vec<Kernel>,
    /// C++ that the kernels are linked with, compiled once for all units that have the same.
    pub runtime: &'a str,
}

/// Why a unit did not become a program.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// g++ refused it.
    #[error("g++ refuses the unit of {kernels}; its source is kept in {}:\n{log}", kept.display())]
    Refused {
        /// The kernels that the log points at, else all of them.
        kernels: String,
        /// Where the source is kept.
        kept: PathBuf,
        /// What g++ said.
        log: String,
    },
    /// A file or a process of the compile failed.
    #[error("compiling with g++: {0}")]
    Io(#[from] std::io::Error),
}

impl Host {
    /// Look for g++.
    ///
    /// # Errors
    ///
    /// [`Absent`] where it cannot be started, or is another compiler under that name.
    pub fn find() -> Result<Self, Absent> {
        let absent = |why: String| Absent { name: NAME, why };
        let output = Command::new("g++").arg("--version").output();
        let output =
            output.map_err(|error| absent(format!("g++ does not start ({error}); install the package g++")))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.lines().next().unwrap_or_default().to_owned();
        if !output.status.success() || version.contains("clang") {
            return Err(absent(format!("g++ is not GCC's here: `{version}`; install GCC")));
        }
        Ok(Self { version, subgroup_size: None })
    }

    /// The same, with subgroups of `size` invocations: units and their runtime are compiled with `WG_SUBGROUP_SIZE`.
    #[must_use]
    pub fn with_subgroups(mut self, size: u32) -> Self {
        self.subgroup_size = Some(size);
        self
    }

    /// What every file of this host is compiled with.
    fn options(&self) -> Vec<String> {
        let mut options: Vec<String> = OPTIONS.iter().map(|option| (*option).to_owned()).collect();
        options.extend(self.subgroup_size.map(|size| format!("-DWG_SUBGROUP_SIZE={size}")));
        options
    }

    /// The first line of what g++ says of itself.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Compile a unit and link it into a program.
    ///
    /// # Errors
    ///
    /// [`CompileError`], with the source kept where g++ refuses it.
    pub fn compile(&self, unit: &Unit<'_>) -> Result<Program, CompileError> {
        let main = self.object(include_str!("host/main.cpp"), "main")?;
        let runtime = self.object(unit.runtime, "runtime")?;
        let folder = tempfile::Builder::new().prefix("graphreel-host-").tempdir()?;
        let source = folder.path().join("kernels.cpp");
        std::fs::write(&source, format!("{}{}", unit.source, table(&unit.kernels)))?;
        let mut command = Command::new("g++");
        command.args(self.options()).args(WARNINGS).args(WARNINGS_ALLOWED);
        command.arg(&source).args([&main, &runtime]).arg("-o").arg(folder.path().join("kernels"));
        let ended = {
            let _place = place::take()?;
            child::run(&mut command, folder.path(), COMPILE_MAX)?
        };
        if ended.succeeded() {
            return Ok(Program::new(folder, unit.kernels.clone()));
        }
        let kernels = blamed(&unit.kernels, &ended.output);
        Err(CompileError::Refused { kernels, kept: folder.keep(), log: described(&ended) })
    }

    /// Compile units, two at once, and give the programs in their order.
    ///
    /// # Errors
    ///
    /// [`CompileError`] of each.
    pub fn compile_all(&self, units: &[Unit<'_>]) -> Vec<Result<Program, CompileError>> {
        let next = std::sync::Mutex::new(0..units.len());
        let work = || {
            let mut done = Vec::new();
            while let Some(index) = next.lock().expect("no thread panics with it").next() {
                done.push((index, self.compile(&units[index])));
            }
            done
        };
        let mut all = std::thread::scope(|scope| {
            let threads = [scope.spawn(work), scope.spawn(work)];
            threads
                .map(|thread| thread.join().expect("a compile does not panic"))
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
        });
        all.sort_by_key(|(index, _)| *index);
        all.into_iter().map(|(_, result)| result).collect()
    }

    /// The object file of a source that does not change: made by whoever needs it first, and kept for all.
    fn object(&self, source: &str, what: &str) -> Result<PathBuf, CompileError> {
        let name = format!("{what}-{:016x}", place::hash(&[source, &self.version, &self.options().join(" ")]));
        let _lock = place::lock(&format!("{name}.lock"))?;
        let folder = place::kept()?;
        let (object, input) = (folder.join(format!("{name}.o")), folder.join(format!("{name}.cpp")));
        if object.exists() {
            return Ok(object);
        }
        std::fs::write(&input, source)?;
        let log = tempfile::tempdir()?;
        let part = folder.join(format!("{name}.part"));
        let mut command = Command::new("g++");
        command.args(self.options()).args(WARNINGS).arg("-c").arg(&input).arg("-o").arg(&part);
        let ended = child::run(&mut command, log.path(), COMPILE_MAX)?;
        if !ended.succeeded() {
            return Err(CompileError::Refused { kernels: format!("the {what}"), kept: input, log: described(&ended) });
        }
        std::fs::rename(&part, &object)?;
        Ok(object)
    }
}

/// The table by which `main.cpp` finds the kernels.
fn table(kernels: &[Kernel]) -> String {
    let mut text = String::from(
        "\n#line 1 \"table of kernels\"\nstruct Entry { void (*run)(const unsigned[3], void* const*); };\n",
    );
    for Kernel { symbol, .. } in kernels {
        text += &format!("extern \"C\" void {symbol}(const unsigned[3], void* const*);\n");
    }
    let entries: Vec<String> = kernels.iter().map(|kernel| format!("{{{}}}", kernel.symbol)).collect();
    text += &format!("extern \"C\" const Entry graphreel_kernels[] = {{{}}};\n", entries.join(", "));
    text + &format!("extern \"C\" const unsigned graphreel_kernel_count = {};\n", kernels.len())
}

/// The kernels whose symbol, or file of this name, a log has, else all of them.
fn blamed(kernels: &[Kernel], log: &str) -> String {
    let words: HashSet<&str> = log.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let named =
        |kernel: &&Kernel| words.contains(kernel.symbol.as_str()) || log.contains(&format!("{}.wgsl:", kernel.name));
    let found: Vec<&str> = kernels.iter().filter(named).map(|kernel| kernel.name.as_str()).collect();
    if found.is_empty() {
        kernels.iter().map(|kernel| kernel.name.as_str()).collect::<Vec<_>>().join(", ")
    } else {
        found.join(", ")
    }
}

fn described(ended: &child::Ended) -> String {
    match ended.status {
        Some(_) => ended.output.clone(),
        None => format!("it did not end within {} s\n{}", COMPILE_MAX.as_secs(), ended.output),
    }
}

/// Where in the WGSL a report points first: `FILE.wgsl:LINE`.
fn place_in(report: &str) -> Option<String> {
    report.match_indices(".wgsl:").find_map(|(at, found)| {
        let line: String = report[at + found.len()..].chars().take_while(char::is_ascii_digit).collect();
        let from = report[..at].rfind(|c: char| c.is_whitespace() || c == '(').map_or(0, |before| before + 1);
        let file = Path::new(&report[from..at + ".wgsl".len()]).file_name()?.to_str()?;
        (!line.is_empty()).then(|| format!("{file}:{line}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_gives_the_first_place_in_wgsl() {
        let report = "main.cpp:3\n  #1 0x5 in f (some folder/saxpy.wgsl:12:3)\nadd.wgsl:4: runtime error";
        assert_eq!(place_in(report).as_deref(), Some("saxpy.wgsl:12"));
        assert_eq!(place_in("kernels.cpp:12: x.wgsl:"), None);
    }
}
