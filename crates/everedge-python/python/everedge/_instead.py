"""What errors say to a person who guesses a name or an argument as it is called elsewhere: the call that does it here.

Nothing here makes a wrong call work. The tables are imported only when a call has failed already; `_guiding.py` notices that.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

_LIBRARIES = "snapshot.to_networkx(), or to_igraph() of a subgraph(ids), goes on where everedge has no function"
_ATTRIBUTES = "vertices and edges keep no properties but one weight an edge: keep them in a table, and join by id"

NAMES = {
    # Changes.
    "add_edge": "graph.add_edges(src, dst)",
    "add_edges_from": "graph.add_edges(*zip(*pairs)), two columns in place of pairs",
    "add_node": "graph.add_vertices(id)",
    "add_nodes_from": "graph.add_vertices(ids)",
    "add_vertex": "graph.add_vertices(id)",
    "add_weighted_edges_from": "graph.add_edges(src, dst, weight), three columns, of a graph made with weighted=True",
    "append": "graph.add_edges(src, dst)",
    "clear": "another graph: everedge.Graph(new_path)",
    "delete_edge": "graph.delete_edges(src, dst)",
    "delete_vertices": "graph.delete_vertex(id), one at a time",
    "insert": "graph.add_edges(src, dst)",
    "insert_edges": "graph.add_edges(src, dst)",
    "remove_edge": "graph.delete_edges(src, dst)",
    "remove_edges": "graph.delete_edges(src, dst)",
    "remove_edges_from": "graph.delete_edges(*zip(*pairs)), two columns in place of pairs",
    "remove_node": "graph.delete_vertex(id)",
    "remove_nodes_from": "graph.delete_vertex(id), one at a time",
    "remove_vertex": "graph.delete_vertex(id)",
    "simplify": "everedge.Graph(path, simple=True) keeps one edge for a pair from the beginning",
    "to_directed": "everedge.Graph(path, directed=True), filled with snapshot.edges()",
    "to_undirected": "everedge.Graph(path, directed=False), filled with snapshot.edges()",
    "update": "graph.add_edges(src, dst)",
    # Keeping and opening.
    "begin": "graph.transaction()",
    "copy": "graph.snapshot() stays as it is now; graph.commit(name) keeps that on the medium",
    "checkpoint": "graph.sync(), or graph.commit(name) for a version",
    "dump": "all that a call has put into the graph is on its medium when the call returns; graph.close() at the end",
    "flush": "graph.sync()",
    "load": "everedge.open(path)",
    "rollback": "an exception in the block of `with graph.transaction() as t:` gives it up",
    "save": "all that a call has put into the graph is on its medium when the call returns; graph.close() at the end",
    "version": "graph.timeline.versions",
    "versions": "graph.timeline.versions",
    "write": "snapshot.export(file)",
    "write_edgelist": "snapshot.export(file)",
    # Files and tables.
    "from_csv": "graph.ingest(file)",
    "from_edgelist": "graph.add_edges(*zip(*pairs)), two columns in place of pairs",
    "from_edges": "graph.add_edges(*zip(*pairs)), two columns in place of pairs",
    "from_file": "graph.ingest(file)",
    "from_numpy": "graph.add_edges(array[:, 0], array[:, 1])",
    "from_numpy_array": "everedge.Graph.from_scipy(scipy.sparse.csr_array(array))",
    "from_pandas_edgelist": "everedge.Graph.from_pandas(frame, src, dst, weight)",
    "from_scipy_sparse_array": "everedge.Graph.from_scipy(matrix)",
    "load_csv": "graph.ingest(file)",
    "read": "graph.ingest(file)",
    "read_csv": "graph.ingest(file)",
    "read_edgelist": "graph.ingest(file)",
    "read_parquet": "graph.ingest(file)",
    "Read_Edgelist": "graph.ingest(file)",
    "Read_Ncol": "graph.ingest(file)",
    "TupleList": "graph.add_edges(*zip(*pairs)), two columns in place of pairs",
    "to_csv": "snapshot.export(file), or snapshot.to_pandas().to_csv(file)",
    "to_dict_of_lists": "snapshot.neighbors(id), or snapshot.edges()",
    "to_edgelist": "snapshot.to_pandas()",
    "to_pandas_edgelist": "snapshot.to_pandas()",
    "to_parquet": "snapshot.export(file), or snapshot.to_pandas().to_parquet(file)",
    "to_polars": "polars.DataFrame(snapshot)",
    "to_scipy_sparse_array": "snapshot.to_scipy()",
    "to_numpy_array": "snapshot.to_scipy().toarray()",
    # Graphs of other libraries.
    "connect": "everedge.Graph(path), a directory",
    "create": "everedge.Graph(path), a directory, opens or creates",
    "DiGraph": "everedge.Graph(path, simple=True)",
    "Database": "everedge.Graph(path), a directory",
    "MultiDiGraph": "everedge.Graph(path)",
    "MultiGraph": "everedge.Graph(path, directed=False)",
    # What is there.
    "adj": "snapshot.neighbors(id), or snapshot.to_scipy() for all",
    "adjacency": "snapshot.neighbors(id), or snapshot.to_scipy() for all",
    "are_adjacent": "snapshot.has_edge(src, dst)",
    "are_connected": "snapshot.has_edge(src, dst)",
    "ecount": "snapshot.num_edges",
    "edge_count": "snapshot.num_edges",
    "edges_df": "snapshot.to_pandas()",
    "es": "snapshot.edges()",
    "get_adjacency": "snapshot.to_scipy()",
    "get_adjacency_sparse": "snapshot.to_scipy()",
    "get_edge": "snapshot.has_edge(src, dst), or snapshot.weight(src, dst)",
    "get_edge_data": "snapshot.weight(src, dst)",
    "get_edgelist": "snapshot.edges(), columns in place of pairs",
    "get_edges": "snapshot.edges()",
    "get_node_attributes": _ATTRIBUTES,
    "get_edge_attributes": _ATTRIBUTES,
    "has_node": "id in snapshot",
    "has_vertex": "id in snapshot",
    "in_edges": 'snapshot.edges_of(ids, "in")',
    "indegree": "snapshot.in_degree()",
    "is_weighted": "snapshot.weighted",
    "node_count": "snapshot.num_vertices",
    "nodes": "snapshot.vertices",
    "num_nodes": "snapshot.num_vertices",
    "number_of_edges": "snapshot.num_edges",
    "number_of_nodes": "snapshot.num_vertices",
    "number_of_vertices": "snapshot.num_vertices",
    "order": "snapshot.num_vertices",
    "out_edges": "snapshot.edges_of(ids)",
    "out_neighbors": "snapshot.neighbors(id)",
    "outdegree": "snapshot.out_degree()",
    "set_edge_attributes": _ATTRIBUTES,
    "set_node_attributes": _ATTRIBUTES,
    "size": "snapshot.num_edges",
    "successors": "snapshot.neighbors(id)",
    "summary": "graph.stats()",
    "info": "graph.stats()",
    "describe": "graph.stats()",
    "vcount": "snapshot.num_vertices",
    "vertex_count": "snapshot.num_vertices",
    "vs": "snapshot.vertices",
    "weights": "snapshot.edges()[2], or snapshot.weight(src, dst)",
    # Around a vertex.
    "all_neighbors": 'snapshot.within(id, 1, "both")',
    "ancestors": 'snapshot.within(id, hops, "in")',
    "descendants": "snapshot.bfs(id), where it is not everedge.UNREACHED",
    "dijkstra": "snapshot.sssp(id), or snapshot.shortest_path(source, target)",
    "dijkstra_path": "snapshot.shortest_path(source, target)",
    "distances": "snapshot.bfs(id), or snapshot.sssp(id) by weights",
    "draw": "snapshot.plot_neighborhood(id)",
    "ego_graph": "snapshot.subgraph(snapshot.within(id, hops)[0])",
    "get_shortest_path": "snapshot.shortest_path(source, target)",
    "get_shortest_paths": "snapshot.shortest_path(source, target), or snapshot.predecessors(snapshot.bfs(source))",
    "has_path": "snapshot.shortest_path(source, target) is not None",
    "induced_subgraph": "snapshot.subgraph(ids)",
    "k_hop": "snapshot.within(id, hops)",
    "neighborhood": "snapshot.within(id, hops)",
    "neighbours": "snapshot.neighbors(id)",
    "path_length": "snapshot.shortest_path(source, target).length",
    "shortest_path_length": "snapshot.shortest_path(source, target).length",
    "shortest_paths": "snapshot.bfs(id), or snapshot.sssp(id) by weights",
    "single_source_dijkstra_path_length": "snapshot.sssp(id)",
    "single_source_shortest_path_length": "snapshot.bfs(id)",
    # Kernels.
    "authority_score": "snapshot.hits()",
    "average_clustering": "snapshot.lcc().values.mean()",
    "betweenness_centrality": 'snapshot.bc(convention="networkx")',
    "closeness_centrality": "snapshot.closeness()",
    "communities": "snapshot.leiden()",
    "community_leiden": "snapshot.leiden()",
    "community_multilevel": "snapshot.louvain()",
    "components": "snapshot.wcc(), or snapshot.scc() along directions",
    "coreness": "snapshot.kcore()",
    "degree_centrality": "snapshot.degree()",
    "diameter": "networkx.diameter(snapshot)",
    "density": "networkx.density(snapshot.to_networkx())",
    "eigenvector_centrality": "snapshot.eigenvector()",
    "harmonic_centrality": "snapshot.harmonic()",
    "hub_score": "snapshot.hits()",
    "is_connected": "len(snapshot.wcc().top(2)) == 1",
    "jaccard": "snapshot.similarity(src, dst)",
    "jaccard_coefficient": "snapshot.similarity(src, dst)",
    "k_core": "snapshot.kcore(k=k)",
    "katz_centrality": "snapshot.katz()",
    "louvain_communities": "snapshot.louvain()",
    "minimum_spanning_tree": "snapshot.spanning_forest()",
    "number_connected_components": 'snapshot.wcc().report.result["components"]',
    "page_rank": "snapshot.pagerank()",
    "spanning_tree": "snapshot.spanning_forest()",
    "topological_sorting": "snapshot.topological_order()",
    "transitivity_undirected": "snapshot.lcc()",
    "weakly_connected_components": "snapshot.wcc()",
    "cliques": _LIBRARIES,
    "maxflow": _LIBRARIES,
    "isomorphic": _LIBRARIES,
    "max_weight_matching": _LIBRARIES,
    # Drawing.
    "plot": "snapshot.plot_neighborhood(id), and the plot() of what a kernel answers",
    "show": "snapshot.plot_neighborhood(id), and the plot() of what a kernel answers",
}
"""What a graph, a snapshot, a sealed graph or the package is asked for elsewhere, and what does that here."""

VALUES = {
    "argmax": "values.top(1)[0][0]",
    "argsort": "values.ids[values.values.argsort()]",
    "describe": "values.to_pandas().describe()",
    "head": "values.top(count), the largest; values.to_pandas().head() for the first",
    "idxmax": "values.top(1)[0][0]",
    "iloc": "values.values[place]",
    "keys": "values.ids, or values.to_dict().keys()",
    "loc": "values.to_pandas().loc[ids]",
    "max": "values.values.max()",
    "mean": "values.values.mean()",
    "median": "values.to_pandas().median()",
    "membership": "values.values",
    "subgraphs": "snapshot.subgraph(ids) of each of values.groups()",
    "min": "values.values.min()",
    "most_common": "values.top(count)",
    "nlargest": "values.top(count)",
    "nsmallest": "values.to_pandas().nsmallest(count)",
    "hist": "values.plot()",
    "shape": "values.values.shape",
    "sizes": "values.top(count), the largest groups with their sizes",
    "sort_values": "values.to_pandas().sort_values(), or values.top(count)",
    "sum": "values.values.sum()",
    "tail": "values.to_pandas().nsmallest(count)",
    "to_csv": "values.to_pandas().to_csv(file)",
    "to_frame": "values.to_pandas().to_frame()",
    "to_list": "values.values.tolist()",
    "to_numpy": "values.values",
    "to_parquet": "values.to_pandas().to_frame().to_parquet(file)",
    "to_polars": "polars.DataFrame(values)",
    "tolist": "values.values.tolist()",
    "value_counts": "values.to_pandas().value_counts()",
}
"""The same of what a kernel answers."""

PATH = {
    "cost": "path.length",
    "distance": "path.length",
    "edges": "zip(path.vertices, path.vertices[1:])",
    "nodes": "path.vertices",
    "weight": "path.length",
}
"""The same of a path."""

VERSIONS = {
    "add": "graph.commit(name)",
    "checkout": "timeline.at(version)",
    "commit": "graph.commit(name)",
    "diff": "timeline.difference(earlier, later)",
    "get": "timeline.at(version)",
    "last": "timeline.versions[-1]",
    "latest": "timeline.at(timeline.versions[-1])",
    "snapshot": "timeline.at(version)",
}
"""The same of the versions of a graph."""

ITEMS = {
    "Graph": "a graph changes, and has no items: graph.snapshot() has .vertices, .num_vertices, .neighbors(id) and `id in`",
    "Snapshot": "a snapshot has no items: .vertices are its ids, .num_vertices how many, .neighbors(id) those of one",
    "Chunks": "a sealed graph has no items: .vertices are its ids, .num_vertices how many, .neighbors(id) those of one",
    "Timeline": "timeline.at(version) is the graph of a version, timeline.versions are all",
    "Path": "path.vertices are the vertices of a path, path.length its length",
    "WindowValues": "steps.of(id) is the value of a vertex in each version, steps.at(version) the answer for a version",
    "Window": "timeline.at(version) is the graph of a version; a window is asked for all at once, as window.pagerank()",
}
"""What is said for `graph[...]`, `len(graph)` and `for ... in graph`."""

KEYWORDS = {
    # Making and filling graphs.
    "columns": "src=, dst= and weight= name columns",
    "create_using": "directed= and simple= say what kind of graph it is",
    "edge_attr": "weight= names the column of weights",
    "edges": "src and dst are two columns; add_edges(*zip(*pairs)) makes them of pairs",
    "from_": "src=",
    "in_memory": 'medium="dram"',
    "message": "commit(name)",
    "multigraph": "simple=True keeps one edge for a pair; without, it has all",
    "names": "src=, dst= and weight= name columns; header=False says that there are no names",
    "limit": "top(count) of the answer",
    "read_only": 'mode="r"',
    "readonly": 'mode="r"',
    "sep": "delimiter=",
    "target": "dst= for edges; shortest_path(source, target) for a way",
    "to": "dst= for edges; shortest_path(source, target) for a way",
    "usecols": "src=, dst= and weight= name columns",
    "weights": "weight=",
    # Asking.
    "alpha": "damping= for PageRank; katz(alpha=) has one",
    "backend": "that is an argument of functions of NetworkX",
    "cutoff": "within(id, hops) ends after so many edges",
    "depth_limit": "within(id, hops) ends after so many edges",
    "k": "samples= for bc; kcore(k=) has one",
    "mode": 'direction="out", "in" or "both", where a question has one',
    "max_iter": "iterations=",
    "n_jobs": "threads=",
    "normalized": 'bc(convention="networkx") is the part of all pairs',
    "num_threads": "threads=",
    "order": "within(id, hops)",
    "personalization": "personalized_pagerank(sources=)",
    "radius": "hops=",
    "root": "source=",
    "source": "src= for edges, as they leave it",
    "start": "source=",
    "tol": "tolerance=",
    "weight": "weights of the graph count where a kernel uses them: sssp, hits, louvain and others; weighted=False, or "
    "hops=True of shortest_path, leaves them aside",
}
"""What arguments are called elsewhere, and here."""

POSITIONAL = {
    "degree": "degree() has all; degrees_of(ids) asks for some vertices",
    "edges": "edges() has all; edges_of(ids) asks for those of some vertices",
    "in_degree": "in_degree() has all; degrees_of(ids) asks for some vertices",
    "out_degree": "out_degree() has all; degrees_of(ids) asks for some vertices",
}
"""What is said where there are too many arguments."""

MADE_OF = {
    "duckdb": "everedge.Graph.from_duckdb(relation, src, dst)",
    "igraph": "everedge.Graph.from_igraph(graph)",
    "networkx": "everedge.Graph.from_networkx(graph)",
    "numpy": "graph.add_edges(array[:, 0], array[:, 1])",
    "pandas": "everedge.Graph.from_pandas(frame, src, dst)",
    "polars": "everedge.Graph.from_polars(frame, src, dst)",
    "pyarrow": "everedge.Graph.from_arrow(table, src, dst)",
    "scipy": "everedge.Graph.from_scipy(matrix)",
}
"""What makes a graph of something, by the library that it is of."""

MISSING = {
    "add_edges(dst=)": "two columns, src and dst: add_edges(*zip(*pairs)) makes them of pairs; ingest(frame, src=, dst=) takes a "
    "table",
    "has_edge(dst=)": "the two ends, has_edge(*pair)",
    "has_edges(dst=)": "two columns, src and dst: has_edges(*zip(*pairs)) makes them of pairs",
    "delete_edges(dst=)": "two columns, src and dst: delete_edges(*zip(*pairs)) makes them of pairs",
    "Graph(path=)": 'a directory, which keeps the graph; Graph("any name", medium="dram") is in memory',
}
"""What is said where an argument is missing."""


def no_attribute(owner: str, name: str) -> AttributeError:
    """Return the error for a name that the package, or an object of a class of it, does not have."""
    what = "module 'everedge'" if owner == "everedge" else f"{owner!r} object"
    found = elsewhere(owner, name)
    return AttributeError(f"{what} has no attribute {name!r}{found and f'; here: {found}'}")


def not_a_path(what: str, thing: object) -> TypeError:
    """Return the error for something that is given in place of a file or a directory."""
    library = type(thing).__module__.partition(".")[0]
    pairs = "graph.add_edges(*zip(*pairs)) takes pairs, as two columns"
    if library == "everedge":
        made = "snapshot.seal(path) writes one; snapshot.edges() is a table of its edges"
    else:
        made = MADE_OF.get(library, pairs if isinstance(thing, Iterable) else "a name in quotes")
    return TypeError(f"{what}, not {type(thing).__name__}; here: {made}")


def no_graph(kernel: str, thing: object) -> TypeError:
    """Return the error for something that a kernel is asked of and that is no graph of everedge."""
    if isinstance(thing, str | os.PathLike):
        made = "everedge.open(path) opens a directory"
    else:
        made = MADE_OF.get(type(thing).__module__.partition(".")[0], "everedge.Graph(path) is one")
    what = "a Graph, a Snapshot or a sealed graph (Chunks)"
    return TypeError(f"{kernel} asks {what}, not {type(thing).__name__}; here: {made}")


def elsewhere(owner: str, name: str) -> str:
    """Return where a name is, or what does what it does elsewhere; nothing if neither is known."""
    from everedge import _chunks, _graph, _snapshot, _timeline, _transaction, _values

    if owner == "Timeline" or owner == "Window":
        if has(_timeline.Timeline, name):
            return f"a window is of a timeline: timeline.{_shown(_timeline.Timeline, name)}"
        if has(_timeline.Window, name):
            return f"of all versions, timeline.window().{name}(...); of one, timeline.at(version).{name}(...)"
        if has(_snapshot.Snapshot, name):
            return f"ask a version: timeline.at(version).{_shown(_snapshot.Snapshot, name)}"
        if name in VERSIONS:
            return VERSIONS[name]
    if owner == "Path":
        return PATH.get(name, "")
    if owner == "WindowValues" and has(_values.Values, name):
        return f"the answer for a version has it: steps.at(version).{_shown(_values.Values, name)}"
    if owner in ("Values", "Components", "Communities", "WindowValues"):
        return VALUES.get(name, "")
    if has(_snapshot.Snapshot, name):
        return _asked(owner, f"snapshot.{_shown(_snapshot.Snapshot, name)}")
    for kind in (_graph.Graph, _transaction.Transaction):
        if has(kind, name) and owner != kind.__name__:
            return _asked(owner, f"graph.{_shown(kind, name)}")
    if owner != "Chunks" and has(_chunks.Chunks, name):
        return f"sealed graphs alone have it: everedge.Chunks(path).{_shown(_chunks.Chunks, name)}"
    if name in NAMES:
        return _asked(owner, NAMES[name])
    if has(_values.Groups, name):
        kernel = "pagerank" if has(_values.Values, name) else "wcc"
        return _asked(owner, f"snapshot.{kernel}().{_shown(_values.Groups, name)}, of what a kernel answers")
    return ""


def _asked(owner: str, call: str) -> str:
    """Return a call on a graph or a snapshot as the owner of a name that is not there is told it."""
    if owner == "Graph" and call.startswith("snapshot."):
        import everedge

        kernel = call.removeprefix("snapshot.").partition("(")[0]
        also = f", or everedge.{kernel}(graph)" if kernel in everedge.__all__ else ""
        return f"a graph changes, so questions go to a snapshot of it: graph.{call.replace('snapshot.', 'snapshot().', 1)}{also}"
    if owner == "Snapshot" and call.startswith("graph.") and "snapshot()" not in call:
        return f"a snapshot never changes: the graph that it is of has {call}"
    if owner == "Transaction" and call.startswith("snapshot."):
        return f"a transaction asks about edges; graph.{call.replace('snapshot.', 'snapshot().', 1)}"
    if owner == "Chunks":
        from everedge._chunks import Chunks

        kind, _, rest = call.partition(".")
        if kind in ("snapshot", "graph") and has(Chunks, rest.partition("(")[0].partition(".")[0]):
            return f"sealed.{rest}"
    if owner == "everedge" and call.startswith("graph."):
        method = call.removeprefix("graph.").partition("(")[0]
        if method.startswith("from_"):
            return f"everedge.Graph.{method}(...)"
        return f"graph = everedge.Graph(path); {call}"
    if owner == "everedge" and call.startswith("snapshot."):
        return f"snapshot = graph.snapshot(); {call}"
    return call


def has(kind: type, name: str) -> bool:
    """Return whether a class has a name, without a look at what the class says otherwise."""
    return any(name in vars(one) for one in kind.__mro__)


def _shown(kind: type, name: str) -> str:
    """Return how a name of a class is written: a method with parentheses."""
    return f"{name}(...)" if callable(getattr(kind, name)) else name


def arguments(said: str, given: dict[str, Any]) -> str:
    """Return what goes on after Python's text about arguments that do not fit."""
    if "unexpected keyword argument" in said:
        name = said.split("'")[1]
        return f"; here: {KEYWORDS[name]}" if name in KEYWORDS else _of_ingest(name)
    if "missing" in said and "required positional argument" in said:
        name = said.split("'")[1]
        function = said.partition("(")[0].removesuffix(".__init__").rpartition(".")[2]
        found = MISSING.get(f"{function}({name}=)")
        return f"; here: {found}" if found else ""
    if "positional argument" in said and " given" in said:
        name = said.partition("(")[0].rpartition(".")[2]
        return f"; here: {POSITIONAL.get(name, 'give parameters by name')}"
    return ""


def _of_ingest(name: str) -> str:
    """Return what is said of a parameter that `ingest` has and others have not."""
    import inspect

    from everedge._graph import Graph

    if name not in inspect.signature(Graph.ingest).parameters:
        return ""
    return f"; it is a parameter of ingest: graph = Graph(path); graph.ingest(files or table, {name}=)"
