"""Writes the licences of all that is compiled into Python's extension, as one text.

`scripts/notices.py > FILE`. What is compiled in is asked of `cargo tree`, and its licences are the files that the crates
bring. A text that several bring stands once. A crate without a text takes that of a crate from the same repository; one
without such a crate is named with the licence that it declares.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

PACKAGE = "everedge-python"
FILES = re.compile(r"(licen[cs]e|copying|copyright|notice|unlicense)", re.IGNORECASE)
RULE = "=" * 80


def asked(*command: str) -> str:
    """Return what a program prints. Raises `CalledProcessError`; what is wrong stands on standard error."""
    return subprocess.run(command, check=True, capture_output=False, stdout=subprocess.PIPE, text=True).stdout


def compiled_in() -> list[dict[str, str]]:
    """Return the packages of other people that the extension holds, in the order of their names."""
    tree = asked(
        "cargo", "tree", "--locked", "--package", PACKAGE, "--edges", "normal,no-proc-macro", "--prefix", "none",
        "--format", "{p}",
    )  # fmt: skip
    held = {tuple(line.split()[:2]) for line in tree.splitlines() if line}
    packages = json.loads(asked("cargo", "metadata", "--locked", "--format-version", "1"))["packages"]
    found = [one for one in packages if one["source"] and (one["name"], f"v{one['version']}") in held]
    return sorted(found, key=lambda one: (one["name"], one["version"]))


def texts_in(folder: Path) -> list[str]:
    """Return the licences in a folder and in those right below it, where C sources have theirs."""
    files = sorted(path for path in (*folder.glob("*"), *folder.glob("*/*")) if path.is_file())
    return [
        path.read_text(errors="replace").strip()
        for path in files
        if FILES.match(path.name) and path.suffix not in (".rs", ".html", ".toml", ".json")
    ]


def main() -> None:
    """Print the notices."""
    packages = compiled_in()
    own = {one["name"] + one["version"]: texts_in(Path(one["manifest_path"]).parent) for one in packages}
    of_repository = defaultdict(list)
    for one in packages:
        of_repository[one["repository"]] += own[one["name"] + one["version"]]
    holders: dict[str, list[str]] = defaultdict(list)
    spelled: dict[str, str] = {}
    print("everedge is under MIT or Apache-2.0. Its extension holds code of these packages, under the licences below.\n")
    for one in packages:
        name = f"{one['name']} {one['version']}"
        texts = own[one["name"] + one["version"]] or of_repository[one["repository"]]
        print(f"{name}: {one['license']}; {one['repository'] or ', '.join(one['authors'])}")
        if not texts:
            print(f"  by {', '.join(one['authors']) or 'its authors'}; the package brings no text of its licence")
        for text in texts:
            words = " ".join(text.split())
            spelled.setdefault(words, text)
            if name not in holders[words]:
                holders[words].append(name)
    print("the standard library of Rust: MIT OR Apache-2.0; https://github.com/rust-lang/rust")
    for words, names in holders.items():
        print(f"\n{RULE}\n{', '.join(names)}\n{RULE}\n\n{spelled[words]}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit("usage: scripts/notices.py > FILE, in the project's folder")
    main()
