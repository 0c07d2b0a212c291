"""What a kernel says about each vertex."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from everedge import _native
from everedge._arrow import Tabular, array_of
from everedge._columns import Id, is_id, no_id, whole, word
from everedge._errors import InvalidInputError
from everedge._guiding import WithoutArithmetic, WithoutLength

if TYPE_CHECKING:
    import matplotlib.axes
    import pandas

    from everedge._reports import RunReport

UNREACHED = -1
"""The depth of a vertex that a search did not reach."""

Scalar = TypeVar("Scalar", bound=np.generic)

_HEAD_ROWS = 5
_HTML_ROWS = 10
# More different numbers than so many have no bar each.
_BARS_MAX = 40


class Vertices:
    """The vertices of a snapshot and their external ids; all its results share one."""

    def __init__(self, index: npt.NDArray[np.uint32], ids: npt.NDArray[Any], bound: int) -> None:
        self.index = index
        """Shape `[vertex_count]`, ascending: where each vertex stands in arrays by index."""
        self.ids = ids
        """Shape `[vertex_count]`: their external ids, in the same order."""
        self.bound = bound
        """The length of arrays by index."""
        self._rows: dict[str, int] | None = None

    @cached_property
    def array(self) -> _native.Array:
        """Their external ids as a column of Arrow, which all results share."""
        return array_of(self.ids)

    @property
    def are_places(self) -> bool:
        """Whether ids count from 0 without gaps: where a vertex stands in `ids` is its id."""
        return self.ids is self.index and len(self.index) == self.bound

    def named(self, vertices: npt.NDArray[np.uint32]) -> npt.NDArray[Any]:
        """Return the external ids of many vertices; a string that comes again is one object."""
        if self.ids is self.index:
            return vertices
        has_gaps = len(self.index) != self.bound
        rows = np.searchsorted(self.index, vertices) if has_gaps else vertices
        named: npt.NDArray[Any] = self.ids[rows]
        return named

    def row(self, name: Id) -> int | None:
        """Return the position of a vertex in `ids`. Cost: all ids once, then one look-up."""
        if self.ids is self.index and not isinstance(name, str):
            row = int(np.searchsorted(self.index, np.uint32(name))) if 0 <= name < self.bound else 0
            return row if row < len(self.index) and self.index[row] == name else None
        if self._rows is None:
            self._rows = {str(known): row for row, known in enumerate(self.ids.tolist())}
        return self._rows.get(word(name))


@dataclass(frozen=True, eq=False)
class Path(WithoutLength):
    """A path from one vertex to another."""

    vertices: npt.NDArray[Any]
    """The external ids of the vertices on it, from the source to the target."""
    length: float
    """The sum of the weights of its edges, or their number."""


class Values(Tabular, WithoutArithmetic, Generic[Scalar]):
    """One value for each vertex: the answer of a kernel, or degrees.

    Stays as it is when its snapshot and graph are closed.

    - `ids` and `values` are aligned arrays of shape `[vertex_count]`. Where ids count from 0 without gaps,
      `np.asarray` gives `values`; elsewhere it refuses, because values alone would lose their ids.
      `to_pandas()` keeps them: `frame["rank"] = rank.to_pandas()` goes by the ids of the frame's index.
    - `by_index` is an array of shape `[vertex_bound]`, indexed by vertex number: what the kernel
      computed, without a copy. With dense ids a vertex's number is its id; in rows that are no
      vertex the value has no meaning.
    - `r[3]`, `r["libc6"]`, `3 in r`, `for id, value in r.items()` look ids up as a dict does.
    - As a table it has the columns `id` and `value`, for whatever takes streams of Arrow.

    >>> import everedge, polars
    >>> graph = everedge.Graph("example", medium="dram")
    >>> graph.add_edges(["a", "b", "c"], ["b", "c", "b"])
    >>> depth = everedge.bfs(graph, source="a")
    >>> depth
    bfs of 3 vertices, int32
      a  0
      b  1
      c  2
    >>> int(depth["c"])
    2
    >>> polars.DataFrame(depth).rows()
    [('a', 0), ('b', 1), ('c', 2)]
    """

    def __init__(
        self,
        name: str,
        vertices: Vertices,
        by_index: npt.NDArray[Scalar],
        report: RunReport | None = None,
    ) -> None:
        self._name = name
        self._vertices = vertices
        self._by_index = by_index
        self._report = report
        self._values: npt.NDArray[Any] | None = None

    @property
    def ids(self) -> npt.NDArray[Any]:
        """External ids in ascending order of vertex numbers; shape `[vertex_count]`.

        `uint32` if ids are dense, `uint64` if they are mapped integers or those of a sealed graph, else objects
        (`str`).
        """
        return self._vertices.ids

    @property
    def values(self) -> npt.NDArray[Any]:
        """The value of each vertex of `ids`; shape `[vertex_count]`.

        Cost: a copy at the first use, none if every number below `vertex_bound` is a vertex.
        """
        if self._values is None:
            self._values = self._by_vertex()
        return self._values

    def _by_vertex(self) -> npt.NDArray[Any]:
        """Return what the kernel computed for each vertex of `ids`.

        Where ids lie far apart, `by_index` has one value for each vertex and no others.
        """
        by_index, index = self._by_index, self._vertices.index
        return by_index if len(by_index) == len(index) else by_index[index]

    @property
    def by_index(self) -> npt.NDArray[Scalar]:
        """The values by vertex number; shape `[vertex_bound]`.

        Where ids lie far apart, one for each vertex of `ids`.
        """
        return self._by_index

    @property
    def report(self) -> RunReport:
        """How the kernel ran. Degrees come from no kernel: `AttributeError`."""
        if self._report is None:
            raise AttributeError(f"{self._name} comes from no kernel, and has no report")
        return self._report

    def top(self, count: int = 10) -> list[tuple[Any, Any]]:
        """Return the `count` largest values as `(id, value)`, the largest first.

        Vertices that a search has not reached, and values that are not finite, are left out; among equals the smaller vertex
        number comes first. Cost: a sort of the values.
        """
        count = whole(count, "count")
        values = self.values
        # A depth is a whole number; a score may be -1.
        is_depth = values.dtype.kind == "i"
        rows = np.flatnonzero(values != UNREACHED if is_depth else np.isfinite(values))
        if values.dtype.kind == "u":
            values = values.astype(np.int64)
        rows = rows[np.argsort(-values[rows], kind="stable")][:count]
        return list(zip(self.ids[rows].tolist(), values[rows].tolist(), strict=True))

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Return an iterator over `(id, value)`, as Python objects."""
        return zip(self.ids.tolist(), self.values.tolist(), strict=True)

    def to_dict(self) -> dict[Any, Any]:
        """Return a dict from ids to values, as Python objects."""
        return dict(self.items())

    def _batches(self) -> Iterable[dict[str, _native.Array]]:
        return [{"id": self._vertices.array, "value": array_of(self.values)}]

    def to_pandas(self) -> pandas.Series[Any]:
        """Return a pandas series of the values, indexed by id; needs pandas."""
        import pandas

        return pandas.Series(self.values, index=pandas.Index(self.ids, name="id"), name=self._name)

    def plot(self, ax: matplotlib.axes.Axes | None = None) -> matplotlib.axes.Axes:
        """Draw how many vertices have which value; needs matplotlib. Returns the axes.

        Few different whole numbers, such as depths, have a bar each; of others a line says which part of the vertices has at least
        a value, on logarithmic axes. What was not reached or is not finite is left out.
        """
        from matplotlib.ticker import MaxNLocator

        ax = _axes(ax)
        values = self.values
        values = values[np.isfinite(values) & ((values != UNREACHED) | (values.dtype.kind != "i"))]
        found, counts = np.unique(values, return_counts=True)
        ax.set_xlabel(self._name.replace("_", " "))
        if values.dtype.kind in "iu" and len(found) <= _BARS_MAX:
            ax.bar(found, counts)
            ax.set_ylabel("vertices")
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
            return ax
        shares = counts[::-1].cumsum()[::-1] / max(len(values), 1)
        is_shown = found > 0
        ax.step(found[is_shown], shares[is_shown], where="pre")
        ax.set(xscale="log", yscale="log", ylabel="part of the vertices with as much or more")
        return ax

    def _repr_html_(self) -> str:
        """Show the largest values as a table, in a notebook."""
        rows = [(str(name), _shown(value)) for name, value in self.top(_HTML_ROWS)]
        return _table(f"{self._name}: {len(self):,} vertices, the largest first", ("id", "value"), rows)

    def __getitem__(self, name: Id) -> Any:
        if not is_id(name):
            raise no_id(name, "values.to_pandas().loc[ids] has the values of several")
        row = self._vertices.row(name)
        if row is None:
            raise KeyError(name)
        return self.values[row]

    def get(self, name: Id, default: Any = None) -> Any:
        """Return the value of a vertex, or `default` if there is no such vertex."""
        return self[name] if name in self else default

    def __contains__(self, name: Id) -> bool:
        return is_id(name) and self._vertices.row(name) is not None

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the ids, as a dict does."""
        return iter(self.ids.tolist())

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        if not self._vertices.are_places:
            what = "an array has no ids, and these do not count from 0: take `.to_pandas()`, or `.values` beside `.ids`"
            raise TypeError(what)
        values = self.values if dtype is None else self.values.astype(dtype, copy=False)
        return values.copy() if copy else values

    def __repr__(self) -> str:
        count = len(self)
        lines = [f"{self._name} of {count:,} vertices, {self.values.dtype}"]
        shown = [str(name) for name in self.ids[:_HEAD_ROWS].tolist()]
        width = max(map(len, shown), default=0)
        for name, value in zip(shown, self.values[:_HEAD_ROWS].tolist(), strict=True):
            text = f"{value:.6g}" if isinstance(value, float) else str(value)
            lines.append(f"  {name:>{width}}  {text}")
        if count > _HEAD_ROWS:
            lines.append("  ...")
        return "\n".join(lines)


class Groups(Values[Scalar]):
    """The group of each vertex: `values` are the external ids that name groups."""

    @property
    def values(self) -> npt.NDArray[Any]:
        """The group of each vertex of `ids`, as an external id; shape `[vertex_count]`."""
        if self._values is None:
            self._values = self._names(self._by_vertex())
        return self._values

    def top(self, count: int = 10) -> list[tuple[Any, Any]]:
        """Return the `count` largest groups as `(id, number of vertices)`.

        Among equals the one of the smaller label of `by_index` comes first.
        """
        count = whole(count, "count")
        labels, sizes = np.unique(self._by_vertex(), return_counts=True)
        order = np.argsort(-sizes, kind="stable")[:count]
        names = self._names(labels[order])
        return list(zip(names.tolist(), sizes[order].tolist(), strict=True))

    def groups(self) -> dict[Any, npt.NDArray[Any]]:
        """Return the external ids of each group by the id that names it, the largest group first.

        Cost: all vertices, sorted once.

        >>> import everedge
        >>> graph = everedge.Graph("example", medium="dram")
        >>> graph.add_edges(["a", "b", "x"], ["b", "c", "y"])
        >>> {name: ids.tolist() for name, ids in graph.snapshot().wcc().groups().items()}
        {'a': ['a', 'b', 'c'], 'x': ['x', 'y']}
        """
        by_vertex = self._by_vertex()
        labels, sizes = np.unique(by_vertex, return_counts=True)
        parts = np.split(self.ids[np.argsort(by_vertex, kind="stable")], np.cumsum(sizes)[:-1])
        order = np.argsort(-sizes, kind="stable")
        return {name: parts[at] for name, at in zip(self._names(labels[order]).tolist(), order.tolist(), strict=True)}

    def members(self, vertex: Id) -> npt.NDArray[Any]:
        """Return the external ids of the vertices in the group of `vertex`, itself among them.

        Raises `KeyError` if there is no such vertex. Cost: one look at each vertex.

        >>> import everedge
        >>> graph = everedge.Graph("example", medium="dram")
        >>> graph.add_edges(["a", "b", "x"], ["b", "c", "y"])
        >>> graph.snapshot().wcc().members("c").tolist()
        ['a', 'b', 'c']
        """
        if not is_id(vertex):
            raise no_id(vertex)
        row = self._vertices.row(vertex)
        if row is None:
            raise KeyError(vertex)
        by_vertex = self._by_vertex()
        members: npt.NDArray[Any] = self.ids[by_vertex == by_vertex[row]]
        return members

    def plot(self, ax: matplotlib.axes.Axes | None = None) -> matplotlib.axes.Axes:
        """Draw how large the groups are, the largest first, on logarithmic axes; needs matplotlib. Returns the axes."""
        ax = _axes(ax)
        sizes = np.sort(np.unique(self._by_vertex(), return_counts=True)[1])[::-1]
        ax.plot(np.arange(1, len(sizes) + 1), sizes, marker="o", markersize=3, linestyle="none")
        ax.set(xscale="log", yscale="log", ylabel="vertices")
        ax.set_xlabel(f"{self._name.replace('_', ' ')}: groups, the largest first")
        return ax

    def _repr_html_(self) -> str:
        """Show the largest groups as a table, in a notebook."""
        count = len(np.unique(self._by_vertex()))
        rows = [(str(name), f"{size:,}") for name, size in self.top(_HTML_ROWS)]
        words = f"{self._name}: {len(self):,} vertices in {count:,} groups, the largest first"
        return _table(words, ("group", "vertices"), rows)

    def _names(self, labels: npt.NDArray[Scalar]) -> npt.NDArray[Any]:
        """Return the external ids of vertex numbers."""
        return self._vertices.ids[np.searchsorted(self._vertices.index, labels)]


class Components(Groups[np.uint32]):
    """The component of each vertex, or its community.

    One is named by its vertex of smallest number; `by_index` holds that number.
    """


class Communities(Groups[np.uint64]):
    """The community of each vertex.

    A community is named by the id of one vertex that is or was in it. `by_index` holds that id, or
    where ids are strings the number of that vertex.
    """

    def _names(self, labels: npt.NDArray[np.uint64]) -> npt.NDArray[Any]:
        are_texts = self._vertices.ids.dtype.kind == "O"
        return super()._names(labels) if are_texts else labels


def _axes(ax: matplotlib.axes.Axes | None) -> matplotlib.axes.Axes:
    """Return axes to draw on."""
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(6, 4), layout="constrained")[1]
    return ax


def _shown(value: float) -> str:
    return f"{value:.6g}" if isinstance(value, float) else f"{value:,}"


def _table(caption: str, heads: tuple[str, str], rows: list[tuple[str, str]]) -> str:
    """Return a table of HTML, whose second column holds numbers."""
    import html

    head = "".join(f"<th>{one}</th>" for one in heads)
    body = "".join(f"<tr><td>{html.escape(a)}</td><td style='text-align: right'>{b}</td></tr>" for a, b in rows)
    caption = f"<caption style='text-align: left'>{html.escape(caption)}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
