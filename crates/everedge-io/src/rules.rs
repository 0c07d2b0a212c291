//! Rules that hold for ids and weights in every format: what is null, and what a weight may be.
//!
//! A weight is held if the 32-bit number that is kept is written as the number that was read:
//! 0.1 is, 16777217 and 0.123456789 are not. So what is exported is what was read.

use crate::ReadOptions;
use crate::error::{Fault, quote};
use crate::ids::scan_integer;

/// What a reader does in cases of doubt.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rules {
    /// Ids are taken as they are written: see [`ReadOptions::literal_ids`].
    pub(crate) literal_ids: bool,
    pub(crate) round_weights: bool,
    pub(crate) skip_nulls: bool,
}

impl Rules {
    pub(crate) fn of(options: &ReadOptions) -> Self {
        let ReadOptions { literal_ids, round_weights, skip_nulls, .. } = *options;
        Self { literal_ids, round_weights, skip_nulls }
    }

    /// Refuses a text id that probably stands for none.
    #[inline]
    pub(crate) fn check_text_id(self, field: &[u8]) -> Result<(), Fault> {
        if field.is_empty() {
            return Err(Fault::null("an id is empty"));
        }
        if !self.literal_ids && is_null_word(field) {
            let what = format!("the id {} looks like a null", quote(field));
            return Err(Fault { hint: Some(NULL_ID_HINT), ..Fault::null(what) });
        }
        Ok(())
    }

    /// Refuses an integer id that loses its leading zeros; `text` starts with it.
    #[inline]
    pub(crate) fn check_integer_id(self, text: &[u8]) -> Result<(), Fault> {
        let has_zeros = text.first() == Some(&b'0') && text.get(1).is_some_and(u8::is_ascii_digit);
        if !has_zeros || self.literal_ids {
            return Ok(());
        }
        let len = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        Err(Fault::new(0, format!("the id {} has leading zeros", quote(&text[..len])))
            .hint("--ids text keeps them, --ids integer or dense drops them"))
    }

    /// Says why a field is no integer id: `fault`, or that it is null.
    #[cold]
    pub(crate) fn explain_integer(self, field: &[u8], fault: Fault) -> Fault {
        let field = field.trim_ascii();
        match field {
            b"" => Fault { is_null: true, hint: Some(NULL_HINT), ..fault },
            _ if is_null_word(field) => Fault { at: fault.at, ..Fault::null("an id is null") },
            _ => fault,
        }
    }

    /// Reads a weight in decimal digits.
    pub(crate) fn parse_weight(self, field: &[u8]) -> Result<f32, Fault> {
        /// Whole numbers of so few digits are exact in an `f32`.
        const EXACT_DIGITS: usize = 7;
        match scan_integer(field) {
            Some((weight, len)) if len == field.len() && len <= EXACT_DIGITS => {
                return Ok(weight as f32);
            }
            _ => {}
        }
        let field = field.trim_ascii();
        if field.is_empty() || is_null_word(field) {
            return Err(null_weight());
        }
        let text = std::str::from_utf8(field).ok();
        let weight = text.and_then(|text| Some((text.parse::<f32>().ok()?, text)));
        let Some((weight, text)) = weight else {
            return Err(no_weight(field));
        };
        if !weight.is_finite() {
            return Err(not_finite(text));
        }
        if self.round_weights || has_few_digits(field) || text.parse().is_ok_and(is_kept(weight)) {
            return Ok(weight);
        }
        Err(not_exact(text, weight))
    }

    /// Takes a weight that is a 64-bit number.
    pub(crate) fn take_float(self, number: f64) -> Result<f32, Fault> {
        let weight = number as f32;
        if number.is_nan() {
            return Err(null_weight());
        }
        if !weight.is_finite() {
            return Err(not_finite(&number.to_string()));
        }
        match self.round_weights || is_kept(weight)(number) {
            true => Ok(weight),
            false => Err(not_exact(&number.to_string(), weight)),
        }
    }

    /// Takes a weight that is an integer.
    pub(crate) fn take_integer(self, number: i128) -> Result<f32, Fault> {
        let weight = number as f32;
        let is_kept = || weight as i128 == number || weight.to_string().parse() == Ok(number);
        match self.round_weights || is_kept() {
            true => Ok(weight),
            false => Err(not_exact(&number.to_string(), weight)),
        }
    }
}

const NULL_HINT: &str = "--skip-nulls leaves such rows out";
const NULL_WEIGHT_HINT: &str =
    "--skip-nulls leaves such rows out, --unweighted the weights of a new graph";
const WEIGHT_HINT: &str = "--unweighted leaves the weights of a new graph out";
const DECIMAL_COMMA_HINT: &str = "a decimal comma is not read, write a point; --unweighted leaves \
                                  the weights of a new graph out";
const NULL_ID_HINT: &str = "--skip-nulls leaves such rows out, --ids text takes it as text";

impl Fault {
    /// Returns the fault of a row that has a null where a value must be.
    pub(crate) fn null(what: impl Into<String>) -> Self {
        Self { is_null: true, hint: Some(NULL_HINT), ..Self::new(0, what) }
    }
}

/// Returns whether a word is how databases (`\N`) and data frames write a null: one of those that
/// pandas reads as a null.
#[inline]
pub(crate) fn is_null_word(field: &[u8]) -> bool {
    const BYTES_MAX: usize = b"-1.#QNAN".len();
    field.len() <= BYTES_MAX
        && matches!(
            field,
            b"NULL"
                | b"Null"
                | b"null"
                | b"None"
                | b"NaN"
                | b"nan"
                | b"-NaN"
                | b"-nan"
                | b"NA"
                | b"N/A"
                | b"n/a"
                | b"<NA>"
                | b"#NA"
                | b"#N/A"
                | b"\\N"
                | b"1.#IND"
                | b"-1.#IND"
                | b"1.#QNAN"
                | b"-1.#QNAN"
        )
}

/// Returns whether a number keeps its value as `weight`: exactly, or in how it is written.
fn is_kept(weight: f32) -> impl Fn(f64) -> bool {
    move |number| f64::from(weight) == number || weight.to_string().parse() == Ok(number)
}

/// Returns numbers as weights, as if they stood in a file.
///
/// # Errors
/// The row of the first that 32 bits do not keep, and what is wrong with it.
///
/// # Example
/// ```
/// use everedge_io::exact_weights;
/// assert_eq!(exact_weights(&[0.1, 16_777_216.0]), Ok(vec![0.1, 16_777_216.0]));
/// assert_eq!(exact_weights(&[0.5, 1.0 / 3.0]).unwrap_err().0, 1);
/// ```
pub fn exact_weights(numbers: &[f64]) -> Result<Vec<f32>, (usize, String)> {
    let take = |&number: &f64| match number.is_nan() {
        true => Err(not_finite(&number.to_string())),
        false => Rules::default().take_float(number),
    };
    taken(numbers, take)
}

/// Like [`exact_weights`], for integers.
///
/// # Errors
/// As [`exact_weights`].
pub fn exact_integer_weights<T: Copy + Into<i128>>(
    numbers: &[T],
) -> Result<Vec<f32>, (usize, String)> {
    taken(numbers, |&number| Rules::default().take_integer(number.into()))
}

fn taken<T>(
    numbers: &[T],
    take: impl Fn(&T) -> Result<f32, Fault>,
) -> Result<Vec<f32>, (usize, String)> {
    let rows = numbers.iter().enumerate();
    rows.map(|(row, number)| take(number).map_err(|fault| (row, fault.what))).collect()
}

/// Returns whether a plain decimal number has so few digits that 32 bits always keep them.
fn has_few_digits(field: &[u8]) -> bool {
    let number = field.strip_prefix(b"-").unwrap_or(field);
    let is_plain = number.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    is_plain && number.iter().filter(|byte| byte.is_ascii_digit()).count() <= f32::DIGITS as usize
}

#[cold]
fn not_finite(number: &str) -> Fault {
    Fault::new(0, format!("the weight {number} is not a finite 32-bit number"))
}

#[cold]
fn not_exact(number: &str, weight: f32) -> Fault {
    Fault::new(0, format!("the weight {number} would be kept as {weight}, a 32-bit number"))
        .hint("--round-weights rounds weights, --unweighted leaves them out")
}

/// Returns the fault of a weight that is null.
pub(crate) fn null_weight() -> Fault {
    Fault { hint: Some(NULL_WEIGHT_HINT), ..Fault::null("the weight is null") }
}

/// Returns the fault of a weight that is no number.
#[cold]
fn no_weight(field: &[u8]) -> Fault {
    let is_comma = field.iter().filter(|byte| **byte == b',').count() == 1;
    let with_point: Vec<u8> =
        field.iter().map(|byte| if *byte == b',' { b'.' } else { *byte }).collect();
    let has_decimal_comma = is_comma && is_number(&with_point);
    let hint = if has_decimal_comma { DECIMAL_COMMA_HINT } else { WEIGHT_HINT };
    Fault::new(0, format!("expected a number as weight, found {}", quote(field))).hint(hint)
}

/// Returns the fault of a weight of a type that has no numbers, whose value is shown.
#[cold]
pub(crate) fn wrong_weight(what: &str) -> Fault {
    Fault::new(0, format!("expected a number as weight, found {what}")).hint(WEIGHT_HINT)
}

/// Checks that a column that is not kept holds a number, or a null where one would stand.
pub(crate) fn check_number(field: &[u8]) -> Result<(), Fault> {
    if is_number(field) || is_null_word(field) {
        return Ok(());
    }
    Err(Fault::new(0, format!("expected a number, found {}", quote(field))))
}

/// Returns whether a field is a number, also one that is no weight.
pub(crate) fn is_number(field: &[u8]) -> bool {
    let is_integer = !field.is_empty() && field.iter().all(u8::is_ascii_digit);
    is_integer || std::str::from_utf8(field).is_ok_and(|text| text.trim().parse::<f64>().is_ok())
}

/// Returns whether a field is a number in digits: `inf` and `Infinity` may be words.
pub(crate) fn is_written_number(field: &[u8]) -> bool {
    is_number(field) && field.iter().any(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_kept_or_refused() {
        let rules = Rules::default();
        for (field, kept) in [
            ("0.1", Some(0.1)),
            ("-105.5", Some(-105.5)),
            ("1.0000000e+00", Some(1.0)),
            ("16777216", Some(16_777_216.0)),
            ("16777217", None),
            ("1082040961", None),
            ("0.123456789", None),
            ("0.12345679", Some(0.123_456_79)),
            ("1e-50", None),
            ("1e39", None),
            ("inf", None),
        ] {
            assert_eq!(rules.parse_weight(field.as_bytes()).ok(), kept, "{field}");
            let number: f64 = field.parse().unwrap();
            assert_eq!(rules.take_float(number).ok(), kept, "{field}");
        }
        let rounding = Rules { round_weights: true, ..rules };
        assert_eq!(rounding.parse_weight(b"16777217").unwrap(), 16_777_216.0);
        assert_eq!(rounding.take_float(1.0 / 3.0).unwrap(), 1.0 / 3.0);
        assert!(rounding.parse_weight(b"1e39").is_err());
        assert!(rules.take_integer(16_777_217).is_err());
        assert_eq!(rules.take_integer(-(1 << 40)).unwrap(), -(2.0_f32.powi(40)));
    }

    #[test]
    fn nulls_are_told_from_faults() {
        let rules = Rules::default();
        assert!(rules.parse_weight(b"NaN").unwrap_err().is_null);
        assert!(!rules.parse_weight(b"x").unwrap_err().is_null);
        assert!(rules.check_text_id(b"null").unwrap_err().is_null);
        assert!(rules.check_text_id(b"Null Island").is_ok());
        assert!([&b"-1.#QNAN"[..], b"<NA>", b"\\N", b"None"].iter().all(|word| is_null_word(word)));
        assert!([&b"none"[..], b"NONE", b"N", b"Nan"].iter().all(|word| !is_null_word(word)));
        let literal = Rules { literal_ids: true, ..rules };
        assert!(literal.check_text_id(b"null").is_ok());
        assert!(literal.check_text_id(b"").is_err());
    }
}
