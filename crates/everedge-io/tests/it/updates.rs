//! Timed updates in formats of text, by hand and as they are published, and what their tests share.

use std::path::{Path, PathBuf};

use everedge_io::{
    Column, Error, Format, IdChoice, IdKind, InputChoices, Place, TimeUnit, UpdateChoices,
    UpdateChunk, UpdateGuess, UpdateOptions, UpdateSummary, decompress, probe_updates,
    read_updates,
};

use crate::support::texts;

/// Noon of 2024-05-31 UTC.
pub(crate) const NOON: i64 = 1_717_156_800_000_000;
pub(crate) const SECOND: i64 = 1_000_000;

/// All updates that a file gave.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Stream {
    pub(crate) edges: Vec<(String, String)>,
    pub(crate) times: Vec<i64>,
    pub(crate) is_deletion: Vec<bool>,
    pub(crate) weights: Vec<f32>,
    pub(crate) steps: Vec<u64>,
    pub(crate) summary: UpdateSummary,
}

impl Stream {
    pub(crate) fn extend(&mut self, chunk: UpdateChunk) {
        let count = chunk.src.len();
        assert_eq!((chunk.dst.len(), chunk.times.len()), (count, count));
        assert_eq!(chunk.is_deletion.len(), count);
        self.edges.extend(texts(&chunk.src).into_iter().zip(texts(&chunk.dst)));
        self.times.extend(chunk.times);
        self.is_deletion.extend(chunk.is_deletion);
        if let Some(weights) = chunk.weights {
            assert_eq!(weights.len(), count);
            self.weights.extend(weights);
        }
        if let Some(steps) = chunk.steps {
            assert_eq!(steps.len(), count);
            self.steps.extend(steps);
        }
    }

    /// Returns the ends as numbers.
    pub(crate) fn numbers(&self) -> Vec<(u64, u64)> {
        self.edges.iter().map(|(src, dst)| (src.parse().unwrap(), dst.parse().unwrap())).collect()
    }

    /// Checks that the summary counts what came.
    pub(crate) fn counted(self) -> Self {
        let deletions = self.is_deletion.iter().filter(|is_deletion| **is_deletion).count() as u64;
        assert_eq!(self.summary.deletions, deletions);
        assert_eq!(self.summary.insertions + deletions, self.edges.len() as u64);
        self
    }
}

pub(crate) fn read(input: &[u8], options: &UpdateOptions) -> Result<Stream, Error> {
    let mut stream = Stream::default();
    stream.summary = read_updates(input, options, |chunk| {
        stream.extend(chunk);
        Ok::<(), Error>(())
    })?;
    assert_eq!(stream.summary.bytes, input.len() as u64);
    Ok(stream.counted())
}

pub(crate) fn guess(name: &str, head: &str) -> UpdateGuess {
    probe_updates(name, head.as_bytes(), &UpdateChoices::default()).unwrap()
}

pub(crate) fn read_guessed(name: &str, text: &str) -> Stream {
    read(text.as_bytes(), &guess(name, text).options()).unwrap()
}

pub(crate) fn index(idx: usize) -> Option<Column> {
    Some(Column::Index(idx))
}

pub(crate) fn named(name: &str) -> Option<Column> {
    Some(Column::Name(name.to_owned()))
}

/// Returns the places of source, destination, weight, time, operation and step.
pub(crate) fn places(
    guess: &UpdateGuess,
) -> (usize, usize, Option<usize>, usize, Option<usize>, Option<usize>) {
    let UpdateGuess { edges, time, operation, step, .. } = guess;
    (edges.src, edges.dst, edges.weight, *time, *operation, *step)
}

/// Checks that an error is one of syntax at `place` whose text contains `what`.
pub(crate) fn assert_syntax(result: Result<impl std::fmt::Debug, Error>, place: Place, what: &str) {
    match result {
        Err(Error::Syntax { place: found, what: text, hint }) => {
            let text = format!("{text}; {}", hint.unwrap_or_default());
            assert!(text.contains(what), "{text:?} does not contain {what:?}");
            assert_eq!(found, place, "{text}");
        }
        other => panic!("{what}: {other:?}"),
    }
}

#[test]
fn steps_times_and_operations_are_read_from_a_stream_of_changes() {
    let text = "0 1112911993 + 0 1\n0 1112911993 + 0 2\n# by hand\n\n1 1112911990 - 0 1\r\n";
    let guess = guess("git.stream.gz", text);
    assert_eq!(guess.edges.format, Format::EdgeList);
    assert_eq!(places(&guess), (3, 4, None, 1, Some(2), Some(0)));
    assert_eq!((guess.unit, guess.edges.ids), (Some(TimeUnit::Seconds), IdKind::Dense));
    let stream = read(text.as_bytes(), &guess.options()).unwrap();
    assert_eq!(stream.numbers(), [(0, 1), (0, 2), (0, 1)]);
    let seconds = [1_112_911_993, 1_112_911_993, 1_112_911_990];
    assert_eq!(stream.times, seconds.map(|seconds| seconds * SECOND));
    assert_eq!((stream.is_deletion, stream.steps), (vec![false, false, true], vec![0, 0, 1]));
    assert_eq!((stream.summary.insertions, stream.summary.deletions), (2, 1));
}

#[test]
fn numbers_and_dates_may_stand_in_one_column() {
    let text = "1,2,2024-05-31 14:00:00+02:00\n1,2,1717156800\n1,2,\"2024-05-31T12:00\"\n\
                1,2,1717156800.0000004\n1,2,-0.5\n";
    let guess = guess("x", text);
    assert_eq!(guess.unit, Some(TimeUnit::Seconds));
    let stream = read(text.as_bytes(), &guess.options()).unwrap();
    assert_eq!(stream.times, [NOON, NOON, NOON, NOON, -SECOND / 2]);
}

#[test]
fn weights_are_read_if_they_are_asked_for() {
    let text = "6,2,4,1289241911.72836\n6,5,-0.5,1289241941.53378\n";
    let guess = guess("soc.csv.gz", text);
    let mut options = guess.options();
    assert!(!options.edges.weighted);
    assert_eq!(read(text.as_bytes(), &options).unwrap().weights, [0.0; 0]);
    options.edges.weighted = true;
    let stream = read(text.as_bytes(), &options).unwrap();
    assert_eq!(stream.weights, [4.0, -0.5]);
    assert_eq!(stream.times, [1_289_241_911_728_360, 1_289_241_941_533_780]);
    let lines = text.replace(',', " ");
    options.edges.format = Format::EdgeList;
    assert_eq!(read(lines.as_bytes(), &options).unwrap().weights, [4.0, -0.5]);
    let bad = lines.replace("-0.5", "heavy");
    assert_syntax(read(bad.as_bytes(), &options), Place::Line(2), "expected a number as weight");
}

#[test]
fn ids_are_of_any_kind() {
    for (text, ids, ends) in [
        ("1 2 5\n", IdKind::Dense, ("1", "2")),
        ("18446744073709551615 2 5\n", IdKind::Sparse, ("18446744073709551615", "2")),
        ("ann é 5\n", IdKind::Text, ("ann", "é")),
    ] {
        assert_eq!(guess("x", text).edges.ids, ids, "{text}");
        let stream = read_guessed("x", text);
        assert_eq!(stream.edges, [(ends.0.to_owned(), ends.1.to_owned())]);
        assert_eq!(stream.times, [5 * SECOND]);
    }
    let edges = InputChoices { ids: IdChoice::Text, ..InputChoices::default() };
    let choices = UpdateChoices { edges, ..UpdateChoices::default() };
    assert_eq!(probe_updates("x", b"1 2 5\n", &choices).unwrap().edges.ids, IdKind::Text);
}

/// Options for `step time op src dst` of a format.
pub(crate) fn evolution(format: Format) -> UpdateOptions {
    let mut options = UpdateOptions {
        time: Column::Index(1),
        operation: index(2),
        step: index(0),
        ..UpdateOptions::new(format)
    };
    (options.edges.columns.src, options.edges.columns.dst) = (Column::Index(3), Column::Index(4));
    options
}

#[test]
fn hostile_records_are_refused_where_they_are() {
    for (record, what) in [
        ("0 x + 1 2", "expected a time, found \"x\"; times are numbers since 1970"),
        ("0 31.05.2024 + 1 2", "dates such as 2024-05-31"),
        ("0 253402300800 + 1 2", "the time 253402300800 in seconds lies outside"),
        ("0 null + 1 2", "the time is null; --skip-nulls"),
        ("0 5 * 1 2", "expected an operation, found \"*\"; operations are + and -"),
        ("0 5 update 1 2", "--insertions-only"),
        ("0 5 NULL 1 2", "the operation is null"),
        ("-1 5 + 1 2", "expected a step, found \"-1\"; steps are whole numbers"),
        ("NA 5 + 1 2", "the step is null"),
        ("0 5 + x 2", "--ids text"),
        ("0 5 + 1 -2", "negative"),
    ] {
        for format in [Format::EdgeList, Format::Csv, Format::Tsv] {
            let separator = match format {
                Format::EdgeList => " ",
                Format::Csv => ",",
                _ => "\t",
            };
            let text = format!("0 5 + 1 2\n\n{record}\n0 5 + 1 2\n").replace(' ', separator);
            assert_syntax(read(text.as_bytes(), &evolution(format)), Place::Line(3), what);
        }
    }
    let lines = evolution(Format::EdgeList);
    for (record, what) in [
        ("0 5 + 1", "expected 5 columns, found 4; every update needs as many columns"),
        ("0 5 + 1 2 3", "expected 5 columns, found 6"),
        ("0 5 + 1\r2", "carriage return"),
        ("// 5 + 1 2", "expected a step"),
    ] {
        let text = format!("0 5 + 1 2\n{record}\n");
        let what = if record.starts_with('/') { "starts with //" } else { what };
        assert_syntax(read(text.as_bytes(), &lines), Place::Line(2), what);
    }
    let table = evolution(Format::Csv);
    for (record, what) in [
        ("0,5,+,1", "expected 5 columns, found 4"),
        ("0,5", "expected 5 columns, found 2"),
        ("0,5,+,1,2,3", "expected 5 columns, found 6"),
        ("0,,+,1,2", "the time is null"),
        ("0,5,,1,2", "the operation is null"),
        (",5,+,1,2", "the step is null"),
    ] {
        let text = format!("0,5,+,1,2\n{record}\n");
        assert_syntax(read(text.as_bytes(), &table), Place::Line(2), what);
    }
}

#[test]
fn a_line_number_is_exact_in_a_later_block() {
    let mut text = b"0 5 + 1 2\n".repeat(1 << 19);
    text.extend_from_slice(b"0 5 ? 1 2\n");
    let result = read(&text, &evolution(Format::EdgeList));
    assert_syntax(result, Place::Line((1 << 19) + 1), "found \"?\"");
}

#[test]
fn nulls_are_left_out_if_that_is_asked_for() {
    let rows = ["0 5 + 1 2", "0 NULL - 1 2", "0 5 nan 1 2", "N/A 5 - 1 2", "0 5 - NULL 2"];
    for (format, separator) in [(Format::EdgeList, " "), (Format::Csv, ",")] {
        let text = format!("{}\n1 6 + 3 4\n2 7 - 5 6\n", rows.join("\n"));
        let text = text.replace(' ', separator);
        let mut options = evolution(format);
        options.edges.skip_nulls = true;
        let stream = read(text.as_bytes(), &options).unwrap();
        assert_eq!((stream.numbers(), stream.summary.skipped), (vec![(1, 2), (3, 4), (5, 6)], 4));
        assert_eq!(stream.times, [5 * SECOND, 6 * SECOND, 7 * SECOND]);
        assert_eq!((stream.is_deletion, stream.steps), (vec![false, false, true], vec![0, 1, 2]));
    }
}

#[test]
fn a_column_is_chosen_for_one_thing() {
    for format in [Format::EdgeList, Format::Csv, Format::JsonLines] {
        let text = match format {
            Format::EdgeList => "1 2 3\n",
            Format::Csv => "1,2,3\n",
            _ => "{\"a\":1,\"b\":2,\"c\":3}\n",
        };
        let plain = UpdateOptions::new(format);
        assert_eq!(read(text.as_bytes(), &plain).unwrap().times, [3 * SECOND]);
        let mut weighted = plain.clone();
        weighted.edges.weighted = true;
        for options in [
            UpdateOptions { time: Column::Index(0), ..plain.clone() },
            UpdateOptions { operation: index(1), ..plain.clone() },
            UpdateOptions { step: index(2), ..plain.clone() },
            weighted,
        ] {
            let what = if format == Format::JsonLines { "two things" } else { "chosen twice" };
            assert_syntax(read(text.as_bytes(), &options), Place::Line(1), what);
        }
        let past_all = UpdateOptions { time: Column::Index(usize::MAX), ..plain };
        assert!(read(text.as_bytes(), &past_all).unwrap_err().to_string().contains("there is no"));
    }
}

#[test]
fn a_header_that_is_repeated_is_no_update() {
    let text = "src,dst,time\n1,2,5\nsrc,dst,time\n";
    let options = guess("x", text).options();
    assert_syntax(read(text.as_bytes(), &options), Place::Line(3), "the header is repeated");
}

#[test]
fn no_updates_are_an_error() {
    for text in ["", "\n", "# only a comment\n"] {
        let error = read(text.as_bytes(), &UpdateOptions::new(Format::EdgeList)).unwrap_err();
        assert!(matches!(error, Error::NoEdges), "{error}");
    }
    let error = read(b"src,dst,time\n", &guess("x", "src,dst,time\n").options()).unwrap_err();
    assert!(matches!(error, Error::NoEdges), "{error}");
}

#[test]
fn formats_without_times_are_refused() {
    for format in Format::ALL.into_iter().filter(|format| !format.has_columns()) {
        let refused = |error: Error| {
            assert!(matches!(error, Error::Unsupported { .. }), "{error}");
            assert!(error.to_string().contains("it has no times"), "{error}");
        };
        refused(read(b"1 2 3\n", &UpdateOptions::new(format)).unwrap_err());
        let edges = InputChoices { format: Some(format), ..InputChoices::default() };
        let choices = UpdateChoices { edges, ..UpdateChoices::default() };
        refused(probe_updates("x", b"1 2 3\n", &choices).unwrap_err());
    }
    let parquet = read(b"PAR1", &UpdateOptions::new(Format::Parquet)).unwrap_err();
    assert!(parquet.to_string().contains("read_parquet_updates"), "{parquet}");
    assert_eq!(guess("x", "PAR1").edges.format, Format::Parquet);
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let good: String = (0..200_000).map(|i| format!("{} {i} + {i} {}\n", i / 7, i / 3)).collect();
    for text in [good.clone(), good + "0 1 + 2 3\n0 1 x 2 3\n"] {
        let run = |threads| {
            let mut chunks = Vec::new();
            let result = everedge_core::par::with_threads(threads, || {
                read_updates(text.as_bytes(), &evolution(Format::EdgeList), |chunk| {
                    chunks.push(chunk);
                    Ok::<(), Error>(())
                })
            });
            (chunks, result.unwrap().map_err(|error| error.to_string()))
        };
        let (alone, together) = (run(1), run(3));
        assert!(alone.0.len() > 3, "{} chunks", alone.0.len());
        assert!(alone == together);
    }
}

#[test]
fn an_error_of_the_sink_ends_reading() {
    let mut calls = 0;
    let text = b"1 2 3\n".repeat(1 << 19);
    let result = read_updates(&text[..], &UpdateOptions::new(Format::EdgeList), |_| {
        calls += 1;
        Err(Error::NoEdges)
    });
    assert!(matches!(result, Err(Error::NoEdges)), "{result:?}");
    assert_eq!(calls, 1);
}

#[test]
fn objects_are_updates_by_their_keys() {
    let text = r#"{"op":"add","from":"ann","to":"bob","timestamp":"2024-05-31T12:00:00Z","w":2}
{"timestamp":1717156800.5,"from":"ann","to":7,"op":-1,"w":0.5,"tags":[1]}
{"timestamp":1717156800,"from":"ann","to":7,"op":"+","w":"3"}
"#;
    let guess = guess("x", text);
    assert_eq!(guess.edges.format, Format::JsonLines);
    assert_eq!(places(&guess), (1, 2, Some(4), 3, Some(0), None));
    let mut options = guess.options();
    options.edges.weighted = true;
    let stream = read(text.as_bytes(), &options).unwrap();
    assert_eq!(stream.times, [NOON, NOON + SECOND / 2, NOON]);
    assert_eq!(
        (stream.is_deletion, stream.weights),
        (vec![false, true, false], vec![2.0, 1.0, 3.0])
    );
    assert_eq!(stream.edges[1], ("ann".to_owned(), "7".to_owned()));
    let text = r#"{"step":1,"src":1,"dst":2,"ts":1082040961000}
{"step":"2","src":1,"dst":2,"ts":1082040962000}
{"step":3,"src":1,"dst":2,"ts":"5"}
"#;
    let mut choices = UpdateChoices { step: named("step"), ..UpdateChoices::default() };
    let guess = probe_updates("x", text.as_bytes(), &choices).unwrap();
    assert_eq!((guess.step, guess.unit), (Some(0), Some(TimeUnit::Milliseconds)));
    let times = vec![1_082_040_961 * SECOND, 1_082_040_962 * SECOND, 5000];
    let stream = read(text.as_bytes(), &guess.options()).unwrap();
    assert_eq!((stream.steps, stream.times), (vec![1, 2, 3], times));
    choices.time = named("when");
    let error = probe_updates("x", text.as_bytes(), &choices).unwrap_err();
    assert!(error.to_string().contains("no column \"when\""), "{error}");
}

#[test]
fn hostile_objects_are_refused_where_they_are() {
    let first = "{\"src\":1,\"dst\":2,\"time\":5,\"op\":\"+\",\"step\":0}";
    let options = guess("x", first).options();
    for (object, what) in [
        ("{\"src\":1,\"dst\":2,\"op\":\"+\",\"step\":0}", "there is no \"time\""),
        ("{\"src\":1,\"dst\":2,\"time\":null,\"op\":\"+\",\"step\":0}", "\"time\" is null"),
        ("{\"src\":1,\"dst\":2,\"time\":\"x\",\"op\":\"+\",\"step\":0}", "expected a time"),
        ("{\"src\":1,\"dst\":2,\"time\":true,\"op\":\"+\",\"step\":0}", "found a truth value"),
        ("{\"src\":1,\"dst\":2,\"time\":1e15,\"op\":\"+\",\"step\":0}", "--time-unit"),
        ("{\"src\":1,\"dst\":2,\"time\":253402300800,\"op\":\"+\",\"step\":0}", "--time-unit"),
        ("{\"src\":1,\"dst\":2,\"time\":5,\"step\":0}", "there is no \"op\""),
        ("{\"src\":1,\"dst\":2,\"time\":5,\"op\":0,\"step\":0}", "operation, found 0"),
        ("{\"src\":1,\"dst\":2,\"time\":5,\"op\":1.5,\"step\":0}", "operation, found 1.5"),
        ("{\"src\":1,\"dst\":2,\"time\":5,\"op\":[],\"step\":0}", "operation, found an array"),
        ("{\"src\":1,\"dst\":2,\"time\":5,\"op\":\"+\",\"step\":-1}", "step, found -1"),
        ("{\"src\":1,\"dst\":2,\"time\":5,\"op\":\"+\",\"step\":0.5}", "step, found 0.5"),
        ("{\"src\":1,\"dst\":2,\"time\":5,\"op\":\"+\"}", "there is no \"step\""),
    ] {
        let text = format!("{first}\n{object}\n{first}\n");
        assert_syntax(read(text.as_bytes(), &options), Place::Line(2), what);
        let is_null = what.contains("is null") || what.contains("there is no");
        let mut skipping = options.clone();
        skipping.edges.skip_nulls = true;
        let read = read(text.as_bytes(), &skipping);
        assert_eq!(
            read.ok().map(|stream| stream.summary.skipped),
            is_null.then_some(1),
            "{object}"
        );
    }
}

/// The folder of published graphs, which is not part of the repository.
fn data_folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("not run: there is no folder of reference graphs at {}", folder.display());
    None
}

/// Guesses and reads a compressed file of the folder.
fn read_file(path: &Path) -> (UpdateGuess, Stream) {
    use std::io::Read;
    let name = path.to_string_lossy();
    let mut bytes = Vec::new();
    let packed = std::fs::read(path).unwrap();
    decompress(&packed[..]).unwrap().read_to_end(&mut bytes).unwrap();
    let head = &bytes[..bytes.len().min(everedge_io::HEAD_BYTES)];
    let guess = probe_updates(&name, head, &UpdateChoices::default()).unwrap();
    let stream = read(&bytes, &guess.options()).unwrap();
    (guess, stream)
}

fn facts(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Insertions and deletions are as many as the files beside the streams say, and lead to as many edges.
#[test]
fn published_streams_of_changes_are_read() {
    let Some(folder) = data_folder() else { return };
    for name in ["git", "rocksdb", "duckdb"].map(|name| format!("{name}-include-evolution")) {
        let folder = folder.join(&name);
        let facts = facts(&folder.join(format!("{name}.json")));
        let count = |key: &str| facts[key].as_u64().unwrap();
        let (guess, stream) = read_file(&folder.join(format!("{name}.stream.gz")));
        assert_eq!(places(&guess), (3, 4, None, 1, Some(2), Some(0)), "{name}");
        assert_eq!(stream.edges.len() as u64, count("ops"), "{name}");
        assert_eq!(stream.summary.insertions, count("adds"), "{name}");
        assert_eq!(stream.summary.deletions, count("deletes"), "{name}");
        assert!(stream.steps.is_sorted(), "{name}");
        // A commit may be older than the one before it; all lines of a commit have its time.
        let turns = stream.times.windows(2).filter(|pair| pair[1] < pair[0]).count() as u64;
        assert_eq!(turns, count("time_goes_back_lines"), "{name}");
        assert!(
            stream
                .times
                .iter()
                .all(|time| (2004..2030).contains(&(1970 + time / SECOND / 31_557_600)))
        );
        let mut alive = std::collections::BTreeSet::new();
        for (edge, is_deletion) in stream.edges.iter().zip(&stream.is_deletion) {
            let has_changed = if *is_deletion { alive.remove(edge) } else { alive.insert(edge) };
            assert!(has_changed, "{name}: {edge:?}");
        }
        assert_eq!(alive.len() as u64, count("adds") - count("deletes"), "{name}");
    }
}

#[test]
fn published_lists_of_timed_edges_are_read() {
    let Some(folder) = data_folder() else { return };
    for (name, file, expected) in [
        ("CollegeMsg", "CollegeMsg.txt.gz", (0, 1, None, 2, None, None)),
        ("sx-mathoverflow", "sx-mathoverflow.txt.gz", (0, 1, None, 2, None, None)),
        ("email-Eu-core-temporal", "email-Eu-core-temporal.txt.gz", (0, 1, None, 2, None, None)),
        ("soc-sign-bitcoinotc", "soc-sign-bitcoinotc.csv.gz", (0, 1, Some(2), 3, None, None)),
        ("jodie-wikipedia", "jodie_wikipedia_TEConv.csv.gz", (0, 1, Some(3), 2, None, None)),
    ] {
        let folder = folder.join(name);
        let facts = facts(&folder.join(format!("{name}.json")));
        let (guess, stream) = read_file(&folder.join(file));
        assert_eq!(places(&guess), expected, "{name}");
        assert_eq!(guess.unit, Some(TimeUnit::Seconds), "{name}");
        let times = &facts["temporal_checks"];
        assert_eq!(stream.summary.insertions, times["events"].as_u64().unwrap(), "{name}");
        assert_eq!(stream.summary.deletions, 0, "{name}");
        let time = |key: &str| (times[key].as_f64().unwrap() * SECOND as f64).round() as i64;
        assert_eq!(stream.times.iter().min(), Some(&time("t_min")), "{name}");
        assert_eq!(stream.times.iter().max(), Some(&time("t_max")), "{name}");
        let is_sorted = times["file_sorted_by_time"].as_bool().unwrap();
        assert_eq!(stream.times.is_sorted(), is_sorted, "{name}");
    }
}
