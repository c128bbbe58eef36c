"""Which code made a run: a digest of the package as it lies on this disk, and the commit it was checked out
at.

Two builds of one version may measure differently, so a run is taken up by the code that began it alone.
"""

from __future__ import annotations

import hashlib
import importlib.util
from functools import cache
from pathlib import Path

import byteways

#: What is not code: made by Python, or read by people.
_LEFT_OUT = ("__pycache__", ".pyc", ".pyi")
#: Native files that lie beside the native module, wherever it was installed.
_NATIVE = ("_core*.so", "libbyteways_sim.so")


@cache
def code_digest() -> str:
    """16 hexadecimal digits over names and contents of all files of the package, the native ones included."""
    digest = hashlib.sha256()
    package = Path(byteways.__file__).parent
    files = {path.relative_to(package).as_posix(): path for path in package.rglob("*") if _counts(path)}
    native = importlib.util.find_spec("byteways._core")
    if native is not None and native.origin is not None:
        for pattern in _NATIVE:
            files |= {path.name: path for path in Path(native.origin).parent.glob(pattern)}
    for name, path in sorted(files.items()):
        content = path.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def _counts(path: Path) -> bool:
    return path.is_file() and not any(part in path.as_posix() for part in _LEFT_OUT)


@cache
def commit() -> str | None:
    """The commit of the checkout that the package lies in; None: it is installed, or the checkout does not
    tell.
    """
    root = Path(byteways.__file__).parents[2]
    if not (root / "src" / "byteways").is_dir():  # what holds site-packages may be somebody's own checkout
        return None
    try:
        return _commit_of(root / ".git")
    except (OSError, ValueError, UnicodeDecodeError):
        return None


def _commit_of(git: Path) -> str | None:
    """What HEAD of a repository, or of a worktree, names (gitrepository-layout(5))."""
    if git.is_file():  # of a worktree: where its own HEAD is
        git = (git.parent / git.read_text().removeprefix("gitdir:").strip()).resolve()
    head = (git / "HEAD").read_text().strip()
    if not head.startswith("ref:"):
        return head
    name = head.removeprefix("ref:").strip()
    shared = git / "commondir"
    common = (git / shared.read_text().strip()).resolve() if shared.exists() else git
    for place in (git, common):
        if (place / name).is_file():
            return (place / name).read_text().strip()
    packed = (common / "packed-refs").read_text().splitlines()
    return next((line.split()[0] for line in packed if line.endswith(f" {name}")), None)
