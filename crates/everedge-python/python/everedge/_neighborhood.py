"""The picture of a neighborhood: who has an edge to a vertex on the left, to whom it has one on the right.

Columns stand for hops. The sizes of names are measured before anything is placed, so that no name is cut and none lies
on another: names become smaller, then break into lines, and at last the figure becomes wider.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from everedge._columns import whole
from everedge._errors import InvalidInputError

if TYPE_CHECKING:
    import matplotlib.axes

    from everedge._reading import Direction
    from everedge._snapshot import Snapshot

WIDTH = 6.0
"""The width of a figure in inches, unless names need more."""

_HEIGHT_MIN = 1.8
_MARGIN = 0.12
# Between two columns: room for arrows, and for arrows with weights.
_GAP = 0.7
_GAP_WEIGHTED = 1.1
_LINE = 1.25
_FONT_SIZES = (9.0, 8.0, 7.0)
_LETTERS_MIN = 12
_CENTER_LETTERS = 14
# More edges than so many among the vertices shown are a gray mass: then only those between columns are drawn.
_OTHERS_MAX = 120


@dataclass(eq=False)
class Node:
    """A vertex of the picture."""

    number: int
    text: str
    column: int
    """0 for the vertex in the middle, negative on the left."""
    lines: list[str] = field(default_factory=list)
    width: float = 0.0
    """Of its name, in inches."""
    x: float = 0.0
    y: float = 0.0

    @property
    def ends(self) -> tuple[float, float]:
        """Where edges from the left and from the right meet it."""
        pad = 0.06
        if self.column == 0:
            return self.x - self.width / 2 - 0.1, self.x + self.width / 2 + 0.1
        if self.column > 0:
            return self.x, self.x + self.width + 2 * pad
        return self.x - self.width - 2 * pad, self.x


@dataclass
class Column:
    """Vertices so many hops away, on one side."""

    nodes: list[Node]
    found: int
    """How many there are, of which some are left out."""
    head: str
    x: float = 0.0


@dataclass
class Neighborhood:
    """What is drawn."""

    columns: dict[int, Column]
    edges: dict[tuple[int, int], list[float]]
    """The weights of the edges between vertices that are shown, by their numbers."""
    directed: bool
    weighted: bool

    @property
    def nodes(self) -> dict[int, Node]:
        """The vertices by number."""
        return {node.number: node for column in self.columns.values() for node in column.nodes}


def neighborhood(view: Snapshot, center: int, hops: int, limit: int, direction: Direction) -> Neighborhood:
    """Return the vertices up to so many hops away, `limit` of them at most, and their edges.

    Of more, those with the heaviest edges are taken, without weights those with the most edges. Vertices farther away are
    those that the ones taken lead to.
    """
    hops, limit = whole(hops, "hops", 1), whole(limit, "limit", 1)
    if direction not in ("out", "in", "both"):
        raise InvalidInputError(f'direction={direction!r}: "out", "in" or "both"')
    sides = {"out": (1,), "in": (-1,), "both": (1, -1)}[direction] if view.directed else (1,)
    taken, columns = {center}, {0: ([center], 1)}
    for hop in range(1, hops + 1):
        found = {side: _next(view, columns[(hop - 1) * side][0], side, taken) for side in sides}
        left = limit + 1 - len(taken)
        # Hops that come later, of which there may be none, are left two thirds at most.
        room = max(left // min(hops + 1 - hop, 3), min(left, 1))
        if len(found) == 2:
            # Who is on both sides stands on the right.
            found[-1] = {number: weight for number, weight in found[-1].items() if number not in found[1]}
        for at, side in enumerate(sorted(sides, key=lambda side: len(found[side]))):
            chosen = _heaviest(view, found[side], room // (len(sides) - at))
            room -= len(chosen)
            taken.update(chosen)
            columns[hop * side] = chosen, len(found[side])
        if not any(columns[hop * side][0] for side in sides):
            break
    edges = _edges_between(view, taken)
    names = dict(zip(sorted(taken), view._names(np.array(sorted(taken), np.uint32)).tolist(), strict=True))
    shown: dict[int, Column] = {}
    for at, (numbers, count) in columns.items():
        nodes = [Node(number, _text(names[number]), at) for number in numbers]
        if nodes or abs(at) == 1:
            shown[at] = Column(nodes, count, _head(at, len(nodes), count, view.directed))
    return Neighborhood(dict(sorted(shown.items())), edges, view.directed, view.weighted)


def draw(shown: Neighborhood, ax: matplotlib.axes.Axes | None) -> matplotlib.axes.Axes:
    """Draw a neighborhood; return the axes."""
    gap = _GAP_WEIGHTED if shown.weighted else _GAP
    width = WIDTH if ax is None else _inches(ax)[0]
    size, needed = _fit(shown, width, gap)
    width = max(width, needed)
    step = size * _LINE / 72
    tallest = max(sum(max(len(node.lines), 1) for node in column.nodes) for column in shown.columns.values())
    height = max((tallest + 4) * step + 2 * _MARGIN, _HEIGHT_MIN)
    if ax is None:
        from matplotlib import pyplot as plt

        figure = plt.figure(figsize=(width, height))
        ax = figure.add_axes((0, 0, 1, 1))
    else:
        height = max(height, _inches(ax)[1])
    ax.set(xlim=(0, width), ylim=(0, height))
    ax.set_axis_off()
    _place(shown, width, height, step, needed)
    _draw_edges(ax, shown, size)
    _draw_names(ax, shown, size, height)
    return ax


def _next(view: Snapshot, numbers: list[int], side: int, taken: set[int]) -> dict[int, float]:
    """Return the vertices one hop on that are not taken, with the sum of the weights that lead there."""
    if not numbers:
        return {}
    direction: Direction = "out" if side > 0 else "in"
    src, dst, weight = view._native.edges_of(np.array(numbers, np.uint32), direction if view.directed else "out")
    others = dst if side > 0 else src
    found, places = np.unique(others, return_inverse=True)
    sums = np.bincount(places, weight, len(found))
    return {
        number: heavy for number, heavy in zip(found.tolist(), sums.tolist(), strict=True) if number not in taken
    }


def _heaviest(view: Snapshot, found: dict[int, float], count: int) -> list[int]:
    """Return `count` of the vertices found, those of the heaviest edges or else of the most edges first."""
    numbers = np.array(list(found), np.uint32)
    out, into = view._native.degrees_of(numbers)
    edges = out.astype(np.int64) + into
    weights = np.array(list(found.values())) if view.weighted else np.zeros(len(numbers))
    order = np.lexsort((numbers, -edges, -weights))[: max(count, 0)]
    return [int(number) for number in numbers[order]]


def _edges_between(view: Snapshot, taken: set[int]) -> dict[tuple[int, int], list[float]]:
    """Return the weights of the edges between vertices."""
    edges: dict[tuple[int, int], list[float]] = {}
    numbers = np.array(sorted(taken), np.uint32)
    src, dst, weight = view._native.edges_of(numbers, "out")
    inside = np.isin(dst, numbers)
    for u, v, w in zip(src[inside].tolist(), dst[inside].tolist(), weight[inside].tolist(), strict=True):
        # Without directions an edge is in the lists of both its ends.
        if view.directed or u <= v:
            edges.setdefault((u, v), []).append(w)
    return edges


def _text(name: Any) -> str:
    """Return a name as it is drawn."""
    text = " ".join(str(name).split()) if isinstance(name, str) else str(name)
    return text or '""'


def _head(column: int, shown: int, found: int, directed: bool) -> str:
    """Return what stands over a column."""
    if column == 0:
        return ""
    count = f"{found:,}" if shown == found else f"{shown:,} of {found:,}"
    side = "neighbors" if not directed else "out" if column > 0 else "in"
    hops = side if abs(column) == 1 else f"{abs(column)} hops {side if directed else ''}".strip()
    return f"{hops}\n{count}"


def _inches(ax: matplotlib.axes.Axes) -> tuple[float, float]:
    """Return the width and height of axes."""
    box = ax.get_window_extent()
    dpi = ax.get_figure(root=True).dpi  # type: ignore[union-attr]
    return box.width / dpi, box.height / dpi


@lru_cache(maxsize=4096)
def _width(text: str, size: float, weight: str = "normal") -> float:
    """Return the width of a text in inches."""
    if not text:
        return 0.0
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    look = FontProperties(size=size, weight=weight)
    return float(text_to_path.get_text_width_height_descent(text, look, ismath=False)[0]) / 72


def _fit(shown: Neighborhood, width: float, gap: float) -> tuple[float, float]:
    """Choose the size of letters and the lines of names so that columns fit; return the size and the width that they need."""
    for size in _FONT_SIZES:
        needed = _measure(shown, size, gap, None)
        if needed <= width:
            return size, needed
    letters = max(len(node.text) for node in shown.nodes.values())
    while letters > _LETTERS_MIN:
        letters -= 2
        needed = _measure(shown, size, gap, letters)
        if needed <= width:
            break
    return size, needed


def _measure(shown: Neighborhood, size: float, gap: float, letters: int | None) -> float:
    """Break names into lines of so many letters; return the width that all columns need."""
    total = 2 * _MARGIN
    for at, column in shown.columns.items():
        for node in column.nodes:
            most = min(letters or _CENTER_LETTERS, _CENTER_LETTERS) if at == 0 else letters
            node.lines = textwrap.wrap(node.text, most) if most else [node.text]
            weight = "bold" if at == 0 else "normal"
            node.width = max(_width(line, size, weight) for line in node.lines)
        head = max(_width(line, size) for line in column.head.split("\n"))
        total += max([head, *(node.width for node in column.nodes)]) + (0.2 if at == 0 else 0.12)
    return total + gap * (len(shown.columns) - 1)


def _place(shown: Neighborhood, width: float, height: float, step: float, needed: float) -> None:
    """Give every vertex its place: columns from left to right, rows from the middle outward."""
    columns = shown.columns
    spare = (width - needed) / max(len(columns) - 1, 1)
    gap = spare + (_GAP_WEIGHTED if shown.weighted else _GAP)
    size = step * 72 / _LINE
    left = _MARGIN + ((width - needed) / 2 if len(columns) == 1 else 0)
    for at, column in columns.items():
        head = max(_width(line, size) for line in column.head.split("\n"))
        wide = max([head, *(node.width for node in column.nodes)]) + (0.2 if at == 0 else 0.12)
        x = left + wide / 2 if at == 0 else left if at > 0 else left + wide
        left += wide + gap
        column.x = x
        for node in column.nodes:
            node.x = x
    for at in sorted(columns, key=abs):
        column = columns[at]
        _order(shown, at)
        tall = sum(len(node.lines) for node in column.nodes) * step
        room = height - 2 * _MARGIN - 3 * step
        # Few vertices are spread, not far.
        air = min((room - tall) / max(len(column.nodes), 1), 1.5 * step) if column.nodes else 0.0
        y = _MARGIN + room / 2 + (tall + air * len(column.nodes)) / 2
        for node in column.nodes:
            own = len(node.lines) * step + air
            node.y = y - own / 2
            y -= own


def _order(shown: Neighborhood, at: int) -> None:
    """Order a column that is more than one hop away by the places of those who lead there."""
    if abs(at) < 2:
        return
    nodes = shown.nodes
    nearer = at - 1 if at > 0 else at + 1

    def place(node: Node) -> float:
        ends = [v if u == node.number else u for u, v in shown.edges if node.number in (u, v)]
        places = [nodes[end].y for end in ends if nodes[end].column == nearer]
        return -sum(places) / max(len(places), 1)

    shown.columns[at].nodes.sort(key=place)


def _draw_edges(ax: matplotlib.axes.Axes, shown: Neighborhood, size: float) -> None:
    """Draw the edges, and their weights or how many there are."""
    nodes = shown.nodes
    pairs: dict[tuple[int, int], dict[bool, list[float]]] = {}
    for (u, v), weights in shown.edges.items():
        low, high = min(u, v), max(u, v)
        pairs.setdefault((low, high), {})[u <= v] = weights
    steps = {pair for pair in pairs if abs(nodes[pair[0]].column - nodes[pair[1]].column) == 1}
    loops = {pair for pair in pairs if pair[0] == pair[1]}
    others = [pair for pair in pairs if pair not in steps and pair not in loops]
    for pair in others if len(others) <= _OTHERS_MAX else []:
        _draw_other(ax, shown, nodes[pair[0]], nodes[pair[1]], pairs[pair])
    for pair in steps:
        _draw_step(ax, shown, nodes[pair[0]], nodes[pair[1]], pairs[pair], size)
    for number, _ in loops:
        _draw_loop(ax, nodes[number], shown, pairs[number, number][True], size)
    if len(others) > _OTHERS_MAX:
        say = f"{len(others):,} edges inside of a column, or past one, are left out"
        ax.text(_MARGIN, _MARGIN / 2, say, size=size - 1, color="0.4", va="bottom")


def _arrow(shown: Neighborhood, ways: Iterable[bool]) -> str:
    """Return how the ends of a line from the lower number to the higher one look."""
    if not shown.directed:
        return "-"
    both = set(ways)
    return "<|-|>" if len(both) == 2 else "-|>" if True in both else "<|-"


def _draw_step(
    ax: matplotlib.axes.Axes,
    shown: Neighborhood,
    low: Node,
    high: Node,
    ways: dict[bool, list[float]],
    size: float,
) -> None:
    """Draw the edges between two vertices of neighboring columns."""
    from matplotlib.patches import FancyArrowPatch

    left, right = (low, high) if low.column < high.column else (high, low)
    start, end = (left.ends[1], left.y), (right.ends[0], right.y)
    points = (start, end) if left is low else (end, start)
    arrow = FancyArrowPatch(*points, arrowstyle=_arrow(shown, ways), mutation_scale=9, shrinkA=2, shrinkB=2)
    arrow.set(color="0.45", linewidth=0.8, zorder=1)
    ax.add_patch(arrow)
    label = _label(shown, ways, to_right=left is low)
    if label:
        # Beside the vertex farther away, where lines have come apart.
        part = 0.72 if right.column > 0 else 0.28
        x, y = start[0] + part * (end[0] - start[0]), start[1] + part * (end[1] - start[1])
        box = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none"}
        ax.text(x, y, label, size=size - 1.5, color="0.25", ha="center", va="center", bbox=box, zorder=3)


def _draw_other(
    ax: matplotlib.axes.Axes, shown: Neighborhood, low: Node, high: Node, ways: dict[bool, list[float]]
) -> None:
    """Draw the edges between two vertices of one column, or of columns with others between them."""
    from matplotlib.patches import FancyArrowPatch

    bend = 0.0
    if low.column == high.column:
        # Toward the middle, where no names are, and not far.
        bend = min(0.35, 0.3 / max(abs(low.y - high.y), 0.1))
        bend = -bend if (low.y < high.y) == (low.column > 0) else bend
    points = (low.x, low.y), (high.x, high.y)
    arrow = FancyArrowPatch(
        *points, arrowstyle=_arrow(shown, ways), connectionstyle=f"arc3,rad={bend}", mutation_scale=7, shrinkA=3, shrinkB=3
    )
    arrow.set(color="0.75", linewidth=0.6, zorder=0)
    ax.add_patch(arrow)


def _draw_loop(
    ax: matplotlib.axes.Axes, node: Node, shown: Neighborhood, weights: list[float], size: float
) -> None:
    """Say that a vertex has an edge to itself: over the one in the middle, and before the dots of others."""
    label = _label(shown, {True: weights}, to_right=False)
    text = f"\N{CLOCKWISE OPEN CIRCLE ARROW} {label}".strip()
    if node.column == 0:
        top = node.y + len(node.lines) * size * _LINE / 144 + 0.06
        ax.text(node.x, top, text, size=size, color="0.25", ha="center", va="bottom")
    else:
        side = "right" if node.column > 0 else "left"
        x = node.x - 0.06 if node.column > 0 else node.x + 0.06
        ax.text(x, node.y, text, size=size - 1.5, color="0.25", ha=side, va="bottom", zorder=3)


def _label(shown: Neighborhood, ways: dict[bool, list[float]], *, to_right: bool) -> str:
    """Return the weights of the edges between two vertices, or how many there are if there are several."""

    def said(weights: list[float]) -> str:
        if not shown.weighted:
            return f"{len(weights)}\N{MULTIPLICATION SIGN}" if len(weights) > 1 else ""
        if len(weights) > 2:
            return f"{len(weights)}\N{MULTIPLICATION SIGN} {sum(weights):.4g}"
        return ", ".join(f"{weight:.4g}" for weight in weights)

    if len(ways) == 1:
        [weights] = ways.values()
        return said(weights)
    # Of edges both ways each has the arrow of its own.
    texts = [said(ways[to_right]), said(ways[not to_right])]
    arrows = "\N{RIGHTWARDS ARROW}", "\N{LEFTWARDS ARROW}"
    return " ".join(f"{arrow}{text}" for arrow, text in zip(arrows, texts, strict=True) if text)


def _draw_names(ax: matplotlib.axes.Axes, shown: Neighborhood, size: float, height: float) -> None:
    """Draw the vertices, their names, and what stands over the columns."""
    for at, column in shown.columns.items():
        side = "left" if at > 0 else "right"
        for node in column.nodes:
            text = "\n".join(map(_literal, node.lines))
            if at == 0:
                box = {"boxstyle": "round,pad=0.35", "facecolor": "#dbe9f6", "edgecolor": "C0"}
                ax.text(node.x, node.y, text, size=size, weight="bold", ha="center", va="center", bbox=box, zorder=4)
                continue
            ax.plot(node.x, node.y, "o", markersize=4, color="C0", zorder=4)
            x = node.x + (0.06 if at > 0 else -0.06)
            ax.text(x, node.y, text, size=size, ha=side, va="center", linespacing=1.15, zorder=4)
        if column.head:
            ax.text(column.x, height - _MARGIN, column.head, size=size, color="0.4", ha=side, va="top", linespacing=1.1)
    if len(shown.nodes) == 1:
        x = shown.columns[0].nodes[0].x
        ax.text(x, height - _MARGIN, "no neighbors", size=size, color="0.4", ha="center", va="top")


def _literal(name: str) -> str:
    """Return what matplotlib shows as this text, not as a formula."""
    return name.replace("$", r"\$")
