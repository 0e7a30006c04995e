//! The configuration file that docs/BACKEND.md shows is one that is read, in both of the forms it has.

use std::path::Path;

use graphreel::lifecycle::config::GpuBackendConfigFile;

#[test]
fn the_file_of_the_document_is_read() {
    let document = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/BACKEND.md")).unwrap();
    let (_, rest) = document.split_once("```toml\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    let read = |text: &str| GpuBackendConfigFile::parse("docs/BACKEND.md", text).unwrap().config().clone();
    let validated = read(text).validate().unwrap();
    assert_eq!((validated.ordinals(), validated.validated_devices()[0].allocation_limit_bytes()), (vec![0], None));
    // The other forms stand behind a hash.
    let lines = text.lines().filter(|line| !["memory_o", "memory_l"].iter().any(|field| line.starts_with(field)));
    let other: Vec<&str> = lines.map(|line| line.strip_prefix("# ").unwrap_or(line)).collect();
    let validated = read(&other.join("\n")).validate().unwrap();
    assert_eq!(validated.validated_devices()[0].allocation_limit_bytes(), Some(8 << 30));
}
