//! Which stores persist: every way to cut short the stores of each line, or a sample of them.

use super::image::scramble;

/// Enumerates how many stores persist of each line.
///
/// With at most `choices_max` choices all come, else that many: nothing, all, then for lines in
/// random order that one alone and all but that one, up to half of them; the rest is random.
pub(super) struct Choices<'a> {
    /// Line i has `counts[i]` stores.
    counts: &'a [usize],
    choices_max: u64,
    is_sampled: bool,
    random: Random,
    /// The lines in random order.
    order: Vec<usize>,
    /// How many choices were made.
    made: u64,
    current: Vec<usize>,
}

impl<'a> Choices<'a> {
    pub(super) fn new(counts: &'a [usize], choices_max: u64, seed: u64) -> Choices<'a> {
        let all = counts.iter().try_fold(1_u64, |n, &count| n.checked_mul(count as u64 + 1));
        let mut random = Random { state: seed };
        let order = random.order(counts.len());
        let mut choices = Choices {
            counts,
            choices_max,
            is_sampled: true,
            random,
            order,
            made: 0,
            current: vec![0; counts.len()],
        };
        if let Some(all) = all.filter(|&all| all <= choices_max) {
            choices.is_sampled = false;
            choices.choices_max = all;
        }
        choices
    }

    /// Returns the next choice: for each line how many of its stores persist.
    pub(super) fn next(&mut self) -> Option<&[usize]> {
        if self.made == self.choices_max {
            return None;
        }
        match (self.made, self.is_sampled) {
            (0, _) => self.current.fill(0),
            (_, false) => self.count_up(),
            (1, true) => self.current.copy_from_slice(self.counts),
            (_, true) => self.sample(),
        }
        self.made += 1;
        Some(&self.current)
    }

    /// Counts up with one digit a line.
    fn count_up(&mut self) {
        for (digit, &count) in self.current.iter_mut().zip(self.counts) {
            if *digit < count {
                *digit += 1;
                return;
            }
            *digit = 0;
        }
    }

    fn sample(&mut self) {
        let step = self.made - 2;
        let line = self.order.get((step / 2) as usize).copied();
        match line.filter(|_| step < self.choices_max / 2) {
            Some(line) if step.is_multiple_of(2) => {
                self.current.fill(0);
                self.current[line] = 1 + self.random.below(self.counts[line]);
            }
            Some(line) => {
                self.current.copy_from_slice(self.counts);
                self.current[line] = self.random.below(self.counts[line]);
            }
            None => self.sample_all_lines(),
        }
    }

    /// Draws every line: whole lines only in every second choice.
    fn sample_all_lines(&mut self) {
        let whole_lines = self.made.is_multiple_of(2);
        for (kept, &count) in self.current.iter_mut().zip(self.counts) {
            *kept = match whole_lines {
                true => self.random.below(2) * count,
                false => self.random.below(count + 1),
            };
        }
    }
}

/// A generator whose seed is the whole of it.
struct Random {
    state: u64,
}

impl Random {
    /// Returns a number from 0 to `bound - 1`; 0 for the bound 0.
    fn below(&mut self, bound: usize) -> usize {
        self.state = self.state.wrapping_add(1);
        let draw = scramble(scramble(self.state));
        ((u128::from(draw) * bound as u128) >> 64) as usize
    }

    /// Returns 0 to `count - 1` in random order.
    fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for idx in (1..count).rev() {
            order.swap(idx, self.below(idx + 1));
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn all_choices(counts: &[usize], choices_max: u64) -> Vec<Vec<usize>> {
        let mut choices = Choices::new(counts, choices_max, 7);
        let mut all = Vec::new();
        while let Some(choice) = choices.next() {
            all.push(choice.to_vec());
        }
        all
    }

    #[test]
    fn few_lines_are_enumerated_without_repetition() {
        assert_eq!(all_choices(&[], 10), [vec![]]);
        let choices = all_choices(&[1, 2, 3], 24);
        let distinct: HashSet<_> = choices.iter().cloned().collect();
        assert_eq!((choices.len(), distinct.len()), (24, 24));
        assert!(distinct.iter().flatten().all(|&kept| kept <= 3));
    }

    #[test]
    fn many_lines_are_sampled_up_to_the_limit() {
        let counts = [1; 40];
        let choices = all_choices(&counts, 200);
        assert_eq!(choices.len(), 200);
        assert_eq!(choices[0], [0; 40]);
        assert_eq!(choices[1], [1; 40]);
        for line in 0..40 {
            let is_alone = |c: &Vec<usize>| c[line] == 1 && c.iter().sum::<usize>() == 1;
            let is_missing = |c: &Vec<usize>| c[line] == 0 && c.iter().sum::<usize>() == 39;
            assert!(choices.iter().any(is_alone), "line {line} alone");
            assert!(choices.iter().any(is_missing), "all but line {line}");
        }
    }

    #[test]
    fn a_sample_keeps_no_more_than_a_line_has() {
        let counts: Vec<usize> = (1..30).collect();
        for choice in all_choices(&counts, 500) {
            assert!(choice.iter().zip(&counts).all(|(kept, count)| kept <= count));
        }
    }

    #[test]
    fn a_seed_gives_the_same_sample() {
        assert_eq!(all_choices(&[3; 20], 100), all_choices(&[3; 20], 100));
    }
}
