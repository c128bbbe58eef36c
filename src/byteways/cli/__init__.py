"""The command line: one verb a file, imported when it is called and not before.

Everything that goes wrong is printed in one style on stderr (`error:`, `  caused by:`, `hint:`) and becomes
the exit status; a traceback is shown only with `--debug`.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence

from byteways.errors import BytewaysError, ExitStatus
from byteways.text import visible

#: What a write to standard output fails with for reasons of the user's. None of them names a file; an error
#: of a file that we opened does, or is a BytewaysError already.
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

#: What the system refuses where limits are tight.
_SCARCE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one verb and returns the exit status of the process."""
    words = sys.argv[1:] if arguments is None else [*arguments]
    debug = "--debug" in words  # wherever it stands: a user adds it at the end of what has just failed
    words = [word for word in words if word != "--debug"]
    from byteways.cli.terminal import prepare, print_notes

    prepare()
    print_notes()
    try:
        return _answer(words, debug)
    except BrokenPipeError:
        _drop_output()
        return int(ExitStatus.NOT_READ)


def _answer(words: Sequence[str], debug: bool) -> int:
    """Runs one verb, all of whose output is written when this returns, and prints what goes wrong."""
    try:
        from byteways.cli.frame import call

        status = call(words)
        sys.stdout.flush()
        return status
    except BytewaysError as error:
        return _failed(error, debug)
    except SystemExit as leaving:  # Rich makes that of a closed pipe, with status 1
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
    """What the system refused, and the user can change; None: it is something else."""
    if isinstance(error, OSError) and error.errno in _UNWRITABLE and error.filename is None:
        _drop_output()
        return BytewaysError("cannot write the output", cause=error.strerror)
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in _SCARCE):
        cause = "Out of memory" if isinstance(error, MemoryError) else error.strerror
        return BytewaysError(
            "the system is out of a resource", cause=cause, hint="see ulimit -a and the cgroup's limits"
        )
    return None


def _failed(error: BytewaysError, debug: bool) -> int:
    if debug:
        import traceback

        traceback.print_exc()
    print_error(error)
    return int(error.status)


def _drop_output() -> None:
    """What is still buffered has nowhere to go; Python would try once more at exit, and say so."""
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
