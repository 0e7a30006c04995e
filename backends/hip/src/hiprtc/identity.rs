//! What tells a hipRTC from every other: kept code is looked up by it. hipRTC is a thin library, whose file may be the same while the
//! compiler behind it is another.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Name and version, and each file with its size and time: hipRTC's own, then those of its compiler, as far as they are known.
pub(super) fn of(version: &str, rtc: &Path, compiler: &[PathBuf]) -> String {
    // One that is built into another library is told once.
    let rest = compiler.iter().map(PathBuf::as_path).filter(|file| *file != rtc);
    let files: Vec<String> = std::iter::once(rtc).chain(rest).map(stamped).collect();
    format!("hipRTC {version}, {}", files.join(", "))
}

/// A file with what tells it from another in its place; its path alone where it cannot be looked at.
fn stamped(file: &Path) -> String {
    let Ok(found) = std::fs::metadata(file) else { return file.display().to_string() };
    let modified = found.modified().ok().and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    format!("{} ({} bytes, of second {})", file.display(), found.len(), modified.unwrap_or_default().as_secs())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use super::*;

    /// A file of so many bytes, of that second.
    fn put(file: &Path, bytes: usize, second: u64) {
        std::fs::write(file, vec![0; bytes]).expect("a file in a folder for a test");
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
        File::options().write(true).open(file).and_then(|file| file.set_modified(time)).expect("it was made");
    }

    #[test]
    fn each_file_of_the_compiler_is_part_of_it() {
        let folder = tempfile::tempdir().expect("a folder for a test");
        let of_here = |name: &str| folder.path().join(name);
        let (rtc, comgr, llvm) = (of_here("libhiprtc.so"), of_here("libamd_comgr.so"), of_here("libLLVM.so"));
        [&rtc, &comgr, &llvm].iter().for_each(|file| put(file, 10, 1_000));
        let told = || of("7.2", &rtc, &[comgr.clone(), llvm.clone()]);
        let first = told();
        assert!(first.starts_with("hipRTC 7.2, ") && first.matches("10 bytes, of second 1000").count() == 3, "{first}");
        for file in [&rtc, &comgr, &llvm] {
            for (bytes, second) in [(11, 1_000), (10, 1_001)] {
                put(file, bytes, second);
                assert_ne!(told(), first, "{} is another", file.display());
            }
            put(file, 10, 1_000);
            assert_eq!(told(), first);
        }
    }

    #[test]
    fn what_is_not_known_is_not_told() {
        let nowhere = Path::new("/nowhere/libhiprtc.so.7");
        assert_eq!(of("7.2", nowhere, &[]), "hipRTC 7.2, /nowhere/libhiprtc.so.7");
        assert_eq!(of("7.2", nowhere, &[nowhere.to_owned()]), "hipRTC 7.2, /nowhere/libhiprtc.so.7");
    }
}
