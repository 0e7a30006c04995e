//! The one door to standard output. A reader that went away is success, so `graphreel ... | head` never complains.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

use serde::Serialize;

use crate::failure::Failure;

/// Where `--json` sends its object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Json {
    /// No `--json`: people read the output.
    Off,
    /// `--json`: the object is all that standard output gets.
    Stdout,
    /// `--json FILE`: the object goes there, and standard output is for people.
    File(PathBuf),
}

impl Json {
    /// From what clap makes of `--json [FILE]`.
    pub(crate) fn new(arg: Option<Option<PathBuf>>) -> Self {
        match arg {
            None => Self::Off,
            Some(None) => Self::Stdout,
            Some(Some(path)) if path.as_os_str() == "-" => Self::Stdout,
            Some(Some(path)) => Self::File(path),
        }
    }

    /// Whether standard output is for people.
    pub(crate) fn leaves_stdout(&self) -> bool {
        *self != Self::Stdout
    }

    /// Learn now, and not after a minute's work, that the file cannot be written. What is in it stays, and a file that was
    /// not there is not left behind empty: the work may fail.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let Self::File(path) = self else { return Ok(()) };
        let write = |source| Failure::Write { what: path.display().to_string(), source };
        match OpenOptions::new().write(true).create_new(true).open(path) {
            Ok(_) => fs::remove_file(path).map_err(write),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                OpenOptions::new().create(true).append(true).open(path).map(drop).map_err(write)
            }
            Err(error) => Err(write(error)),
        }
    }

    /// Write `value` where it was asked for: one object, pretty-printed, with a final newline.
    pub(crate) fn put(&self, value: &impl Serialize) -> Result<(), Failure> {
        if *self == Self::Off {
            return Ok(());
        }
        let mut text = serde_json::to_string_pretty(value).map_err(Failure::Json)?;
        text.push('\n');
        match self {
            Self::File(path) => {
                fs::write(path, text).map_err(|source| Failure::Write { what: path.display().to_string(), source })
            }
            Self::Off | Self::Stdout => print(&text),
        }
    }
}

/// Write `text` to standard output, at once and whole.
///
/// # Errors
///
/// [`Failure::Closed`] when nobody reads any more, which ends the program with success.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(|source| match source.kind() {
        io::ErrorKind::BrokenPipe => Failure::Closed,
        _ => Failure::Write { what: "standard output".to_owned(), source },
    })
}

/// Write one line of `text` to standard error. Nothing can be done when that fails.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_goes_to_stdout_unless_a_file_is_named() {
        assert_eq!(Json::new(None), Json::Off);
        assert_eq!(Json::new(Some(None)), Json::Stdout);
        assert_eq!(Json::new(Some(Some("-".into()))), Json::Stdout);
        assert_eq!(Json::new(Some(Some("a.json".into()))), Json::File("a.json".into()));
    }

    #[test]
    fn an_unwritable_file_is_found_before_the_work() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let json = Json::File(folder.path().join("absent").join("a.json"));
        let failure = json.check().expect_err("its folder is absent");
        assert!(failure.to_string().contains("a.json"), "{failure}");
        assert!(Json::File(folder.path().into()).check().is_err(), "a folder is no file");
    }

    #[test]
    fn looking_whether_a_file_can_be_written_changes_nothing() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let path = folder.path().join("a.json");
        let json = Json::File(path.clone());
        json.check().expect("the folder is writable");
        assert!(!path.exists());
        fs::write(&path, "before").expect("the folder is writable");
        json.check().expect("the file is writable");
        assert_eq!(fs::read_to_string(&path).expect("it stays"), "before");
    }
}
