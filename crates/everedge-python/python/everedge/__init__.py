"""A durable live graph store and analytics engine.

>>> import everedge
>>> graph = everedge.Graph("example", medium="dram")  # or a directory, which keeps it
>>> graph.add_edges(["app", "app", "lib"], ["lib", "libc", "libc"])
>>> with graph.snapshot() as s:
...     s.bfs(source="app").to_dict()
{'app': 0, 'lib': 1, 'libc': 1}
>>> everedge.pagerank(graph).top(1)[0][0]
'libc'
"""

# What type checkers take for true, as `typing.TYPE_CHECKING`, which costs an import.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from everedge._arrow import Edges
    from everedge._chunks import Chunks, seal
    from everedge._columns import MAX_VERTEX_ID
    from everedge._errors import (
        ClosedError,
        ConflictError,
        CorruptionError,
        EveredgeError,
        FileError,
        ForkedError,
        InUseError,
        InvalidInputError,
        IoError,
        KernelError,
        NoSpaceError,
        NotAGraphError,
        PoisonedError,
        ReadOnlyError,
        VersionError,
    )
    from everedge._graph import Graph
    from everedge._kernels import (
        bc,
        bfs,
        cdlp,
        delta_pagerank,
        kcore,
        lcc,
        one_hop,
        pagerank,
        radii,
        scc,
        ssnp,
        sssp,
        sswp,
        triangles,
        two_hop,
        viterbi,
        wcc,
    )
    from everedge._open import open as open
    from everedge._parts import (
        articulation_points,
        bipartition,
        bridges,
        label_propagation,
        leiden,
        louvain,
        spanning_forest,
        topological_order,
    )
    from everedge._reports import (
        Changes,
        Compaction,
        ExportReport,
        IngestReport,
        MediumReport,
        Progress,
        Recovery,
        RunReport,
        SealReport,
        Stats,
        UpdateReport,
        Verification,
    )
    from everedge._scores import (
        closeness,
        eigenvector,
        harmonic,
        hits,
        katz,
        personalized_pagerank,
    )
    from everedge._snapshot import Snapshot
    from everedge._timeline import (
        Difference,
        Timeline,
        Window,
        WindowReport,
        WindowValues,
    )
    from everedge._transaction import Transaction
    from everedge._values import UNREACHED, Communities, Components, Path, Values
    from everedge._version import Version, VersionChoice, VersionTime

    __version__: str

__all__ = [
    "MAX_VERTEX_ID",
    "UNREACHED",
    "Changes",
    "Chunks",
    "ClosedError",
    "Communities",
    "Compaction",
    "Components",
    "ConflictError",
    "CorruptionError",
    "Difference",
    "Edges",
    "EveredgeError",
    "ExportReport",
    "FileError",
    "ForkedError",
    "Graph",
    "InUseError",
    "IngestReport",
    "InvalidInputError",
    "IoError",
    "KernelError",
    "MediumReport",
    "NoSpaceError",
    "NotAGraphError",
    "PoisonedError",
    "Path",
    "Progress",
    "ReadOnlyError",
    "Recovery",
    "RunReport",
    "SealReport",
    "Snapshot",
    "Stats",
    "Timeline",
    "Transaction",
    "UpdateReport",
    "Values",
    "Verification",
    "Version",
    "VersionChoice",
    "VersionTime",
    "VersionError",
    "Window",
    "WindowReport",
    "WindowValues",
    "articulation_points",
    "bc",
    "bfs",
    "bipartition",
    "bridges",
    "cdlp",
    "closeness",
    "delta_pagerank",
    "eigenvector",
    "harmonic",
    "hits",
    "katz",
    "kcore",
    "label_propagation",
    "lcc",
    "leiden",
    "louvain",
    "one_hop",
    "pagerank",
    "personalized_pagerank",
    "radii",
    "scc",
    "seal",
    "spanning_forest",
    "ssnp",
    "sssp",
    "sswp",
    "topological_order",
    "triangles",
    "two_hop",
    "viterbi",
    "wcc",
]

_MODULES = {
    "_arrow": "Edges",
    "_chunks": "Chunks seal",
    "_columns": "MAX_VERTEX_ID",
    "_errors": "ClosedError ConflictError CorruptionError EveredgeError FileError ForkedError InUseError"
    " InvalidInputError IoError KernelError NoSpaceError NotAGraphError PoisonedError ReadOnlyError"
    " VersionError",
    "_graph": "Graph",
    "_kernels": "articulation_points bc bfs bipartition bridges cdlp closeness delta_pagerank eigenvector harmonic"
    " hits katz kcore label_propagation lcc leiden louvain one_hop pagerank personalized_pagerank radii scc"
    " spanning_forest ssnp sssp sswp topological_order triangles two_hop viterbi wcc",
    "_open": "open",
    "_reports": "Changes Compaction ExportReport IngestReport MediumReport Progress Recovery RunReport SealReport"
    " Stats UpdateReport Verification",
    "_snapshot": "Snapshot",
    "_timeline": "Difference Timeline Window WindowReport WindowValues",
    "_transaction": "Transaction",
    "_values": "UNREACHED Communities Components Path Values",
    "_version": "Version VersionChoice VersionTime",
}
"""The names of each module, which is imported when one of its names is first asked for: importing the package imports no NumPy."""

_PLACES = {name: module for module, names in _MODULES.items() for name in names.split()}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Return what the package calls by a name, and keep it."""
        if name.startswith("_") and name != "__version__":
            # Whoever imports a module of the package asks first whether it is there.
            raise AttributeError(f"module 'everedge' has no attribute {name!r}")
        from importlib import import_module

        if name == "__version__":
            found = import_module("everedge._native").VERSION
        elif name in _PLACES:
            found = getattr(import_module(f"everedge.{_PLACES[name]}"), name)
        else:
            raise import_module("everedge._instead").no_attribute("everedge", name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """Return the names of the package, of which not all are imported yet."""
    return sorted({*__all__, "open", "__version__", *(name for name in globals() if name.startswith("__"))})
