"""Changes of edges by columns, as a graph and a sealed graph make them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from everedge import _columns, _native
from everedge._columns import ArrowColumn, Names

if TYPE_CHECKING:
    from everedge._reports import Changes


def add_edges_to(
    native: _native.Graph | _native.Changer,
    ends: tuple[Names, Names],
    weight: npt.ArrayLike | ArrowColumn | None,
    round_weights: bool,
) -> None:
    """Insert edges of names as one batch."""
    weights = _columns.weights_for(native.is_weighted(), weight, len(ends[0]), round_weights)
    u, v = _columns.vertices(native, ends[0], "src"), _columns.vertices(native, ends[1], "dst")
    native.add_edges(u, v, weights)


def delete_edges_from(native: _native.Graph | _native.Changer, ends: tuple[Names, Names]) -> Changes:
    """Delete edges of names as one batch; return what that changed."""
    from everedge._reports import Changes

    u, v = _columns.known_vertices(native, ends[0], "src"), _columns.known_vertices(native, ends[1], "dst")
    is_known = (u >= 0) & (v >= 0)
    pairs = u[is_known].astype(np.uint32), v[is_known].astype(np.uint32)
    inserted, deleted, ignored = native.delete_edges(*pairs)
    return Changes(inserted, deleted, ignored + int((~is_known).sum()))
