"""The library of NCCL or RCCL: a file that is missing, broken or another library is named, with advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from byteways import _core
from byteways.measuring.shared.simulator import simulator_path


@pytest.mark.parametrize(("vendor", "variable"), [("cuda", "BYTEWAYS_LIBNCCL"), ("hip", "BYTEWAYS_LIBRCCL")])
def test_a_file_that_is_no_such_library_is_named(
    vendor: str, variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a crash, or a search that goes on silently, where the user has named a wrong file."""
    broken = tmp_path / "broken.so"
    broken.write_text("no library")
    for file, said in (
        (str(tmp_path / "absent.so"), "not there"),
        (str(broken), "does not load"),
        ("libm.so.6", "it lacks ncclGetVersion (since 2.3)"),
    ):
        monkeypatch.setenv(variable, file)
        report = _core.xccl_report(vendor)
        assert not report.usable and said in report.reason
        with pytest.raises(_core.UnsupportedError, match=r"ncclGetVersion|absent|does not load"):
            _core.Xccl(vendor)


def test_the_simulated_library_has_every_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a simulated run that opens the machine's own library."""
    monkeypatch.setenv("BYTEWAYS_LIBNCCL", "/nowhere")
    report = _core.xccl_report("cuda", [], simulator_path())
    assert report.usable and report.found_by == "simulated" and not report.missing
