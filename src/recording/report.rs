//! How a graph runs and why: the tier, the policy that chose it, and what it costs.

use std::fmt;
use std::time::Duration;

use crate::sync::Arc;

/// A way to execute a recording ("Tiers" in docs/ARCHITECTURE.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// The driver's own stream capture.
    Captured,
    /// Explicit driver nodes with only the true dependences.
    Built,
    /// A vendor's command buffer, recorded once.
    Native,
    /// Our own recording, encoded again for each replay.
    ReEncoded,
    /// The recorded operations, launched one by one.
    Eager,
}

impl Tier {
    /// Every tier.
    pub const ALL: [Self; 5] = [Self::Captured, Self::Built, Self::Native, Self::ReEncoded, Self::Eager];

    /// Its name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Captured => "captured",
            Self::Built => "built",
            Self::Native => "native",
            Self::ReEncoded => "re-encoded",
            Self::Eager => "eager",
        }
    }

    /// The tier of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tier| tier.name() == name)
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which tiers a capture may use. Nothing falls back silently: the report says what happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CapturePolicy {
    /// The backend's best proven tier; never eager.
    #[default]
    Best,
    /// The first of these that works, else the best; never eager unless listed.
    Prefer(Vec<Tier>),
    /// One of these, or the capture fails with the reasons.
    Require(Vec<Tier>),
    /// The best tier, or eager launches where no graph can be made.
    AllowEager,
}

/// The tier that was chosen, and why the ones before it were not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TierChoice {
    /// The tier.
    pub tier: Tier,
    /// Why this one.
    pub why: String,
}

impl CapturePolicy {
    /// Choose among the tiers that a backend `offers`, best first. `GRAPHREEL_TIERS` has been applied to `offers`.
    ///
    /// # Errors
    ///
    /// The reasons, one for each tier that was refused.
    pub fn choose(&self, offers: &[Tier]) -> Result<TierChoice, String> {
        let best = offers.iter().copied().find(|tier| *tier != Tier::Eager);
        let first_of = |wanted: &[Tier]| wanted.iter().copied().find(|tier| offers.contains(tier));
        let chosen = |tier: Tier, why: String| Ok(TierChoice { tier, why });
        match (self, best) {
            (Self::Best, Some(tier)) => chosen(tier, "the backend's best tier".to_owned()),
            (Self::Prefer(wanted), best) => match (first_of(wanted), best) {
                (Some(tier), _) => chosen(tier, "preferred by the policy".to_owned()),
                (None, Some(tier)) => {
                    chosen(tier, format!("the backend's best tier: it does not offer {}", names(wanted)))
                }
                (None, None) => Err(refusal(offers)),
            },
            (Self::Require(wanted), _) => match first_of(wanted) {
                Some(tier) => chosen(tier, "required by the policy".to_owned()),
                None => Err(format!("{} required, {}", names(wanted), refusal(offers))),
            },
            (Self::AllowEager, Some(tier)) => chosen(tier, "the backend's best tier".to_owned()),
            (Self::AllowEager, None) if offers.contains(&Tier::Eager) => {
                chosen(Tier::Eager, "no graph tier is allowed and the policy allows eager".to_owned())
            }
            (Self::Best | Self::AllowEager, None) => Err(refusal(offers)),
        }
    }
}

fn names(tiers: &[Tier]) -> String {
    tiers.iter().map(|tier| tier.name()).collect::<Vec<_>>().join(" or ")
}

fn refusal(offers: &[Tier]) -> String {
    match offers {
        [] => "this device offers no tier".to_owned(),
        offers => format!("this device offers only {}", names(offers)),
    }
}

/// What a sealed graph is, how it runs, and what it holds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GraphReport {
    /// How a replay runs.
    pub tier: Tier,
    /// Why in this tier.
    pub why: String,
    /// Operations in one replay.
    pub nodes: usize,
    /// Direct dependences between them.
    pub edges: usize,
    /// Nodes on the longest chain of dependences.
    pub critical_path: usize,
    /// Submissions or driver launches in one replay.
    pub submits: usize,
    /// Device bytes that the graph keeps from being reused.
    pub pinned_bytes: u64,
    /// Host bytes that the graph keeps.
    pub host_bytes: u64,
    /// Scalars frozen in the recording, which an update cannot change.
    pub frozen: Vec<FrozenArgument>,
    /// Names that an update may change.
    pub params: Vec<Arc<str>>,
    /// Whether the window had a slot of its own, on which no other stream folds.
    pub exclusive_slot: bool,
    /// Time from `begin_capture` to `end_capture`.
    pub record_time: Duration,
    /// Time to make the executable form.
    pub seal_time: Duration,
}

impl GraphReport {
    /// A report of a graph that runs in `choice`'s tier, all counts zero.
    pub fn new(choice: TierChoice) -> Self {
        Self {
            tier: choice.tier,
            why: choice.why,
            nodes: 0,
            edges: 0,
            critical_path: 0,
            submits: 0,
            pinned_bytes: 0,
            host_bytes: 0,
            frozen: Vec::new(),
            params: Vec::new(),
            exclusive_slot: false,
            record_time: Duration::ZERO,
            seal_time: Duration::ZERO,
        }
    }
}

/// A scalar that every replay passes as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrozenArgument {
    /// The node.
    pub node: u32,
    /// The kernel's entry point.
    pub kernel: Arc<str>,
    /// The member's name.
    pub name: String,
    /// The value, as text.
    pub value: String,
}

/// Time that a node took on the device, with where the figure comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeTime {
    /// The node.
    pub node: u32,
    /// Nanoseconds on the device; absent where it was not measured.
    pub nanoseconds: Option<u64>,
    /// Where the figure comes from.
    pub source: TimeSource,
}

/// Where a time comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeSource {
    /// A timestamp that the device wrote around the operation.
    Timestamp,
    /// Driver events around the operation.
    Event,
    /// Timestamps at the boundaries of a pass that holds just this operation.
    PassBoundary,
    /// Nothing measured it.
    None,
}
