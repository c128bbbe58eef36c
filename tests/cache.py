"""Build products of tests, kept for all workers and sessions: a file is made again when its inputs change.

They lie in build/test-cache (`make clean` removes them), named by a digest of everything they are made from.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "test-cache"

#: Suffixes of what a C++ source may include.
HEADERS = (".hpp", ".def", ".cuh")
#: A file stands for its content, a text or bytes for themselves.
Input = str | bytes | Path


def digest(inputs: Iterable[Input]) -> str:
    """SHA-256 of all inputs in their order, each with its length: no two lists of inputs share one."""
    found = hashlib.sha256()
    for each in inputs:
        content = each.read_bytes() if isinstance(each, Path) else each
        data = content.encode() if isinstance(content, str) else content
        found.update(f"{len(data)}:".encode() + data)
    return found.hexdigest()


def cached(name: str, inputs: Iterable[Input], make: Callable[[Path], object], folder: Path = FOLDER) -> Path:
    """The file that `make(path)` writes, which is called only where no file of these inputs is there.

    Args:
        name: What the file is called, for readers of the folder; its suffix is kept ("copy.o").
        inputs: All that the content depends on: sources, headers, options, the version of the tool.
        make: Writes the file; what it raises leaves nothing behind.
        folder: Where the files lie.
    """
    folder.mkdir(parents=True, exist_ok=True)
    label = Path(name)
    file = folder / f"{label.stem}-{digest(inputs)[:32]}{label.suffix}"
    if file.exists():
        return file
    with (folder / f"{file.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another worker may be making it
        if not file.exists():
            part = folder / f"{file.stem}.{os.getpid()}.part{file.suffix}"
            try:
                make(part)
                part.replace(file)
            finally:
                part.unlink(missing_ok=True)
    return file


def headers(*folders: Path) -> str:
    """Digest of all headers below these folders: all that a source may include."""
    found = sorted(path for folder in folders for path in folder.rglob("*") if path.suffix in HEADERS)
    return digest(part for path in found for part in (path.name, path))


@functools.cache
def version(program: str) -> str:
    """What a compiler says of itself, with its target."""
    return subprocess.run([program, "-v"], capture_output=True, text=True, check=True).stderr
