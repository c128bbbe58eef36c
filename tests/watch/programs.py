"""Programs that tests watch, and what a watch of them gives."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from byteways.ext.watch.folder import WatchFolder, read_watch_folder
from byteways.measuring.shared.simulator import native_folder
from tests.cache import cached, version

HERE = Path(__file__).parent
#: Seconds after which a program is taken to hang.
PATIENCE_S = 60


def compiled(name: str, sources: Sequence[Path], *options: str, compiler: str = "gcc") -> Path:
    """The file that a compiler makes, kept between sessions; headers are included by sources."""
    command = [compiler, "-O1", *options]
    units = [one for one in sources if one.suffix != ".h"]

    def make(path: Path) -> None:
        subprocess.run([*command, *units, "-o", path, "-ldl", "-lpthread"], check=True)
        path.chmod(0o755)

    return cached(name, [version(compiler), *command, *sources], make)


def fake_mpi() -> Path:
    """The library of fake_mpi.c."""
    return compiled("libmpi_fake.so", [HERE / "fake_mpi.c"], "-shared", "-fPIC")


def program() -> Path:
    """The program of program.c."""
    library = fake_mpi()
    return compiled("program", [HERE / "program.c", library], f"-Wl,-rpath,{library.parent}")


def watching(*words: str | Path, **options: Any) -> subprocess.Popen[str]:
    """`byteways watch` with these words, as a process."""
    environment = {**os.environ, **options.pop("variables", {})}
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    command = [sys.executable, "-m", "byteways", "watch", *map(str, words)]
    return subprocess.Popen(command, text=True, env=environment, **{**streams, **options})


def watched(
    folder: Path, *words: str | Path, **options: Any
) -> tuple[subprocess.CompletedProcess[str], WatchFolder]:
    """A finished watch of a program into a new folder, and what it saw."""
    given = options.pop("input", None)
    process = watching("-o", folder, *options.pop("settings", ()), "--", *words, **options)
    out, err = process.communicate(given, timeout=PATIENCE_S)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err), read_watch_folder(folder)


def codes(found: WatchFolder) -> list[str]:
    """The codes of what could not be observed."""
    return [problem.code for problem in found.problems]


def collectors() -> list[Path]:
    """The libraries that programs load."""
    return sorted(native_folder().glob("byteways_watch*.so"))
