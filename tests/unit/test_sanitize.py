"""What is read from reports of compute-sanitizer, and the suite that runs under it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

import sanitize
from tests.cli.called import byteways

CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
OUT_OF_BOUNDS = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 8 bytes
=========     at direct_flagged+0x7b0
=========     by thread (3,0,0) in block (40,0,0)
=========     Address 0x7f2a is out of bounds
=========
========= Uninitialized __global__ memory read of size 16 bytes
=========     at kernel.cu:20:direct_pull(DirectArguments)+0x70
=========     by thread (0,0,0) in block (0,0,0)
=========
========= Error: Race reported between Write access at copy_bulk+0x2d0
=========     and Read access at copy_bulk+0x310 [16 hazards]
=========
========= Program hit CUDA_ERROR_ILLEGAL_ADDRESS (error 700) on CUDA API call to cuEventSynchronize.
=========
========= ERROR SUMMARY: 4 errors
"""


def test_findings_have_their_kernels() -> None:
    """Catches a finding that is not counted, and one without the kernel that has to be mended."""
    assert not sanitize.findings(CLEAN)
    assert dict(sanitize.findings(OUT_OF_BOUNDS)) == {
        ("Invalid __global__ write of size 8 bytes", "direct_flagged"): 1,
        ("Uninitialized __global__ memory read of size 16 bytes", "direct_pull"): 1,
        ("Error: Race reported between Write access", "copy_bulk"): 1,
        (
            "Program hit CUDA_ERROR_ILLEGAL_ADDRESS (error 700) on CUDA API call to cuEventSynchronize.",
            "no kernel is named",
        ): 1,
    }


@pytest.mark.parametrize(
    ("report", "statuses", "status"),
    [
        (CLEAN, ["measured", "skipped"], 0),
        (OUT_OF_BOUNDS, ["measured"], 1),
        (CLEAN, ["measured", "corrupt"], 1),
        ("========= COMPUTE-SANITIZER\n", ["measured"], 1),
        (CLEAN, ["skipped"], 2),
        (CLEAN, [], 2),
    ],
)
def test_the_status_says_whether_all_was_clean(
    tmp_path: Path, report: str, statuses: list[str], status: int
) -> None:
    """Catches a run that measured nothing, or that the sanitizer left half-way, and passes for clean."""
    (tmp_path / "report.1").write_text(report)
    records = [
        SimpleNamespace(status=each, interface="direct", pattern="allreduce", reason="") for each in statuses
    ]
    assert sanitize.conclude("memcheck", tmp_path, records) == status


def test_the_suite_is_one(tmp_path: Path) -> None:
    """Catches a sweep that no machine would measure."""
    (tmp_path / "sanitize.toml").write_text(sanitize.SUITE)
    done = byteways(tmp_path, "run", "sanitize.toml", "--machine", "h200-x4", "--ranks", "2", "--dry-run")
    assert done.returncode == 0, done.stderr
    for interface in ("direct", "halo", "particles", "random-load", "random-store", "random-update"):
        assert interface in done.stdout
