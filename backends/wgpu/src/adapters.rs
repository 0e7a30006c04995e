//! Which adapters there are, one entry for each device, and which one a caller means.

use std::fmt;

use graphreel::error::Result;
use graphreel::memory::DeviceId;
use graphreel::sync::{Mutex, MutexGuard, OnceLock};
use graphreel::{DeviceInfo, DeviceKind, ServerError};

/// The APIs that Graphreel runs on, best first.
pub(crate) const BACKENDS: wgpu::Backends =
    wgpu::Backends::VULKAN.union(wgpu::Backends::METAL).union(wgpu::Backends::DX12);

/// Which adapter to open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Select {
    /// What `GRAPHREEL_DEVICE` says; without it, the first.
    #[default]
    Auto,
    /// The adapter of that index in [`adapters`].
    Index(usize),
    /// The first whose name contains the text, in any case.
    Name(String),
    /// The one at a PCI address.
    Pci(String),
    /// The one with a UUID, in any case.
    Uuid(String),
}

impl Select {
    /// A selection from text, as in `GRAPHREEL_DEVICE`: an index, a PCI address, a UUID, or a part of a name, each with
    /// `index:`, `pci:`, `uuid:` or `name:` before it where it could be another; `auto` or this backend's name for the first. A leading
    /// `wgpu:` is allowed.
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        let text = text.strip_prefix("wgpu:").unwrap_or(text).trim();
        if ["auto", "auto-or-sim", "wgpu", "backend:wgpu"].contains(&text) {
            return Self::Auto;
        }
        if let Some(name) = text.strip_prefix("name:") {
            return Self::Name(name.trim().to_owned());
        }
        if let Some(uuid) = text.strip_prefix("uuid:") {
            return Self::Uuid(uuid.trim().to_owned());
        }
        let text = ["index:", "pci:"].iter().find_map(|kind| text.strip_prefix(kind)).unwrap_or(text).trim();
        match text.parse() {
            Ok(index) => Self::Index(index),
            Err(_) if text.is_empty() => Self::Auto,
            Err(_) if is_pci(text) => Self::Pci(text.to_owned()),
            Err(_) if is_uuid(text) => Self::Uuid(text.to_owned()),
            Err(_) => Self::Name(text.to_owned()),
        }
    }
}

impl fmt::Display for Select {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("any"),
            Self::Index(index) => write!(f, "index {index}"),
            Self::Name(name) => write!(f, "name containing `{name}`"),
            Self::Pci(address) => write!(f, "PCI address {address}"),
            Self::Uuid(uuid) => write!(f, "UUID {uuid}"),
        }
    }
}

/// `domain:bus:device.function`, or without the domain.
fn is_pci(text: &str) -> bool {
    let Some((path, function)) = text.rsplit_once('.') else { return false };
    let hex = |part: &str| !part.is_empty() && part.chars().all(|digit| digit.is_ascii_hexdigit());
    let parts: Vec<&str> = path.split(':').collect();
    hex(function) && (2..=3).contains(&parts.len()) && parts.into_iter().all(hex)
}

/// 8-4-4-4-12 hexadecimal digits.
fn is_uuid(text: &str) -> bool {
    let hex = |part: &str| part.chars().all(|digit| digit.is_ascii_hexdigit());
    text.split('-').map(str::len).eq([8, 4, 4, 4, 12]) && text.split('-').all(hex)
}

/// One adapter that can be opened.
#[derive(Clone, Debug)]
pub struct AdapterSummary {
    /// Who it is. Its `id` is 0: it is not open.
    pub info: DeviceInfo,
    pub(crate) adapter: wgpu::Adapter,
}

/// Every adapter, real devices first. A device that several APIs offer is listed once, with the first of them.
pub fn adapters() -> Vec<AdapterSummary> {
    let found = pollster::block_on(instance().enumerate_adapters(BACKENDS));
    let summaries = found.into_iter().map(|adapter| AdapterSummary { info: describe_adapter(&adapter), adapter });
    arrange(summaries.collect(), |summary| &summary.info)
}

/// The process's one wgpu instance. Drivers are loaded once, and are not unloaded while another thread opens a device
/// (NVIDIA's Vulkan driver crashes then), so hold it while one is opened. It is never dropped: process exit makes no driver
/// call.
pub(crate) fn instance() -> MutexGuard<'static, wgpu::Instance> {
    static INSTANCE: OnceLock<Mutex<wgpu::Instance>> = OnceLock::new();
    let make = || {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        descriptor.backends = BACKENDS;
        // Flags are wgpu's own: its validation stays on, since a kernel is a stranger's program.
        Mutex::new(wgpu::Instance::new(descriptor))
    };
    INSTANCE.get_or_init(make).lock()
}

/// Best kind first, each device once.
fn arrange<T>(mut found: Vec<T>, info: impl Fn(&T) -> &DeviceInfo) -> Vec<T> {
    found.sort_by_key(|item| (info(item).kind, api_rank(&info(item).api)));
    let mut kept: Vec<T> = Vec::new();
    for item in found {
        if !kept.iter().any(|other| same_device(info(other), info(&item))) {
            kept.push(item);
        }
    }
    kept
}

fn api_rank(api: &str) -> usize {
    ["vulkan", "metal", "dx12"].iter().position(|known| *known == api).unwrap_or(usize::MAX)
}

/// Two entries are one device when their PCI addresses agree. Without addresses only another API can show it twice: two
/// equal cards under one API are two.
fn same_device(one: &DeviceInfo, other: &DeviceInfo) -> bool {
    match (&one.pci, &other.pci) {
        (Some(one), Some(other)) => one == other,
        _ => one.api != other.api && one.name == other.name && one.kind == other.kind,
    }
}

/// As [`describe`], with what only the driver tells.
fn describe_adapter(adapter: &wgpu::Adapter) -> DeviceInfo {
    let info = describe(&adapter.get_info());
    #[cfg(any(windows, target_os = "linux", target_os = "android"))]
    {
        let physical = crate::vulkan::physical(adapter);
        DeviceInfo { uuid: physical.uuid, memory_bytes: physical.memory_bytes, ..info }
    }
    #[cfg(not(any(windows, target_os = "linux", target_os = "android")))]
    info
}

/// What wgpu tells of an adapter, in our terms.
pub(crate) fn describe(info: &wgpu::AdapterInfo) -> DeviceInfo {
    let kind = match info.device_type {
        wgpu::DeviceType::DiscreteGpu => DeviceKind::Discrete,
        wgpu::DeviceType::IntegratedGpu => DeviceKind::Integrated,
        wgpu::DeviceType::VirtualGpu => DeviceKind::Virtual,
        wgpu::DeviceType::Cpu => DeviceKind::Software,
        wgpu::DeviceType::Other => DeviceKind::Other,
    };
    let driver = [info.driver.as_str(), info.driver_info.as_str()];
    DeviceInfo {
        backend: "wgpu".to_owned(),
        name: info.name.clone(),
        api: info.backend.to_str().to_owned(),
        kind,
        driver: driver.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" "),
        pci: Some(info.device_pci_bus_id.clone()).filter(|address| !address.is_empty()),
        uuid: None,
        memory_bytes: None,
        id: DeviceId(0),
    }
}

/// The adapter that `select` means, and why.
///
/// # Errors
///
/// `Unsupported`, with what is there or how to get an adapter.
pub(crate) fn select(found: Vec<AdapterSummary>, select: &Select) -> Result<(AdapterSummary, String)> {
    if found.is_empty() {
        return Err(ServerError::unsupported("opening a wgpu device", absence()));
    }
    let from_env = std::env::var("GRAPHREEL_DEVICE").ok().filter(|_| *select == Select::Auto);
    let (wanted, by) = match &from_env {
        Some(text) => (Select::parse(text), "GRAPHREEL_DEVICE"),
        None => (select.clone(), "the caller"),
    };
    let infos: Vec<&DeviceInfo> = found.iter().map(|summary| &summary.info).collect();
    let Some(index) = position(&infos, &wanted) else {
        let names: Vec<String> = infos.iter().map(|info| format!("{} ({})", info.name, info.api)).collect();
        return Err(ServerError::unsupported(
            format!("a wgpu adapter with {wanted}, as {by} asks,"),
            format!("the adapters are: {}", names.join(", ")),
        ));
    };
    let why = match wanted {
        Select::Auto => "the best kind of adapter found".to_owned(),
        wanted => format!("{by} asks for {wanted}"),
    };
    let chosen = found.into_iter().nth(index).expect("the position was found in this list");
    Ok((chosen, why))
}

fn position(infos: &[&DeviceInfo], wanted: &Select) -> Option<usize> {
    match wanted {
        Select::Auto => (!infos.is_empty()).then_some(0),
        Select::Index(index) => (*index < infos.len()).then_some(*index),
        Select::Name(name) => {
            let name = name.to_lowercase();
            infos.iter().position(|info| info.name.to_lowercase().contains(&name))
        }
        Select::Pci(address) => {
            let at = |info: &&DeviceInfo| info.pci.as_ref().is_some_and(|pci| same_pci(pci, address));
            infos.iter().position(at)
        }
        Select::Uuid(uuid) => {
            let has = |info: &&DeviceInfo| info.uuid.as_ref().is_some_and(|known| known.eq_ignore_ascii_case(uuid));
            infos.iter().position(has)
        }
    }
}

/// Whether two addresses are one, the domain of the second being optional.
fn same_pci(known: &str, asked: &str) -> bool {
    let (known, asked) = (known.to_lowercase(), asked.to_lowercase());
    known == asked || known.strip_suffix(&asked).is_some_and(|domain| domain.ends_with(':'))
}

/// Why there is no adapter, in one line with the remedy.
pub fn absence() -> String {
    if cfg!(target_os = "linux") {
        let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib"];
        let loader = folders.iter().any(|folder| std::path::Path::new(folder).join("libvulkan.so.1").exists());
        if loader {
            "no adapter: install the GPU's Vulkan driver, or mesa-vulkan-drivers for a software one".to_owned()
        } else {
            "no Vulkan loader (libvulkan.so.1): install libvulkan1 and a Vulkan driver".to_owned()
        }
    } else {
        "no adapter: this machine offers none through Vulkan, Metal or DX12".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(name: &str, api: &str, kind: DeviceKind, pci: Option<&str>) -> DeviceInfo {
        DeviceInfo {
            backend: "wgpu".into(),
            name: name.into(),
            api: api.into(),
            kind,
            driver: String::new(),
            pci: pci.map(str::to_owned),
            uuid: None,
            memory_bytes: None,
            id: DeviceId(0),
        }
    }

    #[test]
    fn a_device_is_listed_once_and_software_comes_last() {
        let found = vec![
            info("llvmpipe", "vulkan", DeviceKind::Software, None),
            info("card", "dx12", DeviceKind::Discrete, Some("0000:01:00.0")),
            info("card", "vulkan", DeviceKind::Discrete, Some("0000:01:00.0")),
            info("card", "vulkan", DeviceKind::Discrete, Some("0000:02:00.0")),
            info("part", "vulkan", DeviceKind::Integrated, None),
            info("part", "dx12", DeviceKind::Integrated, None),
        ];
        let kept = arrange(found, |info| info);
        let seen: Vec<_> = kept.iter().map(|info| (info.name.as_str(), info.api.as_str())).collect();
        assert_eq!(seen, [("card", "vulkan"), ("card", "vulkan"), ("part", "vulkan"), ("llvmpipe", "vulkan")]);
    }

    #[test]
    fn a_selection_is_read_from_text() {
        assert_eq!(Select::parse("1"), Select::Index(1));
        assert_eq!(Select::parse("wgpu:0"), Select::Index(0));
        assert_eq!(Select::parse("0000:01:00.0"), Select::Pci("0000:01:00.0".into()));
        assert_eq!(Select::parse("llvmpipe"), Select::Name("llvmpipe".into()));
        for first in ["", "auto", "wgpu", "backend:wgpu", "wgpu:"] {
            assert_eq!(Select::parse(first), Select::Auto, "{first}");
        }
        assert_eq!(Select::parse("name:3"), Select::Name("3".into()));
        assert_eq!(Select::parse("pci:0a:00.0"), Select::Pci("0a:00.0".into()));
        assert_eq!(Select::parse("index:2"), Select::Index(2));
        let one = info("NVIDIA H200", "vulkan", DeviceKind::Discrete, Some("0000:0A:00.0"));
        let two = info("llvmpipe (LLVM)", "vulkan", DeviceKind::Software, None);
        let infos = [&one, &two];
        assert_eq!(position(&infos, &Select::Name("LLVMPIPE".into())), Some(1));
        assert_eq!(position(&infos, &Select::Pci("0a:00.0".into())), Some(0));
        // A function of another bus that ends alike is another device.
        assert_eq!(position(&infos, &Select::Pci("a:00.0".into())), None);
        assert_eq!(position(&infos, &Select::Index(2)), None);
        let uuid = "01234567-89ab-cdef-0123-456789abcdef";
        let two = DeviceInfo { uuid: Some(uuid.into()), ..two };
        for text in [uuid.to_uppercase(), format!("uuid:{uuid}"), format!("wgpu:{uuid}")] {
            assert_eq!(position(&[&one, &two], &Select::parse(&text)), Some(1), "{text}");
        }
        assert_eq!(position(&[&one], &Select::parse(uuid)), None);
    }
}
