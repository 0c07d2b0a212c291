//! Searches that keep the order in which vertices are found, and work that is too short to be watched.

use everedge_core::watch::Watch;
use everedge_core::{Direction, GraphView, VertexId};
use everedge_kernels as kernels;
use everedge_kernels::{Discovery, WeightedDiscovery};

use crate::any_view::with_view;
use crate::{Error, Kernel, Result, View};

/// With so many vertices and edges, reading each of them a few times takes less than a tenth of a second.
const BRIEF: u64 = 1 << 21;

impl View {
    /// Searches from `source` breadth first, along edges or against them, in the order of the lists, up to `depth_max` edges away.
    ///
    /// Cost: the lists of what is reached, on one thread; a copy of the graph where ids lie far apart, or in-neighbors are not kept
    /// and asked for.
    ///
    /// # Errors
    /// `InvalidInput` if the source is no vertex; `Interrupted` if the watch was cancelled.
    pub fn discovery(
        &self,
        source: VertexId,
        reverse: bool,
        depth_max: u32,
        watch: &Watch,
    ) -> Result<Discovery> {
        self.check_vertices(&[source])?;
        let lacks = reverse && !self.any.has_in_neighbors();
        let direction = if reverse { Direction::In } else { Direction::Out };
        let copy = (lacks || self.numbering().is_some()).then(|| self.copy(false));
        let any = copy.as_ref().unwrap_or(&self.any);
        let source = self.place_of(source);
        let search =
            || with_view!(any, view => kernels::discovery(view, source, direction, depth_max));
        let mut found = self.searched(watch, search)?;
        self.name_places(&mut found.order);
        self.name_places(&mut found.parent);
        Ok(found)
    }

    /// Searches along edges from the nearest of some vertices, by the sums of weights, the nearest first; each edge counts 1 if
    /// there are none.
    ///
    /// Cost: the lists of what is reached, on one thread, and a queue; a copy of the graph where ids lie far apart.
    ///
    /// # Errors
    /// `InvalidInput` if a source is no vertex; `Kernel` if a weight is negative; `Interrupted` if the watch was cancelled.
    pub fn weighted_discovery(
        &self,
        sources: &[VertexId],
        watch: &Watch,
    ) -> Result<WeightedDiscovery> {
        self.check_vertices(sources)?;
        let copy = self.numbering().is_some().then(|| self.copy(true));
        let any = copy.as_ref().unwrap_or(&self.any);
        let sources: Vec<_> = sources.iter().map(|&v| self.place_of(v)).collect();
        let search = || with_view!(any, view => kernels::weighted_discovery(view, &sources));
        let mut found = self.searched(watch, search)?;
        self.name_places(&mut found.order);
        self.name_places(&mut found.parent);
        Ok(found)
    }

    /// Returns whether a kernel will take so little time that nobody has to be able to cancel it: it reads each edge a few times,
    /// in memory, and there are not many.
    pub fn is_brief(&self, kernel: Kernel) -> bool {
        kernel.is_linear() && self.is_small()
    }

    /// Returns whether reading every edge a few times takes less than a tenth of a second.
    pub fn is_small(&self) -> bool {
        self.any.store().is_none() && u64::from(self.vertex_count()) + self.edge_count() <= BRIEF
    }

    fn searched<T>(&self, watch: &Watch, search: impl FnOnce() -> kernels::Result<T>) -> Result<T> {
        let found = watch.run(search).map_err(|_cancelled| Error::Interrupted)?;
        self.check_reads()?;
        let name = |row| self.name_of(self.id_of_row(row)).to_string();
        found.map_err(|error| Error::kernel(error, name))
    }

    /// Puts ids where such places are.
    fn name_places(&self, places: &mut [VertexId]) {
        let Some(numbering) = self.numbering() else { return };
        for place in places {
            // A parent of none stays none.
            *place = numbering.ids().get(*place as usize).copied().unwrap_or(*place);
        }
    }
}
