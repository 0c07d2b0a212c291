#!/usr/bin/env python3
"""Extract the dependency graph of the Debian 12 packages as a compressed edge list.

    scripts/debian_graph.py                               the index that `apt-get update` brought
    scripts/debian_graph.py Packages.xz --release Release     an index from elsewhere

The output holds one line `package<TAB>package` for an edge, sorted, below a comment header that
says where it comes from. What counts as an edge:

- Fields: Depends, Pre-Depends and Recommends. These are what apt installs by default along with
  a package. Suggests and Enhances are left out.
- Alternatives: each package of `a | b` gives an edge.
- Virtual packages: a name that no package has, but some provide, gives an edge to every provider,
  so that both ends of an edge are packages that can be installed.
- Version constraints and architecture qualifiers are dropped.
- Dropped: duplicates, packages that name themselves, names outside the index.

The same index always gives the same lines. Needs Python 3 and the program `zstd`.
"""

import argparse
import glob
import gzip
import lzma
import re
import subprocess
import sys
from collections import defaultdict
from email.utils import parsedate_to_datetime
from pathlib import Path

APT_LISTS = "/var/lib/apt/lists"
APT_INDEX = "*_dists_bookworm_main_binary-amd64_Packages*"
APT_HELPER = "/usr/lib/apt/apt-helper"
OUTPUT = Path(__file__).parent.parent / "crates/everedge-cli/data/debian-12-dependencies.tsv.zst"

EDGE_FIELDS = ("Depends", "Pre-Depends", "Recommends")
PACKAGE_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9+.-]*)")

HEADER = """\
# Dependency graph of the Debian 12 packages
# A line `a<TAB>b` says: package a depends on package b, or recommends it.
# origin: package index of Debian 12 "bookworm", component main, architecture amd64
# release: {release}
# fields: {fields}
# rules: every alternative is an edge; a virtual package stands for all its providers;
#   versions are dropped; no duplicates, no self-loops, no names outside the index
# packages in the index: {indexed}
# vertices (packages with an edge): {vertices}
# edges: {edges}
# licence: names of packages and the relations between them are facts; no text of the packages
#   is included. Debian is a registered trademark of Software in the Public Interest, Inc.
# made by: scripts/debian_graph.py
"""


def read_text(path):
    """The text of an index file, compressed as apt or an archive keeps it."""
    path = Path(path)
    if path.suffix == ".lz4":
        packed = subprocess.run([APT_HELPER, "cat-file", path], check=True, capture_output=True)
        return packed.stdout.decode()
    openers = {".gz": gzip.open, ".xz": lzma.open}
    with openers.get(path.suffix, open)(path, "rt", encoding="utf-8") as file:
        return file.read()


def stanzas(text):
    """The packages of an index, each a dict of the fields that matter here."""
    wanted = {"Package", "Provides", *EDGE_FIELDS}
    for block in text.split("\n\n"):
        fields = (line.partition(":") for line in block.splitlines() if line[:1].strip())
        package = {name: value.strip() for name, _, value in fields if name in wanted}
        if "Package" in package:
            yield package


def names_in(relation):
    """The package names of a relation field, alternatives included, in order."""
    for term in re.split(r"[,|]", relation):
        match = PACKAGE_NAME.match(term)
        if match:
            yield match[1]


def dependency_edges(packages):
    """The sorted edges between the packages of one index."""
    real = {package["Package"] for package in packages}
    providers = defaultdict(set)
    for package in packages:
        for name in names_in(package.get("Provides", "")):
            providers[name].add(package["Package"])
    edges = set()
    for package in packages:
        source = package["Package"]
        for name in (name for field in EDGE_FIELDS for name in names_in(package.get(field, ""))):
            targets = {name} if name in real else providers.get(name, ())
            edges.update((source, target) for target in targets if target != source)
    return sorted(edges)


def describe_release(path):
    """Version and date of a Release or InRelease file, as `12.15 of 2026-07-11`."""
    fields = dict(re.findall(r"^(Version|Date): (.*)$", read_text(path), re.MULTILINE))
    return f"{fields['Version']} of {parsedate_to_datetime(fields['Date']).date()}"


def find_apt_index():
    """The index and the release file that apt downloaded."""
    found = sorted(glob.glob(f"{APT_LISTS}/{APT_INDEX}"))
    if not found:
        sys.exit(f"{APT_LISTS}: no index of bookworm main amd64; run `apt-get update` on Debian 12")
    index = found[0]
    return index, index[: index.index("_main_binary-amd64_Packages")] + "_InRelease"


def write_zstd(path, content):
    """Write the packed file; a size told in advance keeps the decoder's window small."""
    size = f"--stream-size={len(content)}"
    zstd = ["zstd", "--ultra", "-22", size, "--check", "--quiet", "--force", "-o", path]
    subprocess.run(zstd, input=content, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", nargs="?", help="a Packages file (default: the one of apt)")
    parser.add_argument("--release", help="the Release file beside it, for version and date")
    parser.add_argument("--output", default=OUTPUT, help="default: %(default)s")
    options = parser.parse_args()
    if options.packages is None:
        options.packages, options.release = find_apt_index()

    packages = list(stanzas(read_text(options.packages)))
    edges = dependency_edges(packages)
    header = HEADER.format(
        release=describe_release(options.release) if options.release else "not known",
        fields=", ".join(EDGE_FIELDS),
        indexed=len({package["Package"] for package in packages}),
        vertices=len({name for edge in edges for name in edge}),
        edges=len(edges),
    )
    lines = "".join(f"{source}\t{target}\n" for source, target in edges)
    write_zstd(options.output, (header + lines).encode())
    print(header, end="")


if __name__ == "__main__":
    main()
