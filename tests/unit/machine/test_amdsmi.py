"""AMD SMI: what the management library adds to discovery, and that none of its failures ends it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from byteways.base.vendor_query import Calls
from byteways.machine import amdsmi


class FakeSmi:
    """Stands for the module amdsmi; `failing` names the calls that raise."""

    def __init__(self, *failing: str, error: str = "AMDSMI_XGMI_STATUS_NO_ERROR") -> None:
        self._failing, self._error = failing, error

    def __getattr__(self, name: str) -> Any:
        if name in self._failing:
            return self._raise
        answers = {
            "amdsmi_init": None,
            "amdsmi_shut_down": None,
            "amdsmi_get_processor_handles": ["handle"],
            "amdsmi_get_gpu_asic_info": {"market_name": "AMD Instinct MI300A"},
            "amdsmi_get_gpu_driver_info": {"driver_version": "6.10.5"},
            "amdsmi_gpu_xgmi_error_status": type("Status", (), {"name": self._error})(),
            "amdsmi_get_gpu_device_bdf": "0000:02:00.0",
        }
        return lambda *_: answers[name]

    @staticmethod
    def _raise(*_: object) -> Any:
        raise RuntimeError("AMDSMI_STATUS_NOT_SUPPORTED")


def test_what_the_management_library_adds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches names and faults that only the library knows, and a question it refuses that ends discovery."""
    monkeypatch.setitem(sys.modules, "amdsmi", FakeSmi(error="AMDSMI_XGMI_STATUS_MULTIPLE_ERRORS"))  # type: ignore[arg-type]
    found = amdsmi.describe(Calls())
    assert found.devices[0].name == "AMD Instinct MI300A"
    assert found.notes == (
        "amdgpu driver 6.10.5 (AMD SMI)",
        "0000:02:00.0: xGMI links report AMDSMI_XGMI_STATUS_MULTIPLE_ERRORS",
    )
    refusing = FakeSmi(
        "amdsmi_get_gpu_asic_info", "amdsmi_get_gpu_driver_info", "amdsmi_gpu_xgmi_error_status"
    )
    monkeypatch.setitem(sys.modules, "amdsmi", refusing)  # type: ignore[arg-type]
    assert amdsmi.describe(Calls()) == amdsmi.Smi((amdsmi.SmiDevice("0000:02:00.0", None, None, None),))


@pytest.mark.parametrize(
    ("module", "note"),
    [
        (FakeSmi("amdsmi_init"), "AMD SMI: amdsmi_init: RuntimeError: AMDSMI_STATUS_NOT_SUPPORTED"),
        (FakeSmi("amdsmi_get_processor_handles"), "AMD SMI: RuntimeError: AMDSMI_STATUS_NOT_SUPPORTED"),
    ],
)
def test_a_failing_management_library_is_a_note(
    module: Any, note: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches an exception of the library that leaves discovery."""
    monkeypatch.setitem(sys.modules, "amdsmi", module)
    assert amdsmi.describe(Calls()) == amdsmi.Smi(notes=(note,))


def test_a_wheel_without_its_library_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches the KeyError that the module raises when it is imported without libamd_smi.so."""
    monkeypatch.delitem(sys.modules, "amdsmi", raising=False)
    assert amdsmi.read_devices() == amdsmi.Smi()
    (tmp_path / "amdsmi.py").write_text("raise KeyError('ROCM_PATH')")
    monkeypatch.syspath_prepend(tmp_path)
    assert amdsmi.describe(Calls()).notes == (
        "AMD SMI: its Python module does not load (KeyError: 'ROCM_PATH')",
    )
