//! Programs that may crash or hang: run as a child with a deadline, and run again behind the job that ended one.

use std::fs::File;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often a running child is looked at.
const PAUSE: Duration = Duration::from_millis(3);

/// Bytes of a child's output that are kept: a sanitizer's report is shorter, a compiler's flood is longer.
const OUTPUT_BYTES_MAX: usize = 64 << 10;

/// How a child ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Its status; `None` where it was ended at its deadline.
    pub status: Option<ExitStatus>,
    /// The first part of what it wrote on standard output and standard error.
    pub output: String,
}

impl Ended {
    /// Whether it ended by itself and said that it succeeded.
    pub(crate) fn succeeded(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}

/// Run `command` until it ends, at most for `deadline`. `folder` takes its output, which no full pipe can hold up.
pub(crate) fn run(command: &mut Command, folder: &Path, deadline: Duration) -> std::io::Result<Ended> {
    let path = folder.join("output.txt");
    let output = File::create(&path)?;
    let errors = output.try_clone()?;
    let mut child = command.stdin(Stdio::null()).stdout(output).stderr(errors).spawn()?;
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if begun.elapsed() > deadline {
            child.kill()?;
            child.wait()?;
            break None;
        }
        std::thread::sleep(PAUSE);
    };
    let mut bytes = std::fs::read(&path)?;
    bytes.truncate(OUTPUT_BYTES_MAX);
    Ok(Ended { status, output: String::from_utf8_lossy(&bytes).into_owned() })
}

/// Have `count` jobs done by children, each of which does those from the one that it is given, in order, and leaves a file
/// `<job>.done` behind every one: the job that ends a child is left out, and how the child ended is its result.
pub(crate) fn resume(
    folder: &Path,
    count: usize,
    mut start: impl FnMut(usize) -> std::io::Result<Ended>,
) -> std::io::Result<Vec<Result<(), Ended>>> {
    let mut results = Vec::with_capacity(count);
    while results.len() < count {
        let ended = start(results.len())?;
        let before = results.len();
        while results.len() < count && folder.join(format!("{}.done", results.len())).exists() {
            results.push(Ok(()));
        }
        if results.len() < count {
            results.push(Err(ended));
        } else if !ended.succeeded() && before < count {
            // It went wrong behind its last job, for which that job answers.
            results.pop();
            results.push(Err(ended));
        }
    }
    Ok(results)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_child_is_heard_and_ended_at_its_deadline() {
        let folder = tempfile::tempdir().expect("a folder");
        let patient = Duration::from_secs(60);
        let ended = run(&mut shell("echo out; echo err >&2; exit 3"), folder.path(), patient).expect("it runs");
        assert_eq!((ended.status.and_then(|status| status.code()), ended.output.as_str()), (Some(3), "out\nerr\n"));
        let ended = run(&mut shell("exec sleep 600"), folder.path(), Duration::from_millis(50)).expect("it runs");
        assert!(ended.status.is_none() && !ended.succeeded());
    }

    #[test]
    fn the_job_that_ends_a_child_is_the_only_one_lost() {
        let folder = tempfile::tempdir().expect("a folder");
        let job = "[ $job = 2 ] && exit 9; touch \"$job.done\"; [ $job = 4 ] && exit 8; true";
        let start = |from: usize| {
            let script = format!("for job in $(seq {from} 4); do {job} || exit 7; done");
            run(shell(&script).current_dir(folder.path()), folder.path(), Duration::from_secs(60))
        };
        let results = resume(folder.path(), 5, start).expect("children run");
        let codes: Vec<Option<i32>> = results
            .iter()
            .map(|result| result.as_ref().err().and_then(|ended| ended.status).and_then(|status| status.code()))
            .collect();
        assert_eq!(codes, [None, None, Some(9), None, Some(8)]);
    }
}
