//! External ids as a file gives them, column by column.

use everedge_core::{MAX_VERTEX_ID, VertexId};

use crate::error::{Fault, quote};

/// What to do about an id that is no integer.
pub(crate) const TEXT_IDS_HINT: &str = "use --ids text for ids that are text";
/// What to do about a whole number that is written as a fraction.
pub(crate) const FRACTION_HINT: &str = "data frames write whole numbers so where an id is missing: write the column as integers; \
     as text (--ids text) 1.0 and 1 would be two vertices";
/// What to do about an integer that no id map takes.
pub(crate) const ODD_IDS_HINT: &str = "use --ids text to read ids as text";

/// What to do about an integer that is no dense id.
pub(crate) const LARGE_IDS_HINT: &str = "use --ids integer for large ids";

/// How the ids of a file are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdKind {
    /// Integers below 2^31 that are used as vertex ids as they are.
    Dense,
    /// Any unsigned 64-bit integers, to be mapped to vertex ids.
    Sparse,
    /// Any text, to be mapped to vertex ids.
    Text,
}

/// A column of ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ids {
    /// For [`IdKind::Dense`]; each is at most [`MAX_VERTEX_ID`].
    Dense(Vec<VertexId>),
    /// For [`IdKind::Sparse`].
    Sparse(Vec<u64>),
    /// For [`IdKind::Text`].
    Text(TextIds),
}

impl Ids {
    /// Returns how many ids there are.
    pub fn len(&self) -> usize {
        match self {
            Ids::Dense(ids) => ids.len(),
            Ids::Sparse(ids) => ids.len(),
            Ids::Text(ids) => ids.len(),
        }
    }

    /// Returns whether there is no id.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Many short strings in one allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextIds {
    /// All ids, one after the other.
    text: String,
    /// Where each id ends in `text`.
    ends: Vec<usize>,
}

impl TextIds {
    /// Returns how many ids there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there is no id.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the id at `idx`.
    ///
    /// # Panics
    /// If `idx` is not below [`len`](Self::len).
    pub fn get(&self, idx: usize) -> &str {
        let start = if idx == 0 { 0 } else { self.ends[idx - 1] };
        &self.text[start..self.ends[idx]]
    }

    /// Returns the ids in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|idx| self.get(idx))
    }

    /// Returns all ids, one after the other, and where each ends.
    pub fn into_parts(self) -> (String, Vec<usize>) {
        (self.text, self.ends)
    }

    /// Appends `id`.
    pub fn push(&mut self, id: &str) {
        self.text.push_str(id);
        self.ends.push(self.text.len());
    }
}

/// A column of ids that is being read. A [`Fault`]'s position counts from the bytes given.
pub(crate) trait IdColumn: Default + Send {
    /// Whether ids are kept as they are written.
    const IS_TEXT: bool;

    /// Appends an id that the format itself requires to be an integer.
    fn push_number(&mut self, id: u64) -> Result<(), Fault>;

    /// Appends all of some integers if one look at all of them says that they are ids, and else none: they are
    /// looked at one by one then. Returns whether they were appended.
    fn push_numbers(&mut self, _: impl Iterator<Item = u64> + Clone) -> bool {
        false
    }

    /// Appends the id that is all of `field`.
    fn push_field(&mut self, field: &[u8]) -> Result<(), Fault>;

    /// Appends the id that is all of `text`.
    fn push_text(&mut self, text: &str) -> Result<(), Fault> {
        self.push_field(text.as_bytes())
    }

    /// Makes room for so many ids, of so many bytes if they are text.
    fn reserve(&mut self, ids: usize, bytes: usize);

    /// Appends the id at the start of `text`, which ends at a blank or a line end; returns its
    /// length.
    fn take(&mut self, text: &[u8]) -> Result<usize, Fault>;

    fn len(&self) -> usize;

    /// Keeps the first `len` ids.
    fn truncate(&mut self, len: usize);

    fn into_ids(self) -> Ids;
}

impl IdColumn for Vec<VertexId> {
    const IS_TEXT: bool = false;

    fn len(&self) -> usize {
        self.len()
    }

    fn truncate(&mut self, len: usize) {
        self.truncate(len);
    }

    fn push_number(&mut self, id: u64) -> Result<(), Fault> {
        self.push(dense(id)?);
        Ok(())
    }

    fn push_numbers(&mut self, ids: impl Iterator<Item = u64> + Clone) -> bool {
        const { assert!((MAX_VERTEX_ID + 1).is_power_of_two()) };
        let all_bits = ids.clone().fold(0, |bits, id| bits | id);
        let fit = all_bits <= MAX_VERTEX_ID.into();
        if fit {
            self.extend(ids.map(|id| id as VertexId));
        }
        fit
    }

    fn reserve(&mut self, ids: usize, _: usize) {
        self.reserve(ids);
    }

    fn push_field(&mut self, field: &[u8]) -> Result<(), Fault> {
        self.push_number(parse_integer(field)?)
    }

    fn take(&mut self, text: &[u8]) -> Result<usize, Fault> {
        let (id, len) = take_integer(text)?;
        self.push_number(id)?;
        Ok(len)
    }

    fn into_ids(self) -> Ids {
        Ids::Dense(self)
    }
}

impl IdColumn for Vec<u64> {
    const IS_TEXT: bool = false;

    fn len(&self) -> usize {
        self.len()
    }

    fn truncate(&mut self, len: usize) {
        self.truncate(len);
    }

    fn push_number(&mut self, id: u64) -> Result<(), Fault> {
        self.push(id);
        Ok(())
    }

    fn reserve(&mut self, ids: usize, _: usize) {
        self.reserve(ids);
    }

    fn push_field(&mut self, field: &[u8]) -> Result<(), Fault> {
        self.push_number(parse_integer(field)?)
    }

    fn take(&mut self, text: &[u8]) -> Result<usize, Fault> {
        let (id, len) = take_integer(text)?;
        self.push_number(id)?;
        Ok(len)
    }

    fn into_ids(self) -> Ids {
        Ids::Sparse(self)
    }
}

impl IdColumn for TextIds {
    const IS_TEXT: bool = true;

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn truncate(&mut self, len: usize) {
        self.ends.truncate(len);
        self.text.truncate(self.ends.last().copied().unwrap_or(0));
    }

    fn push_number(&mut self, id: u64) -> Result<(), Fault> {
        self.push(&id.to_string());
        Ok(())
    }

    fn push_text(&mut self, text: &str) -> Result<(), Fault> {
        if text.is_empty() {
            return Err(Fault::null("an id is empty"));
        }
        self.push(text);
        Ok(())
    }

    fn reserve(&mut self, ids: usize, bytes: usize) {
        self.ends.reserve(ids);
        self.text.reserve(bytes);
    }

    fn push_field(&mut self, field: &[u8]) -> Result<(), Fault> {
        if field.is_empty() {
            return Err(Fault::null("an id is empty"));
        }
        match std::str::from_utf8(field) {
            Ok(id) => self.push(id),
            Err(_) => return Err(Fault::new(0, format!("the id {} is not UTF-8", quote(field)))),
        }
        Ok(())
    }

    fn take(&mut self, text: &[u8]) -> Result<usize, Fault> {
        let field = first_field(text);
        self.push_field(field)?;
        Ok(field.len())
    }

    fn into_ids(self) -> Ids {
        Ids::Text(self)
    }
}

/// Checks that `id` can be a vertex id as it is.
fn dense(id: u64) -> Result<VertexId, Fault> {
    if id > u64::from(MAX_VERTEX_ID) {
        return Err(Fault::new(0, format!("the id {id} is not below 2^31")).hint(LARGE_IDS_HINT));
    }
    Ok(id as VertexId)
}

/// Reads an integer that is all of `field`, but for blanks around it.
pub(crate) fn parse_integer(field: &[u8]) -> Result<u64, Fault> {
    let field = field.trim_ascii();
    match scan_integer(field) {
        Some((id, len)) if len == field.len() => Ok(id),
        _ => Err(not_an_id(field)),
    }
}

/// Reads the integer at the start of `text`, which must end at a blank or a line end; returns its
/// length too.
#[inline]
pub(crate) fn take_integer(text: &[u8]) -> Result<(u64, usize), Fault> {
    match scan_integer(text) {
        Some((id, len)) if text.get(len).is_none_or(|&byte| is_separator(byte)) => Ok((id, len)),
        _ => Err(not_an_id(first_field(text))),
    }
}

/// Returns the integer at the start of `text` and its length, if there is one that fits.
#[inline]
pub(crate) fn scan_integer(text: &[u8]) -> Option<(u64, usize)> {
    match text.first_chunk().map(|word| scan_word(*word)) {
        Some((value, len @ 1..WORD_BYTES)) => Some((value, len)),
        _ => scan_bytes(text),
    }
}

const WORD_BYTES: usize = 8;

/// Returns the value and the count of the digits that `word` starts with, at most seven for a
/// value that counts.
///
/// No branch depends on the count, which a processor could not predict: the digits are moved to
/// the end of the word, so that zeros lead, and added up in pairs, in fours and in all.
#[inline]
fn scan_word(word: [u8; WORD_BYTES]) -> (u64, usize) {
    const BYTES: u64 = 0x0101_0101_0101_0101;
    // A digit becomes 0 to 9; adding 0x76 sets the top bit of every byte above 9. A carry out of
    // such a byte only reaches bytes after the first that is no digit.
    let digits = u64::from_le_bytes(word) ^ (BYTES * 0x30);
    let others = (digits.wrapping_add(BYTES * 0x76) | digits) & (BYTES * 0x80);
    let len = others.trailing_zeros() / u8::BITS;
    let digits = digits.checked_shl(u64::BITS - u8::BITS * len).unwrap_or(0);
    let pairs = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    let value = (fours * 10_000 + (fours >> 32)) & 0xffff_ffff;
    (value, len as usize)
}

/// Like [`scan_integer`], byte by byte: for long integers and the end of a text.
fn scan_bytes(text: &[u8]) -> Option<(u64, usize)> {
    const DIGITS_THAT_FIT: usize = 19;
    let (mut value, mut len) = (0_u64, 0);
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        len += 1;
    }
    match len {
        0 => None,
        1..=DIGITS_THAT_FIT => Some((value, len)),
        _ => std::str::from_utf8(&text[..len]).ok()?.parse().ok().map(|value| (value, len)),
    }
}

/// Returns whether digits are followed by a point and nothing but zeros.
fn is_whole_fraction(digits: &[u8]) -> bool {
    let point = digits.iter().position(|&byte| byte == b'.');
    point.is_some_and(|point| {
        let (whole, rest) = (&digits[..point], &digits[point + 1..]);
        !whole.is_empty()
            && !rest.is_empty()
            && whole.iter().all(u8::is_ascii_digit)
            && rest.iter().all(|&byte| byte == b'0')
    })
}

/// Says why `field` is no unsigned integer.
#[cold]
fn not_an_id(field: &[u8]) -> Fault {
    let digits = field.strip_prefix(b"-").unwrap_or(field);
    if digits.is_empty() {
        Fault::new(0, "expected an id, found nothing")
    } else if is_whole_fraction(digits) {
        let what = format!("expected an integer id, found {}", quote(field));
        Fault::new(0, what).hint(FRACTION_HINT)
    } else if digits.iter().any(|byte| !byte.is_ascii_digit()) {
        let what = format!("expected an integer id, found {}", quote(field));
        Fault::new(0, what).hint(TEXT_IDS_HINT)
    } else if digits.len() < field.len() {
        let what = format!("the id {} is negative", quote(field));
        Fault::new(0, what).hint(ODD_IDS_HINT)
    } else {
        let what = format!("the id {} does not fit in 64 bits", quote(field));
        Fault::new(0, what).hint(ODD_IDS_HINT)
    }
}

/// Returns whether `byte` ends a field of a line whose fields blanks separate.
#[inline]
pub(crate) fn is_separator(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// Returns `text` up to the first blank or line end.
pub(crate) fn first_field(text: &[u8]) -> &[u8] {
    let len = text.iter().position(|&byte| is_separator(byte)).unwrap_or(text.len());
    &text[..len]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_exact_up_to_their_bounds() {
        let cases: [(&[u8], Option<u64>); 9] = [
            (b"0", Some(0)),
            (b"007", Some(7)),
            (b" 12\t", Some(12)),
            (b"18446744073709551615", Some(u64::MAX)),
            (b"18446744073709551616", None),
            (b"00000000000000000000000042", Some(42)),
            (b"-1", None),
            (b"1.5", None),
            (b"", None),
        ];
        for (field, expected) in cases {
            assert_eq!(parse_integer(field).ok(), expected, "{}", quote(field));
        }
    }

    #[test]
    fn words_are_scanned_as_bytes_are() {
        for digits in 0..=9 {
            let number = "1234567890"[..digits].to_owned();
            for after in [b' ', b'\n', b'/', b':', b'\t', 0, 0x80, 0xff, b'-'] {
                let mut text = number.clone().into_bytes();
                text.push(after);
                text.extend_from_slice(b"9876543210");
                assert_eq!(scan_integer(&text), scan_bytes(&text), "{}", quote(&text));
            }
        }
    }

    #[test]
    fn dense_ids_end_at_the_tombstone_bit() {
        let mut ids: Vec<VertexId> = Vec::new();
        assert!(ids.push_field(b"2147483647").is_ok());
        let fault = ids.push_field(b"2147483648").unwrap_err();
        assert_eq!(fault.hint, Some("use --ids integer for large ids"));
        assert_eq!(ids, [MAX_VERTEX_ID]);
    }

    #[test]
    fn text_ids_keep_their_bytes() {
        let mut ids = TextIds::default();
        for id in ["a", "é è", "007"] {
            ids.push_field(id.as_bytes()).unwrap();
        }
        assert_eq!(ids.iter().collect::<Vec<_>>(), ["a", "é è", "007"]);
        assert!(ids.push_field(b"").is_err());
        assert!(ids.push_field(b"\xff").is_err());
        assert_eq!(ids.len(), 3);
    }
}
