"""PyTorch's copies beside the vendor's copy call in one run."""

from __future__ import annotations

from pathlib import Path

from byteways.analyse.compare import compare
from byteways.analyse.results_index import Index
from byteways.analyse.summary import Cell, group_by
from byteways.results.run_folder import RunFolder

MIB = 2**20

#: From this size on launch overhead is below 1 %.
LARGE = 64 * MIB
#: Between GPUs PyTorch synchronises both around every copy, about 14 µs: below 1 % from this size on.
LARGE_BETWEEN_GPUS = 512 * MIB


def differing_copies(folder: Path, tolerance: float) -> list[str]:
    """Returns the large copies that PyTorch makes faster or slower than the vendor's call.

    A difference counts if the 95 % interval of the ratio over rounds lies beyond 1 ± `tolerance` as a whole:
    some hosts repeat no copy within 1 %. Copies of pageable memory are left out, which PyTorch stages itself.
    """
    found = []
    pairs = group_by(filter(_large, Index(RunFolder(folder)).cells), _place)
    for place, cells in pairs.items():
        ours, theirs = sorted(cells, key=lambda cell: cell.record.interface)
        assert (ours.record.interface, theirs.record.interface) == ("copy", "torch-copy")
        claim = compare(theirs, ours)
        if claim.low > 1 + tolerance or claim.high < 1 - tolerance:
            found.append(f"{place}: {claim.effect:.3f} ({claim.low:.3f} to {claim.high:.3f})")
    assert pairs
    return found


def _large(cell: Cell) -> bool:
    record = cell.record
    ends = record.source, record.destination
    devices = {end.partition(":")[0] for end in ends}
    between_gpus = len(devices) > 1 and not any(name.startswith("cpu") for name in devices)
    return record.size_bytes >= (LARGE_BETWEEN_GPUS if between_gpus else LARGE) and "pageable" not in str(
        ends
    )


def _place(cell: Cell) -> tuple[object, ...]:
    record = cell.record
    return record.source, record.destination, record.executor, record.size_bytes
