"""What a run skips: refuses a run that would measure nothing, judges one that skipped most of its suite.

A case that cannot run here is a record with a reason, and a few of them are normal. A run of hardly anything
else did not answer what was asked, and says what to change on this machine.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from byteways.base.errors import BytewaysError, ExitStatus
from byteways.cases.case import Case, PlannedCase
from byteways.cases.interfaces import INTERFACES
from byteways.machine.model import Capabilities
from byteways.measuring.shared.launchers import INSTALL_MPI
from byteways.record.record import Record
from byteways.record.simulation_mark import voice

#: Fraction of a suite's cases from which on "skipped" is the outcome of the run.
MOSTLY_SKIPPED = 0.5
#: Reasons that the message names.
MOST_NAMED_REASONS = 3
#: Names of the libraries in reports, by what carries an interface between ranks.
_LIBRARIES = {"xccl": ("nccl", "rccl"), "ucx": ("ucx",)}
#: Switches transparent huge pages on; also advice of `byteways doctor`.
HUGE_PAGES_ON = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (administrator)"


@dataclass(frozen=True)
class Lacks:
    """What a machine lacks, and what brings it."""

    capabilities: Capabilities
    libraries: Sequence[Mapping[str, Any]]  # fields of `_core.LibraryReport`, with the advice of the loader
    simulated: bool = False  # nothing can be installed there

    def remedy(self, case: Case) -> str:
        """Returns what to do so that a skipped case can run; '' if the machine cannot be made to run it."""
        if self.simulated:
            return ""
        if _nowhere(self.capabilities.interface, case.interface):
            return _of_interface(case, self.libraries)
        memories = {end.memory for flow in case.flows for end in flow.buffers}
        if "hugepage" in memories and _nowhere(self.capabilities.memory, "hugepage"):
            return HUGE_PAGES_ON
        return ""


def check_some(planned: Sequence[PlannedCase], lacks: Lacks) -> None:
    """Raises BytewaysError if the machine cannot run any case of a plan."""
    if any(one.reason is None or one.spare for one in planned):
        return
    if not planned:
        raise BytewaysError(
            "nothing to measure: no case matches", hint="byteways run --dry-run shows the plan"
        )
    raise _error("nothing to measure", [(one.case, str(one.reason)) for one in planned], lacks)


def mostly_skipped(
    planned: Sequence[PlannedCase], records: Iterable[Record], lacks: Lacks
) -> BytewaysError | None:
    """Returns the error of a run that measured nothing, or that skipped more than half of its cases because
    of something that this machine lacks and could have; None of any other run.

    Its status is USAGE if nothing was measured, else FAILED. A suite may ask for every combination of its
    options, of which no machine can run more than a few. Cases left out for lack of time do not count.
    """
    cases = {one.case.case_id: one.case for one in planned}
    told = {record.case_id: record for record in records if record.display_status != "left out"}
    skipped = [record for record in told.values() if record.status == "skipped" and record.case_id in cases]
    own_voice = voice(lacks.simulated)
    reasons = ((cases[record.case_id], record.reason or "no reason was given") for record in skipped)
    said = [(case, own_voice.quote(reason)) for case, reason in reasons]
    if told and len(skipped) == len(told):
        return _error(f"nothing was {own_voice.measured}", said, lacks)
    curable = [(case, reason) for case, reason in said if lacks.remedy(case)]
    if len(curable) <= MOSTLY_SKIPPED * len(told):
        return None
    what = f"{len(curable)} of {len(told)} cases were skipped that this machine could run"
    return _error(what, curable, lacks, ExitStatus.FAILED)


def _error(
    what: str,
    skipped: Sequence[tuple[Case, str]],
    lacks: Lacks,
    status: ExitStatus = ExitStatus.USAGE,
) -> BytewaysError:
    once = dict.fromkeys((case.case_id, reason) for case, reason in skipped)
    counts = Counter(reason for _, reason in once)
    told = [
        f"{'1 case' if count == 1 else f'{count} cases'}: {reason}"
        for reason, count in counts.most_common(MOST_NAMED_REASONS)
    ]
    more = [f"{len(counts) - MOST_NAMED_REASONS} more reasons"] if len(counts) > MOST_NAMED_REASONS else []
    helps = dict.fromkeys(remedy for case, _ in skipped if (remedy := lacks.remedy(case)))
    hint = "; ".join(helps) or "add --dry-run, which prints every case with its reason"
    return BytewaysError(what, cause="; ".join([*told, *more]), hint=hint, status=status)


def _nowhere(offers: Mapping[str, Mapping[str, Any]], name: str) -> bool:
    """Whether some device was asked for this, and none has it."""
    asked = [of_device[name] for of_device in offers.values() if name in of_device]
    return bool(asked) and not any(offer.available for offer in asked)


def _of_interface(case: Case, libraries: Sequence[Mapping[str, Any]]) -> str:
    """Returns what makes an interface available; '' if nothing is known to."""
    interface = INTERFACES[case.interface]
    if interface.between == "mpi":
        return INSTALL_MPI
    if interface.between in _LIBRARIES:
        hints = (str(one["hint"]) for one in libraries if one["library"] in _LIBRARIES[interface.between])
        return next((hint for hint in hints if hint), "")
    if interface.worker not in ("native", "ranks"):
        return f"{sys.executable} -m pip install {interface.worker}"
    return ""
