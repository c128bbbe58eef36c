"""`byteways` and `python -m byteways`: the command line, without the current directory in the search path."""

import gc
import sys

from byteways.start import without_current_directory

#: New objects after which Python looks for garbage. A run is some hundred thousand objects that stay until
#: the end; with Python's own 700, looking for garbage among them takes a fifth of the time of reading.
COLLECT_AFTER = 100_000


def main() -> int:
    """Runs one verb; returns the exit status of the process."""
    gc.set_threshold(COLLECT_AFTER)
    sys.path[:] = without_current_directory(sys.path)
    from byteways.cli import main as command_line  # after removing the current directory from the path

    return command_line()


if __name__ == "__main__":
    sys.exit(main())
