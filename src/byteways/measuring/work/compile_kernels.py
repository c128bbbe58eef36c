"""Compiles kernels in a child process: start.py runs `byteways.measuring.work.compile_kernels ARCHITECTURE CACHE`.

Some run-time compilers (hipRTC 5) terminate the process if they do not know the architecture. So a child
compiles and fills the kernel cache; if it dies, its kernels are unavailable with that reason.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from byteways.base.settings import module_command
from byteways.measuring.shared.exit_status import describe_exit
from byteways.measuring.shared.library_paths import library_directories

#: Library and first major version that reports an unknown architecture instead of terminating the process.
COMPILER, REPORTS_SINCE = "hiprtc", 6
#: The runtime whose kernels need this.
RUNTIME = "hip"
#: Compiling all kernels takes about a second with a warm file system.
TIMEOUT_S = 120.0
COMMAND = module_command("byteways.measuring.work.compile_kernels")


def risky_architectures(devices: Iterable[Any], libraries: Iterable[Any]) -> list[str]:
    """Returns the GPU architectures whose kernels a worker must not compile itself.

    Args:
        devices: The session's devices.
        libraries: The session's library reports.
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
    """Fills the cache, or only compiles without one. Returns '' or how the child failed."""
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
    """Returns 5 for "5.2.3", 0 if there is no number: an unknown version counts as old."""
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
