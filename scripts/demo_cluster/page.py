"""The page of the demo: one HTML file that opens without a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from demo_cluster import charts
from demo_cluster.charts import Bar, Drawing, Lane, Span, Steps, Timeline
from demo_cluster.found import Found, Kill
from demo_cluster.watch import listed

_WIDE, _NARROW, _HERO = 720.0, 350.0, 400.0
_TITLES = {"pagerank": "PageRank", "bfs": "Search", "wcc": "Components", "kcore": "k-core"}

_STYLE = """
:root { --shard-0: #0b66a6; --shard-1: #c24e0a; --shard-2: #2f7d4f; --shard-3: #7a4fa3; --versions: #5c6166; --on-bar: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --shard-0: #64b5ea; --shard-1: #f4985a; --shard-2: #6cc48f; --shard-3: #bd9be0; --versions: #a4a9af; --on-bar: #15171a; }
}
.s0 { fill: var(--shard-0); } .s1 { fill: var(--shard-1); } .s2 { fill: var(--shard-2); } .s3 { fill: var(--shard-3); }
.sv { fill: var(--versions); }
svg .on-bar { fill: var(--on-bar); font-weight: 600; font-size: 11.5px; }
.gap { fill: var(--orange-pale); opacity: 0.6; }
.grid { stroke: var(--faint); stroke-width: 1; }
.kill-line { stroke: var(--orange); stroke-width: 1.5; }
svg .kill-text { fill: var(--orange); font-weight: 600; }
.cross { stroke: var(--orange); stroke-width: 3.5; stroke-linecap: round; }
.alive { stroke: var(--grey); stroke-width: 2; stroke-dasharray: 2 3; }
.rug { stroke: var(--ink); stroke-width: 1; opacity: 0.6; fill: none; }
.before { fill: var(--warm); } .after { fill: var(--cool); }
.part { fill: var(--blue); } .part-shared { fill: var(--blue-pale); }
.keyed { white-space: nowrap; }
svg .lane { fill: var(--soft); paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; }
.key { display: inline-block; width: 11px; height: 11px; border-radius: 2px; margin-right: 5px; }
.figures { align-content: start; gap: 26px; }
.figures pre { margin: 0; font-size: 12.5px; line-height: 1.5; }
.found { margin-top: 14px; font-size: 15px; color: var(--soft); }
.found b { color: var(--ink); font-weight: 600; }
@media screen and (max-width: 640px) {
  th, td { padding-right: 8px; }
  table, .figures pre { font-size: 12px; }
}
"""


@dataclass
class Figure:
    """A chart and what is said about it."""

    title: str
    caption: str
    draw: Callable[[float], Drawing]

    def html(self) -> str:
        """Return the chart for wide and for narrow screens."""
        drawn = [self.draw(width).html(kind, self.title) for width, kind in ((_WIDE, "wide"), (_NARROW, "narrow"))]
        return f"<figure><h3>{escape(self.title)}</h3>{''.join(drawn)}<figcaption>{self.caption}</figcaption></figure>"


def render(found: Found, style: str) -> str:
    """Return the page as one HTML document, in the style of the other pages."""
    title = headline(found)
    sections = [ingest(found), once(found), pagerank(found), supersteps(found), one_machine(found), ranking(found)]
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>everedge on a cluster: {escape(title)}</title><style>{style}{_STYLE}</style></head>
<body><header>{header(found, title)}</header><main>{''.join(sections)}</main><footer>{footer(found)}</footer></body></html>
"""


def headline(found: Found) -> str:
    """Return what came of it, in a line."""
    killed = f"Four workers, {_words(len(found.kills))} of them killed"
    if found.is_right:
        return f"{killed}, nothing lost"
    if found.lost or found.twice:
        return f"{killed}, {found.lost} batches lost, {found.twice} twice"
    return f"{killed}, and not every answer is right"


def header(found: Found, title: str) -> str:
    """Return title, picture and headline figures."""
    first = found.kills[0]
    done = sorted(found.acknowledged, key=lambda one: one.at)
    kinds = ["before" if one.at <= first.at else "after" for one in done]
    hovers = [f"batch {one.batch}: acknowledged after {one.at - found.ingest_begun:.2f} s" for one in done]
    picture = charts.sunflower(_HERO, kinds, hovers).html("hero", "A dot for each batch")
    caption = (
        f"A dot for each of {len(done)} durable batches, from the middle outwards in the order in which workers had them"
        f" acknowledged: {kinds.count('before')} before a worker was killed, {kinds.count('after')} after."
    )
    all_facts = [
        (f"{found.dependencies:,}", f"edges, in {found.batches} durable batches"),
        (f"{found.packages:,}", f"vertices, in {len(found.shards)} shards"),
        *(
            (f"{kill.open_seconds:.2g} s", f"until {_what(kill)} open again after the {ordinal} kill")
            for kill, ordinal in zip(found.kills, ("first", "second"), strict=True)
        ),
        (f"{found.lost + found.twice}", "batches lost or there twice"),
    ]
    facts = "".join(f"<div><dt>{escape(label)}</dt><dd>{escape(value)}</dd></div>" for value, label in all_facts)
    return f"""<div class="hero"><div><p class="kicker">everedge demo on a cluster</p><h1>{escape(title)}</h1>
<p class="lead">A graph in shards on workers of Dask. SIGKILL ends one worker while the edges come in, and another one in the middle
of PageRank. The data: {escape(found.source)}.</p></div>
<figure>{picture}<figcaption>{caption}</figcaption></figure></div>
<dl class="{'kept' if found.is_right else 'lost'}">{facts}</dl>"""


def ingest(found: Found) -> str:
    """Return the section about the kill while edges came in."""
    kill = found.kills[0]
    again = (
        f" Shares that were not at their end began anew: {found.again} of their batches had a version under their name"
        " already, and were passed over."
        if found.again else ""
    )
    missing = sum(kill.at < one.at < _opened(kill) for one in found.acknowledged)
    known = (
        " A stroke in the field is a batch that was durable on all shards before the kill; its worker asked again, and was"
        " told so."
        if missing else ""
    )
    words = (
        "Each worker reads its shares of the edges and sends batches to all shards. A batch is acknowledged when it is"
        f" durable on every shard that has a part of it. When {kill.during}, SIGKILL ended worker {kill.worker}, which had"
        f" {listed(kill.held)}: nobody can add a batch without it. {_reopening(kill)}{again}"
    )
    counted = [one.at for one in sorted(found.acknowledged, key=lambda one: one.at)]
    curve = [(found.ingest_begun, 0.0)]
    for number, at in enumerate(counted, 1):
        curve += [(at, number - 1.0), (at, float(number))]
    figure = Figure(
        "Batches acknowledged, and who had which shard",
        "Above all batches over time, below the workers: bars show what each had open, and thin strokes the batches that it"
        f" brought. The cross is SIGKILL, and the field behind the chart the time until the shard was open again.{known}",
        lambda width: charts.timeline(
            width,
            Timeline(
                found.ingest_begun, found.ingest_ended, [curve], "batches acknowledged", kill.at, _opened(kill),
                lanes(found, found.ingest_begun, found.ingest_ended, kill),
            ),
        ),
    )
    code = f"""
client = Client(LocalCluster(n_workers=4))
graph = everedge.cluster.Graph(client, "g")
# A share is an iterable of tables.
edges = dask.bag.from_delayed(shares)
graph.ingest(edges, batch={found.batch}, name="debian")
"""
    return section("A kill in the middle of the ingest", words, [figure], code)


def once(found: Found) -> str:
    """Return the section about what is in the shards."""
    if found.lost or found.twice:
        verdict = f"Of {found.lost} batches an edge is missing, and of {found.twice} one is there twice."
    else:
        verdict = f"Each of the {found.dependencies:,} edges is there, and each once: no batch is missing, and none came twice."
    words = (
        f"After the kill, the directories of the shards are read, and each edge is counted. {verdict} A shard has every edge"
        f" that begins or ends at one of its vertices, and vertex v belongs to shard v mod {len(found.shards)}; so an edge"
        " between two shards is in both."
    )
    figure = Figure(
        "Edges by shard",
        f"{_key('--blue', 'both ends')} in the shard &nbsp; {_key('--blue-pale', 'the other')} end belongs to another shard,"
        " which has the edge, too",
        lambda width: charts.bars(
            width,
            [
                Bar(
                    f"shard {one.shard}",
                    [("part", one.inside, f"{one.inside:,} inside"), ("part-shared", one.shared, f"{one.shared:,} shared")],
                    f"{one.inside + one.shared:,}",
                )
                for one in found.shards
            ],
        ),
    )
    code = """
path = "g/shard-0-of-4/graph"
shard = everedge.Graph(path, mode="r")
shard.snapshot().edges()
"""
    return section("Every batch, once", words, [figure], code)


def pagerank(found: Found) -> str:
    """Return the section about the kill in the middle of PageRank."""
    kill, run = found.kills[1], found.runs[0]
    words = (
        f"All shards answer from the same version, superstep by superstep. When {kill.during}, SIGKILL ended worker"
        f" {kill.worker}, which had {listed(kill.held)}. {_reopening(kill)} PageRank was begun again, for it had worked too"
        f" short a time to save what it knew, which it does every ten seconds; all {len(run.bytes_sent)} supersteps of the"
        f" second try took {run.seconds:.1f} s."
    )
    curves: list[list[tuple[float, float]]] = [[(run.begun, 0.0)]]
    for step in found.supersteps:
        if step.kernel == "pagerank":
            if step.step < curves[-1][-1][1]:
                curves.append([(step.at, 0.0)])
            curves[-1].append((step.at, float(step.step)))
    figure = Figure(
        "Supersteps of PageRank, and who had which shard",
        "Above the supersteps that all shards have done, below the workers. What the killed worker had open goes to others;"
        " a new process takes its place, and may open a shard the next time.",
        lambda width: charts.timeline(
            width,
            Timeline(
                run.begun, run.ended, curves, "supersteps done", kill.at, _opened(kill), lanes(found, run.begun, run.ended, kill)
            ),
        ),
    )
    code = f"""
rank = graph.{run.call}
rank.report.tries    # {run.tries}
"""
    return section("A kill in the middle of PageRank", words, [figure], code)


def supersteps(found: Found) -> str:
    """Return the section about what shards say to each other."""
    most = max(found.runs, key=lambda run: max(run.bytes_sent, default=0))
    words = (
        "In a superstep each shard works on its own vertices, and then tells the others what they need to know of those"
        f" that they see as the ends of their edges. At most that was {charts.sized(max(most.bytes_sent))} in one superstep,"
        " all shards together. A search says little, for it names only vertices that it has just met. Of cores fewer"
        " change with each superstep; components are told whenever two groups of shards are joined, and all at the end."
    )
    steps = [
        Steps(
            f"{_TITLES[run.kernel]}: {len(run.bytes_sent)} supersteps, {charts.sized(sum(run.bytes_sent))},"
            f" {run.seconds:.2f} s",
            run.bytes_sent,
            run.step_seconds,
        )
        for run in found.runs
    ]
    figure = Figure(
        "Each superstep",
        f"{_key('--blue', 'upwards:')} bytes that shards sent before it &nbsp; {_key('--orange', 'downwards:')} how long it"
        " took. Each kernel has scales of its own.",
        lambda width: charts.supersteps(width, steps),
    )
    calls = "\n".join(f"graph.{run.call}" for run in found.runs[1:])
    code = f"""
{calls}
rank.report.iterations
rank.report.bytes_sent
"""
    return section("What shards say to each other", words, [figure], code)


def one_machine(found: Found) -> str:
    """Return the section about the answers."""
    equal = sum(run.is_equal for run in found.runs)
    words = (
        f"The same edges in one graph in memory, asked the same: {equal} of {len(found.runs)} answers are equal at every"
        " vertex, ranks to the rounding of sums. A graph this small is quicker on one machine; shards are for graphs and"
        " rates of edges that one machine has no room for."
    )
    rows = "".join(
        f'<tr><td class="name">{_TITLES[run.kernel]}</td><td>{run.seconds:.2f} s</td><td>{_short(run.one_seconds)}</td>'
        f"<td>{'0' if not run.largest_difference else f'{run.largest_difference:.0e}'}</td></tr>"
        for run in found.runs
    )
    said = "".join(f'<p class="found"><b>{_TITLES[run.kernel]}:</b> {escape(run.outcome)}.</p>' for run in found.runs)
    table = (
        '<figure><h3>Answers side by side</h3><div class="table"><table><tr><th class="name">kernel</th><th>4 shards</th>'
        f"<th>one machine</th><th>difference</th></tr>{rows}</table></div>{said}"
        "<figcaption>Time of all supersteps, time of one machine with all its threads, and"
        " by how much values of a vertex differ at most; of ranks, in parts of the rank.</figcaption></figure>"
    )
    code = """
one = everedge.Graph("one", medium="dram")
one.add_edges(src, dst)
one.snapshot().kcore()
"""
    return section("The answers of one machine", words, [table], code)


def ranking(found: Found) -> str:
    """Return the section about the most depended-on packages."""
    name, rank = found.ranking[0]
    words = (
        "Follow dependencies at random, now and then starting anew at any package: PageRank is how often each one is visited."
        f" {name} takes {rank:.1%} of all visits. The shards know packages by number; names are put back at the end."
    )
    ranked = [Bar(name, [("bar", rank, f"{rank:.2%}")], f"{rank:.2%}") for name, rank in found.ranking]
    figure = Figure(
        "The most depended-on packages",
        "Share of the total PageRank that each package collects.",
        lambda width: charts.bars(width, ranked),
    )
    code = f"""
rank = graph.{found.runs[0].call}
[(names[v], r) for v, r in rank.top({len(found.ranking)})]
"""
    return section("What everything leans on", words, [figure], code)


def lanes(found: Found, start: float, end: float, kill: Kill) -> list[Lane]:
    """Return what each worker had open in a time."""
    spans: dict[int, list[Span]] = {worker.number: [] for worker in found.workers}
    last = {opened.what: opened for opened in found.opened if opened.at <= start}
    for opened in sorted(found.opened, key=lambda one: one.at):
        if opened.at > end or (opened.at <= start and last[opened.what] is not opened):
            continue
        worker = found.workers[opened.worker - 1]
        gone = kill.at if worker.number == kill.worker else worker.ended
        until = end if gone is None else min(gone, end)
        if until > start:
            kind = "sv" if opened.what == "versions" else f"s{int(opened.what.split()[1]) % 4}"
            spans[worker.number].append(Span(kind, opened.what, max(opened.at, start), until))
    alive = [worker for worker in found.workers if worker.begun <= end and (worker.ended is None or worker.ended >= start)]
    return [
        Lane(
            _label(found, worker.number, kill, start),
            max(worker.begun, start),
            kill.at if worker.number == kill.worker else end,
            worker.number == kill.worker,
            sorted(spans[worker.number], key=lambda span: (span.start, span.label == "versions", span.label)),
            [one.at for one in found.acknowledged if one.worker == worker.number and start <= one.at <= end],
        )
        for worker in alive
    ]


def section(title: str, words: str, figures: Sequence[Figure | str], code: str) -> str:
    """Return a heading with words and the lines of Python, and figures beside them."""
    shown = "".join(one if isinstance(one, str) else one.html() for one in figures)
    return (
        f'<section><div class="words"><h2>{escape(title)}</h2><p>{escape(words)}</p></div>'
        f'<div class="figures">{shown}<pre><code>{escape(code.strip())}</code></pre></div></section>'
    )


def footer(found: Found) -> str:
    """Return how the run can be repeated, and what it is based on."""
    facts = {"everedge": found.version, "machine": found.machine, "date": found.date, "data": found.source}
    said = "".join(f"<div><dt>{label}</dt><dd>{escape(value)}</dd></div>" for label, value in facts.items())
    return f"<dl>{said}</dl><p>To repeat this run:</p><pre><code>make demo-cluster</code></pre>"


def _key(color: str, words: str) -> str:
    """Return the first words about a color, and the color before them."""
    return f'<span class="keyed"><span class="key" style="background:var({color})"></span>{words}</span>'


def _label(found: Found, number: int, kill: Kill, start: float) -> str:
    worker = found.workers[number - 1]
    if number == kill.worker:
        return f"worker {number}, killed"
    return f"worker {number}, a new process" if worker.begun > start else f"worker {number}"


def _opened(kill: Kill) -> float:
    return kill.at + kill.open_seconds


def _reopening(kill: Kill) -> str:
    first = kill.opened[0]
    others = {opened.worker for opened in kill.opened}
    by = f"Worker {first.worker}" if len(others) == 1 else "Other workers"
    it = "it" if len(kill.held) == 1 else "both" if len(kill.held) == 2 else "all of it"
    waiting = ", when the other workers had given up reaching it" if kill.open_seconds > 1 else ""
    opened = f"{by} opened {it} from disk {kill.open_seconds:.2g} s later{waiting}"
    return f"{opened}; {kill.went_on - kill.at:.2g} s after the kill the work went on."


def _what(kill: Kill) -> str:
    return f"{listed(kill.held)} {'was' if len(kill.held) == 1 and kill.held != ['versions'] else 'were'}"


def _short(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1e3 * seconds:.0f} ms"


def _words(count: int) -> str:
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    return words[count] if count < len(words) else str(count)
