"""Starts a module of byteways in a process of its own: `python .../byteways/start.py byteways.run.worker
ARGUMENTS`

`python -m` searches the current directory before all else, so that a user's `json.py` or `statistics.py`
beside the run would become part of the measurement. This file is started by its path in place of that: the
current directory is never searched, nor are other folders that are named relative to it. (Python 3.11 has
-P for this, 3.10 has not.)
"""

import os
import sys


def without_current_directory(search: list[str]) -> list[str]:
    """The search path without the current directory and without relative folders.

    The folder that holds this package stays, whichever it is: without it, nothing could be imported.
    """
    package = os.path.dirname(os.path.realpath(__file__))  # noqa: PTH120 - pathlib is not loaded yet
    here = os.path.realpath(os.curdir)
    home = os.path.dirname(package)  # noqa: PTH120
    kept = []
    for entry in search:
        folder = os.path.realpath(entry)
        # The folder of this file is put first by Python; its modules would hide others of the same name.
        if folder == home or (os.path.isabs(entry) and folder not in (here, package)):  # noqa: PTH117
            kept.append(os.path.abspath(entry))  # noqa: PTH100
    return kept


def main() -> None:
    sys.path[:] = without_current_directory(sys.path)
    import runpy  # not before: its own imports are searched as well

    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
