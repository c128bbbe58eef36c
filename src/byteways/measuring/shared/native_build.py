"""Native libraries that only some verbs need: simulator, copy library, collectors of `byteways watch`.

A wheel has them all. `make run` builds the native core alone, so that the first figures come soon; in such a
checkout a library is built when it is first asked for.
"""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
from pathlib import Path

from byteways.base.errors import BytewaysError, ExitStatus
from byteways.measuring.shared.simulator import native_folder

#: Beside the native core of a checkout (CMakeLists.txt): `cmake`, and the `folder` of the build tree.
BUILD_TREE = "native_build.json"
#: Lines of the compiler that an error has.
_SHOWN = 5


def native_library(name: str) -> Path:
    """Returns the path of a library beside the native core, which is built first where it is missing.

    Args:
        name: File name, such as `libbyteways_sim.so`.

    Raises:
        BytewaysError: It is missing, and there is no build tree or the build fails.
        ImportError: The native core is missing.
    """
    path = native_folder() / name
    if not path.exists():
        _build(path)
    return path


def native_libraries(*names: str) -> Path:
    """Returns the folder of these libraries. Missing ones are built. Raises as native_library() does."""
    for name in names:
        native_library(name)
    return native_folder()


def _build(path: Path) -> None:
    """Builds and installs a library under a lock: of several processes one builds, the others wait."""
    tree = path.with_name(BUILD_TREE)
    try:
        build = json.loads(tree.read_text())
        cmake, folder = build["cmake"], Path(build["folder"])
        lock = (folder / "CMakeCache.txt").open()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BytewaysError(
            f"{path.name} is missing",
            cause=f"it is not beside the native core in {path.parent}, and no build tree makes it: {error}",
            hint="install byteways again; in a checkout: make setup",
            status=ExitStatus.FAILED,
        ) from error
    target = path.stem
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists():
            return
        sys.stderr.write(f"note: building {path.name} (once, up to a minute on two cores)\n")
        _run(path, [cmake, "--build", str(folder), "--target", target.removeprefix("lib")])
        component = ["--component", target.removeprefix("lib"), "--prefix", str(path.parents[1])]
        _run(path, [cmake, "--install", str(folder), *component])


def _run(path: Path, command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        failed, cause = done.returncode != 0, (done.stdout + done.stderr).strip()
    except OSError as error:
        failed, cause = True, str(error)
    if failed:
        raise BytewaysError(
            f"{path.name} cannot be built",
            cause="; ".join(cause.splitlines()[-_SHOWN:]) or f"{command[0]} says nothing",
            hint="make setup",
            status=ExitStatus.FAILED,
        )
