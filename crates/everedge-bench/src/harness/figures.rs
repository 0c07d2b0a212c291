//! Figures: what a measurement prints, by name, and their medians.

use anyhow::{Context, Result, bail};
use everedge::median;
use serde::Serialize;
use serde_json::{Map, Value};

/// Names and values, in order: a configuration and what was measured in it.
pub(crate) type Row = Map<String, Value>;

/// Returns the fields of a struct as a row.
///
/// # Errors
/// If it is none.
pub(crate) fn row(fields: &impl Serialize) -> Result<Row> {
    match serde_json::to_value(fields).context("cannot write figures as JSON")? {
        Value::Object(row) => Ok(row),
        other => bail!("these are no figures: {other}"),
    }
}

/// Returns a number of a row, if there is one.
pub(crate) fn number(row: &Row, key: &str) -> Option<f64> {
    row.get(key).and_then(Value::as_f64)
}

/// Returns the medians over trials; what is the same in all of them stays as it is.
///
/// # Panics
/// If there is no trial.
pub(crate) fn medians(trials: &[Row]) -> Row {
    let median_of = |(key, first): (&String, &Value)| {
        if trials.iter().all(|trial| trial.get(key) == Some(first)) {
            return (key.clone(), first.clone());
        }
        let values: Vec<f64> = trials.iter().filter_map(|trial| number(trial, key)).collect();
        let value = if values.is_empty() { first.clone() } else { median(&values).into() };
        (key.clone(), value)
    };
    trials[0].iter().map(median_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_leave_words_and_equal_numbers_alone() {
        let trial = |seconds: f64| {
            let value = serde_json::json!({
                "medium": "pmem", "edges_lost": 0, "seconds": seconds, "absent": null
            });
            row(&value).unwrap()
        };
        let medians = medians(&[trial(3.0), trial(1.0), trial(2.0)]);
        let expected = serde_json::json!({
            "medium": "pmem", "edges_lost": 0, "seconds": 2.0, "absent": null
        });
        assert_eq!(Value::Object(medians), expected);
    }
}
