//! P1 and P2: a replay of a chain until it is issued, and until it is done, against a launch of the same graph by hand. P4:
//! the built tier on chains side by side, against a capture of one stream by hand.

use graphreel::Tier;

use super::raw::Said;
use super::steps::{ByHand, How, Ours, Shape, turns};
use super::{NONE, Sides, Volume, more, times};
use crate::Finding;

/// Lengths of the chain.
const LENGTHS: [usize; 4] = [1, 10, 100, 1000];

/// Microseconds of issue by hand up to which a difference counts, and beyond which a ratio does.
const SHORT_ISSUE_US: f64 = 10.0;

/// Nodes from which the total is bounded by a ratio.
const LONG: usize = 100;

/// Chains side by side, and their length.
const WIDE: Shape = Shape { chains: 8, length: 64 };

/// P1 and P2, in each tier of hardware graphs.
///
/// # Errors
///
/// What a call that had to work answered, or a wrong result.
pub fn issue_and_total(sides: &Sides, volume: Volume) -> Said<Vec<Finding>> {
    let mut found = Vec::new();
    for length in LENGTHS {
        for tier in [Tier::Captured, Tier::Built] {
            let shape = Shape { chains: 1, length };
            let mut ours = Ours::new(sides, shape, tier)?;
            let mut by_hand = ByHand::new(sides, shape, How::Explicit)?;
            let [ours, by_hand] = turns(volume, &mut ours, &mut by_hand)?.map(|times| times.medians());
            let what = format!("chain, {length} nodes, {tier}");
            let issue = [ours[0], by_hand[0]];
            found.push(if issue[1] > SHORT_ISSUE_US {
                times("P1 issue", what.clone(), issue, (1.10, "<= 1.10"))
            } else {
                more("P1 issue", what.clone(), issue, (1.0, "<= 1 us more"))
            });
            let total = [ours[1], by_hand[1]];
            found.push(if length < LONG {
                more("P2 total", what, total, (2.0, "<= 2 us more"))
            } else {
                times("P2 total", what, total, (1.02, "<= 1.02"))
            });
        }
    }
    Ok(found)
}

/// P4: wide, and as long in one chain. The explicit graph by hand says what can be reached.
///
/// # Errors
///
/// What a call that had to work answered, or a wrong result.
pub fn width(sides: &Sides, volume: Volume) -> Said<Vec<Finding>> {
    let total = |shape: Shape, how| {
        let mut ours = Ours::new(sides, shape, Tier::Built)?;
        let mut by_hand = ByHand::new(sides, shape, how)?;
        Said::Ok(turns(volume, &mut ours, &mut by_hand)?.map(|times| times.medians()[1]))
    };
    let of = |shape: Shape| format!("{} chains of {}, built", shape.chains, shape.length);
    let [ours, by_hand] = total(WIDE, How::OneStream)?;
    let figure = by_hand / ours;
    let wide = Finding {
        target: "P4 width",
        what: format!("{}: how much faster than one stream by hand", of(WIDE)),
        sides: format!("{ours:.2} / {by_hand:.2} us"),
        figure,
        bound: ">= 4",
        kept: figure >= 4.0,
    };
    let explicit = times(
        "P4 width",
        format!("{}: against an explicit graph by hand", of(WIDE)),
        total(WIDE, How::Explicit)?,
        NONE,
    );
    let narrow = Shape { chains: 1, length: WIDE.chains * WIDE.length };
    // Equal sides differ by this much from run to run.
    let bound = (1.03, "<= 1.03");
    let what = format!("{}: against one stream by hand", of(narrow));
    let one = times("P4 width", what, total(narrow, How::OneStream)?, bound);
    Ok(vec![wide, explicit, one])
}
