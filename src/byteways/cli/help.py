"""`byteways help`: the verbs by what they are for, or the help of one of them."""

from __future__ import annotations

from typing import Annotated

import typer

from byteways.base.errors import BytewaysError
from byteways.base.spelling import closest
from byteways.cli.frame import VERBS, VERBS_BY_TASK, call
from byteways.cli.usage import verb_elsewhere
from byteways.console.terminal import echo

#: Columns of the names of verbs.
_WIDTH = max(map(len, VERBS)) + 2


def help_(
    verb: Annotated[str | None, typer.Argument(help="The verb to explain. [default: all, by task]")] = None,
) -> int:
    """Explain a verb like `byteways VERB --help`, or list all verbs by task."""
    if verb is None:
        lines = ["Usage: byteways VERB [OPTIONS] [ARGS]..."]
        for task, verbs in VERBS_BY_TASK.items():
            lines += ["", task, *(f"  {name:{_WIDTH}}{summary}" for name, summary in verbs.items())]
        echo("\n".join([*lines, "", "'byteways help VERB' explains one of them."]))
        return 0
    if verb not in VERBS:
        raise BytewaysError(f"no such verb '{verb}'", hint=verb_elsewhere(verb) or closest(verb, VERBS))
    return call([verb, "--help"])


help = help_
