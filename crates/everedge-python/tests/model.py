"""The naive model: a list of edges in insertion order, and kernels that anybody can read."""

from __future__ import annotations

from collections import Counter, deque

Edge = tuple[int, int]


class Model:
    """A directed multigraph."""

    def __init__(self) -> None:
        self.edges: list[Edge] = []
        self.vertices: set[int] = set()

    def add_edges(self, edges: list[Edge]) -> None:
        """Insert edges."""
        self.edges += edges
        self.vertices.update(v for edge in edges for v in edge)

    def delete_edges(self, edges: list[Edge]) -> tuple[int, int]:
        """Delete the newest occurrence of each; return how many were there and were not."""
        found = 0
        for edge in edges:
            if edge in self.edges:
                self.edges.reverse()
                self.edges.remove(edge)
                self.edges.reverse()
                found += 1
        return found, len(edges) - found

    def delete_vertex(self, v: int) -> int:
        """Delete a vertex and its edges; return how many edges."""
        kept = [edge for edge in self.edges if v not in edge]
        count = len(self.edges) - len(kept)
        self.edges = kept
        self.vertices.discard(v)
        return count

    def neighbors(self, v: int) -> Counter[int]:
        """Return the out-neighbors with their multiplicity."""
        return Counter(dst for src, dst in self.edges if src == v)

    def depths(self, source: int) -> dict[int, int]:
        """Return the steps from `source`, -1 if there are none."""
        depth = dict.fromkeys(self.vertices, -1)
        depth[source] = 0
        queue = deque([source])
        while queue:
            u = queue.popleft()
            for v in self.neighbors(u):
                if depth[v] < 0:
                    depth[v] = depth[u] + 1
                    queue.append(v)
        return depth

    def components(self) -> dict[int, int]:
        """Return the smallest vertex of each vertex's component."""
        label = {v: v for v in self.vertices}
        is_changing = True
        while is_changing:
            is_changing = False
            for u, v in self.edges:
                low = min(label[u], label[v])
                is_changing |= label[u] != low or label[v] != low
                label[u] = label[v] = low
        return label

    def ranks(self, iterations: int) -> dict[int, float]:
        """Return PageRank with damping 0.85 after some iterations."""
        count = len(self.vertices)
        rank = dict.fromkeys(self.vertices, 1 / count)
        degree = Counter(src for src, _ in self.edges)
        for _ in range(iterations):
            dangling = sum(rank[v] for v in rank if not degree[v])
            base = 0.15 / count + 0.85 * dangling / count
            after = dict.fromkeys(self.vertices, base)
            for u, v in self.edges:
                after[v] += 0.85 * rank[u] / degree[u]
            rank = after
        return rank
