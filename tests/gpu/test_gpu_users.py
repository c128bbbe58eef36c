"""Other users of a real GPU: a second process that copies all the while is found and named."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from byteways import _core
from byteways.measuring.shared.health_users import GpuUsers
from byteways.measuring.shared.library_paths import library_directories

pytestmark = pytest.mark.gpu

#: Copies within gpu0 until it is ended.
COPYING = """
import os, sys, time
from byteways import _core
from byteways.measuring.shared.library_paths import library_directories
session = _core.Session(library_directories=library_directories(), kernel_cache=sys.argv[1])
ends = [session.allocate("gpu0", "device", 1 << 28, "gpu0") for _ in range(2)]
load = session.sustain([_core.Flow(*ends, "gpu0", "copy", 1 << 28)], 0.005)
load.start()
while not min(load.operations):
    time.sleep(0.01)
print(os.getpid(), flush=True)
time.sleep(60)
"""


@pytest.fixture
def other(tmp_path: Path) -> Iterator[int]:
    """Process id of another user's: no child of this process, which would be one of the run's."""
    command = ["setsid", "--fork", sys.executable, "-c", COPYING, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        try:
            yield pid
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.mark.usefixtures("other")
def test_another_process_is_found(tmp_path: Path) -> None:
    """Catches a GPU that another process keeps busy and that is called free."""
    session = _core.Session(library_directories=library_directories(), kernel_cache=str(tmp_path))
    (gpu,) = [device for device in session.devices if device.name == "gpu0"]
    library = _core.Management()
    users = GpuUsers(_core, library, {"gpu0": gpu.uuid}, {"gpu0": gpu.pci_address})
    session.allocate("gpu0", "device", 4096, "gpu0")
    time.sleep(1.1)
    use = users.before(["gpu0"])["gpu0"]
    assert use.utilisation_before is not None and use.utilisation_before > 0.5
    warning = use.warning("gpu0")
    assert warning is not None and warning.id == "gpu-shared"
    if use.processes is not None:  # in a container the numbers may be the host's
        assert "(pid " in str(warning.observed)
