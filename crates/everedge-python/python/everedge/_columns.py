"""Columns of ids and weights: whatever holds them, as the arrays that the native half takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from everedge import _native
from everedge._errors import InvalidInputError

MAX_VERTEX_ID = (1 << 31) - 1
"""The largest id that is used as it is; larger ones go through the id map."""


@runtime_checkable
class ArrowColumn(Protocol):
    """A column that hands itself out through the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the column as a capsule."""


_Number = TypeVar("_Number", np.uint32, np.float32)


@runtime_checkable
class ArrowPiece(Protocol):
    """The same for one that hands itself out in one piece."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """Return its type and the column as capsules."""


Id: TypeAlias = int | str | np.integer[Any]
"""The external id of a vertex."""

Ids: TypeAlias = npt.ArrayLike | Iterable[Id] | ArrowColumn | Id
"""One id or a column of them."""

Names: TypeAlias = npt.NDArray[np.integer[Any]] | list[str]
"""A column of ids after its check: integers that are not negative, or strings."""


def names(column: Ids, what: str) -> Names:
    """Return a column of ids as integers or as strings; an array of integers is not copied.

    Raises `InvalidInputError`, with the row, for negative numbers, missing values and anything
    that is neither an integer nor a string; and for columns of both.
    """
    array = _array(column, what)
    if array.size == 0:
        return np.empty(0, np.uint32)
    if array.dtype.kind == "f" and isinstance(column, list | tuple) and not _has_floats(column):
        # NumPy has made floats of integers of 64 bits.
        array = np.asarray(column, object)
    if array.dtype.kind in "OUT":
        return _from_objects(array.tolist(), what)
    if array.dtype.kind not in "iu":
        hint = "; missing values turn integers into floats" if array.dtype.kind == "f" else ""
        raise InvalidInputError(f"{what}: ids are integers or strings, not {array.dtype}{hint}")
    if array.dtype.kind == "i" and array.min() < 0:
        _refuse(array < 0, array, what, "ids are not negative")
    return array


def kind(columns: Iterable[Names], chosen: str) -> str:
    """Return what a new graph's ids are: `dense`, `integer` or `text`.

    `chosen` is one of these, `map` for one of the two that go through the id map, or `auto`: then
    strings and sparse integers do.
    """
    if chosen in ("dense", "integer", "text"):
        return chosen
    columns = list(columns)
    if any(isinstance(column, list) for column in columns):
        return "text"
    if chosen == "map":
        return "integer"
    arrays = [column for column in columns if isinstance(column, np.ndarray) and column.size]
    largest = max((int(array.max()) for array in arrays), default=0)
    count = sum(array.size for array in arrays)
    return "dense" if _native.is_dense(largest, count) else "integer"


def dense(column: Names, what: str) -> npt.NDArray[np.uint32]:
    """Return integers as dense ids.

    Raises `InvalidInputError` for strings and for numbers above `MAX_VERTEX_ID`.
    """
    if isinstance(column, list):
        message = "the graph's ids are integers, not strings: give int(id), or create another graph with ids='text'"
        raise InvalidInputError(f"{what}: {message}")
    if column.size and column.max() > MAX_VERTEX_ID:
        rule = f"dense ids are at most {MAX_VERTEX_ID}; create another graph with ids='integer'"
        _refuse(column > MAX_VERTEX_ID, column, what, rule)
    return np.ascontiguousarray(column, np.uint32)


def integers(column: Names, what: str) -> npt.NDArray[np.uint64]:
    """Return integers as names of an id map. Raises `InvalidInputError` for strings."""
    if isinstance(column, list):
        raise InvalidInputError(
            f"{what}: the graph's ids are integers, not strings: give int(id), or create another graph with ids='text'"
        )
    return np.ascontiguousarray(column, np.uint64)


def texts(column: Names, what: str) -> list[str]:
    """Return strings as names of an id map. Raises `InvalidInputError` for integers."""
    if isinstance(column, list):
        return column
    if column.size:
        raise InvalidInputError(f"{what}: the graph's ids are strings, not integers: give str(id)")
    return []


def weights(
    column: npt.ArrayLike | ArrowColumn, count: int, round_weights: bool
) -> npt.NDArray[np.float32]:
    """Return `count` weights, as 32-bit floats that nobody else can reach.

    Raises `InvalidInputError` for what is not a number, for another count, and with the row for a
    number that 32 bits do not keep, unless `round_weights`: the rule that holds for files.
    """
    array = _array(column, "weight")
    if array.dtype.kind not in "iuf":
        raise InvalidInputError(f"weight: weights are numbers, not {array.dtype}")
    if len(array) != count:
        raise InvalidInputError(f"{count} edges and {len(array)} weights: give one an edge")
    if round_weights or np.can_cast(array.dtype, np.float32):
        return _private(np.ascontiguousarray(array, np.float32), array)
    if array.dtype.kind == "f":
        return _native.weights(np.ascontiguousarray(array, np.float64))
    if array.dtype.kind == "u":
        return _native.weights(np.ascontiguousarray(array, np.uint64))
    return _native.weights(np.ascontiguousarray(array, np.int64))


def weights_for(
    is_weighted: bool, column: npt.ArrayLike | ArrowColumn | None, count: int, round_weights: bool
) -> npt.NDArray[np.float32] | None:
    """Return the weights of `count` edges of a graph that has weights or not, as `weights` does."""
    if (column is not None) != is_weighted:
        what = "has weights: give one an edge"
        if not is_weighted:
            what = "has no weights: leave it out, or create another graph with weighted=True"
        raise InvalidInputError(f"weight: the graph {what}")
    return None if column is None else weights(column, count, round_weights)


def check_lengths(src: Names, dst: Names) -> None:
    """Raise `InvalidInputError` unless every source has one destination."""
    if len(src) != len(dst):
        raise InvalidInputError(
            f"{len(src)} sources and {len(dst)} destinations: give one destination a source"
        )


def is_id(name: object) -> bool:
    """Return whether something can be the id of a vertex: an integer or a string."""
    return isinstance(name, int | str | np.integer) and not isinstance(name, bool)


def word(name: Id) -> str:
    """Return an id as the text by which graphs find it."""
    if not is_id(name):
        raise no_id(name)
    # Members of an enumeration show themselves otherwise.
    return str.__str__(name) if isinstance(name, str) else str(int(name))


def no_id(name: object, several: str = "") -> InvalidInputError:
    """Return the error for what is given for an id, with what else somebody may mean, and what takes several ids."""
    hint = ""
    if isinstance(name, float | np.floating) and float(name).is_integer():
        hint = f"; int({name!r}) is one"
    elif isinstance(name, slice | Iterable) and not isinstance(name, bytes):
        hint = f"; here one is asked for{several and f': {several}'}"
    return InvalidInputError(f"{name!r} is no id: ids are integers or strings{hint}")


def told(parameters: dict[str, Id | float | bool | None]) -> list[tuple[str, str]]:
    """Return those parameters of a kernel that are given, as texts."""

    def text(name: str, value: Id | float | bool) -> str:
        if name == "source":
            return word(value)  # type: ignore[arg-type]
        if isinstance(value, bool | np.bool_):
            return str(bool(value)).lower()
        return repr(float(value)) if isinstance(value, float | np.floating) else word(value)

    return [(name, text(name, value)) for name, value in parameters.items() if value is not None]


def whole(value: object, name: str, least: int = 0) -> int:
    """Return a number that counts something. Raises `InvalidInputError` for another thing, and below `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InvalidInputError(f"{name}={value!r}: it must be a whole number from {least} on")
    return int(value)


def starts(sources: Ids | Mapping[Id, float] | None) -> str | None:
    """Return where a walk starts anew, as the text that a kernel is told."""
    if sources is None:
        return None
    import json

    if isinstance(sources, Mapping):
        return json.dumps({word(name): float(weight) for name, weight in sources.items()})
    return json.dumps([word(name) for name in names(sources, "sources")])


def _array(column: Any, what: str) -> npt.NDArray[Any]:
    if isinstance(column, bytes | bytearray | set | frozenset | dict):
        kind = type(column).__name__
        raise InvalidInputError(f"{what}: a column of ids or numbers has an order, not a {kind}")
    if isinstance(column, ArrowColumn | ArrowPiece) and not hasattr(column, "__array__"):
        column = _native.column(column, what)
        if isinstance(column, list):
            return np.array(column, object)
    elif isinstance(column, Iterable) and not hasattr(column, "__array__"):
        column = [column] if isinstance(column, str) else list(column)
    if isinstance(column, np.ma.MaskedArray) and np.ma.is_masked(column):
        row = int(np.ma.getmaskarray(column).ravel().argmax())
        raise InvalidInputError(f"{what}, row {row}: a missing value")
    array = np.asarray(column)
    if array.dtype.kind == "U" and isinstance(column, list):
        # NumPy has made strings of the numbers beside them.
        array = np.asarray(column, object)
    if array.ndim > 1:
        pairs = "; add_edges(*zip(*pairs)) makes columns of pairs" if what in ("src", "dst") else ""
        raise InvalidInputError(f"{what}: give one column, not an array of shape {array.shape}{pairs}")
    # In a message from elsewhere numbers may lie anywhere.
    return np.require(np.atleast_1d(array), requirements=["A"])


def _private(array: npt.NDArray[_Number], column: object) -> npt.NDArray[_Number]:
    """Return an array made of a column, copied if somebody else can reach it and change it while it is read."""
    return array if array is not column and array.base is None else array.copy()


def _has_floats(values: Iterable[Any]) -> bool:
    return any(isinstance(value, float | np.floating) for value in values)


def _from_objects(values: list[Any], what: str) -> Names:
    are_texts = isinstance(values[0], str)
    for row, value in enumerate(values):
        is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if value is None or value != value:
            hint = "ingest(table, skip_nulls=True) leaves such rows out"
            raise InvalidInputError(f"{what}, row {row}: a missing value ({value}); {hint}")
        if not (isinstance(value, str) if are_texts else is_integer):
            raise InvalidInputError(
                f"{what}, row {row}: {value!r}: ids of one column are all integers or all strings"
            )
        if not are_texts and not 0 <= value < 1 << 64:
            raise InvalidInputError(f"{what}, row {row}: {value}: ids are from 0 to 2^64 - 1")
    return values if are_texts else np.array(values, np.uint64)


def _refuse(wrong: npt.NDArray[np.bool_], array: npt.NDArray[Any], what: str, rule: str) -> None:
    """Raise for the first row that is `wrong`."""
    row = int(wrong.argmax())
    raise InvalidInputError(f"{what}, row {row}: {array[row]}: {rule}")


def vertices(
    native: _native.Graph | _native.Changer, names: Names, what: str
) -> npt.NDArray[np.uint32]:
    """Return the vertices of names in an array that nobody else can reach, making ids for new ones."""
    kind = native.id_kind()
    if kind == "dense":
        return _private(dense(names, what), names)
    if kind == "text":
        return native.intern_texts(texts(names, what))
    return native.intern_integers(integers(names, what))


def known_vertices(
    native: _native.Graph | _native.Changer | _native.View, names: Names, what: str
) -> npt.NDArray[np.int64]:
    """Return the vertices of names, -1 for an unknown one."""
    kind = native.id_kind()
    if kind == "dense":
        return dense(names, what).astype(np.int64)
    if kind == "text":
        return native.find_texts(texts(names, what))
    return native.find_integers(integers(names, what))
