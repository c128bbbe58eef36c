"""Compares cold results of this machine's CPU over buffers of two, four and six last-level caches.

    python benchmarks/cold_rotation.py

Each interface is measured over each buffer in turns. Printed is the ratio of its bandwidth to that over six
caches, with the 95 % interval over the turns: above 1 a part of the bytes was still cached. Wanted at four:
within 2 %.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import defaultdict

from byteways import _core
from byteways.units import format_size
from peer_runs import pairs_of, ratio_text

INTERFACES = ("load", "store", "memcpy")
MULTIPLES = (2, 4, 6)
BUDGET_S = 0.1


def measured_ns(session: _core.Session, interface: str, size: int, buffers: list[_core.Buffer]) -> float:
    options = _core.MeasureOptions()
    options.budget_s, options.precision = BUDGET_S, 1e-4
    source = buffers[1] if interface == "memcpy" else buffers[0]
    found = session.measure([_core.Flow(source, buffers[0], "cpu0", interface, size)], options)
    assert found.verified
    return min(found.samples_ns)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=pairs_of, default=10)
    parser.add_argument("--size", type=int, default=1 << 20, help="bytes of an operation")
    arguments = parser.parse_args()
    session = _core.Session(gpus=False)
    cache = session.devices[0].last_level_cache_bytes
    buffers = {}
    for multiple in MULTIPLES:
        size = math.ceil(multiple * cache / arguments.size + 1) * arguments.size
        buffers[multiple] = [session.allocate("cpu0", "hugepage", size, "cpu0") for _ in range(2)]
    print(f"{format_size(cache)} of last-level cache, operations of {format_size(arguments.size)}")
    for interface in INTERFACES:
        found: defaultdict[int, list[float]] = defaultdict(list)
        for turn in range(arguments.turns):
            for multiple in MULTIPLES if turn % 2 else reversed(MULTIPLES):
                time_ns = measured_ns(session, interface, arguments.size, buffers[multiple])
                found[multiple].append(time_ns)
        for multiple in MULTIPLES[:-1]:
            pairs = zip(found[multiple], found[MULTIPLES[-1]], strict=True)
            text = ratio_text([most / own for own, most in pairs], (0.98, 1.02))
            print(f"{interface:8}{multiple} caches: {text}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
