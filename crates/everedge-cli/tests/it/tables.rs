//! Tables whose columns leave room for a mistake: nothing is left out, joined or guessed in silence.

use crate::inputs::{Home, assert_refused, edges_of, everedge, stats};

/// What a file must give: its edges, or words of the error.
type Outcome = Result<&'static [&'static str], &'static [&'static str]>;
type Case = (&'static str, &'static str, &'static [&'static str], Outcome);

fn assert_outcomes(cases: &[Case]) {
    for (name, text, flags, outcome) in cases {
        let home = Home::new();
        let output = home.ingest(&home.file(name, text), flags);
        let case = format!("{name} {text:?} {flags:?}");
        match outcome {
            Ok(edges) => {
                let error = String::from_utf8_lossy(&output.stderr).into_owned();
                assert!(output.status.success(), "{case}: {error}");
                assert_eq!(edges_of(&home.graph()), *edges, "{case}: {error}");
            }
            Err(words) => {
                println!("{case}");
                assert_refused(&output, words);
                assert!(!home.graph().exists(), "{case} left a graph");
            }
        }
    }
}

#[test]
fn a_column_called_weight_is_read_or_refused() {
    const COMMA: &[&str] = &["line 2", "\"1,5\"", "decimal comma", "--unweighted"];
    const NULL: &[&str] = &["line 2", "the weight is null", "--skip-nulls", "--unweighted"];
    assert_outcomes(&[
        ("a.csv", "src;dst;weight\n1;2;1,5\n3;4;2,25\n", &[], Err(COMMA)),
        ("a.csv", "src,dst,weight\n1,2,\"1,5\"\n", &[], Err(COMMA)),
        ("a.csv", "src;dst;weight\n1;2;1,5\n", &["--unweighted"], Ok(&["1 2"])),
        ("a.csv", "src,dst,Weight\n1,2,$1.5\n", &[], Err(&["line 2", "\"$1.5\"", "--unweighted"])),
        ("a.csv", "src,dst,weight\n1,2,3\n1,2,unknown\n", &[], Err(&["line 3", "\"unknown\""])),
        ("a.csv", "src,dst,weight\n1,2,50%\n", &[], Err(&["line 2", "\"50%\"", "--unweighted"])),
        ("a.tsv", "src\tdst\tedge_weight\n1\t2\t1_000\n", &[], Err(&["line 2", "\"1_000\""])),
        ("a.csv", "source,target,weight\n1,2,NaN\n3,4,NaN\n", &[], Err(NULL)),
        ("a.csv", "source,target,weight\n1,2,\n3,4,\n", &[], Err(NULL)),
        ("a.csv", "source,target,weight\n1,2,\n", &["--unweighted"], Ok(&["1 2"])),
        ("a.csv", "src,dst,weight\n1,2,\n3,4,5\n", &["--skip-nulls"], Ok(&["3 4 5"])),
        ("a.jsonl", "{\"src\":1,\"dst\":2,\"weight\":\"1.5\"}\n", &[], Ok(&["1 2 1.5"])),
        (
            "a.jsonl",
            "{\"src\":1,\"dst\":2,\"weight\":true}\n",
            &[],
            Err(&["line 1", "a truth value", "--unweighted"]),
        ),
        ("a.jsonl", "{\"src\":1,\"dst\":2,\"weight\":null}\n", &[], Err(&["line 1", "null"])),
    ]);
}

/// Names that are not only those of weights are left out, and said.
#[test]
fn a_column_that_may_hold_weights_is_said() {
    let home = Home::new();
    let file = home.file("a.csv", "src,dst,cost\n1,2,dear\n");
    let output = home.ingest(&file, &[]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("column cost left out, --weighted keeps it"), "{said}");
    assert_eq!(edges_of(&home.graph()), ["1 2"]);
}

#[test]
fn a_record_longer_than_the_first_is_refused() {
    assert_outcomes(&[
        ("a.csv", "1,2\n3,4,5\n", &[], Err(&["line 2", "expected 2 columns, found 3"])),
        ("a.csv", "from,to\n1,2\n3,4,\n", &[], Err(&["line 3", "expected 2", "found 3"])),
        ("a.csv", "from,to,w\n1,2,1,5\n", &["--weight", "w"], Err(&["line 2", "quotes"])),
        ("a.csv", "from,to,w\n1,2,\"1,5\"\n", &[], Ok(&["1 2"])),
    ]);
}

/// As `cat a.csv b.csv` makes it.
#[test]
fn a_repeated_header_is_no_edge() {
    const AGAIN: &[&str] = &["line 3", "the header is repeated", "--header no"];
    const TWO: &str = "source,target,weight\n1,2,5\nsource,target,weight\n3,4,6\n";
    const NAMED: &str = "user item\nann tea\nuser item\n";
    assert_outcomes(&[
        ("a.csv", TWO, &[], Err(AGAIN)),
        ("a.csv", TWO, &["--ids", "text"], Err(AGAIN)),
        ("a.csv", TWO, &["--header", "yes"], Err(AGAIN)),
        ("a.csv", "source,target\r\na,b\r\nsource,target\r\n", &[], Err(AGAIN)),
        ("a.csv", "\"src\",\"dst\"\na,b\n\"src\",\"dst\"\n", &[], Err(AGAIN)),
        ("a.csv", "who,whom,score\n1,2,5\nwho,whom,score\n", &[], Err(AGAIN)),
        ("a.txt", NAMED, &[], Err(AGAIN)),
        ("a.txt", NAMED, &["--header", "no"], Ok(&["ann tea", "user item", "user item"])),
        // Names that stand in other edges too are ids.
        ("a.csv", "u,v\nv,w\nu,v\n", &[], Ok(&["u v", "u v", "v w"])),
        ("a.csv", "a,b\na,b\n", &[], Ok(&["a b", "a b"])),
        ("a.csv", "x,y,5\nx,y,5\n", &[], Ok(&["x y", "x y"])),
        // Quotes tell an id from a name.
        ("a.csv", "src,dst\n\"src\",\"dst\"\n", &[], Ok(&["src dst"])),
    ]);
}

#[test]
fn a_directory_says_what_it_skips() {
    let home = Home::new();
    std::fs::create_dir_all(home.at("parts/more")).unwrap();
    for (name, text) in [
        ("a.csv", "1,2\n"),
        ("part-00000", "3,4\n"),
        ("more/part-r-00001", "5 6\n"),
        ("y.dat", "7 8\n"),
        ("z.lines", "7 8\n"),
        ("readme.txt", "by hand\n"),
        ("_SUCCESS", ""),
        (".a.csv.crc", "x"),
    ] {
        home.file(&format!("parts/{name}"), text);
    }
    let output = home.ingest(&home.at("parts"), &["--json"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    for word in ["y.dat", "z.lines", "ending names no format", "readme.txt", "beside graphs"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let skipped = report["skipped_files"].as_array().unwrap();
    assert_eq!(skipped.len(), 3, "{skipped:?}");
    assert_eq!(edges_of(&home.graph()), ["1 2", "3 4", "5 6"]);
}

/// Whoever writes a table in parts leaves some of them empty.
#[test]
fn parts_without_edges_are_skipped_unless_all_are() {
    let parts =
        [("0.csv", "src,dst,weight\n"), ("1.csv", "src,dst,weight\n1,2,5\n"), ("2.csv", "")];
    let home = Home::new();
    std::fs::create_dir_all(home.at("parts")).unwrap();
    for (name, text) in parts {
        home.file(&format!("parts/part-{name}"), text);
    }
    let output = home.ingest(&home.at("parts"), &["--json"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("part-0.csv") && said.contains("no edges in it"), "{said}");
    assert!(!said.contains("name a file itself"), "{said}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["skipped_files"].as_array().unwrap().len(), 2);
    assert_eq!(edges_of(&home.graph()), ["1 2 5"]);
    std::fs::remove_file(home.at("parts/part-1.csv")).unwrap();
    let output = home.ingest(&home.at("parts"), &[]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("no edges in it"), "{said}");
}

/// A deletion takes the newest edge of a pair.
#[test]
fn weights_of_deletions_are_said_not_to_count() {
    let home = Home::new();
    let file = home.file("a.csv", "src,dst,weight\n1,2,5\n1,2,6\n");
    assert!(home.ingest(&file, &[]).status.success());
    let gone = home.file("gone.csv", "src,dst,weight\n1,2,5\n");
    let output = home.ingest(&gone, &["--delete", "--json"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("weight not looked at") && said.contains("newest edge"), "{said}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["guessed"]["weights_of_deletions_ignored"], "weight");
    assert_eq!(edges_of(&home.graph()), ["1 2 5"]);
}

#[test]
fn a_carriage_return_alone_does_not_join_lines() {
    const ALONE: &[&str] = &["line 1", "carriage return", "tr '\\r' '\\n'"];
    assert_outcomes(&[
        ("a.txt", "1 2\r3 4\r", &[], Err(ALONE)),
        ("a.txt", "1 2\r\n3 4\r\n", &[], Ok(&["1 2", "3 4"])),
        ("a.txt", "a b \r3 4\r5 6\r", &[], Err(ALONE)),
        ("a.csv", "1,2\r3,4\r", &[], Ok(&["1 2", "3 4"])),
    ]);
}

#[test]
fn edges_bring_the_vertices_beside_them() {
    let home = Home::new();
    home.file("iso.v", "1\n2\n9\n");
    let edges = home.file("iso.e", "1 2\n");
    let output = home.ingest(&edges, &[]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("iso.v"), "{said}");
    assert_eq!(stats(&home.graph())["vertices"], 3);
    let out = home.at("out.csv");
    let export = everedge().arg("export").arg(home.graph()).arg(&out).output().unwrap();
    let said = String::from_utf8_lossy(&export.stdout).into_owned();
    assert!(said.contains("1 vertex without an edge is not in it"), "{said}");
    let out = home.at("out.e");
    let export = everedge().arg("export").arg(home.graph()).arg(&out).arg("--json").output();
    let report: serde_json::Value = serde_json::from_slice(&export.unwrap().stdout).unwrap();
    assert_eq!(report["vertices_left_out"], 0);
    let back = home.at("back");
    assert!(everedge().arg("ingest").arg(&back).arg(&out).output().unwrap().status.success());
    assert_eq!(stats(&back)["vertices"], 3);
}

#[test]
fn edges_name_only_the_vertices_beside_them() {
    let home = Home::new();
    for (vertices, edges, other) in [("1\n2\n", "1 2\n2 7\n", "7"), ("a\nb\n", "a b\nc b\n", "c")] {
        home.file("iso.v", vertices);
        let edges = home.file("iso.e", edges);
        let word = format!("does not list the vertex {other}");
        assert_refused(&home.ingest(&edges, &[]), &["iso.v", &word]);
        assert!(!home.graph().exists());
        let both = home.ingest(&home.at("iso.v"), &[edges.to_str().unwrap()]);
        assert_refused(&both, &["iso.v", &word]);
        assert!(!home.graph().exists());
    }
    assert!(home.ingest(&home.at("iso.v"), &[]).status.success());
}

#[test]
fn ends_are_found_by_the_words_of_names() {
    const ROUTES: &str =
        "Airline,AirlineID,SourceAirport,SourceID,DestAirport,DestID\n2B,410,AER,2965,KZN,2990\n";
    const RIDES: &str = "ride_id,start_station_name,start_station_id,end_station_name,end_station_id\nr1,Main,7,Park,9\n";
    assert_outcomes(&[
        ("a.txt", "EdgeID StartNodeID EndNodeID\n100 1 2\n101 2 3\n", &[], Ok(&["1 2", "2 3"])),
        ("a.csv", RIDES, &[], Ok(&["7 9"])),
        ("a.csv", ROUTES, &[], Ok(&["2965 2990"])),
        ("a.csv", "tail,head\n1,2\n", &[], Ok(&["1 2"])),
        ("a.csv", "head,tail\n1,2\n", &[], Ok(&["2 1"])),
        ("a.csv", ",source,target\n0,1,2\n1,2,3\n", &[], Ok(&["1 2", "2 3"])),
        ("a.csv", "Unnamed: 0,who,whom\n0,ann,bob\n", &[], Ok(&["ann bob"])),
        ("a.csv", "id,from,to\n5,1,2\n", &[], Ok(&["1 2"])),
        ("a.csv", "source,target,__index_level_0__\n1,2,5\n", &[], Ok(&["1 2"])),
        ("a.csv", "a,b,c,d\n1,2,3,4\n", &[], Err(&["a, b, c, d", "--src and --dst"])),
        ("a.csv", "a,b,c,d\n1,2,3,4\n", &["--src", "a", "--dst", "c"], Ok(&["1 3"])),
        ("a.csv", "name,age,city,mail\nann,7,rome,x\n", &["--header", "yes"], Err(&["--src"])),
        ("a.jsonl", "{\"a\":1,\"b\":2,\"c\":3,\"d\":4}\n", &[], Err(&["a, b, c, d", "--src"])),
        ("a.txt", "1 2 3 4\n", &[], Ok(&["1 2"])),
    ]);
}

/// Numbers of rows and other ids are never advised as weights.
#[test]
fn ids_are_not_advised_as_weights() {
    for text in
        [",source,target\n0,1,2\n", "EdgeID,source,target\n0,1,2\n", "source,target,rowId\n1,2,3\n"]
    {
        let home = Home::new();
        let output = home.ingest(&home.file("a.csv", text), &[]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && !said.contains("left out"), "{said}");
    }
}

#[test]
fn edge_lists_of_networkx_are_read() {
    assert_outcomes(&[
        ("a.edgelist", "1 2 {}\n2 3 {}\n", &[], Ok(&["1 2", "2 3"])),
        ("a.txt", "1 2 {'weight': 3.5}\n2 3 {'weight': 4}\n", &[], Ok(&["1 2 3.5", "2 3 4"])),
        ("a.txt", "ann bob {'weight': 3.5, 'c': 'x, y'}\n", &[], Ok(&["ann bob 3.5"])),
        ("a.txt", "1 2 {'weight': 3.5}\n", &["--unweighted"], Ok(&["1 2"])),
        ("a.txt", "1 2 {'weight': 3.5}\n2 3 {}\n", &[], Err(&["line 2", "weight is null"])),
        ("a.txt", "1 2 {'weight': 'x'}\n", &[], Err(&["line 1", "expected a number"])),
        ("a.txt", "1 2 {}\n2 3 {'a'}\n", &[], Err(&["line 2", "dict of Python"])),
    ]);
    let home = Home::new();
    let file = home.file("a.txt", "1 2 {'color': 'red', 'weight': 3}\n");
    let said = String::from_utf8(home.ingest(&file, &[]).stderr).unwrap();
    assert!(said.contains("attributes left out: color"), "{said}");
}

/// What a graph was made with cannot be changed by an option.
#[test]
fn advice_about_ids_is_for_the_graph_that_is_there() {
    for (first, later, word) in [
        ("1,2\n", "99999999999,1\n", "another graph, made with --ids integer"),
        ("99999999999,1\n", "x,y\n", "another graph, made with --ids text"),
        ("1,2\n", "x,y\n", "another graph, made with --ids text"),
    ] {
        let home = Home::new();
        assert!(home.ingest(&home.file("a.csv", first), &[]).status.success());
        assert_refused(&home.ingest(&home.file("b.csv", later), &[]), &["line 1", word]);
    }
}

/// Only the first of a file is none of its text.
#[test]
fn a_byte_order_mark_inside_of_a_file_is_refused_or_kept() {
    const REFUSED: &[&str] = &["a byte order mark", "--ids text"];
    assert_outcomes(&[
        ("a.csv", "src,dst\n\u{feff}a,b\na,c\n", &[], Err(REFUSED)),
        ("a.csv", "src,dst\n\u{feff}a,b\n", &["--ids", "text"], Ok(&["\u{feff}a b"])),
        ("a.csv", "src,dst\n\"\u{feff}a\",b\n", &[], Ok(&["\u{feff}a b"])),
        ("a.csv", "\u{feff}src,dst\na,b\n", &[], Ok(&["a b"])),
        ("a.csv", "\u{feff}src,dst\r\na,b\r\n\u{feff}src,dst\r\nb,c\r\n", &[], Err(REFUSED)),
        ("a.txt", "\u{feff}1 2\n\u{feff}3 4\n", &[], Err(REFUSED)),
        ("a.graph", "\u{feff}2 1\n2\n1\n", &[], Ok(&["1 2"])),
    ]);
}

#[test]
fn ids_that_start_with_a_byte_order_mark_are_read_back() {
    let home = Home::new();
    // More than a block, of which each is read by itself.
    let rows = (0..60_000).map(|i| format!("{{\"src\":\"\u{feff}n{i}\",\"dst\":\"\u{feff}\"}}\n"));
    let file = home.file("edges.jsonl", rows.collect::<String>());
    assert!(home.ingest(&file, &[]).status.success());
    let expected = edges_of(&home.graph());
    assert_eq!(expected.len(), 60_000);
    for ending in ["csv", "tsv", "e", "txt", "jsonl", "parquet"] {
        let (file, back) = (home.at(&format!("out.{ending}")), home.at(&format!("{ending}-back")));
        let mut export = everedge();
        assert!(
            export.arg("export").arg(home.graph()).arg(&file).output().unwrap().status.success()
        );
        let mut ingest = everedge();
        let output = ingest.arg("ingest").arg(&back).arg(&file).output().unwrap();
        assert!(output.status.success(), "{ending}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(edges_of(&back) == expected, "{ending}");
    }
}

#[test]
fn the_index_of_a_data_frame_holds_no_ids() {
    assert_outcomes(&[
        ("a.csv", ",0,1\n0,5,6\n1,7,8\n", &[], Ok(&["5 6", "7 8"])),
        ("a.csv", ",src,dst,weight\n0,5,6,1\n4,7,8,2\n", &[], Ok(&["5 6 1", "7 8 2"])),
        ("a.csv", ",1\n5,6\n", &[], Err(&["line 1"])),
    ]);
}

#[test]
fn weights_of_json_lines_are_read_as_they_are_written() {
    assert_outcomes(&[
        ("a.jsonl", "{\"src\":1,\"dst\":2,\"weight\":123456790}\n", &[], Ok(&["1 2 123456790"])),
        ("a.jsonl", "{\"src\":1,\"dst\":2,\"weight\":123456789}\n", &[], Err(&["123456790"])),
        ("a.jsonl", "{\"src\":1,\"dst\":2,\"weight\":1e-12}\n", &[], Ok(&["1 2 0.000000000001"])),
        (
            "a.jsonl",
            "{\"src\":1,\"dst\":2,\"weight\":3e30}\n",
            &[],
            Ok(&["1 2 3000000000000000000000000000000"]),
        ),
    ]);
}

/// Nothing says that weights are not wanted.
#[test]
fn weights_that_a_graph_does_not_keep_are_refused() {
    let home = Home::new();
    let weighted = home.file("w.csv", "src,dst,weight\n1,2,0.5\n");
    let plain = home.file("u.csv", "src,dst\n3,4\n");
    let ingest = |files: [&std::path::Path; 2], flags: &[&str]| {
        everedge().arg("ingest").arg(home.graph()).args(files).args(flags).output().unwrap()
    };
    for files in [[&*weighted, &*plain], [&*plain, &*weighted]] {
        assert_refused(&ingest(files, &[]), &["w.csv", "has weights", "--unweighted"]);
        assert!(!home.graph().exists());
    }
    assert!(home.ingest(&plain, &[]).status.success());
    assert_refused(&home.ingest(&weighted, &[]), &["w.csv", "keeps none", "--unweighted"]);
    assert!(home.ingest(&weighted, &["--unweighted"]).status.success());
    assert_eq!(edges_of(&home.graph()), ["1 2", "3 4"]);
}

#[test]
fn formats_that_count_from_1_say_what_they_change() {
    let home = Home::new();
    assert!(home.ingest(&home.file("a.txt", "0 1\n1 5\n"), &["--undirected"]).status.success());
    for ending in ["mtx", "graph"] {
        let mut export = everedge();
        export.arg("export").arg(home.graph()).arg(home.at(&format!("out.{ending}")));
        let said = String::from_utf8(export.output().unwrap().stdout).unwrap();
        assert!(said.contains("one higher") && said.contains("3 more vertices"), "{said}");
    }
}

#[test]
fn a_link_to_a_graph_is_the_graph() {
    let home = Home::new();
    std::fs::create_dir(home.at("elsewhere")).unwrap();
    std::os::unix::fs::symlink("elsewhere", home.graph()).unwrap();
    assert!(home.ingest(&home.file("a.txt", "0 1\n"), &[]).status.success());
    assert!(home.ingest(&home.file("b.txt", "1 2\n"), &[]).status.success());
    assert_eq!(stats(&home.graph())["edges"], 2);
    assert_eq!(stats(&home.at("elsewhere"))["edges"], 2);
}

#[test]
fn two_columns_of_one_name_are_told_apart_by_number() {
    const TWINS: &[&str] = &["two columns are called \"src\"", "--src 0"];
    assert_outcomes(&[
        ("a.csv", "src,dst,src\n1,2,3\n", &[], Err(TWINS)),
        ("a.csv", "src,dst,src\n1,2,3\n", &["--src", "2"], Ok(&["3 2"])),
        ("a.csv", "src,dst,x,x\n1,2,3,4\n", &[], Ok(&["1 2"])),
    ]);
}
