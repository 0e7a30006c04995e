//! HIP C++ through AMD's hipRTC, which needs no GPU. It lies in a folder of its own and runs in a child process, under the
//! loader of that folder: its libraries are newer than this machine's, and it aborts on what it does not know.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::hip::{Suite, Tree};
use crate::nvrtc::machine;
use crate::{Absent, Ended, child, place};

/// Architectures that every hipRTC since 6.4 compiles for: on an unknown one it ends the process.
const ARCHITECTURES: [&str; 5] = ["gfx906", "gfx90a", "gfx942", "gfx1100", "gfx1201"];

/// `e_machine` of a code object.
const EM_AMDGPU: u16 = 224;

/// The longest that the jobs of one call take before their process counts as hanging.
const DEADLINE: Duration = Duration::from_secs(900);

/// hipRTC, found on this machine.
#[derive(Clone, Debug)]
pub struct Hiprtc {
    tree: Tree,
    library: PathBuf,
    program: PathBuf,
}

/// One compile.
#[derive(Clone, Debug)]
pub struct Source {
    /// HIP C++.
    pub text: String,
    /// What messages call it.
    pub name: String,
    /// The architecture, as `gfx1100`.
    pub arch: String,
    /// Lanes of a wave on that architecture, which becomes `WG_SUBGROUP_SIZE`.
    pub wave: u32,
    /// Further options.
    pub options: Vec<String>,
}

/// Why a source did not become a code object.
#[derive(Clone, Debug, thiserror::Error)]
#[error("hipRTC {cause} {name} for {arch}:\n{log}")]
pub struct Log {
    /// The name that the caller gave the source.
    pub name: String,
    /// The architecture.
    pub arch: String,
    /// What it did.
    pub cause: &'static str,
    /// Its messages, or what is known where it gave none.
    pub log: String,
}

impl Hiprtc {
    /// hipRTC of Debian testing.
    ///
    /// # Errors
    ///
    /// [`Absent`] with what is missing, and the last version that passed.
    pub fn find() -> Result<Self, Absent> {
        Self::of(Suite::Testing)
    }

    /// hipRTC of that suite.
    ///
    /// # Errors
    ///
    /// As for [`Hiprtc::find`].
    pub fn of(suite: Suite) -> Result<Self, Absent> {
        let absent = |why: String| Absent { name: suite.name(), why };
        let tree = Tree::find(suite)?;
        let library = tree.library("libhiprtc").ok_or_else(|| absent("its folder has no libhiprtc".into()))?;
        let program = build().map_err(|error| absent(format!("its runner was not compiled: {error}")))?;
        Ok(Self { tree, library, program })
    }

    /// The package's version.
    pub fn version(&self) -> &str {
        self.tree.version()
    }

    /// Compile one source for `arch` with waves of `wave` lanes, and give the code object.
    ///
    /// # Errors
    ///
    /// [`Log`].
    pub fn compile(&self, text: &str, name: &str, arch: &str, wave: u32, options: &[&str]) -> Result<Vec<u8>, Log> {
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        let source = Source { text: text.into(), name: name.into(), arch: arch.into(), wave, options };
        self.compile_all(std::slice::from_ref(&source)).pop().expect("one source has one result")
    }

    /// Compile sources one after another, in as few processes as they leave alive, and give the code objects in their order.
    ///
    /// # Errors
    ///
    /// [`Log`] of each.
    pub fn compile_all(&self, sources: &[Source]) -> Vec<Result<Vec<u8>, Log>> {
        self.attempt(sources).unwrap_or_else(|error| {
            sources.iter().map(|source| Err(source.log("did not begin with", error.to_string()))).collect()
        })
    }

    fn attempt(&self, sources: &[Source]) -> std::io::Result<Vec<Result<Vec<u8>, Log>>> {
        // What may end the process, or passes unnoticed, is left out and answered here.
        let refused: Vec<Option<Log>> = sources.iter().map(Source::refusal).collect();
        let asked: Vec<&Source> =
            sources.iter().zip(&refused).filter(|(_, refused)| refused.is_none()).map(|(source, _)| source).collect();
        let folder = tempfile::Builder::new().prefix("graphreel-hiprtc-").tempdir()?;
        std::fs::write(folder.path().join("jobs"), asked.len().to_string())?;
        for (job, source) in asked.iter().enumerate() {
            std::fs::write(folder.path().join(format!("{job}.source")), &source.text)?;
            std::fs::write(folder.path().join(format!("{job}.options")), source.words().join("\n"))?;
        }
        let _place = place::take()?;
        let ended = child::resume(folder.path(), asked.len(), |from| {
            let mut command = self.tree.command(&self.program, &[]);
            command.arg(&self.library).arg(folder.path()).arg(from.to_string());
            // A result of an earlier run would show nothing.
            command.env("AMD_COMGR_CACHE", "0");
            // Its own temporary files go with the job, also where it dies.
            command.env("TMPDIR", folder.path());
            child::run(&mut command, folder.path(), DEADLINE)
        })?;
        let mut compiled = ended.into_iter().zip(&asked).enumerate().map(|(job, (ended, source))| match ended {
            Ok(()) => source.result(folder.path(), job),
            Err(ended) => Err(source.log("ended its process on", described(&ended))),
        });
        let results = refused.into_iter().map(|refused| match refused {
            Some(log) => Err(log),
            None => compiled.next().expect("each source that was asked for has a result"),
        });
        Ok(results.collect())
    }
}

impl Source {
    fn log(&self, cause: &'static str, log: String) -> Log {
        Log { name: self.name.clone(), arch: self.arch.clone(), cause, log }
    }

    /// Why hipRTC is not asked.
    fn refusal(&self) -> Option<Log> {
        if !ARCHITECTURES.contains(&self.arch.as_str()) {
            return Some(self.log("is not asked for", format!("the architecture is none of {ARCHITECTURES:?}")));
        }
        let second = |option: &&String| option.contains("offload-arch") || option.contains("gpu-architecture");
        let second = self.options.iter().find(second)?;
        // It reports success for two architectures and gives the log of an error.
        Some(self.log("is not asked for", format!("`{second}` is a second architecture")))
    }

    /// The lines of the options' file.
    fn words(&self) -> Vec<String> {
        let mut words = vec![self.name.replace('\n', " "), format!("--offload-arch={}", self.arch)];
        words.push(format!("-DWG_SUBGROUP_SIZE={}", self.wave));
        words.extend(self.options.iter().cloned());
        words
    }

    /// What a finished job left. Success is believed only with a code object and a log without an error.
    fn result(&self, folder: &Path, job: usize) -> Result<Vec<u8>, Log> {
        let read = |ending: &str| std::fs::read(folder.join(format!("{job}.{ending}"))).unwrap_or_default();
        let log = String::from_utf8_lossy(&read("log")).trim_end_matches(['\0', '\n']).to_owned();
        let (code, done) = (read("code"), String::from_utf8_lossy(&read("done")).into_owned());
        let said = if log.is_empty() { format!("it gave result {done} and no message") } else { log.clone() };
        if done != "0" {
            return Err(self.log("refuses", said));
        }
        if machine(&code) != Some(EM_AMDGPU) || log.contains("error:") {
            return Err(self.log("reports success, and no code object, of", said));
        }
        Ok(code)
    }
}

fn described(ended: &Ended) -> String {
    match ended.status {
        Some(status) => format!("{status}\n{}", ended.output),
        None => format!("it did not end within {} s\n{}", DEADLINE.as_secs(), ended.output),
    }
}

/// The runner, compiled once and kept.
fn build() -> std::io::Result<PathBuf> {
    let text = include_str!("hiprtc/compile.cpp");
    let name = format!("hiprtc-{:016x}", place::hash(&[text]));
    let _lock = place::lock(&format!("{name}.lock"))?;
    let folder = place::kept()?;
    let (program, source) = (folder.join(&name), folder.join(format!("{name}.cpp")));
    if program.exists() {
        return Ok(program);
    }
    std::fs::write(&source, text)?;
    let part = folder.join(format!("{name}.part"));
    let mut command = Command::new("g++");
    // The C library of the folder is the only one that is loaded with it.
    command.args(["-std=c++17", "-O1", "-Wall", "-Wextra", "-fno-exceptions", "-fno-rtti", "-nodefaultlibs"]);
    command.arg(&source).args(["-lc", "-ldl", "-o"]).arg(&part);
    let output = command.output()?;
    if !output.status.success() {
        return Err(std::io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    std::fs::rename(&part, &program)?;
    Ok(program)
}
