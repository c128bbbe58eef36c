"""Asks a worker what this machine offers: devices, memory, interfaces, peers, and the libraries that were
searched.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from byteways.errors import BytewaysError
from byteways.run.private_folder import private_folder
from byteways.run.process import WorkerLost, WorkerProcess
from byteways.topology.model import Capabilities

#: Opening eight GPUs, compiling every kernel for them and proving 56 pairs takes half a minute on a cold
#: cache.
PROBE_TIMEOUT_S = 180.0


@dataclass(frozen=True)
class Probe:
    """What a worker found by trying."""

    capabilities: Capabilities
    libraries: list[dict[str, Any]] = field(default_factory=list)  # fields of _core.LibraryReport
    method_version: int = 0  # of the native core


def probe_with(worker: WorkerProcess) -> Probe:
    """Probes with a worker that is running; it can measure afterwards.

    Raises:
        WorkerLost: It did not survive, or its answer is none.
    """
    answer = worker.ask({"do": "probe"}, PROBE_TIMEOUT_S)
    try:
        if "error" in answer:
            raise WorkerLost(str(answer["error"]))
        offered = Capabilities.from_json(answer["capabilities"])
        if not offered.devices:
            raise WorkerLost("worker found no device")
        return Probe(offered, answer["libraries"], int(answer["method_version"]))
    except (KeyError, TypeError, ValueError) as error:
        raise WorkerLost(f"worker sent an invalid probe: {error!r}") from error


def lost_probe(loss: WorkerLost, model: str = "") -> BytewaysError:
    """What a user is told when probing took the worker down.

    Args:
        loss: What happened.
        model: Name of the machine that was simulated; '' on a real one.
    """
    if model:
        remedy = "leave --fault out, or choose another model: byteways list machines"
        if "the simulator " in loss.reason:  # its file is missing, or does not load: no model would do better
            remedy = "reinstall byteways: the simulator is part of it"
        return BytewaysError(f"the simulated {model} could not be probed", cause=loss.reason, hint=remedy)
    hint = "byteways doctor"
    if os.environ.get("BYTEWAYS_GPUS") != "0":
        hint = "exclude the GPUs to measure the host: BYTEWAYS_GPUS=0 byteways run"
    return BytewaysError("this machine could not be probed", cause=loss.reason, hint=hint)


def probe(command: Sequence[str] | None = None, model: str = "") -> Probe:
    """Probes this machine, or a simulated one, by a short-lived worker.

    Args:
        command: Of the worker; None: as the settings say.
        model: Name of the machine that the worker simulates; '' for a real one.

    Raises:
        BytewaysError: The worker did not survive it.
    """
    with private_folder() as folder:
        try:
            worker = WorkerProcess(folder / "worker.log", command=command)
            try:
                return probe_with(worker)
            finally:
                worker.stop()
        except WorkerLost as loss:
            raise lost_probe(loss, model) from loss
