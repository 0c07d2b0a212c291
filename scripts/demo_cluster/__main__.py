"""The command: `make demo-cluster`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def main() -> int:
    """Run the demo; returns 1 if anything was lost, came twice, or was answered otherwise than by one machine."""
    parser = argparse.ArgumentParser(prog="demo_cluster", description="Show a graph in shards while its workers are killed.")
    parser.add_argument("--output", type=Path, default=Path("demo-output"), help="default: %(default)s")
    parser.add_argument("--batches", type=int, default=400, help="in how many batches the graph comes in; default: %(default)s")
    options = parser.parse_args()
    if sys.version_info < (3, 11):
        parser.error("the versions of Dask and pandas that the demo is made for need Python 3.11 or newer")
    if options.batches < 20:
        parser.error("--batches: give 20 or more, for the kill comes in their middle")
    from demo_cluster.play import play

    return 0 if play(ROOT, options.output, options.batches).is_right else 1


if __name__ == "__main__":
    sys.exit(main())
