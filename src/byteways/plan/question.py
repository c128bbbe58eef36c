"""The question "which way for this size from here to there?", and the suite that measures it. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from byteways.aliases import AmbiguousError, called, meanings, translated
from byteways.errors import BytewaysError
from byteways.plan.case import PATTERNS
from byteways.plan.memory import MEMORIES
from byteways.plan.misplaced_words import OF_QUESTION, advice, placed
from byteways.plan.spelling import closest
from byteways.units import format_size, parse_size

PROCESS, RANKS = "process", "ranks"
#: Where the buffers may be: all in one process, or a process at each end.
PLACES_OF_BUFFERS = (PROCESS, RANKS)
#: Seconds in which a question is measured and answered: what is not measured by then is left out.
ANSWER_WITHIN_S = 10.0
#: Characters that make a word a glob.
GLOB = frozenset("*?[")


@dataclass(frozen=True)
class Question:
    """What is asked: ends as the user wrote them, bytes of one operation, and restrictions."""

    source: str
    destination: str
    size_bytes: int
    within: str = PROCESS
    memory: str | None = None  # a memory kind or a glob, at either end
    pattern: str = "unidirectional"

    @property
    def between(self) -> str:
        return f"from {self.source} to {self.destination}"

    def command(self, run: str | None = None, size_bytes: int | None = None) -> str:
        """Returns the command that asks this of a run, or measures it; optionally with another size."""
        size = format_size(size_bytes or self.size_bytes).replace(" ", "")
        words = ["byteways", "best", self.source, self.destination, size, *([run] if run else [])]
        for option, value, usual in (
            ("--within", self.within, PROCESS),
            ("--memory", self.memory, None),
            ("--pattern", self.pattern, "unidirectional"),
        ):
            words += [option, value] if value is not None and value != usual else []
        return shlex.join(words)


def question(
    source: str,
    destination: str,
    size: str | int,
    *,
    within: str = PROCESS,
    memory: str | None = None,
    pattern: str = "unidirectional",
) -> Question:
    """Returns a question in byteways terms; other tools' words are translated.

    Args:
        source: A device, a glob, `host`, a UUID or a PCI address.
        destination: The same.
        size: Bytes, or a text such as '1MiB'.
        within: `process` or `ranks`.
        memory: A memory kind or a glob that either end must have; None: any.
        pattern: A pattern of transfers.

    Raises:
        BytewaysError: A word or the size is not valid.
    """
    if within not in PLACES_OF_BUFFERS:
        hint = closest(within, PLACES_OF_BUFFERS)
        if placed(within):
            hint = f"--within {RANKS} compares all of MPI, NCCL and RCCL"
        raise BytewaysError(f"unknown --within '{within}'", hint=hint)
    check_ends(source, destination)
    try:
        size_bytes = parse_size(str(size))
    except ValueError as error:
        raise BytewaysError(str(error), hint="write a size in bytes, KiB, MiB or GiB: 1MiB") from error
    if memory is not None:
        memory = _word("memory", memory, MEMORIES)
    return Question(source, destination, size_bytes, within, memory, _word("pattern", pattern, PATTERNS))


def check_ends(*ends: str) -> None:
    """Raises BytewaysError for an end that is a word of something else: `h2d`, `pinned`."""
    for end in ends:
        if not set(end) & GLOB and not called("device", end) and (belongs := placed(end, OF_QUESTION)):
            raise BytewaysError(f"'{end}' is no device", hint=belongs)


def _word(what: str, word: str, valid: Sequence[str]) -> str:
    if what == "memory" and set(word) & GLOB:
        if not any(fnmatchcase(known, word) for known in valid):
            raise BytewaysError(f"no {what} matches '{word}'", hint=closest(word, valid))
        return word
    try:
        found = translated(what, word, valid)
    except AmbiguousError as error:
        raise BytewaysError(str(error), hint=error.hint) from error
    if found not in valid:
        raise BytewaysError(f"unknown {what} '{word}'", hint=advice(word, valid, OF_QUESTION))
    return found


def is_host(word: str) -> bool:
    """Whether the word means host memory, whichever NUMA domain has it."""
    return "cpu*" in meanings("device", word)
