//! What the server needs of every release, whether a file has its capture matrix or not; and a matrix held against a file.

/// A row that is needed: the capture's mode, the call, and what comes of it on whichever thread it is made.
type Needed = (&'static str, &'static str, &'static str);

/// The call is answered, and is none of the capture's business.
const BESIDE: &str = "0 | active | 0 | fill";

/// What the server does while a stream of its captures.
const NEEDED: &[Needed] = &[
    // The window itself. It captures relaxed, and any thread may end it.
    ("relaxed", "no call", BESIDE),
    ("relaxed", "hipModuleLaunchKernel", "0 | active | 0 | fill kernel"),
    ("relaxed", "hipMemsetD32Async, capturing stream", "0 | active | 0 | fill fill"),
    ("relaxed", "hipMemcpyDtoDAsync, capturing stream", "0 | active | 0 | fill copy"),
    ("relaxed", "hipMemcpyHtoDAsync, capturing stream", "0 | active | 0 | fill copy"),
    ("relaxed", "hipStreamGetCaptureInfo_v2", BESIDE),
    ("relaxed", "hipStreamEndCapture", "0 | none | 401 | no graph"),
    // Its neighbours, on their own streams.
    ("relaxed", "hipModuleLaunchKernel, other stream", BESIDE),
    ("relaxed", "hipMemsetD32Async, other stream", BESIDE),
    ("relaxed", "hipMemcpyDtoHAsync, other stream", BESIDE),
    ("relaxed", "hipEventRecord, other stream", BESIDE),
    ("relaxed", "hipStreamWaitEvent, other stream", BESIDE),
    ("relaxed", "hipEventQuery, recorded before", BESIDE),
    ("relaxed", "hipGraphLaunch, other stream", BESIDE),
    // What they need for it. Pages are pooled, but not all before a window; frees wait for its end.
    ("relaxed", "hipMalloc", BESIDE),
    ("relaxed", "hipHostMalloc", BESIDE),
    ("relaxed", "hipMemGetInfo", BESIDE),
    ("relaxed", "hipModuleLoadData and hipModuleGetFunction", BESIDE),
    ("relaxed", "hipStreamCreateWithFlags and hipStreamDestroy", BESIDE),
    ("relaxed", "hipEventCreateWithFlags and hipEventDestroy", BESIDE),
    // An application's own capture in the strictest mode, which our calls neither fail by nor break.
    ("global", "hipMalloc, exchanged to relaxed", BESIDE),
];

/// How many rows are needed: each on both threads.
pub(crate) const NEEDED_ROWS: usize = 2 * NEEDED.len();

/// A row's mode, thread and call, and what comes of it with one space where it has several.
fn parts(row: &str) -> Option<(&str, &str, &str, String)> {
    let mut cells = row.splitn(4, " | ");
    let (mode, thread, call, rest) = (cells.next()?, cells.next()?, cells.next()?, cells.next()?);
    Some((mode, thread, call, rest.split_whitespace().collect::<Vec<_>>().join(" ")))
}

/// Every way in which the rows are not as the server needs them.
pub(crate) fn broken(rows: &str) -> Vec<String> {
    let rows: Vec<_> = rows.lines().filter_map(parts).collect();
    let mut all = Vec::new();
    for (mode, call, needed) in NEEDED {
        for thread in ["own", "other"] {
            let found = rows.iter().find(|row| (row.0, row.1, row.2) == (*mode, thread, *call));
            match found {
                None => all.push(format!("{mode} | {thread} | {call}: no row")),
                Some((.., found)) if found != needed => {
                    all.push(format!("{mode} | {thread} | {call}: {found}, and the server needs {needed}"));
                }
                Some(_) => {}
            }
        }
    }
    // A capture that broke says so at its end, whatever broke it.
    for (mode, thread, call, found) in &rows {
        if found.contains("| broken |") && !found.ends_with("| broken | 901 | no graph") {
            all.push(format!("{mode} | {thread} | {call}: {found}, and the server needs its end to tell"));
        }
    }
    all
}

/// Every row that is otherwise than on file, as it was and as it is.
pub(crate) fn different(found: &str, expected: &str) -> Vec<String> {
    let lines = found.lines().zip(expected.lines()).filter(|(found, expected)| found != expected);
    let mut all: Vec<String> = lines.map(|(found, expected)| format!("- {expected}\n+ {found}")).collect();
    let (found, expected) = (found.lines().count(), expected.lines().count());
    if found != expected {
        all.push(format!("{found} rows, not {expected}"));
    }
    all
}

/// A matrix as the server needs it, and nothing else.
fn made_up() -> String {
    let mut text = String::from("mode | thread | call | answer | capture then | end answers | nodes\n");
    for (mode, call, needed) in NEEDED {
        for thread in ["own", "other"] {
            text += &format!("{mode} | {thread} | {call} |   {}\n", needed.replace("| 0 |", "|   0 |"));
        }
    }
    text
}

#[test]
fn a_matrix_as_it_is_needed_breaks_nothing() {
    assert_eq!(broken(&made_up()), [""; 0]);
    let more = made_up() + "relaxed | own | hipDeviceSynchronize | 900 | broken | 901 | no graph\nnot a row\n";
    assert_eq!(broken(&more), [""; 0], "other rows may be as they like");
}

#[test]
fn each_needed_row_is_missed_and_seen_to_differ() {
    let whole = made_up();
    let rows: Vec<&str> = whole.lines().skip(1).collect();
    assert_eq!(rows.len(), NEEDED_ROWS);
    for (at, row) in rows.iter().enumerate() {
        let others: String =
            rows.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, row)| format!("{row}\n")).collect();
        let missed = broken(&others);
        assert!(missed.len() == 1 && missed[0].ends_with("no row"), "{row}: {missed:?}");
        let (mode, thread, call, _) = parts(row).expect("a row");
        for answer in ["900 | broken | 901 | no graph", "  0 | active |   0 | fill host", "  1 | active |   0 | fill"] {
            let changed = format!("{mode} | {thread} | {call} | {answer}");
            let seen = broken(&(others.clone() + &changed));
            assert!(seen.len() == 1 && seen[0].contains("the server needs"), "{changed}: {seen:?}");
        }
    }
}

#[test]
fn a_broken_capture_whose_end_is_silent_is_seen() {
    for end in ["  0 | fill", "901 | fill", "  0 | no graph"] {
        let rows = made_up() + &format!("global | other | hipFree | 900 | broken | {end}\n");
        assert_eq!(broken(&rows).len(), 1, "{end}");
    }
}

#[test]
fn a_matrix_is_held_against_a_file_row_by_row() {
    assert_eq!(different("a\nb\n", "a\nb\n"), [""; 0]);
    assert_eq!(different("a\nc\n", "a\nb\n"), ["- b\n+ c"]);
    assert_eq!(different("a\n", "a\nb\n"), ["1 rows, not 2"]);
    assert_eq!(different("", "a\n"), ["0 rows, not 1"]);
}
