//! Tables whose columns leave room for a mistake: nothing is left out, joined or guessed in silence.

use crate::inputs::{Home, assert_refused, edges_of};

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
