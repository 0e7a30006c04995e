//! A compiled program: jobs in, buffers or a failure out for each.

use std::fmt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use super::{Job, Kernel, job, place_in};
use crate::{Ended, child};

/// What the sanitizers are told: one exit code for every finding, and no search for leaks, which a traced process cannot
/// make.
const SANITIZERS: [(&str, &str); 2] = [
    ("ASAN_OPTIONS", "exitcode=86:detect_leaks=0:detect_stack_use_after_return=0:allocator_may_return_null=0"),
    ("UBSAN_OPTIONS", "exitcode=86:halt_on_error=1:print_stacktrace=1"),
];

/// The exit code of [`SANITIZERS`].
const FOUND: i32 = 86;

/// What `SIGALRM` is on every system that has g++: the child's own deadline for a job.
#[cfg(unix)]
const ALARM: i32 = 14;

/// Kernels of one unit, ready to run.
#[derive(Debug)]
pub struct Program {
    folder: TempDir,
    kernels: Vec<Kernel>,
}

/// Why a job did not end well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A sanitizer found something that C++ does not define, or an access beside a buffer.
    Sanitizer,
    /// It did not end within its time.
    Deadline,
    /// The process ended in another way.
    Crash,
}

/// A job that did not end well.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The kernel's name.
    pub kernel: String,
    /// Which job of those that were given.
    pub job: usize,
    /// What happened.
    pub cause: Cause,
    /// The first place in WGSL that the report names, as `FILE.wgsl:LINE`.
    pub place: Option<String>,
    /// What the process wrote.
    pub report: String,
    /// The folder with the generated source, the program and the jobs, which is kept. `kernels FOLDER JOB SECONDS` in it runs
    /// them again from one on.
    pub kept: PathBuf,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.cause {
            Cause::Sanitizer => "a sanitizer's finding",
            Cause::Deadline => "no end within its time",
            Cause::Crash => "a crash",
        };
        let place = self.place.as_deref().unwrap_or("no line of WGSL");
        write!(f, "{} (job {}): {what} at {place}; see {}\n{}", self.kernel, self.job, self.kept.display(), self.report)
    }
}

impl Program {
    pub(super) fn new(folder: TempDir, kernels: Vec<Kernel>) -> Self {
        Self { folder, kernels }
    }

    /// The kernels, in the order by which jobs name them.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// Run jobs, each within `seconds`, and give for each the buffers as it left them. A job that fails does not keep the
    /// others from running.
    ///
    /// # Errors
    ///
    /// An error of the system's; failures of jobs are results.
    ///
    /// # Panics
    ///
    /// When a job names no kernel, or has not the buffers that its kernel takes.
    pub fn run(&mut self, jobs: &[Job], seconds: u32) -> std::io::Result<Vec<Result<Vec<Vec<u8>>, Failure>>> {
        let runs = tempfile::tempdir()?;
        let mut file = Vec::new();
        job::word(&mut file, jobs.len());
        jobs.iter().for_each(|job| job.write(&self.kernels[job.kernel], &mut file));
        std::fs::write(runs.path().join("jobs"), file)?;
        // The child ends itself; this is for one that cannot.
        let deadline = Duration::from_secs(u64::from(seconds) * (jobs.len() as u64 + 1) + 60);
        let program = self.folder.path().join("kernels");
        let start = |from: usize| {
            let mut command = Command::new(&program);
            command.arg(runs.path()).args([from.to_string(), seconds.to_string()]).envs(SANITIZERS);
            child::run(&mut command, runs.path(), deadline)
        };
        let ended = child::resume(runs.path(), jobs.len(), start)?;
        let mut results = Vec::with_capacity(jobs.len());
        for (index, (job, ended)) in jobs.iter().zip(ended).enumerate() {
            results.push(match ended {
                Ok(()) => {
                    let bytes = std::fs::read(runs.path().join(format!("{index}.done")))?;
                    let split = job.split(&bytes);
                    Ok(split.ok_or_else(|| std::io::Error::other("the child left fewer bytes than it was given"))?)
                }
                Err(ended) => {
                    std::fs::copy(runs.path().join("jobs"), self.folder.path().join("jobs"))?;
                    Err(self.failure(index, job, ended))
                }
            });
        }
        Ok(results)
    }

    fn failure(&mut self, index: usize, job: &Job, ended: Ended) -> Failure {
        self.folder.disable_cleanup(true);
        Failure {
            kernel: self.kernels[job.kernel].name.clone(),
            job: index,
            cause: cause(&ended),
            place: place_in(&ended.output),
            report: ended.output,
            kept: self.folder.path().to_owned(),
        }
    }
}

fn cause(ended: &Ended) -> Cause {
    let Some(status) = ended.status else { return Cause::Deadline };
    #[cfg(unix)]
    if std::os::unix::process::ExitStatusExt::signal(&status) == Some(ALARM) {
        return Cause::Deadline;
    }
    if status.code() == Some(FOUND) { Cause::Sanitizer } else { Cause::Crash }
}
