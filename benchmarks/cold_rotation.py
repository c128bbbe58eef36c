"""Compares cold results over buffers of two, four and six last-level caches.

    python benchmarks/cold_rotation.py [--path 'gpu0>gpu1'] [--size 1048576]

Each interface is measured over each buffer, alternating. Printed is the ratio of its bandwidth to that over
six caches, with the 95 % interval over the turns: above 1 a part of the bytes was still cached. Wanted at
four: within 2 %. Without a path it measures this machine's CPU; the first GPU of a path executes.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections import defaultdict

from byteways import _core
from byteways.base.units import format_size
from byteways.measuring.shared.library_paths import library_directories
from peer_runs import pairs_of, ratio_text

ON_CPU = ("load", "store", "memcpy")
ON_GPU = ("copy", "kernel")
#: Of one array, where both ends are one GPU.
LOCAL = ("load", "store")
MULTIPLES = (2, 4, 6)
BUDGET_S = 0.1


def measured_ns(
    session: _core.Session, interface: str, size: int, buffers: list[_core.Buffer], executor: str
) -> float:
    options = _core.MeasureOptions()
    options.budget_s, options.precision = BUDGET_S, 1e-4
    source = buffers[0] if interface not in LOCAL else buffers[1]
    flow = _core.Flow(source, buffers[1], executor, interface, size)
    found = session.measure([flow], options)
    assert found.verified
    return min(found.samples_ns) if executor == "cpu0" else statistics.median(found.samples_ns)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=pairs_of, default=10)
    parser.add_argument("--size", type=int, nargs="*", default=[1 << 20], help="bytes of an operation")
    parser.add_argument("--path", nargs="*", default=["cpu0>cpu0"], help="source>destination")
    arguments = parser.parse_args()
    on_gpus = any("gpu" in path for path in arguments.path)
    session = _core.Session(gpus=on_gpus, library_directories=library_directories())
    caches = {device.name: device.last_level_cache_bytes for device in session.devices}
    for path in arguments.path:
        ends = path.split(">")
        gpus = [end for end in ends if end.startswith("gpu")]
        executor = gpus[0] if gpus else "cpu0"
        cache = max(caches[end] for end in gpus or ends)
        interfaces = ON_CPU if not gpus else ON_GPU + (LOCAL if len(set(ends)) == 1 else ())
        for size in arguments.size:
            print(f"{path}, {format_size(cache)} of last-level cache, operations of {format_size(size)}")
            buffers = {}
            for multiple in MULTIPLES:
                room = math.ceil(multiple * cache / size + 1) * size
                kinds = ["device" if end in gpus else "pinned" if gpus else "hugepage" for end in ends]
                buffers[multiple] = [
                    session.allocate(end, kind, room, end, user=executor if executor != "cpu0" else "")
                    for end, kind in zip(ends, kinds, strict=True)
                ]
            for interface in interfaces:
                found: defaultdict[int, list[float]] = defaultdict(list)
                for turn in range(arguments.turns):
                    for multiple in MULTIPLES if turn % 2 else reversed(MULTIPLES):
                        found[multiple].append(
                            measured_ns(session, interface, size, buffers[multiple], executor)
                        )
                for multiple in MULTIPLES[:-1]:
                    pairs = zip(found[multiple], found[MULTIPLES[-1]], strict=True)
                    text = ratio_text([most / own for own, most in pairs], (0.98, 1.02))
                    print(f"{interface:8}{multiple} caches: {text}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
