"""Forked processes of tests: they end, whatever the parent leaves behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Streams whose threads were not forked are garbage, and Python collects before the child's first line.
SCRIPT = """
import gc, os
from byteways import _core
from tests.native import simulated

gc.disable()
class Ring:
    pass
ring = Ring()
ring.itself, ring.session = ring, _core.Session(gpus=False)
ends = [ring.session.allocate("cpu0", "pageable", 4096, "cpu0") for _ in range(2)]
flow = _core.Flow(*ends, "cpu0", "memcpy", 4096)
ring.load = ring.session.sustain([flow], 0.01)  # it has streams, each with a thread
del ring, ends, flow
os.register_at_fork(after_in_child=gc.collect)
simulated.LIMIT_S = 20
print(simulated.apart(lambda: "ended"))
"""


def test_garbage_of_the_parent_is_not_collected() -> None:
    """Catches a child that waits for ever for native threads that only its parent has."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.returncode) == ("ended\n", 0), done.stderr
