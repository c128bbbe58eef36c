"""Whether a library between ranks moves a kind of memory: believed only after a verified operation, by ranks
that may die of it. MPI and UCX need not take memory of GPUs, nor NCCL and RCCL memory whose pages migrate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from byteways.cases.case import OF_ALL_RANKS, Case
from byteways.cases.interfaces import INTERFACES
from byteways.cases.memory import is_managed
from byteways.cases.reasons import CALLS_OF_LIBRARIES
from byteways.machine.model import Topology
from byteways.measuring.conduct.message_path import MessagePath, find_path, probes
from byteways.measuring.conduct.process import WorkerLost
from byteways.plan.variables import PATH_VARIABLES

#: Sampling time of a trial in seconds.
TRIAL_S = 0.02
#: Seconds after which the ranks of a trial count as hanging: they open runtimes first.
TRIAL_LIMIT_S = 60.0
#: Each trial has memory of its own, mostly at the addresses that the one before has freed: UCX without its
#: hooks then sends what was there before (UCX 1.22, two H200, 2026-11-27).
TRIALS = 2
#: A library that fails with messages is not tried with collectives and one-sided transfers.
MESSAGE = "message"

#: Library, operation, kinds of memory, and environment: a library may take one and not another.
Kind = tuple[str, str, tuple[str, ...], tuple[tuple[str, str], ...]]


class LibraryMemorySupport:
    """What trials have shown of the libraries of a run.

    Args:
        simulated: Whether the machine is simulated: its MPI takes all memory.
    """

    def __init__(self, *, simulated: bool = False) -> None:
        self._simulated = simulated
        self._found: dict[Kind, str | None] = {}
        self._libraries: dict[Kind, str] = {}
        self._paths: dict[Kind, MessagePath] = {}

    @property
    def trials(self) -> list[dict[str, Any]]:
        """Returns what was tried, as manifests have it."""
        return [
            {
                "library": self._libraries[kind],
                "operation": operation,
                "memories": [*memories],
                "environment": dict(environment),
                "taken": reason is None,
                "reason": reason,
                **(asdict(self._paths[kind]) if kind in self._paths else {}),
            }
            for kind, reason in self._found.items()
            for _, operation, memories, environment in (kind,)
        ]

    def untried(self, case: Case) -> bool:
        """Whether the library gets memory that it has not been tried with."""
        if self._simulated and INTERFACES[case.interface].between in ("mpi", "ucx"):
            return False
        return needs_trial(case) and self.refusal(case) is None and _kind(case) not in self._found

    def refusal(self, case: Case) -> str | None:
        """Returns why the library does not move the memory of the case; None if it does, or is untried."""
        if not needs_trial(case):
            return None
        library, _, memories, environment = own = _kind(case)
        return self._found.get((library, MESSAGE, memories, environment)) or self._found.get(own)

    def find_path(self, case: Case, topology: Topology, measure: Callable[[Case], Mapping[str, Any]]) -> bool:
        """Finds out by which path messages of the memory of a case go, if CPUs reach it.

        Returns whether the ranks are to be ended; the path stays unknown then, and the case is measured.

        Args:
            measure: Measures a message for TRIAL_S and returns the worker's answer; raises WorkerLost.
        """
        if self.refusal(case) is not None or (both := probes(case, topology)) is None:
            return False
        try:
            self._paths[_kind(case)] = find_path(both, measure)
        except WorkerLost:
            return True
        return False

    def path(self, case: Case) -> MessagePath:
        """Returns by which path the messages of a case go; empty where that was not tried, or is what the
        case asks for by a variable.
        """
        if not needs_trial(case) or PATH_VARIABLES & case.environment.keys():
            return MessagePath()
        library, _, memories, environment = _kind(case)
        return self._paths.get((library, MESSAGE, memories, environment), MessagePath())

    def try_out(self, case: Case, ask: Callable[[], Mapping[str, Any]], library: str) -> bool:
        """Finds out whether the library moves the memory of a case.

        Returns whether the ranks are to be ended, which is no loss of their devices.

        Args:
            ask: Measures for TRIAL_S and returns the worker's answer; raises WorkerLost.
            library: Its name and version.
        """
        self._libraries[_kind(case)] = library
        for _ in range(TRIALS):
            try:
                answer = ask()
            except WorkerLost as loss:
                self._found[_kind(case)] = f"{library} cannot move this memory: {loss.reason}"
                return True
            outcome = answer["outcome"]
            in_library = failed_in_library(case, outcome)
            if outcome["status"] != "failed" or in_library:  # want of memory, for example, says nothing of it
                reason = outcome["reason"]
                if reason is not None and outcome["status"] != "skipped":
                    reason = f"{library} cannot move this memory: {reason}"
                self._found[_kind(case)] = reason
            if in_library or answer.get("leaving"):
                return True
            if outcome["status"] != "measured":
                break
        return False


def needs_trial(case: Case) -> bool:
    """Whether MPI or UCX itself reads or writes memory of GPUs, or any library memory that migrates."""
    buffers = [buffer for flow in case.flows for buffer in flow.buffers]
    if INTERFACES[case.interface].between == "xccl":
        return any(is_managed(buffer.memory) for buffer in buffers)
    if not (case.by_mpi or case.by_ucx) or case.options.get("staging") == "pinned":
        return False
    return any(buffer.device.startswith("gpu") or is_managed(buffer.memory) for buffer in buffers)


def failed_in_library(case: Case, outcome: Mapping[str, Any]) -> bool:
    """Whether a failure is the library's own; memory that cannot be allocated says nothing about it."""
    call = str((outcome.get("reason_fields") or {}).get("call", ""))
    begin = CALLS_OF_LIBRARIES.get(INTERFACES[case.interface].between)
    return begin is not None and call.startswith(begin)


def _kind(case: Case) -> Kind:
    one_sided = INTERFACES[case.interface].one_sided
    operation = case.pattern if case.pattern in OF_ALL_RANKS else case.interface if one_sided else MESSAGE
    memories = {buffer.memory for flow in case.flows for buffer in flow.buffers}
    settings = tuple(sorted(case.environment.items()))
    return INTERFACES[case.interface].between, operation, tuple(sorted(memories)), settings
