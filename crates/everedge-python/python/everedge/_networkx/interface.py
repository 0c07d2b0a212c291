"""The backend as NetworkX calls it."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from everedge._graph import Graph
from everedge._networkx.converted import converted
from everedge._networkx.opened import Opened, OpenedSnapshot
from everedge._networkx.table import FUNCTIONS
from everedge._snapshot import Snapshot


class Backend:
    """Converts graphs, says what it can run and what pays, and has the functions of the table as attributes."""

    def __getattr__(self, name: str) -> Any:
        native = FUNCTIONS.get(name)
        if native is None:
            raise AttributeError(f"the everedge backend has no `{name}`")
        function = getattr(import_module(f"everedge._networkx.{native.module}"), name)
        setattr(self, name, function)
        return function

    def convert_from_nx(self, graph: Any, *, name: str | None = None, **_: Any) -> Any:
        """Return a graph of NetworkX converted; attributes of edges are read when a function first asks for them.

        Raises `NotImplementedError` for what is no graph of NetworkX.
        """
        if isinstance(graph, Opened | Graph | Snapshot):
            return graph
        return converted(graph, name)

    def convert_to_nx(self, result: Any, *, name: str | None = None) -> Any:
        """Return a graph of this backend as a graph of NetworkX, and anything else as it is."""
        if isinstance(result, Opened):
            return result.to_networkx()
        if isinstance(result, Graph):
            return result.snapshot().to_networkx()
        return result.to_networkx() if isinstance(result, Snapshot) else result

    def can_run(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
        """Return whether a function can be tried, or why not. It may still leave some arguments to NetworkX."""
        if any(map(callable, [*args[1:], *kwargs.values()])):
            return "weights are attributes here, and orders are those of the graph: it takes no functions"
        # A search of the folders takes half a millisecond.
        return True if "scipy" in sys.modules or find_spec("scipy") else "it needs SciPy"

    def should_run(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
        """Return whether a function is faster here on a graph of NetworkX, or why not."""
        graph: Any = args[0] if args else kwargs["G"]
        native = FUNCTIONS[name]
        kept = getattr(graph, "__networkx_cache__", None) or {}
        is_kept = bool(kept.get("backends", {}).get("everedge"))
        least = native.least_kept if is_kept else native.least
        if least is None:
            return "NetworkX is faster" if is_kept else "converting the graph takes longer"
        if len(graph) >= least or len(graph) + graph.number_of_edges() >= least:
            return True
        return f"on fewer than {least} nodes and edges NetworkX is faster"


backend = Backend()
"""What the entry point `networkx.backends` names."""

__all__ = ["Backend", "OpenedSnapshot", "backend"]
