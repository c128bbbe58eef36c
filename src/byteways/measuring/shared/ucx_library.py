"""Finds UCX. A child process loads it, because UCX changes the process that it is loaded into: it handles
signals and watches what memory is allocated.

    byteways.measuring.shared.ucx_library LAUNCHER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from byteways.measuring.shared.library_paths import library_directories
from byteways.measuring.shared.mpi_library import fields_of, report_of_child


def ucx_report_of_child(launcher: str = "") -> dict[str, Any]:
    """Returns the fields of a library report (`_core.LibraryReport`) on UCX.

    Args:
        launcher: File of the program that will start the ranks; its MPI may bring a UCX, which comes last.
    """
    return report_of_child("ucx", "byteways.measuring.shared.ucx_library", "BYTEWAYS_LIBUCP", launcher)


def ucx_of_mpi(launcher: str) -> list[str]:
    """Returns the folders in which the MPI of a launcher may have its own UCX, as packages of Python do."""
    if not launcher:
        return []
    libraries = Path(launcher).resolve().parents[1] / "lib"
    return [str(folder) for folder in (libraries / "openmpi", libraries / "mpich") if folder.is_dir()]


def main() -> None:
    from byteways import _core

    folders = [*library_directories(), *ucx_of_mpi(sys.argv[1])]
    sys.stdout.write(json.dumps(fields_of(_core.ucx_report(folders))) + "\n")


if __name__ == "__main__":
    main()
