"""What comes of a request, whoever measures it: an outcome in any case, and whether the worker can go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from byteways.measuring.shared.health_host import HostMonitor
from byteways.measuring.shared.protocol import Unavailable
from byteways.measuring.work.failures import failed_by, skipped
from byteways.measuring.work.outcome_fields import Outcome


class WorkerAnswer(NamedTuple):
    """`leaving`: a runtime is unusable, or the ranks are out of step: a new process has to continue."""

    outcome: Outcome
    leaving: bool = False

    def to_json(self) -> dict[str, Any]:
        message = {"did": "measure", "outcome": self.outcome}
        return {**message, "leaving": True} if self.leaving else message


def guarded(
    measure: Callable[[], WorkerAnswer], rank: int | None = None, host: str | None = None
) -> WorkerAnswer:
    """Returns the answer, whatever happens: an error fails only this case, and is the rank's or host's."""
    try:
        return measure()
    except Unavailable as error:
        return WorkerAnswer(skipped(str(error)))
    except Exception as error:
        who = f"rank {rank}: " if rank is not None else f"{host}: " if host is not None else ""
        reason = f"{who}{type(error).__name__}: {error}"
        return WorkerAnswer(failed_by(error, reason, rank=rank, host=host))


def watched(load: HostMonitor | None, measure: Callable[[], WorkerAnswer]) -> WorkerAnswer:
    """Returns the answer with what else used the host meanwhile; `load` is None where nothing could."""
    if load is None:
        return measure()
    load.begin()
    answer = measure()
    outcome = answer.outcome
    if outcome["status"] != "skipped":
        others = load.end()
        outcome["health"] = {**(outcome.get("health") or {}), "host": others.to_json()}
        outcome["warnings"] = [*outcome.get("warnings", ()), *(one.to_json() for one in others.warnings())]
    return answer
