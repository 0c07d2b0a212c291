//! What one shard says to another: values of vertices of a list that both keep.
//!
//! No message is more than a byte longer than all values of the list. The first byte says which of three forms it has, whichever
//! is shortest: all values; a bit for each vertex, and the values of those whose bit is set; the places of some, and
//! their values. Without a value to tell a message is empty.

use everedge_core::VertexId;

use crate::Result;
use crate::error::bad_message;

const ALL: u8 = 0;
const BITS: u8 = 1;
const PLACES: u8 = 2;

/// What can be told of a vertex.
pub(super) trait Value: Copy {
    /// Its bytes in a message.
    const BYTES: usize;

    fn put(self, out: &mut Vec<u8>);
    fn get(bytes: &[u8]) -> Self;
}

/// That the vertex is told of says all.
impl Value for () {
    const BYTES: usize = 0;

    fn put(self, _: &mut Vec<u8>) {}

    fn get(_: &[u8]) {}
}

/// Numbers are written with their lowest byte first.
macro_rules! impl_value {
    ($($number:ty),*) => {$(
        impl Value for $number {
            const BYTES: usize = size_of::<$number>();

            #[inline]
            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn get(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("as many bytes as the number has"))
            }
        }
    )*};
}

impl_value!(u32, f32, f64);

/// Says the values of those of `list` that are news, and perhaps those of others, if that is shorter.
pub(super) fn pack<T: Value>(
    list: &[VertexId],
    is_news: impl Fn(VertexId) -> bool,
    value_of: impl Fn(VertexId) -> T,
) -> Vec<u8> {
    // A bit for each, after the form: what a message of bits begins with.
    let mut message = Vec::with_capacity(1 + list.len().div_ceil(8));
    message.push(BITS);
    let mut count = 0;
    for vertices in list.chunks(64) {
        let bits = (0..).zip(vertices).fold(0, |bits, (i, &v)| bits | u64::from(is_news(v)) << i);
        count += bits.count_ones() as usize;
        message.extend_from_slice(&bits.to_le_bytes()[..vertices.len().div_ceil(8)]);
    }
    if count == 0 {
        return Vec::new();
    }
    let (bits, places) = (message.len() - 1, u32::BYTES * count);
    let others_bytes = (list.len() - count) * T::BYTES;
    if count == list.len() || T::BYTES > 0 && others_bytes <= bits.min(places) {
        return pack_all(list, value_of);
    }
    let news = || places_in(&message[1..]).map(|place| (place, list[place as usize]));
    let mut values = Vec::with_capacity(count * T::BYTES);
    news().for_each(|(_, v)| value_of(v).put(&mut values));
    if places <= bits {
        let mut sparse = Vec::with_capacity(1 + places + values.len());
        sparse.push(PLACES);
        news().for_each(|(place, _)| place.put(&mut sparse));
        message = sparse;
    }
    message.extend_from_slice(&values);
    message
}

/// Says of a few vertices that they are reached, each named once; those that are not in `list`, which ascends, are none of its. Cost:
/// a look into the list for each, while [`pack`] looks at the whole list.
pub(super) fn pack_few(list: &[VertexId], news: &[VertexId]) -> Vec<u8> {
    let places: Vec<_> = news.iter().filter_map(|v| list.binary_search(v).ok()).collect();
    if places.is_empty() {
        return Vec::new();
    }
    let bits = list.len().div_ceil(8);
    if bits < u32::BYTES * places.len() {
        let mut message = vec![0; 1 + bits];
        message[0] = BITS;
        places.iter().for_each(|place| message[1 + place / 8] |= 1 << (place % 8));
        return message;
    }
    let mut message = Vec::with_capacity(1 + u32::BYTES * places.len());
    message.push(PLACES);
    places.into_iter().for_each(|place| (place as u32).put(&mut message));
    message
}

/// Returns the places whose bits are set, ascending.
fn places_in(bits: &[u8]) -> impl Iterator<Item = u32> {
    (0..).zip(bits.chunks(8)).flat_map(|(first, eight): (u32, &[u8])| {
        let mut word = [0; 8];
        word[..eight.len()].copy_from_slice(eight);
        let mut left = u64::from_le_bytes(word);
        std::iter::from_fn(move || {
            let place = 64 * first + left.trailing_zeros();
            (left != 0).then(|| {
                left &= left - 1;
                place
            })
        })
    })
}

/// Says the values of all of `list`.
pub(super) fn pack_all<T: Value>(list: &[VertexId], value_of: impl Fn(VertexId) -> T) -> Vec<u8> {
    if list.is_empty() {
        return Vec::new();
    }
    let mut message = Vec::with_capacity(1 + list.len() * T::BYTES);
    message.push(ALL);
    list.iter().for_each(|&v| value_of(v).put(&mut message));
    message
}

/// Calls `f` on each place of a list of `len` vertices that the message of `shard` tells of.
///
/// # Errors
/// [`BadMessage`](crate::Error::BadMessage) if it is no message about such a list.
pub(super) fn unpack<T: Value>(
    shard: u32,
    len: usize,
    message: &[u8],
    mut f: impl FnMut(usize, T),
) -> Result<()> {
    let bad = || bad_message(shard, "it does not fit the vertices that both keep");
    let Some((&form, rest)) = message.split_first() else { return Ok(()) };
    let mut told = |count: usize, values: &[u8], places: &mut dyn Iterator<Item = u32>| {
        if values.len() != count * T::BYTES {
            return Err(bad());
        }
        for (i, place) in places.enumerate() {
            let place = place as usize;
            if place >= len {
                return Err(bad());
            }
            f(place, T::get(&values[i * T::BYTES..(i + 1) * T::BYTES]));
        }
        Ok(())
    };
    match form {
        ALL => told(len, rest, &mut (0..len as u32)),
        BITS => {
            let (bits, values) = rest.split_at_checked(len.div_ceil(8)).ok_or_else(bad)?;
            let count = bits.iter().map(|byte| byte.count_ones() as usize).sum();
            told(count, values, &mut places_in(bits))
        }
        PLACES if rest.len().is_multiple_of(u32::BYTES + T::BYTES) => {
            let count = rest.len() / (u32::BYTES + T::BYTES);
            let (places, values) = rest.split_at(count * u32::BYTES);
            told(count, values, &mut places.chunks_exact(u32::BYTES).map(u32::get))
        }
        _ => Err(bad()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_what_was_packed_in_no_more_bytes_than_all_values() {
        let list: Vec<VertexId> = (0..1000).map(|i| 3 * i + 1).collect();
        for step in [1, 2, 7, 100, 900, 1000] {
            for rest in [0, step / 2, step] {
                let is_news = |v: VertexId| v / 3 % step <= rest && rest < step;
                let news: Vec<_> = list.iter().copied().filter(|&v| is_news(v)).collect();
                let message = pack(&list, is_news, f64::from);
                assert!(message.len() <= 1 + 8 * list.len(), "{} bytes", message.len());
                let mut found = Vec::new();
                unpack(1, list.len(), &message, |place, value: f64| {
                    assert_eq!(value, f64::from(list[place]));
                    found.push(list[place]);
                })
                .unwrap();
                found.retain(|&v| is_news(v));
                assert_eq!(found, news, "{step}");
                let mut found = Vec::new();
                let message = pack(&list, is_news, |_| ());
                unpack(1, list.len(), &message, |place, ()| found.push(list[place])).unwrap();
                assert_eq!(found, news, "{step}");
                let others = news.iter().map(|v| v + 1);
                let named: Vec<_> = others.chain(news.iter().copied()).collect();
                let mut found = Vec::new();
                let few = pack_few(&list, &named);
                assert!(few.len() <= 1 + list.len().div_ceil(8));
                unpack(1, list.len(), &few, |place, ()| found.push(list[place])).unwrap();
                assert_eq!(found, news, "{step}");
            }
        }
    }

    #[test]
    fn a_message_that_does_not_fit_is_an_error() {
        let list: Vec<VertexId> = (0..100).collect();
        let messages = [
            pack(&list, |v| v < 3, |v| v),
            pack(&list, |v| v % 2 == 0, |v| v),
            pack_all(&list, |v| v),
        ];
        for message in &messages {
            for len in 1..message.len() {
                let cut = unpack(0, list.len(), &message[..len], |_, _: u32| ());
                // Fewer places may be a message, too; never one of vertices that are not there.
                assert!(cut.is_err() || message[0] == PLACES, "{len} of {} bytes", message.len());
            }
            let mut longer = message.clone();
            longer.push(7);
            assert!(unpack(0, list.len(), &longer, |_, _: u32| ()).is_err());
        }
        assert!(unpack(0, 2, &messages[0], |_, _: u32| ()).is_err());
        assert!(unpack(0, list.len(), &[9, 0], |_, _: u32| ()).is_err());
    }
}
