"""Ranks without MPI, in this process: launch modes `thread` (one each) and `single` (one for all)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from byteways import _core
from byteways.measuring.shared.library_log import LOG_SOURCE, LibraryLog
from byteways.measuring.shared.request import CaseRequest
from byteways.measuring.work.answer import WorkerAnswer
from byteways.measuring.work.failures import failed_by
from byteways.measuring.work.rank_measuring import RankMeasurer
from byteways.measuring.work.single_thread import SingleThreadMeasurer
from byteways.record.library_choice import LibraryChoice, choice_of

if TYPE_CHECKING:
    from byteways._core import ThreadRanks


def in_threads(ranks: int, play: Callable[[int], None]) -> None:
    """Calls `play` with the number of each rank on a thread of its own; returns when all have ended."""
    threads = [threading.Thread(target=play, args=(rank,), daemon=True) for rank in range(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class RankThreads:
    """Measures cases between ranks with one GPU each."""

    def __init__(self) -> None:
        self._world: list[ThreadRanks] = []
        self._measurers: list[RankMeasurer] = []  # each with a session of its own
        self._single: SingleThreadMeasurer | None = None

    def measure(self, request: CaseRequest) -> WorkerAnswer:
        """Once a rank has failed outside of a measurement, the ranks are out of step, and it leaves."""
        if request.case.launch == "single":
            for measurer in self._measurers:
                measurer.release()  # both modes together may not fit a GPU's memory
            self._single = self._single or SingleThreadMeasurer.open()
            return self._single.measure(request)
        if self._single is not None:
            self._single.release()
        return self._by_threads(request)

    def choices(self, message: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Carries out each of `cases` and returns what the library's log says of it, as JSON."""
        log = LibraryLog.of_process()
        measurer = SingleThreadMeasurer.open()
        found = []
        for case in message["cases"]:
            log.news()
            outcome, _ = measurer.measure(CaseRequest.from_json({**message, "case": case}))
            if outcome["status"] == "measured":
                choice = choice_of(log.news(), case["pattern"], f"{LOG_SOURCE} in an untimed process")
            else:
                choice = LibraryChoice(reason=outcome["reason"])
            found.append(choice.to_json())
        return found

    def _by_threads(self, request: CaseRequest) -> WorkerAnswer:
        if not self._measurers:
            self._world = _core.ThreadRanks.make(len(request.cores))
            self._measurers = [RankMeasurer.open(rank) for rank in self._world]
        answers: dict[int, WorkerAnswer] = {}
        left: list[WorkerAnswer] = []

        def play(rank: int) -> None:
            try:
                answers[rank] = self._measurers[rank].measure(request)
            except Exception as error:
                answers[rank] = WorkerAnswer(
                    failed_by(error, f"rank {rank}: {type(error).__name__}: {error}", rank=rank), True
                )
                left.append(answers[rank])
                self._world[rank].leave(answers[rank].outcome["reason"] or "")

        in_threads(len(self._world), play)
        return left[0] if left else answers[min(request.case.ranks)]
