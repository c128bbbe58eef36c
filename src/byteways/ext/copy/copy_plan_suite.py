"""The suite of `byteways plan --measure`: the cells that a plan of the copy library needs, on each GPU. Pure.

Suite `blocks` compares all methods for scattered blocks on one pair of each kind, in a minute. A plan needs
the methods that the library has, on every GPU, at the ends of what it is used for: between them it
interpolates. All cells have 64 blocks: a plan assumes that each further block takes the same time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from byteways.cases.options import AS_CALLED
from byteways.plan.built_suite import NamedSweep, built_suite
from byteways.plan.suite_types import Suite

#: Seconds after which a measurement is given up, for each GPU and for opening them. On H100 a round of a case
#: takes 0.1 s, and a GPU has some fifty of them.
GPU_S, OTHER_S = 10.0, 10.0
#: Seconds of samples for each case, in all its rounds: buffers and checks take longer.
_CASE_BUDGET_S = 0.02
_HOST, _GPU = "cpu*:pinned", "gpu*:device"
_BLOCKS = 64
#: Sweep, interface, sizes of blocks, and options: a kernel for small blocks, the batched call for large ones,
#: and the driver's calls at both ends, between which they are interpolated.
_CELLS: Sequence[tuple[str, str, list[int], Mapping[str, object]]] = (
    ("calls", "copy-blocks", [4096, 262144], {}),
    ("kernel", "kernel-blocks", [4096, 65536], {}),
    ("bulk", "bulk-blocks", [4096, 65536], {}),
    ("batch", "copy-blocks", [65536, 262144], {"submit": "batch"}),
)
_CELLS_OF_GPUS: Sequence[tuple[str, str, list[int], Mapping[str, object]]] = (
    ("calls", "copy-blocks", [4096, 65536], {}),
    ("kernel", "kernel-blocks", [4096, 65536], {}),
)
_MOST_RELAYS = 3
#: Of a copy of 256 MiB (suites/blocks.toml has larger and smaller ones).
_PIECE_BYTES = 16 * 2**20


def limit_s(gpus: int) -> float:
    """Returns the seconds after which the measurement of so many GPUs is given up."""
    return GPU_S * gpus + OTHER_S


def copy_plan_suite(gpus: int) -> Suite:
    """Returns the suite for a machine with so many GPUs."""
    own = {"name": "copy-plan", "title": "Methods of the copy library on each GPU"}
    head = {**own, "rounds": 3, "precision": 0.02, "case_budget_s": _CASE_BUDGET_S}
    return built_suite(head, (*_with_host(gpus), *_of_gpus()), file="--measure")


def _with_host(gpus: int) -> Iterator[NamedSweep]:
    for direction, source, destination, executor in (
        ("from-host", _HOST, _GPU, "destination"),
        ("to-host", _GPU, _HOST, "source"),
    ):
        ends = {"source": source, "destination": destination, "pairs": "near"}
        yield from _blocks(direction, ends, _CELLS)
        if gpus > 1:
            options = {"relays": [0, min(_MOST_RELAYS, gpus - 1)], "piece_bytes": _PIECE_BYTES}
            whole = {"interface": "route", **ends, "executor": executor, "size": "256MiB", "options": options}
            yield f"relays-{direction}", whole


def _of_gpus() -> Iterator[NamedSweep]:
    for name, same_device in (("within", "only"), ("between", "never")):
        ends = {"source": _GPU, "destination": _GPU, "same_device": same_device, "executor": "source"}
        yield from _blocks(name, ends, _CELLS_OF_GPUS)


def _blocks(
    where: str,
    ends: Mapping[str, object],
    cells: Sequence[tuple[str, str, list[int], Mapping[str, object]]],
) -> Iterator[NamedSweep]:
    for name, interface, sizes, more in cells:
        options = {"block_bytes": sizes, **AS_CALLED, **more}
        keys = {"interface": interface, **ends, "count": _BLOCKS, "options": options}
        yield f"{name}-{where}", keys
