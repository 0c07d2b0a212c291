"""What NetworkX learns of the backend when it is imported."""

from __future__ import annotations

from typing import Any

from everedge._networkx.table import FUNCTIONS


def get_info() -> dict[str, Any]:
    """Return the name of the backend and its functions, in the form that NetworkX asks for."""
    return {
        "backend_name": "everedge",
        "project": "everedge",
        "package": "everedge",
        "short_summary": "A durable live graph store and analytics engine: its graphs are opened, others are converted once.",
        "functions": {name: {"additional_docs": _docs(name)} for name in FUNCTIONS},
    }


def _docs(name: str) -> str:
    native = FUNCTIONS[name]
    left = f" Left to NetworkX: {native.limits}." if native.limits else ""
    return f"Answered by {native.by}.{left}"
