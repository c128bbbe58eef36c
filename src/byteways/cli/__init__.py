"""The command line: one verb per file, imported only when called.

All errors are printed on stderr in one style (`error:`, `  caused by:`, `hint:`) and determine the exit
status; `--debug` adds a traceback.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Sequence

from byteways.base.errors import BytewaysError, ExitStatus
from byteways.base.text import visible

#: Errors of writing to standard output that the user can fix. They name no file; errors of files that we open
#: do, or are already a BytewaysError.
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

#: When the verb was called, in monotonic seconds. A budget counts from there: its imports take a second on a
#: busy machine.
called_at = [time.monotonic()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one verb and returns the exit status of the process."""
    called_at[0] = time.monotonic()
    words = sys.argv[1:] if arguments is None else [*arguments]
    own = _own_words(words)
    debug = "--debug" in words[:own]  # at any position: users append it to a failed command
    words = [word for word in words[:own] if word != "--debug"] + words[own:]
    from byteways.console.terminal import prepare, print_notes

    prepare()
    print_notes()
    try:
        return _answer(words, debug)
    except BrokenPipeError:  # of standard output: that of a named file is an error of the verb
        _drop_output()
        return int(ExitStatus.NOT_READ)


def _own_words(words: Sequence[str]) -> int:
    """Returns how many words are byteways' own: those behind `--` are of a command."""
    if "--" not in words and words[:1] == ["watch"]:
        return 1
    return [*words, "--"].index("--")


def _answer(words: Sequence[str], debug: bool) -> int:
    """Runs one verb, flushes its output, and prints errors."""
    try:
        from byteways.cli.frame import call

        status = call(words)
        sys.stdout.flush()
        return status
    except BytewaysError as error:
        return _failed(error, debug)
    except SystemExit as leaving:  # Rich exits with status 1 on a closed pipe
        raise leaving.__context__ or leaving from None
    except BrokenPipeError:
        raise
    except Exception as error:
        if known := _of_the_system(error):
            return _failed(known, debug)
        said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        hint = "this is a bug in byteways; please report it with the output of --debug"
        unexpected = BytewaysError(
            "unexpected internal error", cause=said, hint=hint, status=ExitStatus.FAILED
        )
        return _failed(unexpected, debug)


def _of_the_system(error: Exception) -> BytewaysError | None:
    """Converts errors of the system that the user can fix; None for others."""
    from byteways.base.system_errors import of_the_system, unusable

    if isinstance(error, OSError) and error.errno in _UNWRITABLE and error.filename is None:
        _drop_output()
        return unusable("cannot write the output", error)
    return of_the_system(error)


def _failed(error: BytewaysError, debug: bool) -> int:
    if debug:
        import traceback

        traceback.print_exc()
    print_error(error)
    return int(error.status)


def _drop_output() -> None:
    """Discards buffered output; otherwise Python would retry at exit and print an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_error(error: BytewaysError) -> None:
    """Prints an error on stderr, its first word in colour on a terminal."""
    colours = {"error:": "\033[1;31m", "hint:": "\033[1;36m"}
    coloured = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    for line in visible("\n".join(error.lines())).splitlines():
        word, space, rest = line.partition(" ")
        if coloured and word in colours:
            word = f"{colours[word]}{word}\033[0m"
        print(f"{word}{space}{rest}", file=sys.stderr)  # noqa: T201 - this is where errors are printed
