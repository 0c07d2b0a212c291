//! What a process of `everedge bench outofcore` does: one step of those that share a directory.
//!
//! # Files of the directory
//! ```text
//! edges.bin       the edges, pairs of 4 bytes; of a file that was given, that file itself
//! edges.txt       the same with weights
//! sealed-…        sealed graphs, each named after the way it was sealed
//! sources         names of vertices that kernels start from, a line each
//! answers-…/      what kernels said on a CSR in memory of a sealed graph: 8 bytes a vertex
//! ```
//! A weight depends on the two ends of its edge, as in ChunkGraph §4.1, and is a whole number: sums of them are
//! exact.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use everedge::{
    Choices, Chosen, Chunks, Csr, CsrOptions, Edge, ExternalId, Format, GraphView, IdChoice,
    IngestOptions, InputChoices, Kernel, Order, Parameters, RunOptions, SealFiles, SealReport,
    Values, VertexId, View, Watch, median, peak_rss_bytes, read_speed,
};
use rustix::fs::{Advice, fadvise};
use serde_json::json;

use crate::harness::figures::{self, Row};
use crate::harness::table::REFUSED;
use crate::harness::{Ask, Plan, Sealed, Step, Task};

/// Enough memory for any graph, so that caches are as large as it.
const ENOUGH: u64 = 1 << 50;
/// Where the random numbers that draw sources start.
const SEED: u64 = 27_491_095;
/// Sources that are drawn.
const SOURCES: usize = 64;
/// How far scores may differ, as a part of them: sums are made in another order on other threads.
const SCORE_TOLERANCE: f64 = 1e-6;
/// Iterations of PageRank, as in the paper.
const ITERATIONS: u32 = 10;

/// What is counted of a run on a sealed graph.
const COUNTS: [&str; 5] = ["read_bytes", "reads", "pieces", "index_pages", "chunks"];

/// Does a step and returns its figures.
///
/// # Errors
/// If the medium or a kernel fails, or an answer is another than on a CSR.
pub(crate) fn measure(task: &Task, step: Step) -> Result<Row> {
    std::fs::create_dir_all(&task.graph)?;
    match step {
        Step::Edges => write_edges(task),
        Step::WeightedEdges => write_weighted(task),
        Step::Seal(sealed) => seal(task, sealed),
        Step::Answer { sealed, plan } => answer(task, sealed, plan),
        Step::Ask(one) => ask(task, one),
        Step::Device { bytes } => device(task, bytes),
        Step::SealWithin { directed, memory } => seal_within(task, directed, memory),
        Step::Csr { directed } => csr_of_file(task, directed),
    }
}

fn edges_path(task: &Task) -> PathBuf {
    task.configuration.input.clone().unwrap_or_else(|| task.graph.join("edges.bin"))
}

fn weighted_path(task: &Task) -> PathBuf {
    task.graph.join("edges.txt")
}

fn sealed_path(task: &Task, sealed: Sealed) -> PathBuf {
    task.graph.join(sealed.name())
}

fn sources_path(task: &Task) -> PathBuf {
    task.graph.join("sources")
}

/// The file with a kernel's answer from the source of a run.
fn answer_path(task: &Task, sealed: Sealed, kernel: Kernel, run: u32) -> PathBuf {
    let directory = task.graph.join(sealed.answers_name());
    directory.join(format!("{kernel}-{}", if has_source(kernel) { run } else { 0 }))
}

#[expect(clippy::disallowed_methods, reason = "a file that a measurement leaves for its next step")]
fn create(path: &Path) -> Result<BufWriter<File>> {
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(BufWriter::with_capacity(1 << 20, file))
}

#[expect(clippy::disallowed_methods, reason = "a file of edges, or one of a measurement")]
fn open(path: &Path) -> Result<BufReader<File>> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(BufReader::with_capacity(1 << 20, file))
}

fn write_edges(task: &Task) -> Result<Row> {
    if task.configuration.input.is_none() {
        let generator =
            task.configuration.graph.generator(task.configuration.scale, task.degree, 1)?;
        everedge::write_generated(&edges_path(task), &generator, false, |_| {})?;
    }
    let path = edges_path(task);
    let file = path.metadata().with_context(|| format!("cannot read {}", path.display()))?;
    let file_bytes = file.len();
    ensure!(
        file_bytes > 0 && file_bytes.is_multiple_of(8),
        "{} has no whole number of pairs of 4 bytes",
        path.display()
    );
    Ok(Row::from_iter([("edge_file_bytes".to_owned(), json!(file_bytes))]))
}

fn write_weighted(task: &Task) -> Result<Row> {
    let mut out = create(&weighted_path(task))?;
    for_each_edge(task, |(u, v)| Ok(writeln!(out, "{u} {v} {}", weight_of(u, v))?))?;
    out.flush()?;
    Ok(Row::new())
}

/// Calls `f` with each edge of the file.
fn for_each_edge(task: &Task, mut f: impl FnMut(Edge) -> Result<()>) -> Result<()> {
    let mut file = open(&edges_path(task))?;
    loop {
        let read = file.fill_buf()?;
        let (pairs, _) = read.as_chunks::<8>();
        let id = |bytes: &[u8]| VertexId::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        pairs.iter().try_for_each(|pair| f((id(&pair[..4]), id(&pair[4..]))))?;
        let used = 8 * pairs.len();
        file.consume(used);
        // A buffer may end in the middle of an edge.
        let mut pair = [0; 8];
        if used == 0 && !read_whole(&mut file, &mut pair)? {
            return Ok(());
        }
        if used == 0 {
            f((id(&pair[..4]), id(&pair[4..])))?;
        }
    }
}

/// Fills a buffer; returns false at the end of the file.
fn read_whole(file: &mut impl Read, buffer: &mut [u8]) -> Result<bool> {
    match file.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(e) => Err(e.into()),
    }
}

/// Returns the weight of an edge: from 1 to 256.
fn weight_of(u: VertexId, v: VertexId) -> u32 {
    (scrambled(u, v) >> 56) as u32 + 1
}

fn scrambled(u: VertexId, v: VertexId) -> u64 {
    let key = (u64::from(u) << 32 | u64::from(v)).wrapping_add(1);
    let key = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (key ^ key >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// Seals the file; for an order that needs lists, a graph that was sealed before.
fn seal(task: &Task, sealed: Sealed) -> Result<Row> {
    let path = sealed_path(task, sealed);
    let report = match sealed.order {
        Order::Steps => {
            let usual = Sealed { weighted: sealed.weighted, ..Sealed::usual(sealed.directed) };
            let view = Chunks::open(&sealed_path(task, usual), Some(ENOUGH))?.view(0)?.to_csr()?;
            Chunks::seal(&view, &path, &sealed.options(), &Watch::new())?
        }
        _ => seal_files(task, &path, sealed, None)?,
    };
    let chunks = Chunks::open(&path, None)?;
    if !sources_path(task).exists() {
        // The first graph that is sealed says from where kernels start on all others.
        write_sources(task, &chunks.view(0)?)?;
    }
    let form = &chunks.options().form;
    let mut row = figures::row(&report)?;
    let levels = form.levels().into_iter().map(|level| {
        json!({
            "chunk_bytes": level.chunk_bytes,
            "chunks": level.chunks,
            "bytes": level.bytes(),
            "list_bytes": level.list_bytes,
            "white_bytes": level.white_bytes(),
        })
    });
    row.insert("levels".to_owned(), levels.collect());
    row.insert("list_file_bytes".to_owned(), json!(form.list_file_bytes()));
    Ok(row)
}

fn seal_files(
    task: &Task,
    path: &Path,
    sealed: Sealed,
    memory: Option<u64>,
) -> everedge::Result<SealReport> {
    let (file, format) = match sealed.weighted {
        true => (weighted_path(task), Format::EdgeList),
        false => (edges_path(task), Format::Binary),
    };
    let input =
        InputChoices { format: Some(format), ids: IdChoice::Dense, ..InputChoices::default() };
    let mut chosen = Chosen::default();
    chosen.choose("directed", sealed.directed.to_string())?;
    chosen.choose("weighted", sealed.weighted.to_string())?;
    let what = SealFiles {
        files: &[file.into()],
        ingest: &IngestOptions { input, ..IngestOptions::default() },
        chosen: &chosen,
        choices: Choices { directed_fixed: true, weighted_fixed: true, meter: false },
        options: sealed.options(),
        watch: &Watch::new(),
        memory,
    };
    Chunks::seal_files(path, &what, &mut |_| true)
}

/// Seals the file within a budget, and says what that took. A budget that is refused is a figure, too.
fn seal_within(task: &Task, directed: bool, memory: Option<u64>) -> Result<Row> {
    let path = task.graph.join("sealed-within");
    let written_before = written_bytes();
    let mut row = Row::new();
    row.insert("memory_bytes".to_owned(), json!(memory));
    match seal_files(task, &path, Sealed::usual(directed), memory) {
        Ok(report) => {
            row.insert("seconds".to_owned(), json!(report.seconds));
            row.insert("disk_bytes".to_owned(), json!(report.disk_bytes));
            row.insert("written_bytes".to_owned(), json!(written_bytes() - written_before));
            row.insert("peak_rss_bytes".to_owned(), json!(report.peak_rss_bytes));
            std::fs::remove_dir_all(&path)?;
        }
        Err(error) if is_refusal(&error) => {
            row.insert("outcome".to_owned(), json!(REFUSED));
            row.insert("refused".to_owned(), json!(error.to_string()));
        }
        Err(error) => return Err(error.into()),
    }
    Ok(row)
}

/// Returns whether an error says that a budget is too small.
fn is_refusal(error: &everedge::Error) -> bool {
    error.to_string().contains("bytes of memory")
}

/// Returns how many bytes this process has handed to the system to write.
fn written_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let value = text.lines().find_map(|line| line.strip_prefix("wchar: "));
    value.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
}

/// Makes a CSR of the file, and says what that took.
fn csr_of_file(task: &Task, directed: bool) -> Result<Row> {
    let start = Instant::now();
    let csr = read_csr(task, directed)?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(Row::from_iter([
        ("seconds".to_owned(), json!(seconds)),
        ("edges".to_owned(), json!(csr.edge_count())),
        ("written_bytes".to_owned(), json!(0)),
        ("peak_rss_bytes".to_owned(), json!(peak_rss_bytes())),
    ]))
}

fn read_csr(task: &Task, directed: bool) -> Result<Csr> {
    let mut edges = Vec::new();
    for_each_edge(task, |edge| {
        edges.push(edge);
        Ok(())
    })?;
    Ok(Csr::from_edges(&edges, None, CsrOptions { directed, ..CsrOptions::default() }))
}

fn device(task: &Task, bytes: u64) -> Result<Row> {
    let speed = read_speed(&task.graph.join("speed"), bytes)?;
    Ok(Row::from_iter([
        ("random_reads_per_second".to_owned(), json!(speed.random_reads_per_second)),
        ("sequential_bytes_per_second".to_owned(), json!(speed.sequential_bytes_per_second)),
        ("file_bytes".to_owned(), json!(speed.file_bytes)),
        ("past_the_cache".to_owned(), json!(speed.is_direct)),
        ("read_by".to_owned(), json!(format!("{:?}", speed.way).to_lowercase())),
    ]))
}

/// Runs kernels on a CSR in memory, and keeps their answers for those who ask the sealed graph.
fn answer(task: &Task, sealed: Sealed, plan: Plan) -> Result<Row> {
    let view = Chunks::open(&sealed_path(task, sealed), Some(ENOUGH))?.view(0)?.to_csr()?;
    let sources = sources(task)?;
    check_edges(task, sealed, &view)?;
    let mut row = Row::new();
    for kernel in plan.kernels() {
        let mut seconds = Vec::new();
        for run in 0..plan.runs_of(kernel) {
            let options = RunOptions::from(parameters(kernel, run, &sources));
            let report = match run {
                0 => view.run(kernel, &options)?,
                _ => view.run_unverified(kernel, &options)?,
            };
            seconds.push(report.seconds);
            let path = answer_path(task, sealed, kernel, run);
            if let Some(directory) = path.parent() {
                std::fs::create_dir_all(directory)?;
            }
            let mut out = create(&path)?;
            numbers(&report.values).try_for_each(|value| out.write_all(&value.to_le_bytes()))?;
            out.flush()?;
        }
        row.insert(format!("{kernel}_seconds"), json!(median(&seconds)));
    }
    row.insert("peak_rss_bytes".to_owned(), json!(peak_rss_bytes()));
    Ok(row)
}

/// Draws vertices that kernels start from, and writes their names.
fn write_sources(task: &Task, view: &View) -> Result<()> {
    let mut out = create(&sources_path(task))?;
    for v in view.sample_sources(SOURCES, SEED) {
        writeln!(out, "{}", view.name_of(v))?;
    }
    Ok(out.flush()?)
}

fn sources(task: &Task) -> Result<Vec<String>> {
    Ok(open(&sources_path(task))?.lines().collect::<io::Result<_>>()?)
}

/// Holds the edges of a sealed graph to those of the file: as many, and the same sum of a number of each.
fn check_edges(task: &Task, sealed: Sealed, view: &View) -> Result<()> {
    let ends = |u: VertexId, v: VertexId| match sealed.directed {
        true => (u, v),
        false => (u.min(v), u.max(v)),
    };
    let sum_of = |sum: &mut (u64, u64), (u, v): Edge| {
        *sum = (sum.0 + 1, sum.1.wrapping_add(scrambled(u, v)));
    };
    let (mut expected, mut found) = ((0, 0), (0, 0));
    for_each_edge(task, |(u, v)| {
        sum_of(&mut expected, ends(u, v));
        Ok(())
    })?;
    // A first question reads all names at once.
    view.find("0");
    let ids: Vec<VertexId> = (0..view.vertex_bound())
        .map(|v| match view.name_of(v) {
            ExternalId::Integer(id) => id as VertexId,
            ExternalId::Text(_) => VertexId::MAX,
        })
        .collect();
    view.for_each_arc(|u, v, weight| {
        let (u, v) = (ids[u as usize], ids[v as usize]);
        if sealed.directed || u <= v {
            sum_of(&mut found, (u, v));
        }
        // An edge of an undirected graph may have stood there the other way round.
        let is_right = [weight_of(u, v), weight_of(v, u)].map(|weight| weight as f32);
        let is_right = if sealed.weighted { is_right.contains(&weight) } else { weight == 1.0 };
        ensure!(
            is_right,
            "the edge from {u} to {v} has the weight {weight}: a bug; please report it"
        );
        Ok(())
    })?;
    ensure!(
        expected == found,
        "the sealed graph has other edges than the file: a bug; please report it"
    );
    Ok(())
}

/// Runs a kernel on a sealed graph, each time with caches that are empty, and holds its answers to those on a CSR. A
/// budget that is refused is a figure, too.
fn ask(task: &Task, ask: Ask) -> Result<Row> {
    let path = sealed_path(task, ask.sealed);
    let (kernel, sources) = (ask.kernel(), sources(task)?);
    let open = || -> Result<Chunks> {
        let chunks = Chunks::open(&path, Some(ask.memory))?;
        Ok(if ask.reads_ahead { chunks } else { chunks.without_read_ahead() })
    };
    let least = open()?.least_memory(kernel);
    let mut row = Row::new();
    row.insert("memory_bytes".to_owned(), json!(ask.memory));
    row.insert("least_memory_bytes".to_owned(), json!(least));
    if ask.memory < least {
        let error = open()?.view_for(kernel).map(drop).unwrap_err();
        row.insert("answer".to_owned(), json!(REFUSED));
        row.insert("refused".to_owned(), json!(error.to_string()));
        return Ok(row);
    }
    let (mut seconds, mut peak) = (Vec::new(), 0);
    let mut counts: [Vec<f64>; COUNTS.len()] = Default::default();
    for run in 0..ask.runs() {
        forget_cached(&path)?;
        let view = open()?.view_for(kernel)?;
        let options = RunOptions::from(parameters(kernel, run, &sources));
        let report = view.run_unverified(kernel, &options)?;
        peak = report.peak_rss_bytes;
        let pieces = view.pieces_read().unwrap_or_default();
        drop(view);
        let chunks = pieces.chunks.iter().sum::<u64>() + pieces.long;
        let found = [report.read_bytes, report.reads, pieces.pages + chunks, pieces.pages, chunks];
        seconds.push(report.seconds);
        counts.iter_mut().zip(found).for_each(|(all, count)| all.push(count as f64));
        compare(kernel, &report.values, &answer_path(task, ask.sealed, kernel, run))?;
    }
    row.insert("seconds".to_owned(), json!(median(&seconds)));
    row.extend(
        COUNTS.iter().zip(&counts).map(|(key, all)| (key.to_string(), json!(median(all) as u64))),
    );
    row.insert("peak_rss_bytes".to_owned(), json!(peak));
    row.insert("answer".to_owned(), json!("as on a CSR"));
    Ok(row)
}

/// Has the system forget what it has cached of the files of a directory.
#[expect(clippy::disallowed_methods, reason = "nothing of the files is read")]
fn forget_cached(directory: &Path) -> Result<()> {
    for entry in directory.read_dir()? {
        fadvise(File::open(entry?.path())?, 0, None, Advice::DontNeed)?;
    }
    Ok(())
}

/// Holds an answer to the one in a file.
fn compare(kernel: Kernel, values: &Values, path: &Path) -> Result<()> {
    let mut file = open(path)?;
    let are_scores = matches!(values, Values::Score(_));
    let mut word = [0; 8];
    for (v, found) in numbers(values).enumerate() {
        ensure!(read_whole(&mut file, &mut word)?, "the answer has too many vertices");
        let expected = f64::from_le_bytes(word);
        let near = SCORE_TOLERANCE * expected.abs().max(f64::MIN_POSITIVE);
        ensure!(
            expected == found || are_scores && (expected - found).abs() <= near,
            "{kernel} says {found} of vertex {v}, and {expected} on a CSR: a bug; please report it \
             with this command"
        );
    }
    ensure!(!read_whole(&mut file, &mut word)?, "the answer has too few vertices");
    Ok(())
}

/// Returns the value of each vertex as a number.
fn numbers(values: &Values) -> Box<dyn Iterator<Item = f64> + '_> {
    match values {
        Values::Depth(values) | Values::Component(values) | Values::Count(values) => {
            Box::new(values.iter().map(|&value| value.into()))
        }
        Values::Score(values) | Values::Distance(values) => Box::new(values.iter().copied()),
        Values::Label(values) => Box::new(values.iter().map(|&value| value as f64)),
        Values::Scores([first, second]) => Box::new(first.iter().chain(second).copied()),
        Values::Vertices(values) | Values::Order(values) => {
            Box::new(values.iter().map(|&value| value.into()))
        }
        Values::Edges(edges, _) => Box::new(edges.iter().flat_map(|&(u, v)| [u.into(), v.into()])),
        Values::None => Box::new(std::iter::empty()),
    }
}

fn has_source(kernel: Kernel) -> bool {
    kernel.parameters().contains(&"source")
}

/// Returns what a kernel is told in its run of this number.
fn parameters(kernel: Kernel, run: u32, sources: &[String]) -> Parameters {
    let mut parameters = Parameters::default();
    if has_source(kernel) {
        parameters.source = sources.get(run as usize % sources.len().max(1)).cloned();
    }
    if kernel == Kernel::PageRank {
        parameters.iterations = Some(ITERATIONS);
    }
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_differs_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("answer");
        let mut out = create(&path).unwrap();
        [1.0_f64, f64::INFINITY].iter().for_each(|x| out.write_all(&x.to_le_bytes()).unwrap());
        out.flush().unwrap();
        let is_same = |values: Values| compare(Kernel::Sssp, &values, &path).is_ok();
        assert!(is_same(Values::Distance(vec![1.0, f64::INFINITY])));
        assert!(is_same(Values::Score(vec![1.0 + 1e-9, f64::INFINITY])));
        for wrong in [
            Values::Distance(vec![1.0 + 1e-9, f64::INFINITY]),
            Values::Score(vec![1.1, f64::INFINITY]),
            Values::Distance(vec![1.0]),
            Values::Distance(vec![1.0, f64::INFINITY, 0.0]),
            Values::Distance(vec![1.0, f64::NAN]),
        ] {
            assert!(!is_same(wrong.clone()), "{wrong:?}");
        }
    }

    #[test]
    fn weights_are_whole_numbers_from_1_to_256() {
        let weights: Vec<u32> = (0..1000).map(|v| weight_of(v, v / 2)).collect();
        assert!(weights.iter().all(|weight| (1..=256).contains(weight)));
        assert!(weights.iter().any(|&weight| weight > 200) && weights.iter().any(|&w| w < 50));
    }
}
