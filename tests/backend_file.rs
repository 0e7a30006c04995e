//! The configuration files that the documents show are read, in every form they have, and the example is complete and states the
//! defaults.

use std::path::Path;

use graphreel::lifecycle::config::{
    GpuBackendConfigFile, GpuBackendDeviceProfile, GpuMemoryOwnership, QueryExecutionConfig, QueueBounds,
};

fn document(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name))
        .expect("it is in the repository")
}

fn example() -> String {
    document("backend.example.toml")
}

fn parse(text: &str) -> GpuBackendConfigFile {
    GpuBackendConfigFile::parse("backend.toml", text).unwrap_or_else(|error| panic!("{error} in\n{text}"))
}

#[test]
fn the_file_of_the_document_is_read() {
    let document = document("BACKEND.md");
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

#[test]
fn the_example_states_the_defaults() {
    let config = parse(&example()).config().clone();
    let [device] = config.devices() else { panic!("one device") };
    assert_eq!(device.profile(), &GpuBackendDeviceProfile::new(0));
    assert_eq!(device.memory_ownership(), GpuMemoryOwnership::WholeDeviceExclusive);
    let validated = config.validate().unwrap();
    assert_eq!(validated.queue_bounds(), &QueueBounds::default());
    assert_eq!(validated.execution_config(), &QueryExecutionConfig::default());
    assert_eq!(validated.attempt_completion_queue_capacity(), None);
}

/// A line behind one hash is put in place of the one that sets its field, or where it stands.
#[test]
fn every_form_of_the_example_is_read() {
    let text = example();
    let field = |line: &str| line.split_once(" = ").map(|(name, _)| name.to_owned());
    let forms: Vec<&str> = text.lines().filter(|line| line.starts_with('#') && !line.starts_with("# ")).collect();
    let forms: Vec<&str> = forms.into_iter().filter(|line| line.contains(" = ")).collect();
    assert!(forms.len() >= 6, "{forms:?}");
    for form in forms {
        let set = form.trim_start_matches('#');
        let name = field(set);
        let lines = text.lines().filter(|line| field(line) != name).map(|line| if line == form { set } else { line });
        let changed = parse(&lines.collect::<Vec<_>>().join("\n"));
        let config = changed.config().clone();
        let same = format!("{config:?}") == format!("{:?}", parse(&text).config());
        // The derived bounds are those that it writes out, and a value that is stated is another one than none.
        assert!(!same, "{form} changes nothing");
        config.validate().unwrap_or_else(|error| panic!("{form}: {error}"));
    }
}

/// What the parser would have accepted in each table is in the example.
#[test]
fn the_example_has_every_field() {
    let text = example();
    let mut tables = 0;
    for (before, table) in [
        ("", "the_file"),
        ("[[devices]]\n", "a_device"),
        ("[[devices]]\nmemory_limit = { automatic = { ", "an_automatic_limit"),
        ("[queue]\n", "the_queue"),
        ("[execution]\n", "the_execution"),
    ] {
        let close = if before.ends_with("{ ") { " } }" } else { "" };
        let error = GpuBackendConfigFile::parse("x", &format!("{before}{table} = 1{close}\n")).unwrap_err();
        // The parser lists what it knows, for a form of a limit in other words.
        let listed =
            |start: &str| error.message().split_once(start).map(|(_, rest)| rest.split(';').next().unwrap_or(""));
        let listed = listed("available keys: ").or_else(|| listed("expected ")).unwrap_or_else(|| panic!("{error}"));
        let word = |c: char| c != '_' && !c.is_ascii_alphanumeric();
        let names: Vec<&str> = listed.split(word).filter(|name| !["", "one", "of", "or"].contains(name)).collect();
        assert!(!names.is_empty(), "{error}");
        for name in names {
            let stated = text.contains(&format!("{name} = ")) || text.contains(&format!("[{name}]"));
            assert!(stated, "`{name}` of {table} is not in the example");
        }
        tables += 1;
    }
    assert_eq!(tables, 5);
}
