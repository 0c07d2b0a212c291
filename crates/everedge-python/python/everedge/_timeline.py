"""Versions of a graph, and questions over several of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, timezone
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from everedge import _native
from everedge._arrow import Edges, Tabular, array_of
from everedge._closing import Asked
from everedge._columns import Id, is_id, no_id, told
from everedge._errors import EveredgeError, InvalidInputError
from everedge._files import (
    IdChoice,
    Source,
    check_columns,
    file_options,
    option_word,
    told_of,
)
from everedge._guiding import WithoutArithmetic, WithoutItems, guided, not_a_path
from everedge._snapshot import Snapshot, names
from everedge._values import Values, Vertices
from everedge._version import Version, VersionChoice, microseconds

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.lines
    import pandas

    from everedge._reports import Progress, UpdateReport

Scalar = TypeVar("Scalar", bound=np.generic)

VersionLabel: TypeAlias = Literal["version", "time", "name"]
"""What versions are called: by their numbers, their times or their names."""

_PLOTTED = 8
_SHOWN = 5


@dataclass(frozen=True)
class WindowReport:
    """How a question over versions was answered."""

    kernel: str
    """The kernel."""
    method: str
    """How versions were answered: `"shared"`, what they have in common worked on once; `"from-before"`, each begun
    with the answer of the one before; or `"each"` by itself."""
    source: int | str | None
    """The id of the source; `None` for a kernel that has none."""
    threads: int
    """Threads that it ran on."""
    versions: list[dict[str, Any]] = field(repr=False)
    """For each version `version`, `name`, `time`, `seconds` of its steps and its part of shared ones, and `result`."""
    open_seconds: float
    """How long opening the versions took."""
    build_seconds: float
    """How long it took to make them ready."""
    seconds: float
    """From there until all answers were there."""
    alone: int
    """Versions that were asked by themselves after all: their changes reach far."""
    changed_edges: int
    """Edges that some of the versions have and others have not."""
    peak_rss_bytes: int
    """The most memory that this process has taken."""


class Timeline(WithoutItems, Asked):
    """The versions that a directory holds: those of a live graph, or of a file of timed changes.

    `Graph.timeline` returns those of an open graph. A directory that `Timeline.ingest` or `everedge ingest
    --commit-every` made is opened by its path, for reading beside other readers and
    beside a process that adds versions, or with `mode="w"` for `keep`.

    Raises `InvalidInputError` if the graph there was never committed.

    >>> import everedge
    >>> graph = everedge.Graph("example", medium="dram")
    >>> graph.add_edges(["app", "lib"], ["lib", "libc"])
    >>> _ = graph.commit("monday")
    >>> graph.add_edges("app", "libc")
    >>> _ = graph.commit("tuesday")
    >>> timeline = graph.timeline
    >>> timeline
    <Timeline of 2 versions, from 1 to 2>
    >>> timeline.window().bfs(source="app").of("libc")
    array([2, 1], dtype=int32)
    >>> timeline.at("monday").num_edges
    2
    """

    def __init__(self, path: str | os.PathLike[str], *, mode: Literal["r", "w"] = "r") -> None:
        if mode not in ("r", "w"):
            raise InvalidInputError(f'mode {mode!r}: "r" to read or "w" to write')
        if not isinstance(path, str | os.PathLike):
            raise not_a_path("path: versions are in a directory (str or PathLike)", path)
        super().__init__()
        self._native = _native.Timeline.open(os.fspath(path), mode == "r")

    @staticmethod
    @guided
    def ingest(
        path: str | os.PathLike[str],
        *files: Source,
        commit_every: int | str,
        time: int | str | None = None,
        time_unit: Literal["seconds", "milliseconds", "microseconds", "nanoseconds"] | None = None,
        operation: int | str | None = None,
        insertions_only: bool = False,
        step: int | str | None = None,
        sort: bool = False,
        allow_late: bool = False,
        keep: int | str | None = None,
        directed: bool | None = None,
        weighted: bool | None = None,
        simple: bool | None = None,
        in_neighbors: bool | None = None,
        format: str | None = None,
        ids: IdChoice = "auto",
        header: bool | None = None,
        delimiter: str | None = None,
        drop_self_loops: bool = False,
        skip_nulls: bool = False,
        round_weights: bool = False,
        src: int | str | None = None,
        dst: int | str | None = None,
        weight: int | str | None = None,
        progress: bool | Callable[[Progress], object] | None = None,
    ) -> UpdateReport:
        """Make versions of files or tables of timed insertions and deletions; return what that did.

        The versions lie at `path`, after those that are there already; `Timeline(path)` opens them. Updates
        are applied in the order of the files. A table is what `Graph.ingest` takes for one.

        - `commit_every`: where a version ends: after so many updates; at each whole day (`"1d"`), 12 hours (`"12h"`)
          or other time of `s`, `m`, `h`, `d` and `w` since 1970; or where the number of the step changes (`"step"`).
        - `time`, `operation` and `step` are columns, by number from 0 or by name, looked for if not given. Times
          are dates, or numbers that count `time_unit`. An operation is `+`, `-` or a word for one;
          `insertions_only` says that there is none.
        - `sort` brings the rows of all files in order of time first, in memory: 40 bytes each. Without it, and with a
          time as `commit_every`, they are in order but within a version; `allow_late` counts a row that comes after
          rows of a later version as of that version.
        - `keep` lets older versions go at the end, as `Timeline.keep` does.
        - `directed`, `weighted`, `simple`, `in_neighbors` and `ids` are as for a `Graph`, the others as for
          `Graph.ingest`.

        Ctrl-C, and an exception of `progress`, end it; versions committed before stay.

        Raises `FileError` with file and place, `IoError`, `NoSpaceError`, `InvalidInputError` if the versions that are
        there were made with other options, or a row comes too late.

        >>> import everedge, pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> rows = "src,dst,time,op\\na,b,2024-01-01,+\\nb,c,2024-01-01,+\\na,b,2024-01-02,-\\n"
        >>> _ = (folder / "edits.csv").write_text(rows)
        >>> everedge.Timeline.ingest(folder / "history", folder / "edits.csv", commit_every="1d").versions
        2
        >>> everedge.Timeline(folder / "history").at("2024-01-02").num_edges
        1
        """
        from everedge._reports import UpdateReport

        check_columns(time=time, operation=operation, step=step)
        if insertions_only and operation is not None:
            raise InvalidInputError("insertions_only says that there is no operation: give one of them")
        given = {
            "directed": directed,
            "weighted": weighted,
            "simple": simple,
            "in-neighbors": in_neighbors,
        }
        words = [(name, option_word(value)) for name, value in given.items() if value is not None]
        updates: _native.UpdateOptions = {
            "commit_every": str(commit_every),
            "time": time,
            "operation": operation,
            "insertions_only": insertions_only,
            "step": step,
            "time_unit": time_unit,
            "sort": sort,
            "allow_late": allow_late,
            "keep": None if keep is None else str(keep),
        }
        sources, options = file_options(
            files,
            format=format,
            ids=ids,
            header=header,
            delimiter=delimiter,
            drop_self_loops=drop_self_loops,
            skip_nulls=skip_nulls,
            round_weights=round_weights,
            unweighted=weighted is False,
            src=src,
            dst=dst,
            weight=weight,
        )
        chosen = _native.Chosen(words, ids)
        with told_of(progress, sources) as tell:
            report = _native.Timeline.ingest(os.fspath(path), chosen, sources, options, updates, tell)
        return UpdateReport(**report)

    @classmethod
    def _of(cls, native: _native.Timeline) -> Timeline:
        timeline = cls.__new__(cls)
        Asked.__init__(timeline)
        timeline._native = native
        return timeline

    @property
    def versions(self) -> list[Version]:
        """The versions, the oldest first."""
        return [Version(*fields) for fields in self._native.versions()]

    def at(self, version: VersionChoice) -> Snapshot:
        """Return the graph of a version, for every kernel.

        Raises `InvalidInputError` if there is no such version.
        """
        return Snapshot(self._native.at(self._find(version)))

    def window(
        self, first: VersionChoice | None = None, last: VersionChoice | None = None
    ) -> Window:
        """Return consecutive versions, all unless told, for questions over all of them.

        Raises `InvalidInputError` if there are no such versions.
        """
        versions = self.versions
        if not versions:
            raise InvalidInputError("there is no version yet")
        start = versions[0].number if first is None else self._find(first)
        end = versions[-1].number if last is None else self._find(last)
        if start > end:
            raise InvalidInputError(f"a window from version {start} to {end}: that is earlier")
        chosen = [version for version in versions if start <= version.number <= end]
        return Window(self, chosen)

    def difference(self, earlier: VersionChoice, later: VersionChoice) -> Difference:
        """Return the edges that came between two versions, and those that went.

        Cost: what the versions in between have changed.
        """
        with self._asking():
            came, went = self._native.difference(self._find(earlier), self._find(later))
            return Difference(self._edges(came), self._edges(went))

    def keep(self, versions: int | str) -> int:
        """Let older versions than these go, and return how many went.

        `versions` is how many stay, or a time such as `"30d"` or `"12h"`: those stay that show each moment of
        so long before the newest one. A snapshot of one that goes stays; a window of it asks in vain.
        """
        return self._native.keep(str(versions))

    def close(self) -> None:
        """Give the versions up; a second time does nothing. What they answered stays.

        Until then, and while a window or snapshot of them is there, the directory is in use. Questions that run in other
        threads go on to their ends.
        """
        super().close()

    def _give_up(self) -> None:
        self._native.close()

    def __len__(self) -> int:
        return len(self._native.versions())

    def __iter__(self) -> Iterator[Version]:
        return iter(self.versions)

    def __repr__(self) -> str:
        try:
            versions = self.versions
        except EveredgeError as error:
            return f"<Timeline: {error}>"
        if not versions:
            return "<Timeline without versions>"
        [first, last] = versions[0].number, versions[-1].number
        return f"<Timeline of {len(versions):,} versions, from {first} to {last}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Timeline stays in its process: pass its path, and open it there")

    def _find(self, version: VersionChoice) -> int:
        match version:
            case Version():
                return version.number
            case date() | np.datetime64():
                return self._native.find_time(microseconds(version))
            case str():
                return self._native.find_word(version)
            case int() | np.integer() if not isinstance(version, bool) and version >= 0:
                # The native half says which numbers there are.
                return self._native.find_word(str(int(version)))
        raise InvalidInputError(f"{version!r}: a version has a number from 1, a name or a time")

    def _edges(
        self,
        edges: tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.float32]],
    ) -> Edges:
        src, dst, weight = edges
        ends = names(self._native, src), names(self._native, dst)
        return Edges(*ends, weight if self._native.is_weighted() else None)


@dataclass(frozen=True)
class Difference:
    """What changed between two versions; an undirected edge comes once."""

    added: Edges
    """The edges that only the later version has: sources, destinations, weights (`None` without)."""
    removed: Edges
    """The edges that only the earlier one has."""

    def __repr__(self) -> str:
        return f"<Difference: {len(self.added[0]):,} edges came, {len(self.removed[0]):,} went>"


class Window(WithoutItems):
    """Consecutive versions, for one question over all of them.

    What the versions have in common is worked on once. A source need be a vertex of some version; where it
    is none, it reaches nothing. Unless given, it is the vertex of largest out-degree in the last version.
    """

    def __init__(self, timeline: Timeline, versions: list[Version]) -> None:
        self._timeline = timeline
        self.versions = versions
        """The versions, the oldest first."""

    @guided
    def bfs(self, source: Id | None = None, *, threads: int = 0) -> WindowValues[np.int32]:
        """Return how many edges a shortest path from `source` has, in each version; -1 without one."""
        # Depths are below 2^31 and the mark for none has all bits set: -1 in two's complement.
        report, vertices, values = self._ask("bfs", threads, source=source)
        return WindowValues(self.versions, vertices, [value.view(np.int32) for value in values], report)

    @guided
    def sssp(self, source: Id | None = None, *, threads: int = 0) -> WindowValues[np.float64]:
        """Return the length of a shortest path in each version; `inf` where there is none.

        Raises `KernelError` for a negative weight.
        """
        return WindowValues(self.versions, *self._values("sssp", threads, source=source))

    @guided
    def sswp(self, source: Id | None = None, *, threads: int = 0) -> WindowValues[np.float64]:
        """Return the width of a widest path, the least of its weights; `-inf` where there is none."""
        return WindowValues(self.versions, *self._values("sswp", threads, source=source))

    @guided
    def ssnp(self, source: Id | None = None, *, threads: int = 0) -> WindowValues[np.float64]:
        """Return the least that the largest weight of a path can be; `inf` where there is none."""
        return WindowValues(self.versions, *self._values("ssnp", threads, source=source))

    @guided
    def viterbi(self, source: Id | None = None, *, threads: int = 0) -> WindowValues[np.float64]:
        """Return the largest product of weights from 0 to 1 of a path; 0 where there is none.

        Raises `KernelError` for another weight.
        """
        return WindowValues(self.versions, *self._values("viterbi", threads, source=source))

    @guided
    def wcc(self, *, threads: int = 0) -> WindowValues[np.int64]:
        """Return the weakly connected component of each vertex in each version.

        A value is the place in `ids` of the smallest vertex of the component; -1 where a version has not the
        vertex. Cost: the components of what the versions have in common, then what they have changed.
        """
        report, vertices, values = self._ask("wcc", threads)
        places = [_places(vertices.index, value) for value in values]
        return WindowValues(self.versions, vertices, places, report)

    @guided
    def pagerank(
        self,
        *,
        iterations: int | None = None,
        tolerance: float | None = None,
        damping: float | None = None,
        threads: int = 0,
    ) -> WindowValues[np.float64]:
        """Return the PageRank of each vertex in each version; 0 where a version has not the vertex.

        Each version begins with the ranks of the one before, and ends as `everedge.pagerank` does.
        """
        parameters = {"iterations": iterations, "tolerance": tolerance, "damping": damping}
        return WindowValues(self.versions, *self._values("pagerank", threads, **parameters))

    @guided
    def kcore(self, *, threads: int = 0) -> WindowValues[np.uint32]:
        """Return the coreness of each vertex in each version; with in-neighbors, what versions share is worked on once."""
        report, vertices, values = self._ask("kcore", threads)
        return WindowValues(self.versions, vertices, values, report)

    @guided
    def scc(self, *, threads: int = 0) -> WindowValues[np.int64]:
        """Return the strongly connected component of each vertex in each version, in places as `wcc`.

        Each version is asked by itself.
        """
        report, vertices, values = self._ask("scc", threads)
        places = [_places(vertices.index, value) for value in values]
        return WindowValues(self.versions, vertices, places, report)

    @guided
    def cdlp(self, *, iterations: int | None = None, threads: int = 0) -> WindowValues[np.int64]:
        """Return the community of each vertex in each version, as `everedge.cdlp`; each is asked by itself.

        A value is the place in `ids` of the vertex that names the community; -1 where a version has not the vertex.
        """
        report, vertices, values = self._ask("cdlp", threads, iterations=iterations)
        # Where ids are strings, communities are named by the numbers of vertices.
        known = vertices.index if vertices.ids.dtype.kind == "O" else vertices.ids
        places = [_places(known.astype(np.uint64), value) for value in values]
        return WindowValues(self.versions, vertices, places, report)

    @guided
    def lcc(self, *, threads: int = 0) -> WindowValues[np.float64]:
        """Return the local clustering coefficient in each version, as `everedge.lcc`; each is asked by itself."""
        return WindowValues(self.versions, *self._values("lcc", threads))

    @guided
    def bc(
        self,
        source: Id | None = None,
        *,
        samples: int | None = None,
        seed: int | None = None,
        convention: Literal["pairs", "networkx", "gap"] | None = None,
        threads: int = 0,
    ) -> WindowValues[np.float64]:
        """Return the betweenness in each version, as `everedge.bc`; each is asked by itself."""
        parameters = {"samples": samples, "seed": seed, "convention": convention}
        return WindowValues(self.versions, *self._values("bc", threads, source=source, **parameters))

    @guided
    def radii(
        self, *, samples: int | None = None, seed: int | None = None, threads: int = 0
    ) -> WindowValues[np.int32]:
        """Return the largest distance from sampled vertices, as `everedge.radii`; each version is asked by itself."""
        report, vertices, values = self._ask("radii", threads, samples=samples, seed=seed)
        return WindowValues(self.versions, vertices, [value.view(np.int32) for value in values], report)

    @guided
    def triangles(self, *, threads: int = 0) -> npt.NDArray[np.int64]:
        """Return the number of triangles in each version; with in-neighbors, each triangle is found once."""
        report, _, _ = self._ask("triangles", threads)
        return np.array([version["result"]["count"] for version in report.versions], np.int64)

    def __len__(self) -> int:
        return len(self.versions)

    def __repr__(self) -> str:
        return f"<Window of versions {self.versions[0].number} to {self.versions[-1].number}>"

    def _values(
        self, kernel: str, threads: int, **parameters: Id | float | None
    ) -> tuple[Vertices, list[npt.NDArray[Any]], WindowReport]:
        report, vertices, values = self._ask(kernel, threads, **parameters)
        return vertices, values, report

    def _ask(
        self, kernel: str, threads: int, **parameters: Id | float | None
    ) -> tuple[WindowReport, Vertices, list[npt.NDArray[Any]]]:
        if not isinstance(threads, int | np.integer) or not 0 <= threads < 1 << 32:
            raise InvalidInputError(f"threads={threads!r}: it must be a number from 0 to 2^32 - 1")
        versions = self.versions[0].number, self.versions[-1].number
        with self._timeline._asking() as timeline:
            report, index, values = timeline._native.window(kernel, versions, told(parameters), threads)
            known = names(timeline._native, index)
        # A count has no values by vertex.
        bound = len(index) if values[0] is None else len(values[0])
        vertices = Vertices(index, known, bound)
        return WindowReport(**report), vertices, values


def _places(known: npt.NDArray[Any], labels: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the place of each label in `known`; -1 for the mark of none, the largest number."""
    order = np.argsort(known, kind="stable")
    found = np.searchsorted(known, labels, sorter=order)
    places = order[np.minimum(found, len(known) - 1)]
    return np.where(labels == np.iinfo(labels.dtype).max, -1, places)


class WindowValues(Tabular, WithoutItems, WithoutArithmetic, Generic[Scalar]):
    """One value for each version and vertex. Stays as it is when the versions are closed.

    - `ids` are the vertices of all versions, `versions` what they are called and when they were. Where a version
      has not one of them, it is not reached.
    - `values` is an array of shape `[version, vertex]`; `np.asarray` gives it, too.
    - As a table it has the columns `version`, `time`, `id` and `value`: `polars.DataFrame(r)`, `duckdb.sql("from r")`.
    - `r.at("monday")` is the answer for a version, by vertex; `r.of("libc6")` that of a vertex, by version.
    """

    def __init__(
        self,
        versions: list[Version],
        vertices: Vertices,
        by_version: list[npt.NDArray[Scalar]],
        report: WindowReport,
    ) -> None:
        self._vertices = vertices
        self._by_version = by_version
        self.versions = versions
        """The versions, the oldest first."""
        self.report = report
        """How the question was answered."""

    @property
    def ids(self) -> npt.NDArray[Any]:
        """The external ids of the vertices of all versions, in ascending order of vertex numbers."""
        return self._vertices.ids

    @cached_property
    def values(self) -> npt.NDArray[Scalar]:
        """The values; shape `[version, vertex]`. Cost: a copy at the first use."""
        return np.stack([values[self._vertices.index] for values in self._by_version])

    def at(self, version: VersionChoice) -> Values[Scalar]:
        """Return the answer for a version of the window, as `Timeline.at` names one.

        Raises `KeyError` if the window has no such version.
        """
        moment, number, name = None, None, None
        match version:
            case Version():
                number = version.number
            case date() | np.datetime64():
                moment = microseconds(version)
            case str() if version.isascii() and version.isdigit():
                number = int(version)
            case str():
                moment = _native.date_of(version)
                name = version if moment is None else None
            case int() | np.integer() if not isinstance(version, bool):
                number = int(version)
        for at in reversed(range(len(self.versions))):
            known = self.versions[at]
            is_before = moment is not None and known.microseconds <= moment
            if is_before or known.number == number or (name is not None and known.name == name):
                return Values(self.report.kernel, self._vertices, self._by_version[at])
        raise KeyError(version)

    def of(self, vertex: Id) -> npt.NDArray[Scalar]:
        """Return the value of a vertex in each version.

        Raises `KeyError` if no version has it, `InvalidInputError` for what is no id.
        """
        if not is_id(vertex):
            raise no_id(vertex, "plot(9, 3) draws several, and to_pandas()[ids] has the values of several")
        row = self._vertices.row(vertex)
        if row is None:
            raise KeyError(vertex)
        at = self._vertices.index[row]
        return np.array([values[at] for values in self._by_version])

    def changed(self) -> npt.NDArray[Any]:
        """Return the external ids of the vertices whose value is not the same in all versions."""
        ids: npt.NDArray[Any] = self.ids[(self.values != self.values[0]).any(axis=0)]
        return ids

    def to_pandas(self, by: VersionLabel = "version") -> pandas.DataFrame:
        """Return a pandas frame: a row for each version, a column for each id; needs pandas.

        Rows are called by the numbers of versions, their times or their names.
        """
        import pandas

        rows = pandas.Index(self._labels(by), name=by)
        return pandas.DataFrame(self.values, rows, pandas.Index(self.ids, name="id"))

    def _labels(self, by: VersionLabel) -> list[Any]:
        match by:
            case "version":
                return [version.number for version in self.versions]
            case "time":
                return [version.time for version in self.versions]
            case "name":
                return [version.name for version in self.versions]
        raise InvalidInputError(f"by={by!r}: versions have a version, a time and a name")

    def _batches(self) -> Iterator[dict[str, _native.Array]]:
        count = len(self.ids)
        for version, values in zip(self.versions, self.values, strict=True):
            yield {
                "version": array_of(np.full(count, version.number, np.int64)),
                "time": _native.Array.of_times(np.full(count, version.microseconds, np.int64)),
                "id": self._vertices.array,
                "value": array_of(values),
            }

    def plot(
        self,
        *vertices: Id,
        by: VersionLabel = "version",
        ax: matplotlib.axes.Axes | None = None,
    ) -> matplotlib.axes.Axes:
        """Draw the value of some vertices over the versions; needs matplotlib.

        Without vertices, draws those that change most often, eight at most. What is not reached leaves a
        gap. The versions stand at their numbers, at their times, or one after the other by their names.
        Returns the axes.
        """
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
        from matplotlib.ticker import MaxNLocator

        is_ours = ax is None
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(figsize=(8, 4.5), layout="constrained")[1]
        drawn = list(vertices) or self._most_changed()
        places = self._labels(by)
        if by == "name":
            # One without a name, and the second of one name, have places of their own.
            places = list(range(len(places)))
        lines: list[matplotlib.lines.Line2D] = []
        for vertex in drawn:
            values = self.of(vertex).astype(float)
            has_marks = self.report.kernel in ("bfs", "wcc", "scc", "cdlp", "radii")
            is_missing = values < 0 if has_marks else ~np.isfinite(values)
            values[is_missing] = np.nan
            lines += ax.step(places, values, where="post", marker="o", markersize=3)
        ax.set_xlabel("" if by == "time" else by)
        ax.set_ylabel(_literal(self._question))
        if by == "version":
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        elif by == "name":
            names = [version.name or str(version.number) for version in self.versions]
            ax.set_xticks(places, list(map(_literal, names)), rotation=45, ha="right")
        else:
            locator = AutoDateLocator(tz=timezone.utc)  # type: ignore[no-untyped-call]
            shown = ConciseDateFormatter(locator, tz=timezone.utc)  # type: ignore[no-untyped-call]
            ax.xaxis.set_major_locator(locator)
            ax.xaxis.set_major_formatter(shown)
        if np.issubdtype(self._by_version[0].dtype, np.integer):
            ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        ax.spines[["top", "right"]].set_visible(False)
        labels = [_literal(vertex) for vertex in drawn]
        if labels and is_ours:
            ax.legend(lines, labels, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
        elif labels:
            ax.legend(lines, labels, frameon=False)
        return ax

    @property
    def _question(self) -> str:
        kernel, source = self.report.kernel, self.report.source
        return kernel if source is None else f"{kernel} from {source}"

    def _most_changed(self) -> list[Any]:
        changes = (self.values[1:] != self.values[:-1]).sum(axis=0)
        order = np.argsort(-changes, kind="stable")[:_PLOTTED]
        return list(self.ids[order[changes[order] > 0]].tolist())

    def __len__(self) -> int:
        return len(self.versions)

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        values = self.values if dtype is None else self.values.astype(dtype, copy=False)
        return values.copy() if copy else values

    def __repr__(self) -> str:
        lines = [f"{self._question} in {len(self):,} versions of {len(self.ids):,} vertices"]
        shown = list(zip(self.versions, self.report.versions, strict=True))
        for version, answer in shown[:_SHOWN]:
            result = ", ".join(f"{key} {value}" for key, value in answer["result"].items())
            name = f"  {version.name}" if version.name else ""
            lines.append(f"  {version.number:>4}  {result}{name}")
        if len(shown) > _SHOWN:
            lines.append("  ...")
        return "\n".join(lines)


def _literal(name: Id) -> str:
    """Return what matplotlib shows as this text, not as a formula."""
    return str(name).replace("$", r"\$")
