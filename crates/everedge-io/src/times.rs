//! Times of updates: numbers of seconds or of other units since 1970, and dates of ISO 8601.
//!
//! Source: ISO 8601 and RFC 3339 for dates. A date alone is midnight; a date without a zone is UTC.
//! All times are kept as whole microseconds since 1970-01-01 00:00 UTC; a finer time becomes the
//! nearest of them. Times lie in the years 0 to 9999: what lies outside was written in another unit.
//!
//! # Example
//! ```text
//! 1289241911.72836   2010-11-08T18:31:51.72836Z   2010-11-08 19:31:51.72836+01:00
//! ```
//! are the same time, 1289241911728360.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, NaiveDate, SecondsFormat};

use crate::error::{Fault, quote};
use crate::ids::scan_integer;
use crate::rules::is_null_word;

/// The first microsecond of the year 0, and the last of the year 9999.
const TIME_MIN: i128 = -62_167_219_200_000_000;
const TIME_MAX: i128 = 253_402_300_799_999_999;
/// Digits of a number that are looked at: more than any time has that is not refused.
const DIGITS_MAX: u32 = 30;
const MICROSECONDS_PER_SECOND: i128 = 1_000_000;
const MILLISECONDS_PER_DAY: i64 = 86_400_000;
/// The years in which a number of eight digits may be a date without its marks.
const COMPACT_YEARS: std::ops::RangeInclusive<i32> = 1900..=2100;

const TIME_HINT: &str = "times are numbers since 1970, in the unit of --time-unit, or dates such as \
                         2024-05-31 and 2024-05-31T10:30:00Z";
const UNIT_HINT: &str =
    "--time-unit says what times count: seconds, milliseconds, microseconds or nanoseconds";

/// What numbers count that are times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// Seconds since 1970.
    #[default]
    Seconds,
    /// Thousandths of a second.
    Milliseconds,
    /// Millionths of a second.
    Microseconds,
    /// Billionths of a second.
    Nanoseconds,
}

impl TimeUnit {
    /// Every unit, the longest first.
    pub const ALL: [TimeUnit; 4] =
        [Self::Seconds, Self::Milliseconds, Self::Microseconds, Self::Nanoseconds];

    /// Returns the power of ten by which a number of this unit becomes microseconds.
    fn exponent(self) -> i32 {
        match self {
            Self::Seconds => 6,
            Self::Milliseconds => 3,
            Self::Microseconds => 0,
            Self::Nanoseconds => -3,
        }
    }

    /// Takes a whole number of this unit as a time.
    pub(crate) fn take_integer(self, number: i128) -> Result<i64, Fault> {
        let microseconds = scaled(number, self.exponent());
        microseconds.and_then(in_range).ok_or_else(|| self.out_of_range(&number.to_string()))
    }

    /// Takes a binary number of this unit as a time.
    pub(crate) fn take_float(self, number: f64) -> Result<i64, Fault> {
        if number.is_nan() {
            return Err(null_time());
        }
        let microseconds = (number * 10_f64.powi(self.exponent())).round();
        in_range(microseconds as i128).ok_or_else(|| self.out_of_range(&number.to_string()))
    }

    #[cold]
    fn out_of_range(self, number: &str) -> Fault {
        let what = format!("the time {number} in {self} lies outside of the years 0 to 9999");
        Fault::new(0, what).hint(UNIT_HINT)
    }
}

impl fmt::Display for TimeUnit {
    /// Writes the word that [`FromStr`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Seconds => "seconds",
            Self::Milliseconds => "milliseconds",
            Self::Microseconds => "microseconds",
            Self::Nanoseconds => "nanoseconds",
        })
    }
}

impl FromStr for TimeUnit {
    type Err = String;

    /// Reads the word for a unit, or its symbol: `milliseconds` or `ms`.
    fn from_str(word: &str) -> Result<Self, String> {
        Ok(match word {
            "seconds" | "s" => Self::Seconds,
            "milliseconds" | "ms" => Self::Milliseconds,
            "microseconds" | "us" => Self::Microseconds,
            "nanoseconds" | "ns" => Self::Nanoseconds,
            _ => {
                let known = "a unit is seconds, milliseconds, microseconds or nanoseconds";
                return Err(known.to_owned());
            }
        })
    }
}

/// Reads a time that is all of `field`, but for blanks around it; a number counts `unit`.
pub(crate) fn parse_time(field: &[u8], unit: TimeUnit) -> Result<i64, Fault> {
    match scan_integer(field) {
        Some((number, len)) if len == field.len() => return unit.take_integer(number.into()),
        _ => {}
    }
    let field = field.trim_ascii();
    if field.is_empty() || is_null_word(field) {
        return Err(null_time());
    }
    if let Some(number) = Decimal::parse(field) {
        let microseconds = scaled(number.digits, number.exponent.saturating_add(unit.exponent()));
        let shown = || String::from_utf8_lossy(field).into_owned();
        return microseconds.and_then(in_range).ok_or_else(|| unit.out_of_range(&shown()));
    }
    parse_date(field).ok_or_else(|| no_time(&quote(field)))
}

/// Returns whether a field is a date in text, and no number.
pub(crate) fn is_date(field: &[u8]) -> bool {
    date(field).is_some()
}

fn date(field: &[u8]) -> Option<i64> {
    let field = field.trim_ascii();
    Decimal::parse(field).is_none().then(|| parse_date(field)).flatten()
}

/// Reads a date such as `2024-05-31` or `2024-05-31T10:30:00Z`, in microseconds since 1970; none if the
/// text is something else, or a number.
///
/// # Example
/// ```
/// assert_eq!(everedge_io::date_of("1970-01-02T00:00:01Z"), Some(86_401_000_000));
/// assert_eq!(everedge_io::date_text(86_401_000_000), "1970-01-02T00:00:01Z");
/// assert_eq!(everedge_io::date_of("monday"), None);
/// ```
pub fn date_of(text: &str) -> Option<i64> {
    date(text.as_bytes())
}

/// Writes a time in microseconds since 1970 as a date that [`date_of`] reads: in UTC, without the part of a
/// second if that is 0. A number if it lies outside of the years that dates have.
pub fn date_text(time: i64) -> String {
    let form = SecondsFormat::AutoSi;
    DateTime::from_timestamp_micros(time)
        .map_or_else(|| time.to_string(), |date| date.to_rfc3339_opts(form, true))
}

/// Returns whether a field is a time of day without its date.
pub(crate) fn is_clock(field: &[u8]) -> bool {
    parse_date(&[b"1970-01-01T", field.trim_ascii()].concat()).is_some()
}

/// Takes a number of days since 1970 as a time.
pub(crate) fn take_days(days: i64) -> Result<i64, Fault> {
    let milliseconds = i128::from(days) * i128::from(MILLISECONDS_PER_DAY);
    TimeUnit::Milliseconds.take_integer(milliseconds)
}

/// Returns the longest unit in which most numbers lie in years that times may have: seconds, if they
/// may be seconds. Reading refuses the others.
pub(crate) fn guess_unit(times: &[String]) -> TimeUnit {
    let is_number = |time: &&[u8]| Decimal::parse(time).is_some();
    let numbers: Vec<&[u8]> = times.iter().map(String::as_bytes).filter(is_number).collect();
    let fits = |unit: &TimeUnit| {
        let fitting = numbers.iter().filter(|time| parse_time(time, *unit).is_ok());
        2 * fitting.count() > numbers.len()
    };
    TimeUnit::ALL.into_iter().find(fits).unwrap_or_default()
}

/// Refuses times most of which look like dates without marks, months or years, such as 20240531, 202405 and 2024:
/// as numbers they would all lie in 1970.
pub(crate) fn refuse_compact_dates(times: &[String]) -> Result<(), Fault> {
    let compact = || times.iter().filter(|time| is_compact_date(time));
    let Some(first) = compact().next().filter(|_| 2 * compact().count() > times.len()) else {
        return Ok(());
    };
    let what = format!("the time {} may be a date or a number", quote(first.as_bytes()));
    Err(Fault::new(0, what).hint("write dates as 2024-05-31, or say --time-unit seconds"))
}

fn is_compact_date(text: &str) -> bool {
    if ![4, 6, 8].contains(&text.len()) || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    // A year alone begins with its first month, a month with its first day.
    let number = |from: usize| text.get(from..from + 2).map_or(1, |two| two.parse().unwrap_or(0));
    let year = 100 * number(0) as i32 + number(2) as i32;
    COMPACT_YEARS.contains(&year) && NaiveDate::from_ymd_opt(year, number(4), number(6)).is_some()
}

/// Returns the fault of a time that is null.
pub(crate) fn null_time() -> Fault {
    Fault::null("the time is null")
}

/// Returns the fault of what is no time; `found` shows it.
#[cold]
pub(crate) fn no_time(found: &str) -> Fault {
    Fault::new(0, format!("expected a time, found {found}")).hint(TIME_HINT)
}

fn in_range(microseconds: i128) -> Option<i64> {
    (TIME_MIN..=TIME_MAX).contains(&microseconds).then_some(microseconds as i64)
}

/// Returns `digits` times a power of ten as the nearest whole number, if that fits.
fn scaled(digits: i128, exponent: i32) -> Option<i128> {
    let power = 10_i128.checked_pow(exponent.unsigned_abs());
    match (power, exponent) {
        (Some(power), 0..) => digits.checked_mul(power),
        // Half a microsecond counts as a whole one.
        (Some(power), _) => Some((digits + power / 2).div_euclid(power)),
        (None, 0..) => (digits == 0).then_some(0),
        (None, _) => Some(0),
    }
}

/// A decimal number: its digits times ten to the power of the exponent.
struct Decimal {
    digits: i128,
    exponent: i32,
}

impl Decimal {
    /// Reads all of `field` as `-12.5` or `1.25e+01`; digits after the first [`DIGITS_MAX`] count as 0.
    fn parse(field: &[u8]) -> Option<Self> {
        let (is_negative, number) = match field.split_first()? {
            (b'-', rest) => (true, rest),
            (b'+', rest) => (false, rest),
            _ => (false, field),
        };
        let mark = number.iter().position(|byte| matches!(byte, b'e' | b'E'));
        let (number, power) = number.split_at(mark.unwrap_or(number.len()));
        let mut exponent = match power {
            [] => 0,
            [_, power @ ..] => std::str::from_utf8(power).ok()?.parse::<i16>().ok()?.into(),
        };
        let (mut digits, mut count, mut has_point, mut has_digit) = (0_i128, 0, false, false);
        for byte in number {
            match byte {
                b'0'..=b'9' => {
                    has_digit = true;
                    let is_kept = count < DIGITS_MAX;
                    if is_kept {
                        digits = digits * 10 + i128::from(byte - b'0');
                        count += u32::from(digits != 0);
                    }
                    exponent += i32::from(!is_kept) - i32::from(has_point);
                }
                b'.' if !has_point => has_point = true,
                _ => return None,
            }
        }
        let digits = if is_negative { -digits } else { digits };
        has_digit.then_some(Self { digits, exponent })
    }
}

/// Reads a date or a date and a time of day, with or without a zone.
fn parse_date(field: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(field).ok()?;
    let time = DateTime::parse_from_rfc3339(&completed(text)?).ok()?;
    let (seconds, nanoseconds) = (time.timestamp(), time.timestamp_subsec_nanos());
    let fraction = scaled(nanoseconds.into(), TimeUnit::Nanoseconds.exponent())?;
    in_range(i128::from(seconds) * MICROSECONDS_PER_SECOND + fraction)
}

/// Completes a date of ISO 8601 by what RFC 3339 does not leave out: a time of day, its seconds, and
/// the zone and its minutes.
fn completed(text: &str) -> Option<String> {
    let (date, rest) = text.split_at_checked("2024-05-31".len())?;
    if rest.is_empty() {
        return Some(format!("{date}T00:00:00Z"));
    }
    let zone = rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len());
    let (clock, zone) = rest.split_at(zone);
    let seconds = if clock.len() == "T10:30".len() { ":00" } else { "" };
    let (hours, minutes) = match zone.len() {
        0 => ("Z", ""),
        3 => (zone, ":00"),
        5 => (zone.get(..3)?, zone.get(3..)?),
        _ => (zone, ""),
    };
    let mark = if zone.len() == 5 { ":" } else { "" };
    Some(format!("{date}{clock}{seconds}{hours}{mark}{minutes}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn microseconds(text: &str, unit: TimeUnit) -> Option<i64> {
        parse_time(text.as_bytes(), unit).ok()
    }

    #[test]
    fn numbers_are_exact_to_the_microsecond() {
        let seconds = TimeUnit::Seconds;
        for (text, unit, expected) in [
            ("0", seconds, 0),
            ("1082040961", seconds, 1_082_040_961_000_000),
            (" 1082040961 ", seconds, 1_082_040_961_000_000),
            ("+5", seconds, 5_000_000),
            ("-1", seconds, -1_000_000),
            ("-.25", seconds, -250_000),
            ("7.", seconds, 7_000_000),
            ("1289241911.72836", seconds, 1_289_241_911_728_360),
            ("1.289241911728359938e+09", seconds, 1_289_241_911_728_360),
            ("2.5E-1", seconds, 250_000),
            ("0.0000005", seconds, 1),
            ("0.00000049", seconds, 0),
            ("-0.0000015", seconds, -1),
            ("0e999", seconds, 0),
            ("1e-999", seconds, 0),
            ("0.000000000000000000000000000000000000000001", seconds, 0),
            ("00000000000000000000000000000000000000000000000001", seconds, 1_000_000),
            ("1082040961123", TimeUnit::Milliseconds, 1_082_040_961_123_000),
            ("0.5", TimeUnit::Milliseconds, 500),
            ("1082040961123456", TimeUnit::Microseconds, 1_082_040_961_123_456),
            ("1082040961123456499", TimeUnit::Nanoseconds, 1_082_040_961_123_456),
            ("1082040961123456500", TimeUnit::Nanoseconds, 1_082_040_961_123_457),
            ("253402300799", seconds, 253_402_300_799_000_000),
            ("-62167219200", seconds, -62_167_219_200_000_000),
        ] {
            assert_eq!(microseconds(text, unit), Some(expected), "{text} {unit}");
        }
    }

    #[test]
    fn numbers_outside_of_years_that_have_four_digits_are_refused() {
        for text in [
            "253402300800",
            "-62167219201",
            "1e400",
            "1e30",
            "99999999999999999999999999999999999999999999",
            "1082040961123",
        ] {
            let fault = parse_time(text.as_bytes(), TimeUnit::Seconds).unwrap_err();
            assert!(fault.what.contains("in seconds lies outside"), "{text}: {}", fault.what);
            assert_eq!(fault.hint, Some(UNIT_HINT), "{text}");
        }
        let nanoseconds = TimeUnit::Nanoseconds;
        assert!(nanoseconds.take_integer(i64::MAX.into()).is_ok(), "the year 2262");
        assert!(TimeUnit::Seconds.take_float(f64::INFINITY).is_err());
        assert!(TimeUnit::Seconds.take_float(f64::NAN).unwrap_err().is_null);
        assert_eq!(
            TimeUnit::Seconds.take_float(1_289_241_911.728_36).ok(),
            Some(1_289_241_911_728_360)
        );
    }

    #[test]
    fn dates_are_utc_unless_they_say_another_zone() {
        const NOON: i64 = 1_717_156_800_000_000;
        for (text, expected) in [
            ("1970-01-01", 0),
            ("2024-05-31", NOON - 43_200_000_000),
            ("2024-05-31T12:00:00Z", NOON),
            ("2024-05-31t12:00:00z", NOON),
            ("2024-05-31 12:00:00", NOON),
            ("2024-05-31T12:00", NOON),
            ("2024-05-31 12:00Z", NOON),
            ("2024-05-31T12:00:00.0000005", NOON + 1),
            ("2024-05-31T12:00:00.25+00:00", NOON + 250_000),
            ("2024-05-31T14:00:00+02:00", NOON),
            ("2024-05-31T14:00+02", NOON),
            ("2024-05-31T06:30:00-0530", NOON),
            ("0000-01-01", TIME_MIN as i64),
            ("9999-12-31T23:59:59.999999", TIME_MAX as i64),
            ("2016-12-31T23:59:60Z", 1_483_228_800_000_000),
        ] {
            assert_eq!(microseconds(text, TimeUnit::Seconds), Some(expected), "{text}");
            assert!(is_date(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "2024-02-30",
            "2024-13-01",
            "31.05.2024",
            "05/31/2024",
            "2024-5-31",
            "10:30:00",
            "2024-05-31T25:00:00Z",
            "2024-05-31X10:00:00Z",
            "2024-05-31T10:00:00 Europe/Berlin",
            "9999-12-31T23:59:59-01:00",
            "yesterday",
            "-",
            "+",
            ".",
            "e5",
            "1e",
            "1.2.3",
            "1 2",
            "inf",
            "0x10",
            "é024-05-31",
        ] {
            let fault = parse_time(text.as_bytes(), TimeUnit::Seconds).unwrap_err();
            assert!(fault.what.contains("expected a time"), "{text}: {}", fault.what);
            assert_eq!((fault.hint, fault.is_null), (Some(TIME_HINT), false), "{text}");
        }
        for text in ["", " ", "null", "NaN"] {
            assert!(parse_time(text.as_bytes(), TimeUnit::Seconds).unwrap_err().is_null, "{text}");
        }
        assert!(parse_time(b"\xff", TimeUnit::Seconds).is_err());
    }

    #[test]
    fn a_time_of_day_is_no_time() {
        for (text, expected) in
            [("10:30", true), (" 10:30:00.5Z", true), ("10", false), ("", false), ("25:00", false)]
        {
            assert_eq!(is_clock(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn a_unit_is_guessed_from_most_times() {
        let guess = |times: &[&str]| {
            guess_unit(&times.iter().map(|time| (*time).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(guess(&[]), TimeUnit::Seconds);
        assert_eq!(guess(&["0", "1082040961"]), TimeUnit::Seconds);
        assert_eq!(guess(&["0", "1082040961000"]), TimeUnit::Milliseconds);
        assert_eq!(guess(&["1082040961000", "1082040961000000"]), TimeUnit::Microseconds);
        assert_eq!(guess(&["1", "2", "1082040961000"]), TimeUnit::Seconds, "one may be wrong");
        assert_eq!(guess(&["1082040961000000000"]), TimeUnit::Nanoseconds);
        assert_eq!(guess(&["2024-05-31", "1082040961000"]), TimeUnit::Milliseconds);
        assert_eq!(guess(&["1e99"]), TimeUnit::Seconds);
    }

    #[test]
    fn dates_without_marks_are_refused_where_most_are() {
        let refused = |times: &[&str]| {
            let times: Vec<String> = times.iter().map(|time| (*time).to_owned()).collect();
            refuse_compact_dates(&times).is_err()
        };
        assert!(refused(&["20240531", "19991231"]) && refused(&["x", "20240531", "19991231"]));
        for times in
            [&["20240531", "20241331"][..], &["20240531", "5"], &["31122024"], &["2024é0"], &[]]
        {
            assert!(!refused(times), "{times:?}");
        }
    }

    #[test]
    fn a_unit_has_one_word() {
        for unit in TimeUnit::ALL {
            assert_eq!(unit.to_string().parse(), Ok(unit));
        }
        assert_eq!(["s", "ms", "us", "ns"].map(|word| word.parse().ok()), TimeUnit::ALL.map(Some));
        assert!("minutes".parse::<TimeUnit>().is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_a_time_or_refused(text: String, bytes: Vec<u8>) {
            for unit in TimeUnit::ALL {
                let _ = (parse_time(text.as_bytes(), unit), parse_time(&bytes, unit));
            }
        }

        #[test]
        fn any_microsecond_is_read_back(time in TIME_MIN as i64..=TIME_MAX as i64) {
            let date = DateTime::from_timestamp_micros(time).unwrap();
            let date = date.format("%Y-%m-%dT%H:%M:%S%.6f").to_string();
            prop_assert_eq!(parse_date(date.as_bytes()), Some(time));
            prop_assert_eq!(microseconds(&time.to_string(), TimeUnit::Microseconds), Some(time));
            let (sign, size) = (if time < 0 { "-" } else { "" }, time.unsigned_abs());
            let seconds = format!("{sign}{}.{:06}", size / 1_000_000, size % 1_000_000);
            prop_assert_eq!(microseconds(&seconds, TimeUnit::Seconds), Some(time));
        }
    }
}
