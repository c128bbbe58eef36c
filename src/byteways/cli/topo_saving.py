"""`byteways topo --save FILE`: this machine in a file that its user can read before sending it."""

from __future__ import annotations

import os
from pathlib import Path

from byteways.base.errors import BytewaysError
from byteways.base.json_text import json_text
from byteways.base.system_errors import cannot_write
from byteways.base.writing import named
from byteways.console.terminal import say
from byteways.machine import nvml
from byteways.machine.machine_saver import saved
from byteways.machine.saved_machine import fields_of


def save(path: Path) -> None:
    """Writes what discovery reads of this machine, without what identifies it. Raises BytewaysError."""
    from byteways.measuring.conduct.probe import probe

    runtime, management = None, None
    try:
        probed = probe()
        runtime, management = probed.capabilities.devices, probed.management
    except BytewaysError as error:
        say(f"warning: the runtimes could not be queried: {error.what}; the file lacks what they say of GPUs")
    machine = saved(runtime, (management or nvml.read()).devices, os.sched_getaffinity(0))
    try:
        with named(path) as file:
            file.write(f"{json_text(fields_of(machine), indent=1)}\n".encode())
    except OSError as error:
        raise cannot_write(path, error, "name another file with --save") from error
    say(
        f"saved to {path}: {len(machine.files)} files of the kernel, without serial numbers, UUIDs, "
        f"host and user names and network addresses; to show it: byteways topo --from {path}"
    )
