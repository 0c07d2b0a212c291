"""A program that hands columns out through Arrow's C stream interface, made by hand, so that it can do it wrong."""

from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int64, c_void_p, pointer

import numpy as np


class Schema(Structure):
    pass


Schema._fields_ = [
    ("format", c_char_p),
    ("name", c_char_p),
    ("metadata", c_char_p),
    ("flags", c_int64),
    ("n_children", c_int64),
    ("children", POINTER(POINTER(Schema))),
    ("dictionary", POINTER(Schema)),
    ("release", CFUNCTYPE(None, POINTER(Schema))),
    ("private_data", c_void_p),
]


class Array(Structure):
    pass


Array._fields_ = [
    ("length", c_int64),
    ("null_count", c_int64),
    ("offset", c_int64),
    ("n_buffers", c_int64),
    ("n_children", c_int64),
    ("buffers", POINTER(c_void_p)),
    ("children", POINTER(POINTER(Array))),
    ("dictionary", POINTER(Array)),
    ("release", CFUNCTYPE(None, POINTER(Array))),
    ("private_data", c_void_p),
]


class Stream(Structure):
    pass


Stream._fields_ = [
    ("get_schema", CFUNCTYPE(c_int, POINTER(Stream), POINTER(Schema))),
    ("get_next", CFUNCTYPE(c_int, POINTER(Stream), POINTER(Array))),
    ("get_last_error", CFUNCTYPE(c_void_p, POINTER(Stream))),
    ("release", CFUNCTYPE(None, POINTER(Stream))),
    ("private_data", c_void_p),
]

new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [c_void_p, c_char_p, c_void_p]

# What others read is never collected: there is little of it.
KEPT: list[object] = []

Column = tuple[str, bytes, list["np.ndarray | None"]]
"""A name, a type in the letters of the interface, and buffers."""


@CFUNCTYPE(None, POINTER(Schema))
def release_schema(schema):  # type: ignore[no-untyped-def]
    schema[0].release = type(schema[0].release)()


@CFUNCTYPE(None, POINTER(Array))
def release_array(array):  # type: ignore[no-untyped-def]
    array[0].release = type(array[0].release)()


class Producer:
    """A table of these columns, handed out batch by batch by functions of Python, which need the GIL."""

    def __init__(
        self,
        columns: list[Column],
        rows: int,
        *,
        batches: int = 1,
        error: bytes | None = None,
        name: bytes = b"arrow_array_stream",
    ) -> None:
        self.columns, self.rows, self.batches = columns, rows, batches
        self.error, self.name = error, name
        self.released = 0
        self.stream: Stream | None = None

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        if self.stream is None:
            self.stream = self._new_stream()
        return new_capsule(ctypes.addressof(self.stream), self.name, None)

    def _new_stream(self) -> Stream:
        stream = Stream()
        left = [self.batches]
        error = ctypes.create_string_buffer(self.error or b"")

        def get_schema(_, out):  # type: ignore[no-untyped-def]
            out[0] = self._schema()
            return 0

        def get_next(_, out):  # type: ignore[no-untyped-def]
            if left[0] == 0:
                if self.error is not None:
                    return 5
                out[0].release = type(out[0].release)()
                return 0
            left[0] -= 1
            out[0] = self._array()
            return 0

        def release(stream):  # type: ignore[no-untyped-def]
            self.released += 1
            stream[0].release = type(stream[0].release)()

        types = {name: kind for name, kind in Stream._fields_}
        stream.get_schema = types["get_schema"](get_schema)
        stream.get_next = types["get_next"](get_next)
        stream.get_last_error = types["get_last_error"](lambda _: ctypes.addressof(error))
        stream.release = types["release"](release)
        KEPT.extend([stream, error, stream.get_schema, stream.get_next, stream.get_last_error, stream.release])
        return stream

    def _schema(self) -> Schema:
        children = [
            pointer(Schema(kind, name.encode(), None, 2, 0, None, None, release_schema, None))
            for name, kind, _ in self.columns
        ]
        places = (POINTER(Schema) * len(children))(*children)
        KEPT.extend([children, places])
        return Schema(b"+s", b"", None, 0, len(children), places, None, release_schema, None)

    def _array(self) -> Array:
        children = [self._column(buffers) for _, _, buffers in self.columns]
        places = (POINTER(Array) * len(children))(*children)
        none = (c_void_p * 1)(None)
        KEPT.extend([children, places, none])
        return Array(self.rows, 0, 0, 1, len(children), none, places, None, release_array, None)

    def _column(self, buffers: list[np.ndarray | None]) -> ctypes._Pointer[Array]:
        addresses = [None if buffer is None else buffer.ctypes.data for buffer in buffers]
        places = (c_void_p * len(buffers))(*addresses)
        KEPT.extend([places, buffers])
        return pointer(Array(self.rows, 0, 0, len(buffers), 0, places, None, None, release_array, None))


def integers(name: str, values: list[int]) -> Column:
    """Return a column of 64-bit integers."""
    return name, b"l", [None, np.array(values, np.int64)]


def texts(name: str, text: bytes, ends: list[int]) -> Column:
    """Return a column of texts that end in `text` at these places."""
    return name, b"u", [None, np.array([0, *ends], np.int32), np.frombuffer(text, np.uint8)]
