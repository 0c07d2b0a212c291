"""What can go wrong with a graph in shards beside what can with one graph."""

from __future__ import annotations

from everedge._errors import EveredgeError


class ShardLostError(EveredgeError):
    """A worker that holds a shard is gone, and no other one can open it: says which shard, and what to do."""


class StaleError(EveredgeError):
    """The graph was opened anew since a batch was sent: it is not in the graph, and may be sent again."""
