"""Opening whatever a directory holds."""

from __future__ import annotations

import os
from typing import Literal

from everedge import _native
from everedge._chunks import Chunks
from everedge._errors import InvalidInputError
from everedge._graph import Graph
from everedge._guiding import guided, not_a_path
from everedge._timeline import Timeline


@guided
def open(
    path: str | os.PathLike[str],
    mode: Literal["r", "w"] = "r",
    *,
    memory: int | str | None = None,
) -> Graph | Timeline | Chunks:
    """Open what is at `path`: a graph, the versions that a timeline keeps, or a sealed graph.

    `mode` is `"r"` to read it as it is now, beside other readers and beside a process that writes to it, or `"w"` to write,
    alone; a sealed graph is opened in the same way for both. `memory` bounds what a sealed graph takes, in bytes or with
    K, M, G or T.

    Raises `NotAGraphError` if there is none of them, `InvalidInputError` for `memory` of what is not sealed, and as the
    classes that it returns.

    >>> import everedge, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "graph")
    >>> with everedge.Graph(path) as graph:
    ...     graph.add_edges("app", "lib")
    >>> with everedge.open(path) as graph:
    ...     graph.stats().edges
    1
    """
    if not isinstance(path, str | os.PathLike):
        raise not_a_path("path: a graph is at a directory (str or PathLike)", path)
    kind = _native.Graph.kind_of(path)
    if kind == "chunks":
        return Chunks(path, memory)
    if memory is not None:
        raise InvalidInputError(f"memory={memory!r}: only a sealed graph is read within a budget")
    return Timeline(path, mode=mode) if kind == "timeline" else Graph(path, mode=mode)
