//! Folding lists that lie in pieces.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Folds the words of one piece of a list. Not inlined: there the compiler would keep what is folded in memory,
/// for the sake of the calls between pieces.
#[inline(never)]
pub fn fold_words<B>(words: &[AtomicU32], init: B, f: &mut impl FnMut(B, u32) -> B) -> B {
    let mut folded = init;
    for word in words {
        folded = f(folded, word.load(Relaxed));
    }
    folded
}

/// As [`fold_words`], for entries of two words.
#[inline(never)]
pub fn fold_pairs<B>(words: &[AtomicU32], init: B, f: &mut impl FnMut(B, (u32, u32)) -> B) -> B {
    let mut folded = init;
    for pair in words.as_chunks::<2>().0 {
        folded = f(folded, (pair[0].load(Relaxed), pair[1].load(Relaxed)));
    }
    folded
}
