"""Asks a worker what this machine offers: devices, memory, interfaces, peers and libraries."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from byteways.base.errors import BytewaysError
from byteways.base.private_folder import private_folder
from byteways.base.vendor_query import timed_out
from byteways.machine import nvml
from byteways.machine.model import Capabilities
from byteways.machine.nvml import Nvml
from byteways.measuring.conduct.process import WorkerLost, WorkerProcess
from byteways.plan.probe_scope import ProbeScope

#: Opening eight GPUs, compiling every kernel and testing 56 pairs takes half a minute with a cold cache.
PROBE_TIMEOUT_S = 180.0
#: Lists the devices, without opening a GPU.
LIST: Mapping[str, Any] = {"do": "devices"}


@dataclass(frozen=True)
class Probe:
    """What a worker found by trial."""

    capabilities: Capabilities
    libraries: list[dict[str, Any]] = field(default_factory=list)  # fields of _core.LibraryReport
    method_version: int = 0  # of the native core
    leaving: bool = False  # whether the worker ends: a device failed while it was tried
    management: Nvml | None = None  # asked while the worker opened the machine; None: not asked


def request_of_probe(launcher: str | None = None, scope: ProbeScope | None = None) -> dict[str, Any]:
    """Returns the request that probes.

    Args:
        launcher: The user's command that starts ranks: its MPI is looked for. None: search for a launcher.
        scope: What the plan may use; None: anything.
    """
    request: dict[str, Any] = {"do": "probe", "launcher": launcher}
    if scope is not None:
        request |= {"interfaces": [*scope.interfaces], "granted": [*scope.granted]}
    if scope is not None and scope.gpus is not None:
        request["gpus"] = [*scope.gpus]
    return request


def probe_with(
    worker: WorkerProcess,
    launcher: str | None = None,
    scope: ProbeScope | None = None,
) -> Probe:
    """Probes with a running worker, which can then continue to measure unless it is leaving.

    Args:
        worker: Has opened nothing yet.
        launcher: As for request_of_probe().
        scope: As for request_of_probe().

    Raises:
        WorkerLost: The worker died, or its answer is invalid.
    """
    worker.send(request_of_probe(launcher, scope))
    return answered_probe(worker)


def answered_probe(worker: WorkerProcess) -> Probe:
    """Returns what a worker found that was sent request_of_probe(). Raises as probe_with()."""
    answer = worker.answer(PROBE_TIMEOUT_S)
    try:
        if "error" in answer:
            raise _refused(answer)
        offered = Capabilities.from_json(answer["capabilities"])
        if not offered.devices:
            raise WorkerLost("worker found no device")
        version, leaving = int(answer["method_version"]), bool(answer.get("leaving"))
        return Probe(offered, answer["libraries"], version, leaving)
    except (KeyError, TypeError, ValueError) as error:
        raise WorkerLost(f"worker sent an invalid probe: {error!r}") from error


def listed_devices(worker: WorkerProcess) -> dict[str, dict[str, Any]]:
    """Returns the devices of a worker that was sent LIST: their fields by name. Raises WorkerLost."""
    answer = worker.answer(PROBE_TIMEOUT_S)
    if "error" in answer:
        raise _refused(answer)
    devices: dict[str, dict[str, Any]] = answer["devices"]
    return devices


def started_beside_management(
    start: Callable[[], WorkerProcess], first: Mapping[str, Any]
) -> tuple[WorkerProcess, Nvml]:
    """Starts a worker with a first request, and asks NVML meanwhile.

    Where no other process uses a GPU, its driver initialises it for either, which takes up to a second for
    each. A worker that may wait for a call of NVML that does not return is replaced by one that makes none.
    """
    known = timed_out(nvml.NVML_MODULE)
    asked = nvml.begin_if_wanted()
    worker: WorkerProcess | None = None
    try:
        worker = start()
        worker.send(first)
        management = nvml.finish(asked)
        if timed_out(nvml.NVML_MODULE) and not known:
            worker.kill()
            worker = start()
            worker.send(first)
        return worker, management
    except BaseException:
        if worker is not None:
            worker.kill()
        if asked is not None:
            asked.end()
        raise


def _refused(answer: Mapping[str, Any]) -> WorkerLost:
    """Returns why a worker cannot probe."""
    return WorkerLost(str(answer["error"]), lacks=str(answer.get("lacks", "")))


def lost_probe(loss: WorkerLost, model: str = "") -> BytewaysError:
    """Returns the error message for a worker lost while probing.

    Args:
        loss: What happened.
        model: Name of the simulated machine; '' for a real one.
    """
    if model:
        remedy = "leave --fault out, or choose another model: byteways list machines"
        if loss.lacks == "simulator":  # its library is missing or does not load: other models fail, too
            remedy = "reinstall byteways: the simulator is part of it"
        what = f"the simulated {model} could not be probed"
        return BytewaysError(what, cause=loss.reason, hint=loss.hint or remedy)
    hint = "byteways doctor"
    if os.environ.get("BYTEWAYS_GPUS") != "0":
        hint = "exclude the GPUs to measure the host: BYTEWAYS_GPUS=0 byteways run"
    return BytewaysError("this machine could not be probed", cause=loss.reason, hint=loss.hint or hint)


def probe(
    command: Sequence[str] | None = None,
    model: str = "",
    tick: Callable[[], None] = lambda: None,
    launcher: str | None = None,
) -> Probe:
    """Probes this machine or a simulated one with a short-lived worker.

    Args:
        command: The worker's command; None: from the settings.
        model: Name of the simulated machine; '' for a real one.
        tick: Called while waiting; an exception from it ends the wait.
        launcher: As for probe_with().

    Raises:
        BytewaysError: The worker did not survive.
    """
    management: Nvml | None = None
    with private_folder() as folder:
        start = partial(WorkerProcess, folder / "worker.log", command=command, tick=tick)
        try:
            if model:
                worker = start()
                worker.send(request_of_probe(launcher))
            else:
                worker, management = started_beside_management(start, request_of_probe(launcher))
            try:
                return replace(answered_probe(worker), management=management)
            except WorkerLost:
                raise
            except BaseException:  # from `tick`: nobody waits for the worker to exit by itself
                worker.kill()
                raise
            finally:
                worker.stop()
        except WorkerLost as loss:
            raise lost_probe(loss, model) from loss
