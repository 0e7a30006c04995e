//! The order of the capture calls, and what each leaves behind (spec C-9 to C-36, C-66 to C-71, TC-14).

use graphreel::{Grid, Result};

use crate::{Env, kernels};

/// C-10: prepare, begin, end; the warmup runs, the recording does not, the replay does.
pub fn a_full_cycle_seals_a_graph_that_replays(env: &Env) -> Result<()> {
    let (owner, _) = env.folded();
    let inc = env.kernel(kernels::INC);
    let buffer = env.buffer(&[0; 100]);
    owner.graph_prepare()?;
    owner.launch(&inc, Grid::stride(100), (&buffer,))?;
    owner.begin_capture()?;
    owner.launch(&inc, Grid::stride(100), (&buffer,))?;
    owner.launch(&inc, Grid::stride(100), (&buffer,))?;
    let graph = owner.end_capture()?;
    assert_eq!(buffer.read::<u32>()?, [1; 100], "the warmup ran once and the recording did not run");
    graph.replay()?.wait()?;
    assert_eq!(buffer.read::<u32>()?, [3; 100]);
    assert_eq!(graph.report().nodes, 2);
    env.assert_usable(&owner);
    Ok(())
}
