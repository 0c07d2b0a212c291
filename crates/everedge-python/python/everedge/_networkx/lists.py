"""Lists of neighbors as arrays, and the weights beside them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Rows: TypeAlias = npt.NDArray[np.integer[Any]]
"""Places of nodes in the order of their graph."""
Numbers: TypeAlias = npt.NDArray[Any]
"""Integers or floats of 64 bits."""
Parallel: TypeAlias = Literal["any", "one", "min", "sum"]
"""What parallel edges are: all there; or one, without a weight, with the smallest weight or with the sum of all."""


@dataclass(frozen=True, eq=False)
class Lists:
    """Lists of neighbors, one after the other."""

    starts: npt.NDArray[np.int64]
    """Shape `[nodes + 1]`: where the list of each row begins, and where the last one ends."""
    heads: npt.NDArray[np.int32]
    """Shape `[arcs]`: the rows of the neighbors."""

    @cached_property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Shape `[nodes]`: how long each list is."""
        return np.diff(self.starts)

    @cached_property
    def tails(self) -> npt.NDArray[np.int32]:
        """Shape `[arcs]`: of each neighbor, the row whose list it is in."""
        return np.repeat(np.arange(len(self.lengths), dtype=np.int32), self.lengths)

    def of(self, row: int) -> npt.NDArray[np.int32]:
        """Return the neighbors of a row."""
        return self.heads[self.starts[row] : self.starts[row + 1]]

    def of_many(self, rows: Rows) -> npt.NDArray[np.int64]:
        """Return where the neighbors of some rows stand in `heads`, list after list."""
        lengths = self.lengths[rows]
        ends = np.cumsum(lengths)
        skips = np.repeat(self.starts[rows] - ends + lengths, lengths)
        return skips + np.arange(ends[-1] if len(ends) else 0)

    @cached_property
    def matrix(self) -> Any:
        """A SciPy matrix of ones; nothing is sorted or added up."""
        return self.matrix_of(np.ones(len(self.heads)))

    def matrix_of(self, data: Numbers) -> Any:
        """Return a SciPy matrix of a number for each arc; nothing is sorted or added up."""
        import scipy.sparse

        count = len(self.lengths)
        return scipy.sparse.csr_array((data, self.heads, self._narrow_starts), shape=(count, count))

    @cached_property
    def _narrow_starts(self) -> npt.NDArray[np.signedinteger[Any]]:
        return self.starts.astype(np.int32) if len(self.heads) < 1 << 31 else self.starts

    @cached_property
    def without_repeats(self) -> Lists:
        """The lists with each neighbor where it comes first."""
        return self.joined(None, "one")[0]

    def joined(self, weights: Numbers | None, parallel: Parallel) -> tuple[Lists, Numbers | None]:
        """Return the lists with each neighbor where it comes first, and the smallest weight of its arcs or the sum of all."""
        pairs = self.tails.astype(np.int64) * len(self.lengths) + self.heads
        _, firsts, numbers = np.unique(pairs, return_index=True, return_inverse=True)
        order = np.argsort(firsts)
        firsts = firsts[order]
        if weights is not None:
            joined = weights[firsts] if parallel == "min" else np.zeros(len(firsts), weights.dtype)
            places = np.empty(len(firsts), np.int64)
            places[order] = np.arange(len(firsts))
            (np.minimum if parallel == "min" else np.add).at(joined, places[numbers], weights)
            weights = joined
        starts = np.zeros(len(self.starts), np.int64)
        np.cumsum(np.bincount(self.tails[firsts], minlength=len(self.lengths)), out=starts[1:])
        return Lists(starts, self.heads[firsts]), weights

    @cached_property
    def turned(self) -> tuple[Lists, npt.NDArray[np.int64]]:
        """The lists of the arcs turned around, and where each of these stands in `heads`."""
        turned = self.matrix_of(np.arange(len(self.heads))).tocsc()
        lists = Lists(turned.indptr.astype(np.int64), turned.indices.astype(np.int32, copy=False))
        return lists, turned.data


def lists_of(
    tails: Rows, heads: Rows, count: int, weights: Numbers | None = None, parallel: Parallel = "any"
) -> tuple[Lists, Numbers | None]:
    """Return sorted lists of arcs between `count` rows, and their weights. Cost: a sort."""
    order = np.argsort(tails.astype(np.int64) * count + heads, kind="stable")
    tails, heads = tails[order], heads[order]
    if weights is not None:
        weights = weights[order]
    if parallel != "any" and len(tails):
        is_first = np.ones(len(tails), bool)
        is_first[1:] = (tails[1:] != tails[:-1]) | (heads[1:] != heads[:-1])
        if weights is not None:
            add_up = np.minimum if parallel == "min" else np.add
            weights = add_up.reduceat(weights, np.flatnonzero(is_first))
        tails, heads = tails[is_first], heads[is_first]
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(tails, minlength=count), out=starts[1:])
    return Lists(starts, heads.astype(np.int32, copy=False)), weights


def numbers_of(values: list[Any], attribute: str) -> Numbers | None:
    """Return the weights of edges as integers or floats of 64 bits; `None` if all are 1.

    Raises `NotImplementedError` for what is not a finite number.
    """
    if not values:
        return None
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "bif":
        raise NotImplementedError(f"`{attribute}` of some edges is no number of 64 bits")
    array = array.astype(np.float64 if array.dtype.kind == "f" else np.int64, copy=False)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise NotImplementedError(f"`{attribute}` of some edges is not finite")
    return None if (array == 1).all() else array


def summed(rows: Rows, weights: Numbers, count: int) -> Numbers:
    """Return the sum of weights at each row, of integers as integers."""
    if weights.dtype.kind == "f":
        return np.bincount(rows, weights, minlength=count)
    sums = np.zeros(count, np.int64)
    np.add.at(sums, rows, weights)
    return sums
