"""Finds UCX. A child process loads it, because UCX changes the process that it is loaded into: it handles
signals and watches what memory is allocated.

    byteways.run.shared.ucx_library
"""

from __future__ import annotations

import json
import sys
from typing import Any

from byteways.run.shared.library_paths import library_directories
from byteways.run.shared.mpi_library import fields_of, report_of_child


def ucx_report_of_child() -> dict[str, Any]:
    """Returns the fields of a library report (`_core.LibraryReport`) on UCX."""
    return report_of_child("ucx", "byteways.run.shared.ucx_library", "BYTEWAYS_LIBUCP")


def main() -> None:
    from byteways import _core

    sys.stdout.write(json.dumps(fields_of(_core.ucx_report(library_directories()))) + "\n")


if __name__ == "__main__":
    main()
