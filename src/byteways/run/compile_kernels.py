"""Compiles kernels in a process of its own: `byteways.run.compile_kernels ARCHITECTURE CACHE` by start.py

Some run-time compilers end the process that asks them for an architecture they do not know (hipRTC 5). A
worker lets a child do that and finds the kernels in the cache; a child that ends becomes a reason.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from byteways.run.library_paths import library_directories
from byteways.run.process import describe_exit
from byteways.settings import module_command

#: Library and first major version that reports an unknown architecture in place of ending the process.
COMPILER, REPORTS_SINCE = "hiprtc", 6
#: Runtime whose kernels it compiles.
RUNTIME = "hip"
#: All files take about a second with a warm file system.
TIMEOUT_S = 120.0
COMMAND = module_command("byteways.run.compile_kernels")


def risky_architectures(devices: Iterable[Any], libraries: Iterable[Any]) -> list[str]:
    """Architectures of GPUs whose kernels a worker should not compile itself.

    Args:
        devices: Of the session.
        libraries: Reports of the session.
    """
    reports = [
        report
        for report in libraries
        if report.library == COMPILER and report.usable and report.found_by != "simulated"
    ]
    if not reports or _major(reports[0].version) >= REPORTS_SINCE:
        return []
    return list(dict.fromkeys(device.architecture for device in devices if device.runtime == RUNTIME))


def compile_in_child(architecture: str, cache: Path | None, command: Sequence[str] = COMMAND) -> str:
    """Fills the cache, or without one only tries. Empty when that went well, else what happened to the
    child.
    """
    try:
        done = subprocess.run(
            [*command, architecture, str(cache or "")],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
            check=False,
        )
    except OSError as error:
        return f"the process that compiles kernels did not start: {error.strerror}"
    except subprocess.TimeoutExpired:
        return f"the process that compiles kernels for {architecture} did not end within {TIMEOUT_S:.0f} s"
    if done.returncode == 0:
        return ""
    said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    words = f": {said[-1]}" if said else ""
    return f"compiling kernels for {architecture} ended by {describe_exit(done.returncode)}{words}"


def _major(version: str) -> int:
    """5 of "5.2.3", 0 of anything else: an unknown version is an old one."""
    number = version.partition(".")[0]
    return int(number) if number.isdigit() else 0


def main() -> int:
    from byteways import _core

    architecture, cache = sys.argv[1:]
    try:
        _core.fill_kernel_cache(architecture, cache, library_directories())
    except _core.Error as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
