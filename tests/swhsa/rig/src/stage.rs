//! Where a test runs: AMD's runtime of one suite, the software device below it, and what the device is.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use graphreel_compilers::hip::{Suite, Tree};
use graphreel_compilers::{Absent, announce, present};

/// Names the folder with the device's library, and what is kept for it. Where it is set, the process runs on the device.
const FOLDER: &str = "GRAPHREEL_SWHSA_FOLDER";

/// The name that AMD's runtime asks for.
const LIBRARY: &str = "libhsa-runtime64.so.1";

/// What the device can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Personality {
    /// Its architecture, as `GRAPHREEL_SWHSA` takes it.
    pub architecture: &'static str,
    /// Lanes of a wave.
    pub wave: u32,
}

/// Waves of 32 lanes, and of 64.
pub const PERSONALITIES: [Personality; 2] =
    [Personality { architecture: "gfx1100", wave: 32 }, Personality { architecture: "gfx90a", wave: 64 }];

/// AMD's runtime, above the software device.
#[derive(Clone, Debug)]
pub struct Stage {
    tree: Tree,
    folder: PathBuf,
}

impl Stage {
    /// The runtime of a suite, and the device's library, which lies beside the tests.
    ///
    /// # Errors
    ///
    /// [`Absent`] with what is missing.
    pub fn find(suite: Suite) -> Result<Self, Absent> {
        let absent = |why: String| Absent { name: suite.name(), why };
        let tree = Tree::find(suite)?;
        if tree.library("libamdhip64").is_none() {
            return Err(absent("its folder has no libamdhip64".into()));
        }
        let folder = lay_out().map_err(|error| absent(format!("the device's library: {error}")))?;
        Ok(Self { tree, folder })
    }

    /// The version of the runtime's package.
    pub fn version(&self) -> &str {
        self.tree.version()
    }

    /// The file of AMD's runtime.
    pub fn runtime(&self) -> Option<PathBuf> {
        self.tree.library("libamdhip64")
    }

    /// The file of the device's library.
    pub fn device(&self) -> PathBuf {
        self.folder.join(LIBRARY)
    }

    /// Start a program on the device.
    pub fn command(&self, program: &Path, personality: Personality) -> Command {
        let mut command = self.tree.command(program, &[&self.folder]);
        command.env(FOLDER, &self.folder).env("GRAPHREEL_SWHSA", personality.architecture);
        // A result of an earlier run would show nothing.
        command.env("AMD_COMGR_CACHE", "0");
        if std::env::var_os("GRAPHREEL_SWHSA_SEED").is_none() {
            command.env("GRAPHREEL_SWHSA_SEED", "1");
        }
        command
    }
}

/// The folder in which the library has the name that the runtime asks for.
fn lay_out() -> std::io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let missing = || std::io::Error::other("libgraphreel_swhsa.so does not lie beside this program");
    let mut beside = program.ancestors().skip(1).take(2).map(|folder| folder.join("libgraphreel_swhsa.so"));
    let library = beside.find(|library| library.is_file()).ok_or_else(missing)?;
    let folder = library.with_file_name("swhsa");
    std::fs::create_dir_all(&folder)?;
    let name = folder.join(LIBRARY);
    if std::fs::read_link(&name).ok().as_deref() != Some(library.as_path()) {
        // Other tests do the same at the same time; each leaves the same link.
        let own = folder.join(format!("link-{}", std::process::id()));
        #[cfg(unix)]
        std::os::unix::fs::symlink(&library, &own)?;
        std::fs::rename(&own, &name)?;
    }
    Ok(folder)
}

/// The folder for what is kept, in a process that runs on the device; `None` in all others.
pub fn inside() -> Option<PathBuf> {
    std::env::var_os(FOLDER).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// One test of this program in a process of its own, which starts as this one did: by the loader beside AMD's runtime, whose words
/// come before the program's.
///
/// # Errors
///
/// How this process was started cannot be told.
pub fn again(test: &str) -> std::io::Result<Command> {
    let line = std::fs::read("/proc/self/cmdline")?;
    let program = std::env::args_os().next().ok_or_else(|| std::io::Error::other("this process has no name"))?;
    let words = line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
    let mut words: Vec<String> = words.take_while(|word| program != **word).collect();
    words.push(program.to_string_lossy().into_owned());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(["--exact", test, "--nocapture"]);
    Ok(command)
}

/// How a child ended that ran a test's body.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The version of the runtime's package.
    pub version: String,
    /// What the device was.
    pub personality: Personality,
    /// Its status.
    pub status: ExitStatus,
    /// What it wrote, on both outputs.
    pub text: String,
}

/// Run a test's body on every runtime that is there, as each personality, in a child process each, and have each end well.
/// `test` is the test's own path, as the test runner lists it.
///
/// # Panics
///
/// When a child fails, or `GRAPHREEL_REQUIRE` names a runtime that is absent.
pub fn everywhere(test: &str, body: impl FnOnce()) {
    ending(test, body, |ended| {
        let Ended { version, personality, status, text } = ended;
        let what = format!("{test} on HIP {version} as {}", personality.architecture);
        assert!(status.success(), "{what}: {status}\n{text}");
        assert!(text.contains("1 passed"), "{what}: the child ran no test\n{text}");
        // What the child left out is told here, since nothing else of it is.
        for line in text.lines().filter(|line| line.contains("SKIPPED")) {
            announce(&format!("{what}: {line}"));
        }
        announce(&format!("{what}: passed"));
    });
}

/// The same for a body that does not end well: `judge` looks at how each child ended.
///
/// # Panics
///
/// As for [`everywhere`], where `judge` does.
pub fn ending(test: &str, body: impl FnOnce(), judge: impl Fn(&Ended)) {
    if inside().is_some() {
        return body();
    }
    for suite in Suite::ALL {
        let Some(stage) = present(test, Stage::find(suite)) else { continue };
        for personality in PERSONALITIES {
            let program = std::env::current_exe().expect("a test knows its own program");
            let mut command = stage.command(&program, personality);
            command.args(["--exact", test, "--nocapture"]);
            let output = command.output().expect("the loader beside the runtime starts");
            let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
            let version = stage.version().to_owned();
            judge(&Ended { version, personality, status: output.status, text: text.into_owned() });
        }
    }
}
