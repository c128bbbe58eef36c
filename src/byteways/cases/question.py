"""The question "which way for this size from here to there?", and the suite that measures it. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase

from byteways.base.aliases import AmbiguousError, called, meanings, translated
from byteways.base.errors import BytewaysError
from byteways.base.spelling import closest
from byteways.base.units import format_size, parse_size
from byteways.cases.block_list import BlockList, MixedBlocks, block_list
from byteways.cases.case import PATTERNS
from byteways.cases.interfaces import COLLECTIVES
from byteways.cases.memory import MEMORIES, is_plain
from byteways.cases.misplaced_words import OF_QUESTION, advice, placed

PROCESS, RANKS = "process", "ranks"
#: Where the buffers may be: all in one process, or a process at each end.
PLACES_OF_BUFFERS = (PROCESS, RANKS)
#: Seconds in which a question is measured and answered: what is not measured by then is left out.
ANSWER_WITHIN_S = 10.0
#: The same for what takes long to prepare: ranks that build the communicators of each library, and buffers in
#: host memory that exceed its caches.
SLOW_WITHIN_S = 25.0
#: The same for a load, whose memory is allocated and written again for each sample.
LOAD_WITHIN_S = 60.0
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
    blocks: BlockList | MixedBlocks | None = None  # scattered blocks of that many bytes in all
    load: bool = False  # all that it takes to get the bytes into the destination, a GPU

    @property
    def is_collective(self) -> bool:
        return self.pattern in COLLECTIVES

    @property
    def answer_within_s(self) -> float:
        """Seconds in which it is measured and answered on a real machine."""
        if self.load:
            return LOAD_WITHIN_S
        return SLOW_WITHIN_S if self.is_collective or host_alone(self) else ANSWER_WITHIN_S

    @property
    def between(self) -> str:
        if self.load:
            return f"into {self.destination}"
        return "among all ranks" if self.is_collective else f"from {self.source} to {self.destination}"

    def command(self, run: str | None = None, size_bytes: int | None = None) -> str:
        """Returns the command that asks this of a run, or measures it; optionally with another size."""
        size = format_size(size_bytes or self.size_bytes).replace(" ", "")
        if self.load:
            return shlex.join(["byteways", "best", "--load", size, self.destination, *([run] if run else [])])
        ends = [self.pattern] if self.is_collective else [self.source, self.destination]
        what = ["--blocks", self.blocks.written] if self.blocks else [size]
        words = ["byteways", "best", *ends, *what, *([run] if run else [])]
        if self.is_collective:
            return shlex.join([*words, *(["--memory", self.memory] if self.memory else [])])
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
    size: str | int | BlockList | MixedBlocks,
    *,
    within: str = PROCESS,
    memory: str | None = None,
    pattern: str = "unidirectional",
) -> Question:
    """Returns a question in byteways terms; other tools' words are translated.

    Args:
        source: A device, a glob, `host`, a UUID or a PCI address; '' for a collective of all ranks.
        destination: The same.
        size: Bytes, or a text such as '1MiB'; scattered blocks, or a text such as '1024x16KiB'.
        within: `process` or `ranks`.
        memory: A memory kind or a glob that either end must have; None: any.
        pattern: A pattern of transfers.

    Raises:
        BytewaysError: A word or the size is not valid.
    """
    pattern = _word("pattern", pattern, PATTERNS)
    if pattern in COLLECTIVES:
        within = RANKS
    if within not in PLACES_OF_BUFFERS:
        hint = closest(within, PLACES_OF_BUFFERS)
        if placed(within):
            hint = f"--within {RANKS} compares all of MPI, NCCL and RCCL"
        raise BytewaysError(f"unknown --within '{within}'", hint=hint)
    if source or destination or pattern not in COLLECTIVES:
        check_ends(source, destination)
    blocks = size if isinstance(size, BlockList | MixedBlocks) else None
    if isinstance(size, str) and "x" in size.casefold():
        blocks = block_list(size)
    try:
        size_bytes = blocks.size_bytes if blocks else parse_size(str(size))
    except ValueError as error:
        raise BytewaysError(str(error), hint="write a size in bytes, KiB, MiB or GiB: 1MiB") from error
    if memory is not None:
        memory = _word("memory", memory, MEMORIES)
    if blocks is not None and (within != PROCESS or pattern in COLLECTIVES):
        raise BytewaysError("scattered blocks are copied within one process", hint="leave out --within")
    return Question(source, destination, size_bytes, within, memory, pattern, blocks)


def check_ends(*ends: str) -> None:
    """Raises BytewaysError for an end that is a word of something else: `h2d`, `pinned`."""
    for end in ends:
        if not set(end) & GLOB and not called("device", end) and (belongs := placed(end, OF_QUESTION)):
            raise BytewaysError(f"'{end}' is no device", hint=belongs)


def collective_named(word: str) -> str:
    """Returns the collective that a word means, also by other tools' names; '' for other words."""
    try:
        name = called("pattern", word, COLLECTIVES)
    except AmbiguousError:
        return ""
    return name if name in COLLECTIVES else ""


def meant_collective(word: str) -> str:
    """`did you mean 'allreduce'? valid: …`; '' for a word that is like no collective."""
    near = get_close_matches(word.casefold(), COLLECTIVES, n=1, cutoff=0.6)
    return closest(word, COLLECTIVES) if near else ""


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


def host_alone(asked: Question) -> bool:
    """Whether no GPU takes part, nor memory that a GPU's runtime allocates: then none need be opened."""
    ends = [called("device", word.strip()) or word.strip() for word in (asked.source, asked.destination)]
    memories = [one for one in MEMORIES if asked.memory is not None and fnmatchcase(one, asked.memory)]
    return all(end.startswith("cpu") for end in ends) and all(map(is_plain, memories))


def is_host(word: str) -> bool:
    """Whether the word means host memory, whichever NUMA domain has it."""
    return "cpu*" in meanings("device", word)
