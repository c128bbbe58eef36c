"""Starts a byteways module in its own process.

    python .../byteways/start.py byteways.measuring.work.worker ARGUMENTS

`python -m` searches the current directory first, so a user's `json.py` or `statistics.py` there would become
part of the measurement. Started by its path, this file removes the current directory and relative folders
from the search path. (Python 3.11 has -P for this, 3.10 does not.)
"""

import os
import sys


def without_current_directory(search: list[str]) -> list[str]:
    """Returns the search path without the current directory and relative folders.

    The folder that contains this package is always kept: without it, nothing could be imported.
    """
    package = os.path.dirname(os.path.realpath(__file__))  # noqa: PTH120 - pathlib is not loaded yet
    home = os.path.dirname(package)  # noqa: PTH120
    try:
        here = os.path.realpath(os.curdir)
    except OSError:  # it was deleted: relative entries name nothing
        here = ""
        search = [entry for entry in search if os.path.isabs(entry)]  # noqa: PTH117
    kept = []
    for entry in search:
        folder = os.path.realpath(entry)
        # Python puts this file's folder first; its modules would hide others of the same name.
        if folder == home or (os.path.isabs(entry) and folder not in (here, package)):  # noqa: PTH117
            kept.append(os.path.abspath(entry))  # noqa: PTH100
    return kept


def main() -> None:
    sys.path[:] = without_current_directory(sys.path)
    import runpy  # imported late: its own imports use the search path, too

    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
