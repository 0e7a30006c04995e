//! Random dependences dealt to branches, against the reachability of all pairs.
//!
//! `GRAPHREEL_SEED` repeats a failure; `GRAPHREEL_THOROUGH=1` runs fifty times as much.

use graphreel::recording::Branches;

/// One seed for each case, all from `GRAPHREEL_SEED` or from the clock.
fn seeds(cases: u64) -> impl Iterator<Item = u64> {
    let seed = std::env::var("GRAPHREEL_SEED").ok().and_then(|text| text.parse().ok());
    let thorough = std::env::var("GRAPHREEL_THOROUGH").is_ok_and(|text| text == "1");
    let cases = if seed.is_some() { 1 } else { cases * if thorough { 50 } else { 1 } };
    (0..cases).map(move |_| seed.unwrap_or_else(|| fastrand::u64(..)))
}

/// Predecessors of each node: near ones, far ones or few, so that narrow, wide and layered graphs all come up.
fn random(rng: &mut fastrand::Rng) -> Vec<Vec<u32>> {
    let (nodes, most, reach) = (rng.u32(0..120), rng.usize(0..5), rng.u32(1..120));
    let before = |node: u32, rng: &mut fastrand::Rng| {
        let count = if node == 0 { 0 } else { rng.usize(..=most) };
        let mut before: Vec<u32> = (0..count).map(|_| rng.u32(node.saturating_sub(reach)..node)).collect();
        before.sort_unstable();
        before.dedup();
        before
    };
    (0..nodes).map(|node| before(node, rng)).collect()
}

fn deal(after: &[Vec<u32>], max: usize) -> Branches {
    Branches::deal(after.iter().map(Vec::as_slice), max)
}

/// For each node, which nodes a path of edges leads from.
fn reached<'a>(nodes: usize, after: impl Fn(usize) -> &'a [u32]) -> Vec<Vec<bool>> {
    let mut reach: Vec<Vec<bool>> = Vec::with_capacity(nodes);
    for node in 0..nodes {
        let mut row = vec![false; nodes];
        for before in after(node).iter().map(|before| *before as usize) {
            row.iter_mut().zip(&reach[before]).for_each(|(known, ancestor)| *known |= *ancestor);
            row[before] = true;
        }
        reach.push(row);
    }
    reach
}

#[test]
fn branches_keep_every_dependence_and_run_in_bounds() {
    for seed in seeds(400) {
        println!("GRAPHREEL_SEED={seed}");
        let mut rng = fastrand::Rng::with_seed(seed);
        let after = random(&mut rng);
        let max = rng.usize(1..10);
        let dealt = deal(&after, max);
        assert_eq!((dealt.nodes(), dealt.count() <= max), (after.len(), true), "seed {seed}");
        assert!((0..after.len()).all(|node| dealt.branch(node).unwrap() < dealt.count()), "seed {seed}");
        for node in 0..after.len() {
            let before = dealt.after(node);
            // Earlier nodes only, so there is no cycle; ascending and apart, so there is no edge twice.
            assert!(before.iter().all(|before| (*before as usize) < node), "seed {seed}: {node} after {before:?}");
            assert!(before.windows(2).all(|pair| pair[0] < pair[1]), "seed {seed}: {node} after {before:?}");
        }
        let reach = reached(after.len(), |node| dealt.after(node));
        for (node, before) in after.iter().enumerate() {
            let kept = before.iter().all(|before| reach[node][*before as usize]);
            assert!(kept, "seed {seed}: {node} does not wait for all of {before:?}");
            for earlier in (0..node).filter(|earlier| dealt.branch(*earlier) == dealt.branch(node)) {
                assert!(reach[node][earlier], "seed {seed}: {earlier} and {node} share a branch and may overlap");
            }
        }
    }
}

#[test]
fn no_edge_is_implied_by_others() {
    for seed in seeds(300) {
        println!("GRAPHREEL_SEED={seed}");
        let mut rng = fastrand::Rng::with_seed(seed);
        let after = random(&mut rng);
        let dealt = deal(&after, rng.usize(1..10));
        let reach = reached(after.len(), |node| dealt.after(node));
        for node in 0..after.len() {
            for before in dealt.after(node) {
                let implied = dealt.after(node).iter().any(|other| reach[*other as usize][*before as usize]);
                assert!(!implied, "seed {seed}: edge {before} -> {node} is implied");
            }
        }
    }
}

#[test]
fn measures_are_those_of_the_edges_and_dealing_is_deterministic() {
    for seed in seeds(200) {
        println!("GRAPHREEL_SEED={seed}");
        let mut rng = fastrand::Rng::with_seed(seed);
        let after = random(&mut rng);
        let max = rng.usize(1..10);
        let dealt = deal(&after, max);
        assert_eq!(dealt, deal(&after, max), "seed {seed}");
        let all = (0..after.len()).map(|node| dealt.after(node).len());
        assert_eq!(dealt.edges(), all.sum::<usize>(), "seed {seed}");
        let mut depths: Vec<usize> = Vec::new();
        for node in 0..after.len() {
            let before = dealt.after(node).iter().map(|before| depths[*before as usize]).max();
            depths.push(before.unwrap_or(0) + 1);
        }
        assert_eq!(dealt.critical_path(), depths.into_iter().max().unwrap_or(0), "seed {seed}");
    }
}

/// Branches enough for every node: nothing is held up, so the longest chain is that of the dependences.
#[test]
fn with_branches_to_spare_nothing_is_held_up() {
    for seed in seeds(200) {
        println!("GRAPHREEL_SEED={seed}");
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut after = random(&mut rng);
        after.truncate(Branches::MAX);
        let mut depths: Vec<usize> = Vec::new();
        for before in &after {
            depths.push(before.iter().map(|before| depths[*before as usize]).max().unwrap_or(0) + 1);
        }
        let dealt = deal(&after, usize::MAX);
        assert_eq!(dealt.critical_path(), depths.into_iter().max().unwrap_or(0), "seed {seed}");
        let reach = reached(after.len(), |node| dealt.after(node));
        assert_eq!(reach, reached(after.len(), |node| &after[node]), "seed {seed}: an order that nobody asked for");
    }
}

/// Work that is independent keeps its branches busy: each has its share, give or take one node.
#[test]
fn independent_nodes_are_shared_evenly() {
    for nodes in [1, 7, 8, 9, 100, 1000] {
        let dealt = deal(&vec![Vec::new(); nodes], 8);
        assert_eq!(dealt.critical_path(), nodes.div_ceil(8));
        assert_eq!(dealt.edges(), nodes - nodes.min(8));
    }
}
