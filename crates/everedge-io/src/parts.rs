//! The parts of a stream that is looked at as it goes by, however it is cut.

/// Collects the bytes of one part after another.
#[derive(Debug)]
pub(crate) struct Parts {
    /// Bytes to pass over before the next part.
    skip: u64,
    /// What is there of it.
    bytes: Vec<u8>,
    /// How many bytes it has.
    wanted: usize,
}

impl Parts {
    /// Starts before a part of so many bytes.
    pub(crate) fn new(wanted: usize) -> Self {
        Self { skip: 0, bytes: Vec::new(), wanted }
    }

    /// Expects a part of `wanted` bytes, after `skip` others.
    pub(crate) fn expect(&mut self, wanted: usize, skip: u64) {
        (self.wanted, self.skip) = (wanted, skip);
    }

    /// Puts a byte back, as the first of the next part.
    pub(crate) fn put_back(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// Takes the next bytes off `bytes`; returns how many, and the part if it is whole now.
    pub(crate) fn take(&mut self, bytes: &mut &[u8]) -> (u64, Option<Vec<u8>>) {
        let missing = (self.wanted - self.bytes.len()) as u64;
        let most = if self.skip > 0 { self.skip } else { missing };
        let count = most.min(bytes.len() as u64);
        let (next, rest) = bytes.split_at(count as usize);
        *bytes = rest;
        if self.skip > 0 {
            self.skip -= count;
            return (count, None);
        }
        self.bytes.extend_from_slice(next);
        let is_whole = self.bytes.len() == self.wanted;
        (count, is_whole.then(|| std::mem::take(&mut self.bytes)))
    }
}
