//! `graphreel cache`, over folders of the tests' own.

use std::path::Path;

use graphreel_cpp::cache::{Cache, Key, KeyParts, Place, Settings};
use serde_json::json;

use crate::program::{Run, graphreel, run};

fn cache(args: &[&str], place: &Path) -> Run {
    let mut command = graphreel(&[&["cache"], args].concat());
    command.env("GRAPHREEL_CACHE", place);
    run(command)
}

fn fill(folder: &Path) {
    let place = Place::Folder(folder.to_owned());
    let cache = Cache::open(&Settings { place, ..Settings::default() });
    for source in ["a", "b", "c"] {
        let key = Key::new(&KeyParts { source, options: &[], compiler: "", driver: "", architecture: "" });
        cache.put(&key, &[0; 936]);
    }
}

#[test]
fn a_cache_is_shown_and_cleared() {
    let above = tempfile::tempdir().expect("a folder for the test");
    let folder = above.path().join("code");
    let empty = cache(&[], &folder);
    assert_eq!((empty.code, empty.stderr.as_str()), (Some(0), ""));
    assert!(empty.stdout.ends_with("kept: 0 entries, 0 bytes, of at most 1 GiB\n"), "{}", empty.stdout);
    assert!(!folder.exists(), "a look makes nothing");

    fill(&folder);
    let shown = cache(&[], &folder).stdout;
    assert_eq!(shown, format!("folder: {}\nkept: 3 entries, 3 KiB, of at most 1 GiB\n", folder.display()));
    let report = cache(&["--json"], &folder).json();
    let folder_text = folder.to_str().expect("UTF-8");
    assert_eq!(
        report,
        json!({ "schema": "graphreel.cache/1", "used": true, "folder": folder_text, "entries": 3, "bytes": 3072,
            "bytes_max": 1 << 30 })
    );
    let cleared = cache(&["--clear", "--json"], &folder).json();
    assert_eq!((&cleared["removed"], &cleared["entries"]), (&json!({ "entries": 3, "bytes": 3072 }), &json!(0)));
    let again = cache(&["--clear"], &folder);
    assert!(again.code == Some(0) && again.stdout.contains("removed: 0 entries"), "{}", again.stdout);
}

#[test]
fn a_cache_that_is_off_says_so() {
    for args in [[].as_slice(), &["--clear"]] {
        let Run { code, stdout, stderr } = cache(args, Path::new("off"));
        assert_eq!((code, stderr.as_str()), (Some(0), ""));
        assert!(stdout.starts_with("not used: the code cache is off"), "{stdout}");
    }
    let report = cache(&["--json"], Path::new("off")).json();
    assert_eq!((&report["used"], &report["folder"]), (&json!(false), &json!(null)));
}

#[test]
fn a_folder_that_is_not_to_be_trusted_is_not_cleared() {
    let above = tempfile::tempdir().expect("a folder for the test");
    let file = above.path().join("file");
    std::fs::write(&file, "mine").expect("the folder is writable");
    let shown = cache(&[], &file);
    assert_eq!(shown.code, Some(0));
    assert!(shown.stdout.starts_with("not used: ") && shown.stdout.contains("is a file"), "{}", shown.stdout);
    let Run { code, stdout, stderr } = cache(&["--clear"], &file);
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(stderr.contains("error: the code cache's folder") && file.exists(), "{stderr}");
    let relative = cache(&[], Path::new("some/where"));
    assert!(relative.stdout.contains("is not absolute"), "{}", relative.stdout);
}
