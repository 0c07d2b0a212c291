//! Folding lists that lie in pieces.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::VertexId;

/// Folds the edges of a list that is all of one piece, with weights.
#[inline]
pub fn fold_edges<B>(
    words: &[AtomicU32],
    init: B,
    mut f: impl FnMut(B, (VertexId, f32)) -> B,
) -> B {
    words.as_chunks::<2>().0.iter().fold(init, |folded, [neighbor, weight]| {
        f(folded, (neighbor.load(Relaxed), f32::from_bits(weight.load(Relaxed))))
    })
}

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
