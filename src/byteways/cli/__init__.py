"""The command line: one verb a file, imported when it is called and not before.

Everything that goes wrong is printed in one style on stderr (`error:`, `  caused by:`, `hint:`) and becomes
the exit status; a traceback is shown only with `--debug`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from byteways.errors import BytewaysError, ExitStatus


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one verb and returns the exit status of the process."""
    words = sys.argv[1:] if arguments is None else [*arguments]
    debug = "--debug" in words  # wherever it stands: a user adds it at the end of what has just failed
    words = [word for word in words if word != "--debug"]
    try:
        from byteways.cli.frame import call

        return call(words)
    except BytewaysError as error:
        if debug:
            _print_trace()
        print_error(error)
        return int(error.status)
    except BrokenPipeError:
        # The reader of a pipe has seen enough; nothing may be flushed into it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitStatus.FAILED)
    except Exception as error:
        if debug:
            _print_trace()
        said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        hint = "this is a mistake in byteways; see where with --debug, and please report it"
        print_error(BytewaysError("something unexpected happened", cause=said, hint=hint))
        return int(ExitStatus.FAILED)


def print_error(error: BytewaysError) -> None:
    """Prints an error on stderr, its first word in colour on a terminal."""
    colours = {"error:": "\033[1;31m", "hint:": "\033[1;36m"}
    coloured = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    for line in error.lines():
        word, space, rest = line.partition(" ")
        if coloured and word in colours:
            word = f"{colours[word]}{word}\033[0m"
        print(f"{word}{space}{rest}", file=sys.stderr)  # noqa: T201 - this is where errors are printed


def _print_trace() -> None:
    import traceback

    traceback.print_exc()
