"""Charts as inline SVG: drawn for a width in pixels, with the colors of the page's style."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

FONT = 12.0
"""Size of the letters in pixels, as in the style."""
_NARROW = {**dict.fromkeys("ijl'.,:|!", 0.30), **dict.fromkeys("frt- ()", 0.40), **dict.fromkeys("mwMW%@…", 0.90)}

Point = tuple[float, float]


class Drawing:
    """Shapes and text; positions are in pixels from the upper left corner."""

    def __init__(self, width: float, height: float) -> None:
        self.width = width
        self.height = height
        self._body: list[str] = []

    def line(self, kind: str, start: Point, end: Point) -> None:
        """Draw a straight line."""
        x1, y1, x2, y2 = map(_number, (*start, *end))
        self._body.append(f'<line class="{kind}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>')

    def rect(self, kind: str, at: Point, size: Point, hover: str = "") -> None:
        """Draw a box, with a text to show on hover."""
        x, y, width, height = map(_number, (*at, max(size[0], 0.0), max(size[1], 0.0)))
        box = f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="2">'
        self._body.append(f"{box}{_shown_on(hover)}</rect>")

    def circle(self, kind: str, at: Point, radius: float, hover: str = "") -> None:
        """Draw a dot, with a text to show on hover."""
        x, y, r = map(_number, (*at, radius))
        self._body.append(f'<circle class="{kind}" cx="{x}" cy="{y}" r="{r}">{_shown_on(hover)}</circle>')

    def path(self, kind: str, points: Sequence[Point]) -> None:
        """Draw a line through points."""
        if points:
            way = "L".join(f"{_number(x)} {_number(y)}" for x, y in points)
            self._body.append(f'<path class="{kind}" d="M{way}"/>')

    def ticks(self, kind: str, places: Iterable[float], top: float, height: float) -> None:
        """Draw many upright lines of one height as one shape."""
        way = "".join(f"M{_number(x)} {_number(top)}v{_number(height)}" for x in places)
        if way:
            self._body.append(f'<path class="{kind}" d="{way}"/>')

    def text(self, kind: str, anchor: str, at: Point, text: str) -> None:
        """Write a line of text; `anchor` is `start`, `middle` or `end`."""
        x, y = map(_number, at)
        self._body.append(f'<text class="{kind}" text-anchor="{anchor}" x="{x}" y="{y}">{escape(text)}</text>')

    def html(self, kind: str, title: str) -> str:
        """Return the drawing as an element that screen readers can name."""
        view = f"0 0 {_number(self.width)} {_number(self.height)}"
        name = escape(title, quote=True)
        return f'<svg class="{kind}" role="img" viewBox="{view}" aria-label="{name}">\n' + "\n".join(self._body) + "\n</svg>"


def text_width(text: str) -> float:
    """Return the estimated width of a text, a little too wide for common fonts."""
    return FONT * sum(_NARROW.get(letter, 0.7 if letter.isupper() else 0.6) for letter in text)


def ticks_of(least: float, most: float, count: int) -> list[float]:
    """Return round numbers between two, about so many."""
    span = max(most - least, 1e-9)
    power = 10.0 ** math.floor(math.log10(span / count))
    step = next(power * factor for factor in (1, 2, 5, 10) if span / (power * factor) <= count)
    first = math.ceil(least / step - 1e-9)
    return [number * step for number in range(first, math.floor(most / step + 1e-9) + 1)]


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _shown_on(hover: str) -> str:
    return f"<title>{escape(hover)}</title>" if hover else ""


def sunflower(width: float, kinds: Sequence[str], hovers: Sequence[str]) -> Drawing:
    """Draw a dot for each thing, from the middle outwards."""
    drawing = Drawing(width, width)
    middle = width / 2
    gap = (middle - 8) / math.sqrt(max(len(kinds), 1))
    for place, (kind, hover) in enumerate(zip(kinds, hovers, strict=True)):
        radius, angle = gap * math.sqrt(place + 0.5), place * math.pi * (3 - math.sqrt(5))
        drawing.circle(kind, (middle + radius * math.cos(angle), middle + radius * math.sin(angle)), gap * 0.72, hover)
    return drawing


@dataclass
class Span:
    """A time in which a worker had a shard open."""

    kind: str
    label: str
    start: float
    end: float


@dataclass
class Lane:
    """A worker over time."""

    label: str
    begun: float
    ended: float
    """The end of the chart if it lived on."""
    is_killed: bool = False
    spans: list[Span] = field(default_factory=list)
    marks: list[float] = field(default_factory=list)
    """When batches that it brought were acknowledged."""


@dataclass
class Timeline:
    """A curve over time, and below it what each worker had open."""

    start: float
    end: float
    curves: list[list[Point]]
    curve_title: str
    kill: float
    opened: float
    """When all that was lost was open again."""
    lanes: list[Lane]


_LEFT = 40.0
_CURVE_HEIGHT = 190.0
_BAR_HEIGHT = 17.0
_BAR_GAP = 3.0
_LABEL_HEIGHT = 20.0
_RUG_HEIGHT = 11.0
_LANE_GAP = 14.0


def timeline(width: float, of: Timeline) -> Drawing:
    """Draw the curve, the kill, and a lane for each worker."""
    left, right, top = _LEFT, width - 10.0, 46.0
    rows = [max(_rows(lane.spans), default=0) + 1 if lane.spans else 0 for lane in of.lanes]
    heights = [
        _LABEL_HEIGHT + row * (_BAR_HEIGHT + _BAR_GAP) + (_RUG_HEIGHT if lane.marks else 0) + _LANE_GAP
        for row, lane in zip(rows, of.lanes, strict=True)
    ]
    lanes_top = top + _CURVE_HEIGHT + 48.0
    drawing = Drawing(width, lanes_top + sum(heights))

    def x(at: float) -> float:
        return left + (min(max(at, of.start), of.end) - of.start) / (of.end - of.start) * (right - left)

    most = max((y for curve in of.curves for _, y in curve), default=1.0)

    def y(value: float) -> float:
        return top + _CURVE_HEIGHT * (1 - value / most)

    bottom = lanes_top + sum(heights) - _LANE_GAP
    drawing.rect("gap", (x(of.kill), top), (max(x(of.opened) - x(of.kill), 1.0), bottom - top))
    for value in ticks_of(0, most, 5):
        drawing.line("grid", (left, y(value)), (right, y(value)))
        drawing.text("tick", "end", (left - 6, y(value) + 4), f"{value:,.0f}")
    for tick in ticks_of(0, of.end - of.start, 8 if width > 500 else 5):
        at = x(of.start + tick)
        drawing.line("axis", (at, top + _CURVE_HEIGHT), (at, top + _CURVE_HEIGHT + 5))
        drawing.text("tick", "middle", (at, top + _CURVE_HEIGHT + 19), f"{tick:g} s")
    drawing.line("axis", (left, top + _CURVE_HEIGHT), (right, top + _CURVE_HEIGHT))
    drawing.text("title", "start", (0, 12), of.curve_title)
    for curve in of.curves:
        drawing.path("line first", [(x(at), y(value)) for at, value in curve])
    _kill_line(drawing, of, (x(of.kill), x(of.opened)), (top, bottom), right)
    at = lanes_top
    for lane, row, height in zip(of.lanes, rows, heights, strict=True):
        _lane(drawing, lane, x, at, row)
        at += height
    return drawing


def _kill_line(drawing: Drawing, of: Timeline, at: Point, reach: Point, right: float) -> None:
    drawing.line("kill-line", (at[0], reach[0] - 6), (at[0], reach[1]))
    label = f"killed; open again after {of.opened - of.kill:.2g} s"
    fits = at[0] + text_width(label) * 1.16 < right
    drawing.text("kill-text", "start" if fits else "end", (at[0] if fits else right, reach[0] - 12), label)


def _lane(drawing: Drawing, lane: Lane, x: Callable[[float], float], top: float, rows: int) -> None:
    drawing.text("lane", "start", (_LEFT, top + 11), lane.label)
    middle = top + _LABEL_HEIGHT + rows * (_BAR_HEIGHT + _BAR_GAP)
    if not rows:
        drawing.line("alive", (x(lane.begun), top + _LABEL_HEIGHT - 3), (x(lane.ended), top + _LABEL_HEIGHT - 3))
    for span, row in zip(lane.spans, _rows(lane.spans), strict=True):
        start, end = x(span.start), x(span.end)
        y = top + _LABEL_HEIGHT + row * (_BAR_HEIGHT + _BAR_GAP)
        drawing.rect(span.kind, (start, y), (max(end - start, 2.0), _BAR_HEIGHT), f"{lane.label}: {span.label}")
        if end - start > text_width(span.label) + 14:
            drawing.text("on-bar", "start", (start + 6, y + 12.5), span.label)
    drawing.ticks("rug", map(x, lane.marks), middle, _RUG_HEIGHT - 3)
    if lane.is_killed:
        at, y = x(lane.ended), top + _LABEL_HEIGHT + rows * (_BAR_HEIGHT + _BAR_GAP) / 2 - 2
        for sign in (-1, 1):
            drawing.line("cross", (at - 6, y - 6 * sign), (at + 6, y + 6 * sign))


def _rows(spans: Sequence[Span]) -> list[int]:
    """Return in which row each span has room."""
    ends: list[float] = []
    rows = []
    for span in spans:
        row = next((row for row, end in enumerate(ends) if end <= span.start), len(ends))
        ends[row:row + 1] = [span.end]
        rows.append(row)
    return rows


@dataclass
class Steps:
    """The supersteps of a kernel."""

    title: str
    sent: list[int]
    """Bytes before each of them."""
    seconds: list[float]


def supersteps(width: float, kernels: Sequence[Steps]) -> Drawing:
    """Draw two columns for each superstep: upwards what was sent, downwards how long it took."""
    title, half, gap, left = 26.0, 62.0, 34.0, 62.0
    drawing = Drawing(width, (title + 2 * half + gap) * len(kernels) - gap + 12)
    for number, kernel in enumerate(kernels):
        top = number * (title + 2 * half + gap)
        axis = top + title + half
        drawing.text("value", "start", (0, top + 12), kernel.title)
        room = (width - left) / max(len(kernel.sent), 1)
        thick = min(room * 0.8, 26.0)
        sent_most, longest = max(kernel.sent, default=1) or 1, max(kernel.seconds, default=1.0) or 1.0
        for step, (sent, seconds) in enumerate(zip(kernel.sent, kernel.seconds, strict=True)):
            at = left + min(room, 34.0) * step
            hover = f"superstep {step + 1}: {sized(sent)}, {1e3 * seconds:.1f} ms"
            height = half * sent / sent_most
            drawing.rect("bar", (at, axis - height), (thick, max(height, 0.6)), hover)
            drawing.rect("bar-other", (at, axis + 1), (thick, max(half * seconds / longest, 0.6)), hover)
        drawing.line("axis", (left, axis + 0.5), (width, axis + 0.5))
        drawing.text("tick first-text", "end", (left - 8, axis - half + 10), sized(sent_most))
        drawing.text("tick second-text", "end", (left - 8, axis + half), f"{1e3 * longest:.0f} ms")
    return drawing


def sized(count: float) -> str:
    """Return bytes in the unit that suits them."""
    for unit in ("B", "kB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} MB"


@dataclass
class Bar:
    """A bar with a name, in parts."""

    name: str
    parts: list[tuple[str, float, str]]
    """Of each the kind, the length, and what is shown on hover."""
    shown: str


def bars(width: float, all_bars: Sequence[Bar]) -> Drawing:
    """Draw bars from top to bottom, the longest as wide as there is room."""
    row, thick, gap = 26.0, 16.0, 8.0
    left = min(1.05 * max((text_width(bar.name) for bar in all_bars), default=0.0), width * 0.45) + gap
    right = width - max((text_width(bar.shown) * 1.16 for bar in all_bars), default=0.0) - gap
    full = max((sum(length for _, length, _ in bar.parts) for bar in all_bars), default=1.0) or 1.0
    drawing = Drawing(width, row * len(all_bars) + 4)
    for number, bar in enumerate(all_bars):
        y = number * row + 4
        drawing.text("name", "end", (left - gap, y + 12.2), bar.name)
        at = left
        for kind, length, hover in bar.parts:
            size = (right - left) * length / full
            drawing.rect(kind, (at, y), (max(size - 1, 1.0), thick), f"{bar.name}: {hover}")
            at += size
        drawing.text("value", "start", (at + 6, y + 12.2), bar.shown)
    return drawing
