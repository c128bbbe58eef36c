"""The versions of packages that the programs were tried with, and those that are here."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).with_name("packages.txt")
#: Where scripts/bare_machine.sh puts source packages.
SOURCES = Path("/usr/src/packages")


@dataclass(frozen=True)
class Pin:
    """A line of the list: kind is empty for a package, `src` for a source package, `pypi` for one of PyPI."""

    kind: str
    name: str
    version: str


def pins(text: str) -> Iterator[Pin]:
    """Yields the lines of a list. Raises ValueError for one without a version."""
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            named, _, version = line.strip().partition("=")
            kind, _, name = named.rpartition(":")
            if not version:
                raise ValueError(f"no version: '{line}'")
            yield Pin(kind, name, version)


def moved() -> Iterator[tuple[Pin, str]]:
    """Yields what has another version here than in the list: an archive keeps its newest version alone."""
    query = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${Package}=${Version}\n"],
        capture_output=True,
        text=True,
        check=True,
    )
    installed = dict(line.split("=", 1) for line in query.stdout.splitlines())
    for pin in pins(LIST.read_text(encoding="utf-8")):
        if pin.kind == "":
            here = installed.get(pin.name, "missing")
        elif pin.kind == "src":
            found = sorted(SOURCES.glob(f"{pin.name}_*.dsc"))
            here = found[-1].stem.split("_", 1)[1] if found else "missing"
        else:
            continue  # pip installs this version or fails
        # The name of a file has no epoch.
        if here not in (pin.version, pin.version.partition(":")[2] if pin.kind else pin.version):
            yield pin, here
