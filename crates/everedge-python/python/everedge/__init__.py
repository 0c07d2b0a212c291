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
from everedge._native import VERSION as _VERSION
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

__version__ = _VERSION

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
    "EveredgeError",
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
