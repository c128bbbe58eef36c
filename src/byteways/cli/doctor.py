"""`byteways doctor`: what was searched and found, what distorts results, and how to fix it."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from byteways import __version__
from byteways.base.errors import BytewaysError, ExitStatus
from byteways.base.json_text import json_text
from byteways.base.text import visible
from byteways.console.terminal import echo
from byteways.measuring.doctor.check import CHECK_STATES, Diagnosis

if TYPE_CHECKING:
    from byteways.machine.model import Capabilities
    from byteways.machine.nvml import Nvml
    from byteways.measuring.conduct.probe import Probe
    from byteways.measuring.shared.health_users import GpuUse

#: Maximum width of text, and its width in a pipe, where the reader's window is unknown.
MOST_TEXT_WIDTH = 100
#: Seconds to observe the host's load. GPU utilisation is averaged over the last second, which should not
#: include the probing worker.
WATCH_S = 1.0
#: Width of the state and name columns; longer names get their own line.
STATE_WIDTH = 9
NAME_WIDTH = 16
#: With fewer columns than this left, text goes below state and name.
LEAST_TEXT_WIDTH = 40
BELOW = 6
_COLOURS = {"ok": typer.colors.GREEN, "warning": typer.colors.YELLOW, "problem": typer.colors.RED}
_TITLES = {"worker": "Worker", "libraries": "Libraries", "GPUs": "GPUs", "host": "Host", "process": "Process"}


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check libraries and devices, and say how to fix problems."""
    checks, works = examine()
    if as_json:
        data = {
            "format_version": 1,
            "byteways_version": __version__,
            "works": works,
            "checks": [check.to_json() for check in checks],
        }
        echo(json_text(data, indent=2))
    else:
        colour = False if os.environ.get("NO_COLOR") else None  # None: colour on a terminal only
        typer.echo("\n".join(lines(checks, _width())), color=colour)
    if not works:
        raise typer.Exit(int(ExitStatus.FAILED))


def examine() -> tuple[list[Diagnosis], bool]:
    """Returns all findings on this machine, and whether byteways can measure anything."""
    from byteways.base.settings import kernel_cache
    from byteways.machine import nvml
    from byteways.machine.discovery import discover
    from byteways.machine.sysfs_pcie import gpu_addresses
    from byteways.measuring.doctor.devices import check_gpus, check_mps, check_outliers
    from byteways.measuring.doctor.gpu_driver import check_gpu_driver
    from byteways.measuring.doctor.host import check_host
    from byteways.measuring.doctor.libraries import (
        OPTIONAL_LIBRARIES,
        check_gpu_messages,
        check_libraries,
        check_optional,
    )
    from byteways.measuring.doctor.process import check_process
    from byteways.measuring.shared.health_host import HostMonitor
    from byteways.measuring.shared.mpi_library import mpi_report_found
    from byteways.measuring.shared.mpi_wheels import obstacle, wheels_found

    found, checks = start_worker()
    on_bus = gpu_addresses(Path("/sys"), Path("/proc"))
    host = HostMonitor()
    time.sleep(WATCH_S)
    load = host.end()
    management = nvml.read()
    reports = [*(found.libraries if found else []), *([management.report] if management.report else [])]
    checks += check_libraries(reports, {vendor for vendor, _ in on_bus}, os.environ)
    checks.append(check_optional(mpi_report_found(), os.environ, OPTIONAL_LIBRARIES["mpi"]))
    wheels = wheels_found()
    checks += check_gpu_messages(wheels, None if wheels is None else obstacle(wheels))
    if found is not None:
        users = gpu_users(found.capabilities, management)
        checks += check_gpus(found.capabilities, management.devices, on_bus, users)
    checks += check_gpu_driver(on_bus, os.environ)
    if (mps := check_mps(Path("/proc"), os.environ)) is not None:
        checks.append(mps)
    topology = discover(found.capabilities.devices if found else None, management=management)
    checks += check_outliers(topology)
    checks += check_host(topology, load)
    checks += check_process(kernel_cache())
    return checks, found is not None


def gpu_users(capabilities: Capabilities, management: Nvml) -> dict[str, GpuUse]:
    """Returns other users of the probed GPUs by device; the probing worker has already exited."""
    from byteways.measuring.shared.health_users import GpuUsers

    try:
        from byteways import _core
    except ImportError:
        return {}
    gpus = {name: fields for name, fields in capabilities.devices.items() if fields["runtime"] != "host"}
    users = GpuUsers(
        _core,
        management if management.devices else None,
        {name: str(fields["uuid"]) for name, fields in gpus.items() if fields.get("uuid")},
        {name: str(fields["pci_address"]) for name, fields in gpus.items()},
        holding=False,
    )
    return users.before(list(gpus))


def start_worker() -> tuple[Probe | None, list[Diagnosis]]:
    """Probes with a worker, like a run. If it does not start, nothing can be measured."""
    from byteways.measuring.conduct.probe import probe

    try:
        found = probe()
    except BytewaysError as error:
        text = f"{error.what}: {error.cause}" if error.cause else error.what
        return None, [Diagnosis("worker", "worker", "problem", text, _own_hint(error.hint))]
    devices = ", ".join(
        f"{name} ({fields['runtime']})" for name, fields in found.capabilities.devices.items()
    )
    return found, [Diagnosis("worker", "worker", "ok", f"starts and opens {devices}")]


def _own_hint(hint: str | None) -> str:
    """Returns the hint of a failed probe, unless it suggests `byteways doctor`, which is running."""
    reinstall = "reinstall byteways: its native module must match this Python and this system"
    try:
        importlib.import_module("byteways._core")
    except ImportError:
        return reinstall
    return hint if hint and "doctor" not in hint else reinstall


def lines(checks: Sequence[Diagnosis], width: int = MOST_TEXT_WIDTH) -> list[str]:
    """Formats findings as text wrapped to `width`; echo() removes the colours if not on a terminal."""
    checks = [replace(check, text=visible(check.text)) for check in checks]  # may contain variables' values
    text: list[str] = []
    for section, title in _TITLES.items():
        own = [check for check in checks if check.section == section]
        if own:
            text += [
                typer.style(title, bold=True),
                *(line for check in own for line in _check(check, width)),
                "",
            ]
    return [*text, _summary(Counter(check.state for check in checks))]


def _width() -> int:
    return (
        min(MOST_TEXT_WIDTH, shutil.get_terminal_size().columns) if sys.stdout.isatty() else MOST_TEXT_WIDTH
    )


def _check(check: Diagnosis, width: int) -> list[str]:
    """Formats state, name, then text and advice in their own column, or below if that would be narrow."""
    beside = 2 + STATE_WIDTH + NAME_WIDTH
    narrow = width - beside < LEAST_TEXT_WIDTH
    indent = " " * (BELOW if narrow else beside)
    wrap = partial(
        textwrap.wrap, width=width - len(indent), break_on_hyphens=False, break_long_words=False
    )  # paths are not wrapped, so that they can be copied
    column = wrap(check.text)
    if check.advice:
        column += wrap(f"to do: {check.advice}", subsequent_indent="       ")
    head = f"  {typer.style(check.state.ljust(STATE_WIDTH), fg=_COLOURS[check.state])}"
    if len(check.name) < NAME_WIDTH and not narrow:
        return [f"{head}{check.name.ljust(NAME_WIDTH)}{column[0]}", *(indent + line for line in column[1:])]
    return [f"{head}{check.name}", *(indent + line for line in column)]


def _summary(states: Mapping[str, int]) -> str:
    parts = [
        f"{states[state]} {state}{'s' if states[state] > 1 else ''}"
        for state in CHECK_STATES[:0:-1]
        if states[state]
    ]
    return ", ".join(parts) if parts else "No problems found."
