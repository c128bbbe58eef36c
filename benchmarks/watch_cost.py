"""What `byteways watch` costs a program of PyTorch on an NVIDIA GPU, a small copy and a small kernel.

    python benchmarks/watch_cost.py --rounds 5

It runs a program that does nothing else with and without the watch by turns, and prints the least time of
each operation over the rounds: what disturbs a round only makes it longer.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

#: Operations of one kind; between waits there are as many as fit into the driver's queue without blocking.
COUNT, TOGETHER = 100_000, 500
KINDS = ("copy", "kernel")


def program() -> dict[str, float]:
    """Returns ns of each operation, from its call until all are done."""
    import torch

    gpu = torch.device("cuda:0")
    source = torch.ones(4096, dtype=torch.uint8).pin_memory()
    target = torch.empty(4096, dtype=torch.uint8, device=gpu)
    number = torch.zeros(1, device=gpu)
    acts = {"copy": lambda: target.copy_(source, non_blocking=True), "kernel": lambda: number.add_(1)}
    found = {}
    for kind in KINDS:
        act = acts[kind]
        for warm in (True, False):
            start = time.perf_counter_ns()
            for at in range(TOGETHER if warm else COUNT):
                act()
                if at % TOGETHER == TOGETHER - 1:
                    torch.cuda.synchronize()
        found[kind] = (time.perf_counter_ns() - start) / COUNT
    return found


def run(watched: bool) -> dict[str, float]:
    """Returns what the program prints, run with or without the watch."""
    command = [sys.executable, __file__, "--program"]
    with tempfile.TemporaryDirectory() as folder:
        watch = [sys.executable, "-m", "byteways", "watch", "-o", str(Path(folder) / "W"), "--"]
        done = subprocess.run([*watch, *command] if watched else command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"the program failed:\n{done.stderr}")
    values: dict[str, float] = json.loads(done.stdout)
    return values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--program", action="store_true", help="what is run")
    options = parser.parse_args()
    if options.program:
        print(json.dumps(program()))
        return
    plain: list[dict[str, float]] = []
    watched: list[dict[str, float]] = []
    for number in range(options.rounds):
        for how in (False, True) if number % 2 == 0 else (True, False):
            (watched if how else plain).append(run(how))
    for kind in KINDS:
        without, with_watch = (min(one[kind] for one in rounds) for rounds in (plain, watched))
        percent = 100 * (with_watch / without - 1)
        print(f"{kind}: {without:.0f} ns, watched {with_watch:.0f} ns ({percent:+.1f} %)")


if __name__ == "__main__":
    main()
