//! The command line, as clap reads it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use graphreel::Tier;

/// Record GPU compute work once and replay it on any vendor.
#[derive(Debug, Parser)]
#[command(name = "graphreel", version)]
pub(crate) struct Cli {
    /// Say more on standard error (`GRAPHREEL_LOG` and `RUST_LOG` say exactly what)
    #[arg(long, short, global = true)]
    pub(crate) verbose: bool,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What the program can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List every backend and device, with capabilities and memory
    Devices(JsonArg),
    /// Run graphs of verified work, eagerly and replayed, and measure both
    Bench(BenchArgs),
    /// Validate a backend's configuration, look at its devices, and print what would be installed and why not
    ServeCheck(ServeCheckArgs),
    /// Parse and validate a WGSL file and print what its entry points take
    Check(CheckArgs),
    /// Show where compiled code is kept and how much there is, or remove it
    Cache(CacheArgs),
}

/// `--json [FILE]`.
#[derive(Debug, Args)]
pub(crate) struct JsonArg {
    /// Write one JSON object to FILE, or to standard output in place of the text
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pub(crate) json: Option<Option<PathBuf>>,
}

/// Arguments of `serve-check`.
#[derive(Debug, Args)]
pub(crate) struct ServeCheckArgs {
    /// The configuration (docs/BACKEND.md lists its fields)
    #[arg(value_name = "CONFIG.toml")]
    pub(crate) file: PathBuf,
    /// Where the JSON goes.
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

/// Arguments of `cache`.
#[derive(Debug, Args)]
pub(crate) struct CacheArgs {
    /// Remove all of it; kernels are compiled again when they are next needed
    #[arg(long)]
    pub(crate) clear: bool,
    /// Where the JSON goes.
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

/// Arguments of `check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The WGSL file
    #[arg(value_name = "FILE.wgsl")]
    pub(crate) file: PathBuf,
    /// Also run every kernel once, on zeros, on the simulator, and look for races, divergent barriers and indices out of
    /// range
    #[arg(long)]
    pub(crate) sanitize: bool,
    /// With --sanitize: elements of each array, which the workgroups cover; by default 1000
    #[arg(long, value_name = "N", requires = "sanitize", value_parser = clap::value_parser!(u32).range(1..=1 << 22))]
    pub(crate) elements: Option<u32>,
    /// With --sanitize: workgroups in x, y and z, in place of as many as cover the elements
    #[arg(long, value_name = "X,Y,Z", requires = "sanitize", value_delimiter = ',', num_args = 1,
        value_parser = clap::value_parser!(u32).range(1..=65_535))]
    pub(crate) groups: Vec<u32>,
    /// With --sanitize: the value of a scalar; once for each that the kernels take
    #[arg(long, value_name = "NAME=VALUE", requires = "sanitize", value_parser = scalar)]
    pub(crate) scalar: Vec<(String, String)>,
    /// End with code 1 where a lint finds something
    #[arg(long)]
    pub(crate) deny_lints: bool,
    /// Print one entry point as C++, and nothing else, to standard output
    #[arg(long, value_enum, value_name = "LANGUAGE", conflicts_with_all = ["sanitize", "json"])]
    pub(crate) emit: Option<EmitArg>,
    /// What --emit writes, and how.
    #[command(flatten)]
    pub(crate) emission: EmissionArgs,
    /// Where the JSON goes.
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

/// What `--emit` can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EmitArg {
    /// CUDA C++, for NVRTC and nvcc
    Cuda,
    /// HIP C++, for hipRTC and hipcc, with WG_SUBGROUP_SIZE defined as the device's wave size
    Hip,
    /// C++17 for the processor, over the host runtime
    Host,
}

/// What `check --emit` writes, and how.
#[derive(Debug, Args)]
pub(crate) struct EmissionArgs {
    /// With --emit: the entry point, where the file has several
    #[arg(long, value_name = "NAME", requires = "emit")]
    pub(crate) entry: Option<String>,
    /// With --emit: the value of an override, by name or by `@id`; once for each
    #[arg(long = "override", value_name = "NAME=VALUE", requires = "emit", value_parser = constant)]
    pub(crate) constants: Vec<(String, f64)>,
    /// With --emit: let the compiler fuse operations and use fast functions, as far as WGSL leaves room for it
    #[arg(long, requires = "emit")]
    pub(crate) fast_floats: bool,
    /// With --emit: the code for indirect launches, whose workgroups are counted in device memory
    #[arg(long, requires = "emit")]
    pub(crate) indirect: bool,
    /// With --emit: no `#line` directives, by which a compiler's messages point at the WGSL
    #[arg(long, requires = "emit")]
    pub(crate) no_lines: bool,
}

/// Arguments of `bench`.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// `auto` for the best device, or the simulator where there is none; `all` for one of each backend, the simulator
    /// included; or backends by name
    #[arg(long, value_name = "auto|all|NAME,..", value_delimiter = ',', default_value = "auto")]
    pub(crate) backend: Vec<String>,
    /// What to run
    #[arg(long, value_enum, value_name = "NAME,..", value_delimiter = ',', default_value = "all")]
    pub(crate) workload: Vec<WorkloadArg>,
    /// Sizes of the graphs, in nodes; `digits` has its own. By default 1,10,100,1000, and 1,10 with
    /// --sanitize
    #[arg(long, value_name = "N,..", value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) nodes: Vec<u32>,
    /// Measure each figure this many times; by default 30, and fewer for long runs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) replays: Option<u32>,
    /// Run graphs in this tier and no other: captured, built, native, re-encoded or eager
    #[arg(long, value_name = "T", value_parser = tier)]
    pub(crate) tier: Option<Tier>,
    /// Run each once on the simulator and look for races, divergent barriers and indices out of range; nothing is timed
    #[arg(long, conflicts_with = "replays")]
    pub(crate) sanitize: bool,
    /// Where the JSON goes.
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

/// What `--workload` can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WorkloadArg {
    /// All that follow
    All,
    /// Each node reads what the one before it wrote
    Chain,
    /// No node depends on another
    Independent,
    /// All nodes read what the first one wrote
    Fanout,
    /// One node, two that read it, one that joins them, again and again
    Diamond,
    /// A chain of kernels that each take far longer than a launch
    GpuBound,
    /// A trained network reads 360 real handwritten digits
    Digits,
}

fn scalar(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("a scalar is given as NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn constant(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.split_once('=').ok_or("an override is given as NAME=VALUE")?;
    let number = match value.trim() {
        "true" => 1.0,
        "false" => 0.0,
        value => value.parse().map_err(|_| format!("`{value}` is neither a number nor true or false"))?,
    };
    Ok((name.trim().to_owned(), number))
}

fn tier(name: &str) -> Result<Tier, String> {
    Tier::from_name(name).ok_or_else(|| {
        let names: Vec<_> = Tier::ALL.iter().map(|tier| tier.name()).collect();
        format!("the tiers are {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn lists_are_split_at_commas() {
        let cli = Cli::try_parse_from(["graphreel", "bench", "--nodes", "1,7", "--workload", "chain,digits"]);
        let Ok(Cli { command: Command::Bench(args), .. }) = cli else { panic!("{cli:?}") };
        assert_eq!(args.nodes, [1, 7]);
        assert_eq!(args.workload, [WorkloadArg::Chain, WorkloadArg::Digits]);
        assert_eq!((args.replays, args.tier), (None, None));
    }

    #[test]
    fn overrides_are_numbers_or_booleans() {
        assert_eq!(constant("tile=16"), Ok(("tile".to_owned(), 16.0)));
        assert_eq!(constant(" 7 = -1.5e3 "), Ok(("7".to_owned(), -1500.0)));
        assert_eq!(constant("on=true"), Ok(("on".to_owned(), 1.0)));
        assert!(constant("tile").is_err_and(|text| text.contains("NAME=VALUE")));
        assert!(constant("tile=wide").is_err_and(|text| text.contains("`wide`")));
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in
            [["--nodes", "0"], ["--nodes", "1,x"], ["--tier", "warp"], ["--workload", "mine"], ["--replays", "0"]]
        {
            assert!(Cli::try_parse_from(["graphreel", "bench", bad[0], bad[1]]).is_err(), "{bad:?}");
        }
    }
}
