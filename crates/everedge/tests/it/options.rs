//! The table of options.

use everedge::{
    Chosen, Graph, GraphOption, GraphOptions, IdChoice, Layout, MediumKind, OptionGroup,
    OptionKind, size,
};
use serde_json::Value;

/// A value of the option that is not the usual one.
fn other_word(option: &GraphOption) -> String {
    let usual = option.get(&GraphOptions::default());
    match &option.kind {
        OptionKind::Switch => (usual != Value::Bool(true)).to_string(),
        OptionKind::Word(words) => words.iter().find(|word| usual != **word).unwrap().to_string(),
        OptionKind::Number(limits) if usual == *limits.end() => limits.start().to_string(),
        OptionKind::Number(limits) => limits.end().to_string(),
        OptionKind::Size => "7M".to_owned(),
    }
}

#[test]
fn each_option_changes_what_it_shows_and_nothing_that_another_one_shows() {
    for option in GraphOption::ALL {
        let mut options = GraphOptions::default();
        option.set(&mut options, &other_word(option)).unwrap();
        for shown in GraphOption::ALL {
            let is_changed = shown.get(&options) != shown.get(&GraphOptions::default());
            // A battery keeps the caches too.
            let may_change =
                shown.name == option.name || (option.name, shown.name) == ("battery", "eadr");
            assert_eq!(is_changed, may_change, "{} {}", option.name, shown.name);
        }
    }
}

#[test]
fn each_word_and_limit_is_a_value_and_nothing_else_is() {
    for option in GraphOption::ALL {
        let set = |word: &str| {
            let mut options = GraphOptions::default();
            option.set(&mut options, word).map(|()| option.get(&options))
        };
        match &option.kind {
            OptionKind::Switch => assert_eq!(set("false"), Ok(Value::Bool(false))),
            OptionKind::Word(words) => {
                for word in *words {
                    assert_eq!(set(word), Ok(Value::from(*word)), "{}", option.name);
                }
            }
            OptionKind::Number(limits) => {
                for limit in [*limits.start(), *limits.end()] {
                    assert_eq!(set(&limit.to_string()), Ok(Value::from(limit)), "{}", option.name);
                }
                let above = limits.end() + 1;
                assert!(set(&above.to_string()).unwrap_err().contains(&limits.end().to_string()));
            }
            OptionKind::Size => assert_eq!(set("2k"), Ok(Value::from(2048))),
        }
        assert!(set("much").is_err() && set("").is_err(), "{}", option.name);
    }
    assert_eq!(
        ["7", "4K", "3m", "2G", "1T"].map(size),
        [7, 4 << 10, 3 << 20, 2 << 30, 1 << 40].map(Ok)
    );
    for word in ["", "K", "1KM", "-1", "+1", "1P", "99999999999G", "99999999T", "1.5"] {
        assert!(size(word).is_err(), "{word}");
    }
}

#[test]
fn what_was_chosen_is_what_a_graph_must_have() {
    let mut chosen = Chosen::default();
    for (name, word) in [("medium", "dram"), ("layout", "pma"), ("fill", "70"), ("fill", "80")] {
        chosen.choose(name, word).unwrap();
    }
    assert!(chosen.has("fill") && !chosen.has("weighted"));
    let options = chosen.apply(GraphOptions::default());
    assert_eq!((options.medium, options.pma.fill_percent), (MediumKind::Dram, 80));
    let graph = Graph::create("graph".as_ref(), &options, false).unwrap();
    graph.check_chosen(&chosen, IdChoice::Dense).unwrap();
    let refused = |name: &str, word: &str, ids: IdChoice| {
        let mut chosen = chosen.clone();
        chosen.choose(name, word).unwrap();
        graph.check_chosen(&chosen, ids).unwrap_err().to_string()
    };
    assert!(refused("fill", "75", IdChoice::Auto).contains("fill_percent 80, not 75"));
    assert!(refused("layout", "adjacency", IdChoice::Auto).contains("layout"));
    assert!(refused("fill", "80", IdChoice::Mapped).contains("ids"));
    let mut other = Chosen::default();
    other.choose("block-bytes", "128").unwrap();
    let error = graph.check_chosen(&other, IdChoice::Auto).unwrap_err().to_string();
    assert!(error.contains("`block-bytes`") && error.contains("layout blocks;"), "{error}");
    assert!(error.contains("is pma:"), "{error}");
    let error = other.options().unwrap_err().to_string();
    assert!(error.contains("is adjacency:"), "{error}");
    other.choose("layout", "blocks").unwrap();
    assert_eq!(other.options().unwrap().blocks.block_bytes, 128);
    // All options are of some layout, and those of all layouts are refused by none.
    for option in GraphOption::ALL {
        let words: Vec<String> = match &option.kind {
            OptionKind::Switch => ["true", "false"].map(str::to_owned).to_vec(),
            OptionKind::Word(words) => words.iter().map(|word| (*word).to_owned()).collect(),
            OptionKind::Number(limits) => vec![limits.end().to_string()],
            OptionKind::Size => vec!["3M".to_owned()],
        };
        for word in words {
            let mut chosen = Chosen::default();
            chosen.choose(option.name, word).unwrap();
            let takes = |layout: &Layout| {
                let mut chosen = chosen.clone();
                chosen.choose("layout", layout.to_string()).unwrap();
                chosen.options().is_ok()
            };
            let count = Layout::ALL.iter().filter(|layout| takes(layout)).count();
            let is_general = option.group != OptionGroup::Tuning;
            assert!(count == 3 || !is_general && count > 0, "{}: {count}", option.name);
        }
    }
    let error = chosen.choose("colour", "red").unwrap_err().to_string();
    assert!(error.contains("`colour`") && error.contains("durability"), "{error}");
    let error = chosen.choose("fill", "5").unwrap_err().to_string();
    assert!(error.contains("fill=5") && error.contains("from 10 to 100"), "{error}");
}
