"""The bundled graph: which Debian package depends on which. Names are text there; the shards know numbers."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.parquet
from distributed import get_worker

import everedge
from everedge.cluster import _host

FILE = "debian-12-dependencies.tsv.zst"
ACKNOWLEDGED = "acknowledged"
"""The topic under which workers say which batches are durable (`Client.subscribe_topic`)."""


@dataclass
class Data:
    """The graph, with packages numbered in the order of their names."""

    names: npt.NDArray[Any]
    src: npt.NDArray[np.uint32]
    dst: npt.NDArray[np.uint32]
    source: str
    """Where it comes from."""

    def number(self, name: str) -> int:
        """Return the number of a package."""
        return int(np.searchsorted(self.names, name))


def ready() -> int:
    """Make a worker ready; returns its process.

    It has imported then what it needs to read edges, and says how far a kernel is at every superstep, not four times a second:
    the page shows each.
    """
    importlib.import_module("dask.bag")
    # The first column that becomes an array brings pandas along.
    np.asarray(pyarrow.table({"src": [0]})["src"])
    _host._TELL_SECONDS = 0.0
    return os.getpid()


def load(path: Path) -> Data:
    """Read the file."""
    with pyarrow.input_stream(path, compression="zstd") as file:
        head = file.read(4096).decode(errors="ignore")
    remarks = dict(line[2:].split(": ", 1) for line in head.splitlines() if line.startswith("# ") and ": " in line)
    with everedge.Graph("packages", medium="dram", ids="text") as graph:
        graph.ingest(path)
        edges = graph.snapshot().edges()
    names, numbers = np.unique(np.concatenate([edges.src, edges.dst]), return_inverse=True)
    src, dst = numbers.astype(np.uint32).reshape(2, -1)
    # In any other order than that of names, so that each batch has edges from everywhere.
    order = np.random.default_rng(12).permutation(src.size)
    source = f"{remarks['origin']}, release {remarks['release']}; a recommendation counts as a dependency"
    return Data(names, src[order], dst[order], source)


def write_edges(data: Data, path: Path, batch: int) -> int:
    """Write the edges as a Parquet file with a row group for each batch; returns how many there are."""
    table = pyarrow.table({"src": data.src, "dst": data.dst})
    pyarrow.parquet.write_table(table, path, row_group_size=batch)
    return int(pyarrow.parquet.read_metadata(path).num_row_groups)


@dataclass
class Share:
    """Some row groups of the file, which a worker reads by itself and sends as a batch each."""

    path: str
    groups: range
    batch: int
    """Edges of a batch."""

    def __iter__(self) -> Iterator[pyarrow.Table]:
        """Return a row group at a time. When the next one is asked for, the one before is acknowledged."""
        worker = get_worker()
        with pyarrow.parquet.ParquetFile(self.path) as file:
            for group in self.groups:
                table = file.read_row_group(group)
                yield table
                # The last batch of all has fewer edges, and is sent when there is no other.
                if table.num_rows == self.batch:
                    worker.log_event(ACKNOWLEDGED, {"batch": group, "worker": worker.address})
