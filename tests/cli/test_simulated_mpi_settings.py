"""Settings of the simulated MPI: variables of Cray MPICH and ROCm change what they say, and no others run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.called import measured

KIB, MIB = 2**10, 2**20
HEAD = """name = "toy"
title = "Settings"
rounds = 1
case_budget_s = 0.02
"""
SWEEP = """[[sweep]]
name = "s{number}"
interface = "mpi"
source = "gpu*:device"
destination = "gpu*:device"
pairs = "first"
cache = "warm"
size = ["64KiB", "16MiB"]
environment = {{ {variables} }}
"""


def with_settings(folder: Path, model: str, *variables: str) -> list[dict[str, Any]]:
    sweeps = (SWEEP.format(number=number, variables=text) for number, text in enumerate(variables))
    return measured(folder, HEAD + "".join(sweeps), "--machine", model, "--ranks", "2")


def rates(records: list[dict[str, Any]]) -> dict[tuple[str, int], float]:
    """GB/s by `NAME=value` and size."""
    assert all(one["status"] == "measured" and one["verified"] for one in records), records
    return {
        (" ".join(f"{name}={value}" for name, value in one["environment"].items()), one["size_bytes"]): one[
            "bandwidth_bytes_per_s"
        ]
        / 1e9
        for one in records
    }


def test_variables_of_cray_mpich(tmp_path: Path) -> None:
    """Catches a setting without its effect, and one with an effect on sizes that it is not about."""
    found = rates(
        with_settings(
            tmp_path,
            "h200-x4",
            "",
            'MPICH_GPU_IPC_ENABLED = "0"',
            'MPICH_GPU_IPC_THRESHOLD = "1048576"',
            'MPICH_GPU_IPC_CACHE_MAX_SIZE = ["0", "50"]',
        )
    )
    large, small = 16 * MIB, 64 * KIB
    plain = found["", large], found["", small]
    staged = found["MPICH_GPU_IPC_ENABLED=0", large], found["MPICH_GPU_IPC_ENABLED=0", small]
    assert staged[0] < plain[0] / 3  # over PCIe in place of NVLink
    above = "MPICH_GPU_IPC_THRESHOLD=1048576"
    assert found[above, large] == pytest.approx(plain[0], rel=0.02)
    assert found[above, small] == pytest.approx(staged[1], rel=0.02)
    anew, kept = (f"MPICH_GPU_IPC_CACHE_MAX_SIZE={entries}" for entries in (0, 50))
    assert found[kept, small] == pytest.approx(plain[1], rel=0.02)
    assert found[anew, small] < plain[1] / 3 and found[anew, large] < found[kept, large]


def test_copy_engines_of_rocm(tmp_path: Path) -> None:
    """Catches an MPI whose copies are not those of its runtime: an engine reaches a quarter of four links."""
    texts = ('HSA_ENABLE_SDMA = ["0", "1"]', 'HSA_ENABLE_PEER_SDMA = "0"')
    found = rates(with_settings(tmp_path, "frontier-mi250x", *texts))
    by_kernel, by_engine = (found[f"HSA_ENABLE_SDMA={value}", 16 * MIB] for value in (0, 1))
    assert by_kernel > 2 * by_engine
    assert found["HSA_ENABLE_PEER_SDMA=0", 16 * MIB] == pytest.approx(by_kernel, rel=0.02)


def test_variables_that_nothing_reads_are_skipped(tmp_path: Path) -> None:
    """Catches figures of a setting that the simulation does not have."""
    records = with_settings(tmp_path, "h200-x4", "", 'UCX_TLS = "sm"', 'OMPI_MCA_pml = "ucx"')
    skipped = [one for one in records if one["status"] == "skipped"]
    assert {name for one in skipped for name in one["environment"]} == {"UCX_TLS", "OMPI_MCA_pml"}
    for one in skipped:
        assert one["reason"].startswith("the simulated MPI, NCCL and RCCL do not read ")
