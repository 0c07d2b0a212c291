"""What goes out as a stream of Arrow: answers, as tables that polars, DuckDB, pandas and pyarrow take."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from everedge import _native

if TYPE_CHECKING:
    import pyarrow

_WIDEST = {"i": np.int64, "u": np.uint64, "f": np.float64}


def array_of(column: npt.NDArray[Any]) -> _native.Array:
    """Return a column of numbers or strings as one of Arrow. Cost: a copy of it."""
    if column.dtype.kind == "O":
        return _native.Array.of_texts(column.tolist())
    if column.dtype.itemsize < 4:
        column = column.astype(_WIDEST[column.dtype.kind])
    return _native.Array.of_numbers(np.ascontiguousarray(column))


def stream_of(batches: Iterable[dict[str, _native.Array]]) -> object:
    """Return a capsule with a stream of batches, of which there is one at least."""
    batches = list(batches)
    return _native.stream(list(batches[0]), [list(columns.values()) for columns in batches])


class Tabular(ABC):
    """A table that hands itself out through the Arrow PyCapsule interface: `polars.DataFrame(x)`, `duckdb.sql("from x")`."""

    @abstractmethod
    def _batches(self) -> Iterable[dict[str, _native.Array]]:
        """Return some rows after the other: columns by name, the same in each."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return its rows as a stream of Arrow; of types, those of the table: another wish is left to who has it.

        Text is `large_string`, which every program takes, however much there is of it. Cost: a copy of the columns.
        """
        return stream_of(self._batches())

    def to_arrow(self) -> pyarrow.Table:
        """Return an Arrow table of the same columns as its stream has; needs pyarrow."""
        import pyarrow

        return pyarrow.table(self)


class Ids(np.ndarray[Any, np.dtype[Any]]):
    """External ids as an array, and as a table of one column, `id`, for whatever takes Arrow streams."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the ids as a stream of Arrow with the column `id`."""
        return stream_of([{"id": array_of(np.asarray(self))}])

    def __repr__(self) -> str:
        return repr(np.asarray(self))


@dataclass(frozen=True, eq=False)
class Edges(Tabular):
    """Edges, a column for each end, and one for weights if edges have them.

    It is taken apart as a tuple of three is, `src, dst, weight = snapshot.edges()`, and handed as a table to whatever takes Arrow
    streams.

    >>> import everedge, polars
    >>> graph = everedge.Graph("example", medium="dram")
    >>> graph.add_edges(["app", "lib"], ["lib", "libc"])
    >>> polars.DataFrame(graph.snapshot().edges()).rows()
    [('app', 'lib'), ('lib', 'libc')]
    """

    src: npt.NDArray[Any]
    """The external ids of sources."""
    dst: npt.NDArray[Any]
    """The external ids of destinations, as many."""
    weight: npt.NDArray[np.float32] | None
    """The weights, as many; `None` if edges have none."""

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return the columns by name, without weights if there are none."""
        columns = {"src": self.src, "dst": self.dst, "weight": self.weight}
        return {name: column for name, column in columns.items() if column is not None}

    def _batches(self) -> Iterable[dict[str, _native.Array]]:
        return [{name: array_of(column) for name, column in self.columns().items()}]

    def _as_tuple(
        self,
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[np.float32] | None]:
        return self.src, self.dst, self.weight

    def __iter__(self) -> Iterator[Any]:
        return iter(self._as_tuple())

    @overload
    def __getitem__(self, at: int) -> Any: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Any, ...]: ...
    def __getitem__(self, at: int | slice) -> Any:
        return self._as_tuple()[at]

    def __len__(self) -> int:
        return 3
