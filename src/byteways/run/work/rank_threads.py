"""Ranks without MPI, in this process: launch modes `thread` (one each) and `single` (one for all)."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from byteways.plan.case import Case
from byteways.record.library_choice import LibraryChoice, choice_of
from byteways.run.shared.library_log import LOG_SOURCE, LibraryLog
from byteways.run.work.failures import failed_by
from byteways.run.work.rank_measuring import RankMeasurer
from byteways.run.work.single_thread import SingleThreadMeasurer

if TYPE_CHECKING:
    from byteways._core import ThreadRanks


class RankThreads:
    """Measures cases between ranks with one GPU each.

    Args:
        core: The native module.
    """

    def __init__(self, core: ModuleType) -> None:
        self._core = core
        self._world: list[ThreadRanks] = []
        self._measurers: list[RankMeasurer] = []  # each with a session of its own
        self._single: SingleThreadMeasurer | None = None

    def measure(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
        """Returns the outcome of a `measure` request, and whether to leave: once a rank has failed outside of
        a measurement, the ranks are out of step.
        """
        if Case.from_json(request["case"]).launch == "single":
            for measurer in self._measurers:
                measurer.release()  # both modes together may not fit a GPU's memory
            self._single = self._single or SingleThreadMeasurer.open()
            return self._single.measure(request), False
        if self._single is not None:
            self._single.release()
        return self._by_threads(request)

    def choices(self, request: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Carries out each of `cases` and returns what the library's log says of it, as JSON."""
        log = LibraryLog.of_process()
        measurer = SingleThreadMeasurer.open()
        found = []
        for case in request["cases"]:
            log.news()
            outcome = measurer.measure({**request, "case": case})
            if outcome["status"] == "measured":
                choice = choice_of(log.news(), case["pattern"], f"{LOG_SOURCE} in an untimed process")
            else:
                choice = LibraryChoice(reason=outcome["reason"])
            found.append(choice.to_json())
        return found

    def _by_threads(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
        if not self._measurers:
            self._world = self._core.ThreadRanks.make(len(request["cores"]))
            self._measurers = [RankMeasurer.open(rank) for rank in self._world]
        outcomes: list[dict[str, Any]] = [{} for _ in self._world]
        left: list[dict[str, Any]] = []

        def play(rank: int) -> None:
            try:
                outcomes[rank] = self._measurers[rank].measure(request)
            except Exception as error:
                outcome = failed_by(error, f"rank {rank}: {type(error).__name__}: {error}")
                left.append(outcome)
                self._world[rank].leave(outcome["reason"])

        threads = [
            threading.Thread(target=play, args=(rank,), daemon=True) for rank in range(len(self._world))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if left:
            return left[0], True
        return outcomes[min(request["ranks"])], False
