//! How many workgroups a launch has, by count or by the elements to cover.

use crate::error::{Result, ServerError};
use crate::kernel::Kernel;
use crate::op::{GridArg, MAX_GROUPS};
use crate::sync::Arc;

/// Workgroups of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid {
    /// This many workgroups in x, y and z.
    Groups([u32; 3]),
    /// As many as give each of these elements in x, y and z an invocation.
    Cover([u64; 3]),
    /// As many as give each of `n` elements an invocation, but at most 65,535: for kernels with a grid-stride loop.
    Stride(u64),
}

impl Grid {
    /// `x` workgroups.
    pub const fn groups(x: u32) -> Self {
        Self::Groups([x, 1, 1])
    }

    /// Workgroups in x, y and z.
    pub const fn new(x: u32, y: u32, z: u32) -> Self {
        Self::Groups([x, y, z])
    }

    /// An invocation for each of `n` elements in x. Refused where that needs more than 65,535 workgroups.
    pub const fn cover(n: u64) -> Self {
        Self::Cover([n, 1, 1])
    }

    /// An invocation for each element of an `x` by `y` plane.
    pub const fn cover_2d(x: u64, y: u64) -> Self {
        Self::Cover([x, y, 1])
    }

    /// See [`Grid::Stride`].
    pub const fn stride(n: u64) -> Self {
        Self::Stride(n)
    }

    /// The workgroups for `kernel`.
    ///
    /// # Errors
    ///
    /// [`ServerError::InvalidGrid`] for a dimension of zero or above 65,535.
    pub fn resolve(self, kernel: &Kernel) -> Result<[u32; 3]> {
        let size = kernel.reflection().workgroup_size;
        let wanted = match self {
            Self::Groups(groups) => groups.map(u64::from),
            Self::Cover(elements) => std::array::from_fn(|axis| elements[axis].div_ceil(u64::from(size[axis].max(1)))),
            Self::Stride(n) => [n.div_ceil(u64::from(size[0].max(1))).min(u64::from(MAX_GROUPS)), 1, 1],
        };
        let fits = |groups: &u64| (1..=u64::from(MAX_GROUPS)).contains(groups);
        if wanted.iter().all(fits) {
            return Ok(wanted.map(|groups| u32::try_from(groups).unwrap_or(MAX_GROUPS)));
        }
        let remedy = "cover at least one element; above the bound use more dimensions, or a grid-stride loop with \
                      `Grid::stride`";
        Err(ServerError::InvalidGrid { what: kernel.entry().clone(), groups: wanted, max: MAX_GROUPS, remedy })
    }
}

/// A grid that `graph.update` can change, by its name. Made by `Capture::grid_param`.
#[derive(Clone, Debug)]
pub struct GridParam {
    pub(crate) name: Arc<str>,
    pub(crate) grid: Grid,
    pub(crate) max: Grid,
}

/// What a launch takes as its grid: a [`Grid`], a [`GridParam`], or workgroup counts.
pub trait IntoGrid {
    /// The workgroups for `kernel`.
    ///
    /// # Errors
    ///
    /// As [`Grid::resolve`].
    fn into_grid(self, kernel: &Kernel) -> Result<GridArg>;
}

impl IntoGrid for Grid {
    fn into_grid(self, kernel: &Kernel) -> Result<GridArg> {
        Ok(GridArg::Fixed(self.resolve(kernel)?))
    }
}

impl IntoGrid for &GridParam {
    fn into_grid(self, kernel: &Kernel) -> Result<GridArg> {
        let (groups, max) = (self.grid.resolve(kernel)?, self.max.resolve(kernel)?);
        Ok(GridArg::Param { name: self.name.clone(), groups, max })
    }
}

impl IntoGrid for [u32; 3] {
    fn into_grid(self, kernel: &Kernel) -> Result<GridArg> {
        Grid::Groups(self).into_grid(kernel)
    }
}
