"""The picture of a neighborhood: what is on it, and that it can be read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest

import everedge

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")

from matplotlib.patches import FancyArrowPatch  # noqa: E402
from matplotlib.text import Text  # noqa: E402


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    matplotlib.pyplot.close("all")


def fresh(src: object, dst: object, weight: object = None, **options: object) -> everedge.Snapshot:
    graph = everedge.Graph("graph", medium="dram", weighted=weight is not None, **options)  # type: ignore[arg-type]
    graph.add_edges(src, dst, weight, round_weights=True)  # type: ignore[arg-type]
    return graph.snapshot()


def texts(ax: object) -> list[str]:
    return [text.get_text() for text in ax.texts]  # type: ignore[attr-defined]


def arrows(ax: object) -> list[str]:
    styles = [type(patch.get_arrowstyle()).__name__ for patch in ax.patches if isinstance(patch, FancyArrowPatch)]  # type: ignore[attr-defined]
    return sorted(styles)


def names(ax: object, known: set[str]) -> list[Text]:
    """Return the texts that are names; each is whole, with or without breaks."""
    found = []
    for text in ax.texts:  # type: ignore[attr-defined]
        if text.get_text().replace("\n", "").replace(" ", "") in known:
            found.append(text)
    return found


def test_who_points_to_it_stands_left_and_to_whom_it_points_right() -> None:
    s = fresh(["a", "me", "me", "b", "me"], ["me", "c", "b", "me", "d"])
    ax = s.plot_neighborhood("me")
    at = {text.get_text(): text.get_position()[0] for text in ax.texts}
    assert at["a"] < at["me"] < min(at["b"], at["c"], at["d"])
    assert {"in\n1", "out\n3"} <= set(at)
    assert arrows(ax) == ["CurveFilledAB", *["CurveFilledB"] * 3]
    only_out = s.plot_neighborhood("me", direction="out")
    assert "a" not in texts(only_out) and "in\n1" not in texts(only_out)


def test_arrows_end_where_edges_do() -> None:
    # Numbers in both orders: an edge from the lower to the higher one, and one back.
    for src, dst in ((0, 1), (1, 0)):
        ax = fresh([src], [dst]).plot_neighborhood(0)
        [arrow] = [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]
        [dot] = [line for line in ax.lines if len(line.get_xdata()) == 1]
        # The line goes from 0 to 1 on paper; its head says which way the edge leads.
        start, end = arrow._posA_posB
        at_one = dot.get_xdata()[0]
        assert abs(end[0] - at_one) < 1e-9 < abs(start[0] - at_one)
        assert arrows(ax) == (["CurveFilledB"] if (src, dst) == (0, 1) else ["CurveFilledA"])


def test_weights_stand_on_edges_and_several_are_counted() -> None:
    s = fresh(["me", "me", "me", "me", "me"], ["a", "b", "b", "me", "c"], [1.5, 2, 3, 7, 4])
    assert {"1.5", "2, 3", "4", "↻ 7"} <= set(texts(s.plot_neighborhood("me")))
    plain = fresh(["me", "me", "me"], ["a", "b", "b"])
    assert "2×" in texts(plain.plot_neighborhood("me"))
    both = fresh(["me", "a"], ["a", "me"], [5, 6])
    assert "→5 ←6" in texts(both.plot_neighborhood("me"))


def test_without_directions_there_are_no_arrows_and_one_side() -> None:
    s = fresh(["a", "me", "b"], ["me", "c", "c"], directed=False)
    ax = s.plot_neighborhood("me", hops=2)
    assert set(arrows(ax)) == {"Curve"}
    assert {"neighbors\n2", "2 hops\n1"} <= set(texts(ax))
    weighted = fresh(["a", "me"], ["me", "b"], [5, 6], directed=False).plot_neighborhood("me")
    assert {"5", "6"} <= set(texts(weighted))


def test_of_a_hub_the_heaviest_are_shown_and_the_others_counted() -> None:
    weight = np.arange(5000, dtype=np.float32)
    s = fresh(np.zeros(5000, int), np.arange(1, 5001), weight)
    ax = s.plot_neighborhood(0)
    assert "out\n40 of 5,000" in texts(ax)
    shown = {int(text) for text in texts(ax) if text.isdigit() and int(text) > 0}
    assert set(range(4961, 5001)) <= shown
    few = s.plot_neighborhood(0, limit=3)
    assert "out\n3 of 5,000" in texts(few)


def test_two_hops_lead_on_from_those_that_are_shown() -> None:
    s = fresh([0, 0, 1, 2, 3], [1, 2, 3, 3, 4])
    ax = s.plot_neighborhood(0, 2)
    assert {"out\n2", "2 hops out\n1"} <= set(texts(ax)) and "4" not in texts(ax)
    assert "4" in texts(s.plot_neighborhood(0, 3))
    # Nothing lies beyond.
    assert texts(s.plot_neighborhood(0, 10**9)) == texts(s.plot_neighborhood(0, 4))


def test_a_vertex_alone_is_a_picture() -> None:
    graph = everedge.Graph("graph", medium="dram")
    graph.add_vertices(["alone"])
    ax = graph.snapshot().plot_neighborhood("alone")
    assert {"alone", "no neighbors"} <= set(texts(ax))


@pytest.mark.parametrize("letters", [3, 40])
@pytest.mark.parametrize("hops", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_names_are_whole_and_lie_on_nothing(letters: int, hops: int, weighted: bool) -> None:
    rng = np.random.default_rng(letters)
    known = [f"{number:03d}" + "w" * (letters - 3) for number in range(80)]
    # 20 on each side, and others beyond them.
    src = [0] * 20 + list(range(21, 41)) + rng.integers(1, 41, 40).tolist()
    dst = list(range(1, 21)) + [0] * 20 + rng.integers(41, 80, 40).tolist()
    weight = rng.integers(1, 100, len(src)) if weighted else None
    ax = fresh([known[i] for i in src], [known[i] for i in dst], weight).plot_neighborhood(known[0], hops)
    figure = ax.figure
    figure.canvas.draw()
    found = names(ax, set(known))
    assert len(found) == (41 if hops == 1 else len({text.get_text() for text in found}))
    renderer = figure.canvas.get_renderer()
    boxes = [text.get_window_extent(renderer) for text in found]
    edge = figure.bbox
    for box in boxes:
        assert edge.x0 <= box.x0 and box.x1 <= edge.x1 and edge.y0 <= box.y0 and box.y1 <= edge.y1
    assert not any(
        min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 2
        for a, b in combinations(boxes, 2)
    )
    if letters == 3 or hops == 1:
        assert figure.get_size_inches()[0] == 6


def test_it_is_drawn_where_it_is_told_to() -> None:
    s = fresh(["a", "me"], ["me", "$b$"])
    figure, (one, two) = matplotlib.pyplot.subplots(1, 2, figsize=(10, 4))
    assert s.plot_neighborhood("me", ax=two) is two
    assert not one.texts and {"a", "me", r"\$b\$"} <= set(texts(two))
    figure.canvas.draw()


def test_what_cannot_be_drawn_is_said() -> None:
    s = fresh(["a"], ["b"])
    with pytest.raises(everedge.InvalidInputError, match="`zoe` is not in the graph"):
        s.plot_neighborhood("zoe")
    for wrong in ({"hops": 0}, {"limit": 0}, {"direction": "sideways"}):
        with pytest.raises(everedge.InvalidInputError, match=next(iter(wrong))):
            s.plot_neighborhood("a", **wrong)  # type: ignore[arg-type]


def test_a_sealed_graph_draws_the_same(tmp_path: object) -> None:
    s = fresh(["a", "me"], ["me", "c"])
    path = f"{tmp_path}/sealed"
    s.seal(path)
    with everedge.Chunks(path) as sealed:
        assert sorted(texts(sealed.plot_neighborhood("me"))) == sorted(texts(s.plot_neighborhood("me")))
