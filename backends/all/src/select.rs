//! Which device a caller means, in words that a variable or an argument can hold.

use std::fmt;
use std::str::FromStr;

use graphreel::{DeviceInfo, DeviceKind, ServerError};

use crate::catalog::{BACKENDS, absence, built, why_none};

/// Which device to open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Select {
    /// What `GRAPHREEL_DEVICE` says; without it the best device that is one, software ones last. Never the simulator.
    #[default]
    Auto,
    /// As [`Select::Auto`], and the simulator where there is no device.
    AutoOrSim,
    /// The best device of a backend, by the backend's name.
    Backend(String),
    /// The first device whose name contains the text, in any case.
    Name(String),
    /// The device of that index in the order of [`list`](crate::list), counted from 0 over all backends.
    Index(usize),
    /// The device with that UUID.
    Uuid(String),
    /// The device at that PCI address, `domain:bus:device.function`; the domain may be left out.
    Pci(String),
}

/// A text that selects no device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectError {
    /// The text.
    pub text: String,
    /// What is wrong with it.
    pub problem: &'static str,
}

impl fmt::Display for SelectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, problem } = self;
        write!(
            f,
            "`{text}` selects no device: {problem}; use auto, auto-or-sim, a backend, an index, a PCI address, a UUID or a name"
        )
    }
}

impl std::error::Error for SelectError {}

impl From<SelectError> for ServerError {
    fn from(error: SelectError) -> Self {
        let why =
            "use auto, auto-or-sim, a backend's name, an index, a PCI address, a UUID or a part of a device's name";
        Self::unsupported(format!("selecting a device by `{}` ({})", error.text, error.problem), why)
    }
}

impl FromStr for Select {
    type Err = SelectError;

    /// `auto`, `auto-or-sim`, a backend's name, an index, a PCI address, a UUID, or a part of a device's name. Where a
    /// text could be two of these, a prefix decides: `backend:`, `index:`, `name:`, `pci:`, `uuid:`.
    fn from_str(text: &str) -> Result<Self, SelectError> {
        let text = text.trim();
        let refuse = |problem| SelectError { text: text.to_owned(), problem };
        if let Some((kind, rest)) = text.split_once(':') {
            let rest = rest.trim();
            let known = ["backend", "index", "name", "pci", "uuid"].contains(&kind);
            return match kind {
                _ if known && rest.is_empty() => Err(refuse("nothing follows the colon")),
                "backend" => Ok(Self::Backend(rest.to_lowercase())),
                "index" => rest.parse().map(Self::Index).map_err(|_| refuse("an index is a number, counted from 0")),
                "name" => Ok(Self::Name(rest.to_owned())),
                "pci" if is_pci(rest) => Ok(Self::Pci(rest.to_lowercase())),
                "pci" => Err(refuse("a PCI address is `domain:bus:device.function`")),
                "uuid" => Ok(Self::Uuid(rest.to_lowercase())),
                _ if is_pci(text) => Ok(Self::Pci(text.to_lowercase())),
                _ => Ok(Self::Name(text.to_owned())),
            };
        }
        match text {
            "" | "auto" => Ok(Self::Auto),
            "auto-or-sim" => Ok(Self::AutoOrSim),
            _ if BACKENDS.contains(&text) => Ok(Self::Backend(text.to_owned())),
            _ if is_uuid(text) => Ok(Self::Uuid(text.to_lowercase())),
            _ => Ok(text.parse().map_or_else(|_| Self::Name(text.to_owned()), Self::Index)),
        }
    }
}

/// `domain:bus:device.function` in hexadecimal, or without the domain.
fn is_pci(text: &str) -> bool {
    let Some((path, function)) = text.rsplit_once('.') else { return false };
    let hex = |part: &str| !part.is_empty() && part.chars().all(|digit| digit.is_ascii_hexdigit());
    let parts: Vec<&str> = path.split(':').collect();
    hex(function) && (2..=3).contains(&parts.len()) && parts.into_iter().all(hex)
}

/// 8-4-4-4-12 hexadecimal digits.
fn is_uuid(text: &str) -> bool {
    let lengths = text.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12]) && text.chars().all(|digit| digit == '-' || digit.is_ascii_hexdigit())
}

impl fmt::Display for Select {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::AutoOrSim => f.write_str("auto-or-sim"),
            Self::Backend(name) => write!(f, "backend:{name}"),
            Self::Name(name) => write!(f, "name:{name}"),
            Self::Index(index) => write!(f, "index:{index}"),
            Self::Uuid(uuid) => write!(f, "uuid:{uuid}"),
            Self::Pci(address) => write!(f, "pci:{address}"),
        }
    }
}

/// What a selection came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    /// The position among what was found.
    pub(crate) index: usize,
    /// Why that one.
    pub(crate) why: String,
    /// Whether it is the simulator for want of a device.
    pub(crate) last_resort: bool,
}

/// Which of `found` is meant by `select`, and why. `found` is in the order of listing: by backend, best device first.
pub(crate) fn choose(found: &[DeviceInfo], select: &Select) -> Result<Choice, ServerError> {
    let first = |matches: &dyn Fn(&DeviceInfo) -> bool| found.iter().position(matches);
    let contains = |text: &str, part: &str| text.to_lowercase().contains(&part.to_lowercase());
    let simulated = |index: usize| found[index].kind == DeviceKind::Simulated;
    // Positions are unique, so the first of the best kind wins. The simulator is the last kind.
    let best = |indices: &mut dyn Iterator<Item = usize>| indices.min_by_key(|index| (found[*index].kind, *index));
    let chosen = match select {
        Select::Auto => best(&mut (0..found.len()).filter(|index| !simulated(*index))),
        Select::AutoOrSim => best(&mut (0..found.len())),
        Select::Backend(name) => first(&|info| info.backend == *name),
        Select::Name(name) => first(&|info| contains(&info.name, name)),
        Select::Index(index) => (*index < found.len()).then_some(*index),
        Select::Uuid(uuid) => first(&|info| info.uuid.as_ref().is_some_and(|known| known.eq_ignore_ascii_case(uuid))),
        Select::Pci(address) => first(&|info| info.pci.as_ref().is_some_and(|known| same_pci(known, address))),
    };
    match (chosen, select) {
        (Some(index), Select::AutoOrSim) if simulated(index) => {
            Ok(Choice { index, why: "no device was found".to_owned(), last_resort: true })
        }
        (Some(index), Select::Auto | Select::AutoOrSim) => {
            Ok(Choice { index, why: "the best kind of device found".to_owned(), last_resort: false })
        }
        (Some(index), select) => Ok(Choice { index, why: format!("asked for by {select}"), last_resort: false }),
        (None, Select::Backend(name)) if !built().contains(&name.as_str()) => Err(not_built(name)),
        (None, Select::Backend(name)) => Err(ServerError::unsupported(format!("opening {select}"), absence(name))),
        (None, Select::Auto | Select::AutoOrSim) => Err(ServerError::unsupported("opening a device", no_device())),
        (None, select) => Err(absent(found, select)),
    }
}

/// Whether two addresses are one, the domain of the second being optional.
fn same_pci(known: &str, asked: &str) -> bool {
    let (known, asked) = (known.to_lowercase(), asked.to_lowercase());
    known == asked || known.strip_suffix(&asked).is_some_and(|domain| domain.ends_with(':'))
}

fn not_built(name: &str) -> ServerError {
    let why = match built().as_slice() {
        [] => "this build has no backend; build with the feature of one".to_owned(),
        names => format!("this build has: {}", names.join(", ")),
    };
    ServerError::unsupported(format!("backend `{name}`"), why)
}

/// Why there is no device, with the way out that this build has.
fn no_device() -> String {
    let why = why_none();
    if built().contains(&"sim") { format!("{why}; or ask for `sim`, the simulator, which is no device") } else { why }
}

fn absent(found: &[DeviceInfo], select: &Select) -> ServerError {
    let what = format!("opening {select}");
    if found.is_empty() {
        return ServerError::unsupported(what, why_none());
    }
    let names = found.iter().enumerate().map(|(index, info)| {
        let no_device = if info.kind == DeviceKind::Simulated { ": no device" } else { "" };
        format!("{index} {} ({}{no_device})", info.name, info.backend)
    });
    let names: Vec<_> = names.collect();
    ServerError::unsupported(what, format!("the devices are: {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use graphreel::DeviceKind;
    use graphreel::memory::DeviceId;

    use super::*;

    fn info(backend: &str, name: &str, kind: DeviceKind, pci: Option<&str>) -> DeviceInfo {
        DeviceInfo {
            backend: backend.into(),
            name: name.into(),
            api: String::new(),
            kind,
            driver: String::new(),
            pci: pci.map(str::to_owned),
            uuid: Some("01234567-89ab-cdef-0123-456789abcdef".into()).filter(|_| kind == DeviceKind::Discrete),
            memory_bytes: None,
            id: DeviceId(0),
        }
    }

    fn machine() -> [DeviceInfo; 4] {
        [
            info("wgpu", "llvmpipe (LLVM 15)", DeviceKind::Software, None),
            info("wgpu", "Part of a CPU", DeviceKind::Integrated, Some("0000:00:02.0")),
            info("wgpu", "Big Card", DeviceKind::Discrete, Some("0000:0a:00.0")),
            info("sim", "A simulator", DeviceKind::Simulated, None),
        ]
    }

    #[test]
    fn texts_select_and_print_back() {
        let uuid = "01234567-89ab-cdef-0123-456789abcdef";
        for (text, select) in [
            ("", Select::Auto),
            ("auto", Select::Auto),
            ("auto-or-sim", Select::AutoOrSim),
            ("wgpu", Select::Backend("wgpu".into())),
            ("sim", Select::Backend("sim".into())),
            ("backend:mine", Select::Backend("mine".into())),
            ("2", Select::Index(2)),
            ("llvmpipe", Select::Name("llvmpipe".into())),
            ("name:3", Select::Name("3".into())),
            ("0000:0A:00.0", Select::Pci("0000:0a:00.0".into())),
            ("pci:0a:00.0", Select::Pci("0a:00.0".into())),
            (uuid, Select::Uuid(uuid.into())),
        ] {
            assert_eq!(text.parse(), Ok(select.clone()), "{text}");
            assert_eq!(select.to_string().parse(), Ok(select));
        }
    }

    #[test]
    fn texts_that_select_nothing_are_refused() {
        for text in ["index:x", "name:", "pci:zz", "uuid: "] {
            assert!(text.parse::<Select>().is_err(), "{text}");
        }
    }

    #[test]
    fn auto_prefers_real_devices_and_software_comes_last() {
        let found = machine();
        assert_eq!(choose(&found, &Select::Auto).expect("three").index, 2);
        assert_eq!(choose(&found[..1], &Select::Auto).expect("one").index, 0);
    }

    #[test]
    fn the_simulator_comes_behind_every_device_and_says_that_there_is_none() {
        let found = machine();
        let of = |found: &[DeviceInfo]| {
            choose(found, &Select::AutoOrSim).map(|choice| (choice.index, choice.last_resort)).expect("a simulator")
        };
        assert_eq!(of(&found), (2, false));
        // A software device is one all the same.
        assert_eq!(of(&[found[3].clone(), found[0].clone()]), (1, false));
        assert_eq!(of(&found[3..]), (0, true));
    }

    #[test]
    fn auto_never_takes_the_simulator_and_says_how_to() {
        let error = choose(&machine()[3..], &Select::Auto).expect_err("no device");
        assert!(matches!(error, ServerError::Unsupported { .. }));
        assert_eq!(error.to_string().contains("ask for `sim`"), cfg!(feature = "sim"), "{error}");
    }

    #[test]
    fn the_simulator_that_is_asked_for_is_no_last_resort() {
        let found = machine();
        for text in ["sim", "3", "name:simulator"] {
            let choice = choose(&found, &text.parse().expect("a selection")).expect("it is there");
            assert_eq!((choice.index, choice.last_resort), (3, false), "{text}");
        }
    }

    #[test]
    fn a_backend_without_a_device_is_told_why_and_not_what_others_have() {
        let error = choose(&machine()[3..], &Select::Backend("wgpu".into())).expect_err("no device of it");
        let text = error.to_string();
        assert!(text.contains("wgpu") && !text.contains("A simulator"), "{text}");
    }

    #[test]
    fn each_way_to_name_a_device_finds_it() {
        let found = machine();
        let of = |text: &str| choose(&found, &text.parse().expect("a selection")).map(|choice| choice.index);
        assert_eq!(of("LLVMpipe").expect("by name"), 0);
        assert_eq!(of("1").expect("by index"), 1);
        assert_eq!(of("0A:00.0").expect("by address"), 2);
        assert_eq!(of("uuid:01234567-89AB-cdef-0123-456789abcdef").expect("by UUID"), 2);
        let error = of("7").expect_err("there are four");
        assert!(error.to_string().contains("1 Part of a CPU (wgpu)"), "{error}");
        assert!(error.to_string().contains("3 A simulator (sim: no device)"), "{error}");
        // A function of another bus that ends alike is another device.
        assert!(of("pci:a:00.0").is_err());
    }

    #[test]
    fn an_unknown_backend_is_told_what_there_is() {
        let error = choose(&machine(), &Select::Backend("warp".into())).expect_err("no such backend");
        assert!(matches!(error, ServerError::Unsupported { .. }));
        assert!(
            error.to_string().contains("backend `warp`") && error.to_string().contains("this build has"),
            "{error}"
        );
    }
}
