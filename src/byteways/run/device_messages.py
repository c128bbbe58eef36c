"""Whether MPI moves memory of GPUs: believed only after a verified operation, by ranks that may die of it."""

from __future__ import annotations

from typing import Any

from byteways.plan.case import OF_ALL_RANKS, Case, is_managed

#: Sampling time of a trial in seconds.
TRIAL_S = 0.02
#: Seconds after which the ranks of a trial count as hanging: they open runtimes first.
TRIAL_LIMIT_S = 60.0
#: An MPI that fails with messages is not tried with collectives.
MESSAGE = "message"

#: Operation, kinds of memory, and environment: an MPI may take one and not another.
Kind = tuple[str, tuple[str, ...], tuple[tuple[str, str], ...]]


class DeviceMessages:
    """What trials have shown of the MPI of a run."""

    def __init__(self) -> None:
        self._found: dict[Kind, str | None] = {}

    def untried(self, case: Case) -> bool:
        """Whether MPI gets memory of a GPU that it has not been tried with."""
        return needs_trial(case) and self.refusal(case) is None and _kind(case) not in self._found

    def refusal(self, case: Case) -> str | None:
        """Returns why MPI does not move the memory of the case; None if it does, or is untried."""
        if not needs_trial(case):
            return None
        _, memories, environment = own = _kind(case)
        return self._found.get((MESSAGE, memories, environment)) or self._found.get(own)

    def tried(self, case: Case, reason: str | None) -> None:
        """Records the result of a trial: why it failed; None if it moved the right bytes."""
        self._found[_kind(case)] = reason


def needs_trial(case: Case) -> bool:
    """Whether MPI itself reads or writes memory of GPUs, or that migrates."""
    if not case.by_mpi or case.options.get("staging") == "pinned":
        return False
    return any(
        buffer.device.startswith("gpu") or is_managed(buffer.memory)
        for flow in case.flows
        for buffer in flow.buffers
    )


def trial(request: dict[str, Any]) -> dict[str, Any]:
    """Returns the request for a trial of what is to be measured."""
    return {**request, "budget_s": TRIAL_S, "rounds": 1, "precision": 1.0}


def _kind(case: Case) -> Kind:
    operation = case.pattern if case.pattern in OF_ALL_RANKS else MESSAGE
    memories = {buffer.memory for flow in case.flows for buffer in flow.buffers}
    return operation, tuple(sorted(memories)), tuple(sorted(case.environment.items()))
