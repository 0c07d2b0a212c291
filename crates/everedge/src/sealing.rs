//! Files that are sealed at once, without a live graph in between.

use std::path::Path;
use std::time::Instant;

use everedge_chunks::{BuildOptions, Builder, SealOptions};
use everedge_core::watch::Watch;
use everedge_core::{Edge, VertexId};
use everedge_io::Ids;
use everedge_live::Names;
use everedge_medium::{Kind, Manifest, MediumKind, Volume};
use parking_lot::Mutex;

use crate::chunks::{Chunks, ChunksOptions, SealReport, create_outside, undone};
use crate::creation::suggest;
use crate::files::{Given, Sources, expand};
use crate::free_memory::free_memory;
use crate::graph::resolved;
use crate::id_map::vertices_of;
use crate::ingest::take_sources;
use crate::taker::Taker;
use crate::{Choices, Chosen, Error, GraphOptions, Guessed, IngestOptions, Progress, Result};

/// How files are sealed.
pub struct SealFiles<'a> {
    /// The files, directories, archives and tables, as [`Graph::ingest`](crate::Graph::ingest) takes them.
    pub files: &'a [Given],
    /// How they are read.
    pub ingest: &'a IngestOptions,
    /// Whether edges have directions and weights, and what else of a live graph's options makes sense.
    pub chosen: &'a Chosen,
    /// What of it the files may decide.
    pub choices: Choices,
    /// How lists are written.
    pub options: SealOptions,
    /// Sees how far the writing is once all is read, and may cancel it.
    pub watch: &'a Watch,
    /// Bytes of memory that it may take; half of what is free unless given.
    pub memory: Option<u64>,
}

/// Takes the edges that are sealed.
struct Sealing {
    options: GraphOptions,
    names: Option<Names>,
    builder: Mutex<Builder>,
}

impl Sealing {
    /// Checks that the names so far have room in the budget, and that so many more have while they come.
    fn check_names(&self, more: usize) -> Result<()> {
        let Some(names) = &self.names else { return Ok(()) };
        let bytes = names.memory_bytes_while_adding(more);
        Ok(self.builder.lock().check_names(names.len(), bytes)?)
    }
}

impl Taker for Sealing {
    fn options(&self) -> &GraphOptions {
        &self.options
    }

    fn names(&self) -> Option<&Names> {
        self.names.as_ref()
    }

    fn insert(&self, edges: &[Edge], weights: Option<&[f32]>) -> Result<()> {
        self.check_names(0)?;
        Ok(self.builder.lock().add(edges, weights.unwrap_or_default())?)
    }

    fn delete(&self, _: &[Edge]) -> Result<()> {
        Err(Error::invalid("a sealed graph takes no deletions: delete from the graph, and seal it"))
    }

    fn add_vertices(&self, vertices: &[VertexId]) -> Result<()> {
        self.check_names(0)?;
        Ok(self.builder.lock().add_vertices(vertices)?)
    }

    fn vertices_of(&self, ids: Ids) -> Result<Vec<VertexId>> {
        self.check_names(ids.len())?;
        vertices_of(self.names(), ids)
    }

    // What fails leaves nothing anyway, and what waits is in no budget.
    fn waits(&self) -> bool {
        false
    }

    fn has_data(&self) -> bool {
        true
    }
}

impl Chunks {
    /// Seals the edges of files into a new directory, within a budget of memory: what has no room there goes through files
    /// of the directory, once as it comes and once for each direction.
    ///
    /// Cost: 12 bytes of memory an id while edges are read, and all names of vertices that are not called by number; 20 a
    /// vertex and 4 an id after.
    ///
    /// # Errors
    /// As [`Graph::ingest`](crate::Graph::ingest) and [`Chunks::seal`]; `InvalidInput` if the budget is too
    /// small, with what would do.
    pub fn seal_files(
        path: &Path,
        what: &SealFiles<'_>,
        progress: &mut (dyn FnMut(Progress) -> bool + Send),
    ) -> Result<SealReport> {
        let plan = Plan::new(what)?;
        let volume = create_outside(&resolved(path))?;
        plan.carry_out(&volume, what, progress).map_err(|error| undone(volume, error))
    }

    /// Seals the edges of files in an empty volume that the caller has made, such as one that records what comes to its
    /// medium.
    ///
    /// # Errors
    /// As [`Self::seal_files`], but what was written is left.
    pub fn seal_files_in(
        volume: &Volume,
        what: &SealFiles<'_>,
        progress: &mut (dyn FnMut(Progress) -> bool + Send),
    ) -> Result<SealReport> {
        Plan::new(what)?.carry_out(volume, what, progress)
    }
}

/// What is sealed, once the files were looked at.
struct Plan {
    start: Instant,
    sources: Sources,
    options: GraphOptions,
    guessed: Guessed,
}

impl Plan {
    fn new(what: &SealFiles<'_>) -> Result<Self> {
        let start = Instant::now();
        let sources = expand(what.files, what.ingest)?;
        let options = what.chosen.apply(GraphOptions::default());
        let (options, guessed) = suggest(&options, what.choices, &sources, what.ingest)?;
        Ok(Self { start, sources, options, guessed })
    }

    /// Writes all files of the sealed graph, the manifest last.
    fn carry_out(
        self,
        volume: &Volume,
        what: &SealFiles<'_>,
        progress: &mut (dyn FnMut(Progress) -> bool + Send),
    ) -> Result<SealReport> {
        let Self { start, sources, options, guessed: of_graph } = self;
        let manifest = Manifest::new(Kind::Chunks, ());
        let salt = manifest.salt();
        let names = Names::create(volume, options.ids, salt)?;
        let build = BuildOptions {
            directed: options.directed,
            weighted: options.weighted,
            simple: options.simple,
            in_neighbors: options.in_neighbors,
            seal: what.options.clone(),
            memory: what.memory.unwrap_or_else(|| free_memory() / 2),
        };
        let builder = Mutex::new(Builder::new(volume, salt, build)?);
        let sealing = Sealing { options, names, builder };
        let taken = take_sources(&sealing, &sources, what.ingest, progress);
        // What was taken in before goes, too.
        let taken = taken.map_err(|error| match error {
            Error::Partly { source, .. } => *source,
            error => error,
        })?;
        let Sealing { options: GraphOptions { ids, simple, .. }, builder, names } = sealing;
        // Their file has them, and the memory is the buckets' now.
        drop(names);
        let name_of = |v| {
            let names = Names::open(volume, ids, salt).ok().flatten();
            crate::id_map::name_of(names.as_ref(), v).to_string()
        };
        let form = what.watch.run(|| builder.into_inner().finish(|v| v, name_of));
        let form = form.map_err(|_cancelled| Error::Interrupted)??;
        let medium = MediumKind::File;
        let of_chunks = ChunksOptions { medium, eadr: false, simple, ids, form: form.clone() };
        manifest.with_options(of_chunks).publish(volume)?;
        let mut guessed = taken.guessed;
        (guessed.ids, guessed.directed, guessed.weighted) =
            (of_graph.ids, of_graph.directed, of_graph.weighted);
        SealReport::new(volume, (&form, ids), start, Some(guessed))
    }
}
