"""Asks a worker what this machine offers: devices, memory, interfaces, peers and libraries."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from byteways.errors import BytewaysError
from byteways.plan.probe_scope import ProbeScope
from byteways.run.conduct.process import WorkerLost, WorkerProcess
from byteways.run.shared.private_folder import private_folder
from byteways.topology import nvml
from byteways.topology.model import Capabilities
from byteways.topology.nvml import Nvml

#: Opening eight GPUs, compiling every kernel and testing 56 pairs takes half a minute with a cold cache.
PROBE_TIMEOUT_S = 180.0


@dataclass(frozen=True)
class Probe:
    """What a worker found by trial."""

    capabilities: Capabilities
    libraries: list[dict[str, Any]] = field(default_factory=list)  # fields of _core.LibraryReport
    method_version: int = 0  # of the native core
    leaving: bool = False  # whether the worker ends: a device failed while it was tried
    management: Nvml | None = None  # asked before the worker started; None: not asked


#: Chooses the GPUs to try among the fields of all devices by name; None: all.
ChooseGpus = Callable[[Mapping[str, Mapping[str, Any]]], Sequence[str] | None]


def probe_with(
    worker: WorkerProcess,
    launcher: str | None = None,
    choose: ChooseGpus | None = None,
    scope: ProbeScope | None = None,
) -> Probe:
    """Probes with a running worker, which can then continue to measure unless it is leaving.

    Args:
        worker: Has opened nothing yet.
        launcher: The user's command that starts ranks: its MPI is looked for. None: search for a launcher.
        choose: Which GPUs to try, on a machine with many; None: all.
        scope: What the plan may use; None: anything.

    Raises:
        WorkerLost: The worker died, or its answer is invalid.
    """
    request: dict[str, Any] = {"do": "probe", "launcher": launcher}
    if scope is not None:
        request |= {"interfaces": [*scope.interfaces], "granted": [*scope.granted]}
    if scope is not None and scope.gpus is not None:
        request["gpus"] = [*scope.gpus]
    elif choose is not None:
        listed = worker.ask({"do": "devices"}, PROBE_TIMEOUT_S)
        if "error" in listed:
            raise _refused(listed)
        if (gpus := choose(listed["devices"])) is not None:
            request["gpus"] = [*gpus]
    answer = worker.ask(request, PROBE_TIMEOUT_S)
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
    management = None if model else nvml.read_if_wanted()
    with private_folder() as folder:
        try:
            worker = WorkerProcess(folder / "worker.log", command=command, tick=tick)
            try:
                return replace(probe_with(worker, launcher), management=management)
            except WorkerLost:
                raise
            except BaseException:  # from `tick`: nobody waits for the worker to exit by itself
                worker.kill()
                raise
            finally:
                worker.stop()
        except WorkerLost as loss:
            raise lost_probe(loss, model) from loss
