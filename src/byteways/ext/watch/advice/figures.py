"""What a run says of the operations of a program: the best method, and the program's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from byteways.answers.best.answers import Answer, answers
from byteways.answers.results.index import Index
from byteways.answers.results.summary import Part, ResultGroup
from byteways.answers.results.variants import Variant
from byteways.base.errors import BytewaysError
from byteways.cases.interfaces import INTERFACES
from byteways.cases.option_set import NO_OPTIONS, OptionSet
from byteways.cases.question import Question
from byteways.ext.watch.advice.mean_times import mean_time_of
from byteways.ext.watch.bins import Bin, Watched
from byteways.ext.watch.questions import BOTH_WAYS, at_once, exchanging, options_of, question_of, with_waits

#: Interfaces by the beginning of the name of the call, in lower case.
_INTERFACES = (
    ("mpi_put", "mpi-put"),
    ("mpi_get", "mpi-get"),
    ("mpi_", "mpi"),
    ("nccl", "xccl"),
    ("memcpy ", "copy"),  # `Memcpy DtoH`: as CUPTI's tools name copies of GPUs
    ("memcpy", "memcpy"),
    ("memmove", "memcpy"),
    ("cumemcpy", "copy"),
    ("cudamemcpy", "copy"),
    ("hipmemcpy", "copy"),
)
#: Kinds of memory that runs of a program do not measure, and those whose speed they have.
_ALIKE = {"registered": "pinned"}


class Figures:
    """The answers of a run on the operations of a program, each looked for once.

    Args:
        watched: What the program moved.
        run: The results; answers come from explain/best alone.
        name: The run's folder, for hints.
    """

    def __init__(self, watched: Watched, run: Index, name: str = "RUN") -> None:
        self.run, self._name = run, name
        self._exchanging = exchanging(watched)
        self._at_once = at_once(watched)
        self._known: dict[Question, tuple[Answer, ...]] = {}
        self._devices = {*run.topology.names(), "host", ""}

    def question(self, each: Bin) -> Question | str:
        """Returns the question of a bin, or why it has none: a key of advice.NO_GAIN."""
        found = question_of(each, self._exchanging)
        if isinstance(found, str):
            return found
        if found.pattern == BOTH_WAYS and self.best(found) is None:  # measured one way alone
            found = replace(found, pattern="unidirectional")
        return found if self._devices.issuperset((found.source, found.destination)) else "devices-unknown"

    def best(self, asked: Question) -> Answer | None:
        """Returns the best measured answer; None if the run has none."""
        if asked not in self._known:
            self._known[asked] = tuple(self._answers(asked))
        found = self._known[asked]
        return max(found, key=lambda one: one.bandwidth_bytes_per_s) if found else None

    def own_ns(
        self, each: Bin, memory: Mapping[str, str] | None = None, environment: OptionSet = NO_OPTIONS
    ) -> Part | None:
        """Returns the time of all operations of a bin by its own method in the run; None: there is none.

        Args:
            each: The bin.
            memory: Kinds of memory that take the place of others.
            environment: Variables under which it was measured.
        """
        group = self.own_group(each, memory, environment)
        return None if group is None else self.all_ns(each, group)

    def own_group(
        self, each: Bin, memory: Mapping[str, str] | None = None, environment: OptionSet = NO_OPTIONS
    ) -> ResultGroup | None:
        """Returns the results of a bin's own method, as own_ns(); None: there are none.

        Where it was measured with the options of the program's own calls, these results count.
        """
        found = (self._group(each, options, memory, environment) for options in self._options(each))
        return next((group for group in found if group), None)

    def both_groups(
        self, each: Bin, memory: Mapping[str, str], environment: OptionSet
    ) -> tuple[ResultGroup, ResultGroup] | None:
        """Returns the results of a bin's own method and of a change, with the same options.

        None: the run lacks one of them. Arguments as of own_ns().
        """
        for options in self._options(each):
            plain = self._group(each, options)
            changed = self._group(each, options, memory, environment)
            if plain and changed:
                return plain, changed
        return None

    def _options(self, each: Bin) -> tuple[OptionSet, ...]:
        """Returns options under which a bin's method is looked for, the closest first."""
        return tuple(dict.fromkeys((options_of(each, self._at_once), NO_OPTIONS)))

    def _group(
        self,
        each: Bin,
        options: OptionSet,
        memory: Mapping[str, str] | None = None,
        environment: OptionSet = NO_OPTIONS,
    ) -> ResultGroup | None:
        asked = self.question(each)
        best = None if isinstance(asked, str) else self.best(asked)
        if best is None:
            return None
        instead = memory or {}
        ends = [instead.get(kind or "", kind) for kind in (each.source.memory, each.destination.memory)]
        ranking = best.ranking
        measured = [(ranking.variant, ranking.group)]
        measured += [(one.variant, one.group) for one in (*ranking.rivals, *ranking.narrow)]
        measured += [(one.variant, one.group) for one in ranking.unranked]
        key = interface_of(each), options, environment
        for variant, group in measured:
            same = (variant.interface, variant.options, variant.environment) == key
            if same and _same_memory(ends, variant):
                return group
        return None

    def all_ns(self, each: Bin, group: ResultGroup) -> Part | None:
        """Returns the mean time of a bin at a method in ns, of the median path; None: unknown.

        An exchange counts at both ends of both its messages, and takes the time of one.
        """
        time = mean_time_of(group)
        if time is None:
            return None
        asked = self.question(each)
        both = not isinstance(asked, str) and asked.pattern == BOTH_WAYS
        count = each.count / (2 if both else 1)
        return Part(count * time.value, count * time.low, count * time.high)

    def taken_ns(self, watched: Watched) -> list[float | None]:
        """Returns the time of each bin in ns, with its part of what was waited for requests."""

        def weight(each: Bin) -> float:
            time = self.own_ns(each)
            return time.value if time else 0.0

        return with_waits(watched, weight)

    def _answers(self, asked: Question) -> Iterator[Answer]:
        try:
            yield from (one for one in answers(self.run, asked, self._name) if isinstance(one, Answer))
        except BytewaysError:  # nothing was measured there
            return


def interface_of(each: Bin) -> str:
    """Returns the interface that a call is for us; empty: none."""
    name = each.method.casefold()
    return next((interface for beginning, interface in _INTERFACES if name.startswith(beginning)), "")


def _same_memory(ends: list[str | None], variant: Variant) -> bool:
    """Whether a variant has the kinds of memory of a bin, as far as these are known."""
    pairs = zip(ends, (variant.source, variant.destination), strict=True)
    return all(not end or _ALIKE.get(end, end) == kind for end, kind in pairs)


assert {interface for _, interface in _INTERFACES} <= INTERFACES.keys()
