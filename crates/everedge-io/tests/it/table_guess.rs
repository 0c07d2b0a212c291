//! What tables say by names, by the look of their columns and by comments, and what they leave open.

use everedge_io::{Column, Error, Guess, InputChoices, probe};

use crate::support::read;

fn guess_with(name: &str, head: &str, choices: &InputChoices) -> Result<Guess, Error> {
    probe(name, head.as_bytes(), choices)
}

fn guess(name: &str, head: &str) -> Guess {
    guess_with(name, head, &InputChoices::default()).unwrap()
}

fn named(name: &str) -> Option<Column> {
    Some(Column::Name(name.to_owned()))
}

fn index(idx: usize) -> Option<Column> {
    Some(Column::Index(idx))
}

/// Checks that guessing is an error whose text contains all `words`.
fn assert_unguessed(name: &str, head: &str, choices: &InputChoices, words: &[&str]) {
    let error = match guess_with(name, head, choices) {
        Ok(guess) => panic!("{head:?} gave {guess:?}"),
        Err(error) => error.to_string(),
    };
    for word in words {
        assert!(error.contains(word), "{head:?}: {error}");
    }
}

/// Returns the edges that a text gives as it is guessed.
fn edges(name: &str, text: &str) -> Vec<(String, String)> {
    read(text.as_bytes(), &guess(name, text).options()).unwrap().edges
}

#[test]
fn declared_weights_are_no_ends() {
    let none = InputChoices::default();
    const MISSING: &[&str] = &["one column of ids beside the weights", "--src and --dst"];
    for head in [
        "dst,weight\n2,5\n",
        "src,weight\n2,5\n",
        "weight,dst\n5,2\n",
        "city,weight\nrome,5\n",
        "dst,weight,time\n2,5,7\n",
    ] {
        for (name, separator) in [("x.csv", ","), ("x.tsv", "\t"), ("x.txt", " ")] {
            assert_unguessed(name, &head.replace(',', separator), &none, MISSING);
        }
    }
    assert_unguessed("x.jsonl", "{\"dst\":2,\"weight\":5}\n", &none, MISSING);
    let src = InputChoices { src: named("src"), ..none.clone() };
    assert_unguessed("x.csv", "src,weight\n2,5\n", &src, MISSING);
    let both = InputChoices { src: named("weight"), dst: named("dst"), ..none };
    let meant = guess_with("x.csv", "dst,weight\n2,5\n", &both).unwrap();
    assert_eq!((meant.src, meant.dst, meant.weighted), (1, 0, None));
    assert_eq!(edges("x.csv", "time,weight\nmoney,power\n").len(), 2, "ids may be such words");
}

#[test]
fn weights_that_are_declared_twice_are_told_apart_by_number() {
    const TWINS: &[&str] = &["two columns are called \"weight\"", "--weight 2"];
    let head = "src,dst,weight,weight\n1,2,3,4\n";
    let choices = |weight| InputChoices { weight, ..InputChoices::default() };
    assert_unguessed("x.csv", head, &choices(None), TWINS);
    assert_unguessed("x.csv", head, &choices(named("weight")), TWINS);
    assert_unguessed("x.csv", "src,dst,x,x\n1,2,3,4\n", &choices(named("x")), &["called \"x\""]);
    assert_eq!(guess_with("x.csv", head, &choices(index(3))).unwrap().weight, Some(3));
    assert_eq!(guess("x.csv", "src,dst,x,x\n1,2,3,4\n").weight, Some(2));
}

#[test]
fn one_chosen_end_does_not_turn_edges() {
    let choices = |src, dst| InputChoices { src, dst, ..InputChoices::default() };
    const BOTH: &[&str] = &["name both ends", "--src and --dst"];
    for (head, choices) in [
        ("1,2,0.5\n", choices(index(1), None)),
        ("1,2,3\n", choices(index(2), None)),
        ("1,2,3\n", choices(None, index(2))),
        ("a,b,c\n1,2,3\n", choices(named("b"), None)),
    ] {
        assert_unguessed("x.csv", head, &choices, BOTH);
        assert_unguessed("x.txt", &head.replace(',', " "), &choices, BOTH);
    }
    for (head, choices, ends) in [
        ("1,2,0.5\n", choices(index(0), None), (0, 1)),
        ("1,2,0.5\n", choices(None, index(0)), (1, 0)),
        ("1,2,0.5\n", choices(None, index(1)), (0, 1)),
        ("1,2\n", choices(index(1), None), (1, 0)),
        ("x,from,to\n1,2,3\n", choices(index(1), None), (1, 2)),
        ("x,time,y\n1,2,3\n", choices(named("y"), None), (2, 0)),
    ] {
        let guess = guess_with("x.csv", head, &choices).unwrap();
        assert_eq!((guess.src, guess.dst), ends, "{head:?} {choices:?}");
    }
}
