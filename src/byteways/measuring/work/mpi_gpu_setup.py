"""Sets MPI up for memory of GPUs on every rank before any two ranks exchange such memory.

MPI libraries set GPU support up lazily. Open MPI 4.1 agrees on CUDA IPC when a rank that has used GPU memory
sends to another one, and gives up for good after five attempts that find the other rank without (its
opal/mca/btl/smcuda/README). Votes between ranks probably use such attempts up: on two H100 with two ranks on
each (2026-11-25), messages of 4 MiB had 289 GB/s or more between the first pair of a job, and 3.5 to 4.1
between later ones. Later that day, on two H100 and with the same Open MPI, no pair was slow in 11 jobs with
the message below, nor in 11 without: that it prevents slow pairs is not shown.

path_of_gpu_messages() finds out whether variables make MPI send such memory otherwise than between GPUs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from byteways import _core
from byteways.cases.memory import is_managed
from byteways.plan.variables import GPU_IPC, GPU_SUPPORT, is_cray_mpich
from byteways.record import warnings
from byteways.record.warnings import Warning, WarningFields

if TYPE_CHECKING:
    from byteways._core import Communicator, Session
    from byteways.cases.case import Case

#: Half of them are sent.
SETUP_MESSAGE_BYTES = 4096


class MpiGpuSetup:
    """Sets up one rank, once.

    Args:
        session: Has the runtimes of the machine.
        world: All ranks.
    """

    def __init__(self, session: Session, world: Communicator) -> None:
        self._session = session
        self._world = world
        self._done = False

    def before(self, case: Case) -> None:
        """Sends this rank a message of its GPU's memory before the first case in which MPI gets such memory,
        also where the rank takes no part in that case.
        """
        if self._done or not gives_gpu_memory(case):
            return
        gpus = [device.name for device in self._session.devices if device.runtime != "host"]
        if not gpus:
            return
        self._done = True
        gpu = gpus[self._world.rank % len(gpus)]
        with suppress(_core.Error):  # what MPI or the GPU refuses, the case itself will name
            self._world.message_to_self(self._session.allocate(gpu, "device", SETUP_MESSAGE_BYTES, gpu))


def gives_gpu_memory(case: Case) -> bool:
    """Whether MPI itself reads or writes memory of GPUs."""
    if not case.by_mpi or case.options.get("staging") == "pinned":
        return False
    buffers = [buffer for flow in case.flows for buffer in flow.buffers]
    return any(buffer.device.startswith("gpu") and not is_managed(buffer.memory) for buffer in buffers)


def path_of_gpu_messages(case: Case, version: str, environment: Mapping[str, str]) -> list[Warning]:
    """Returns a warning if variables make Cray MPICH send memory of GPUs otherwise than between GPUs.

    CPUs reach memory of some GPUs (MI300A), so that a message of it arrives right without GPU support. A
    variable that the case itself sets is what it measures.

    Args:
        case: What was measured.
        version: What the library says of itself.
        environment: Variables of the process.
    """
    if not is_cray_mpich(version) or not gives_gpu_memory(case):
        return []
    between_gpus = all(buffer.device.startswith("gpu") for flow in case.flows for buffer in flow.buffers)
    settings = (("no-gpu-support", GPU_SUPPORT, "0", True), ("staged-messages", GPU_IPC, "1", between_gpus))
    for warning, variable, default, concerned in settings:
        value = environment.get(variable, default)
        if concerned and variable not in case.environment and not _is_on(value):
            fields: WarningFields = {"variable": variable, "value": value}
            return [warnings.make(warning, f"{variable}={value}", f"{variable}=1", fields)]
    return []


def _is_on(value: str) -> bool:
    """Whether the library takes a variable for set, as native/runtimes/mpi/gpu_transport.cpp reads it."""
    number = re.match(r"\s*[+-]?\d+", value)
    return number is not None and int(number[0]) != 0
