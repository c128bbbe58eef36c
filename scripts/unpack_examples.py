"""Unpacks the recorded runs of examples/recorded into run folders below examples/.

    python scripts/unpack_examples.py        (or: make examples)

An archive is unpacked once, and again only when it changes: tests and benchmarks call it before they read
a run. Processes that call it at the same time wait for one another.
"""

from __future__ import annotations

import fcntl
import os
import sys
import tarfile
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SUFFIX = ".tar.xz"
#: Where runs of the fleet are unpacked: all have the same name in their archives.
FLEET = EXAMPLES.parent / "build/fleet"


def unpack(examples: Path = EXAMPLES) -> list[Path]:
    """Unpacks every archive that is new or changed; returns those archives."""
    return [
        archive for archive in sorted(examples.glob(f"recorded/*{SUFFIX}")) if _unpacked(archive, examples)
    ]


def fleet() -> list[Path]:
    """The runs of `quick` of single machines, one archive each, unpacked if they were not."""
    archives = sorted(EXAMPLES.glob(f"fleet/*{SUFFIX}"))
    for archive in archives:
        _unpacked(archive, FLEET / archive.name.removesuffix(SUFFIX))
    return [FLEET / archive.name.removesuffix(SUFFIX) / "quick" for archive in archives]


def recorded(name: str) -> Path:
    """The folder of a recorded run, for example `h200x2/routes`, unpacked if it was not.

    Raises:
        FileNotFoundError: No run of this name was recorded.
    """
    unpack()
    folder = EXAMPLES / name
    if not (folder / "run.json").is_file():
        raise FileNotFoundError(f"{folder} is no recorded run")
    return folder


def _unpacked(archive: Path, examples: Path) -> bool:
    """Unpacks an archive unless that is done; returns whether it was not."""
    with archive.open("rb") as locked:
        fcntl.flock(locked, fcntl.LOCK_EX)  # released when the file is closed
        about = os.fstat(locked.fileno())
        state = f"{about.st_size} {about.st_mtime_ns}\n"
        stamp = archive.with_name(f".{archive.name.removesuffix(SUFFIX)}.unpacked")
        if examples.is_dir() and stamp.exists() and stamp.read_text(encoding="utf-8") == state:
            return False
        with tarfile.open(fileobj=locked, mode="r:xz") as members:
            for member in members:
                _write(members, member, examples)
        stamp.write_text(state, encoding="utf-8")
    return True


def _write(members: tarfile.TarFile, member: tarfile.TarInfo, examples: Path) -> None:
    """Writes one file. A reader sees the old content or the new, never a part."""
    content = members.extractfile(member)
    if content is None:  # a folder
        return
    path = (examples / member.name).resolve()
    if not path.is_relative_to(examples.resolve()):
        raise ValueError(f"{member.name} leads out of {examples}")
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_bytes(content.read())
    draft.replace(path)


def main() -> int:
    for archive in unpack():
        sys.stdout.write(f"{archive.relative_to(EXAMPLES.parent)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
