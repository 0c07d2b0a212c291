//! Random numbers from a seed, the same on every machine.
//!
//! Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014
//! (there called SplitMix64).

/// A stream of random numbers.
///
/// # Example
/// ```
/// use everedge_core::SplitMix64;
///
/// let (mut a, mut b) = (SplitMix64::new(7), SplitMix64::new(7));
/// assert_eq!(a.next_u64(), b.next_u64());
/// assert!(a.below(6) < 6);
/// ```
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

/// Scrambles 64 bits, each value to another: the output function of [`SplitMix64`].
#[inline]
pub fn scramble(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

impl SplitMix64 {
    /// What one state is more than the one before: 2^64 over the golden ratio.
    pub const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

    /// Returns the stream of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number; each of 64 bits is as likely as any other.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(SplitMix64::STEP);
        scramble(self.0)
    }

    /// Returns a number below `bound`, each as likely as any other but for 2^-64 times the bound;
    /// 0 if the bound is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_published_generator() {
        let mut random = SplitMix64::new(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973];
        assert_eq!([random.next_u64(), random.next_u64()], expected);
    }

    #[test]
    fn every_number_below_the_bound_comes_and_no_other() {
        let mut random = SplitMix64::new(0);
        let mut counts = [0; 5];
        (0..5000).for_each(|_| counts[random.below(5) as usize] += 1);
        assert!(counts.iter().all(|count| (900..1100).contains(count)), "{counts:?}");
        assert_eq!(random.below(0), 0);
    }
}
