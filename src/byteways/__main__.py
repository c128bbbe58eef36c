"""`byteways` and `python -m byteways`: the command line, without the current directory in the search path."""

import sys

from byteways.start import without_current_directory


def main() -> int:
    """Runs one verb; returns the exit status of the process."""
    sys.path[:] = without_current_directory(sys.path)
    from byteways.cli import main as command_line  # after removing the current directory from the path

    return command_line()


if __name__ == "__main__":
    sys.exit(main())
