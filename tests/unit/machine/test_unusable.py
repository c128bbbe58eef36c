"""GPUs that the machine has and no runtime opens: who they are, why, and that the run says so first."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from byteways.machine.unusable_gpus import unusable_gpus
from byteways.record.run_folder import RunFolder
from byteways.record.unusable_gpus import verdict_on_gpus
from byteways.report import write_report
from tests.cli.called import byteways
from tests.unit.run_folders import write_run

ADDRESSES = ("0000:3b:00.0", "0000:af:00.0")


def bus(root: Path, vendor: str = "0x10de") -> Path:
    """A sysfs with two GPUs and a network card on the PCI bus."""
    for address, kind, maker in [
        *((each, "0x030200", vendor) for each in ADDRESSES),
        ("0000:01:00.0", "0x020000", "0x8086"),
    ]:
        place = root / "bus/pci/devices" / address
        place.mkdir(parents=True)
        (place / "vendor").write_text(maker)
        (place / "class").write_text(kind)
    return root


def library(name: str, reason: str) -> dict[str, Any]:
    return {"library": name, "usable": not reason, "reason": reason, "hint": "a hint"}


def test_gpus_that_no_runtime_opens(tmp_path: Path) -> None:
    """Catches GPUs that are left out silently, and the reason of another vendor's library."""
    reports = [library("hip", "no AMD"), library("cuda-driver", "cuInit: 802"), library("nvrtc", "")]
    assert unusable_gpus(["cpu0"], reports, bus(tmp_path)) == [
        {
            "vendor": "NVIDIA",
            "pci_addresses": [*ADDRESSES],
            "library": "cuda-driver",
            "reason": "cuInit: 802",
            "hint": "a hint",
        }
    ]


def test_a_machine_with_an_open_gpu_or_without_any_has_none(tmp_path: Path) -> None:
    """Catches an alarm where a batch system hides other GPUs, and on a host without GPUs."""
    assert unusable_gpus(["cpu0", "gpu0"], [], bus(tmp_path / "gpus")) == []
    assert unusable_gpus(["cpu0"], [library("cuda-driver", "none")], tmp_path / "nothing") == []


def test_the_verdict_comes_first_everywhere(tmp_path: Path) -> None:
    """Catches a run, its page or `show` that let a reader take the host's figures for the machine's."""
    unusable = unusable_gpus(["cpu0"], [library("cuda-driver", "cuInit: 802")], bus(tmp_path / "sys"))
    folder = write_run(tmp_path / "run", unusable_gpus=unusable)
    run = RunFolder(folder)
    verdict = verdict_on_gpus(run.manifest)
    assert all(word in verdict for word in (*ADDRESSES, "NVIDIA", "cuInit: 802"))
    assert byteways(tmp_path, "show", "run", COLUMNS="400").stdout.splitlines()[0] == verdict
    page = write_report(folder).read_text()
    assert 0 < page.index(escape(verdict)) < page.index("<header>")


def test_a_run_with_all_its_gpus_says_nothing(tmp_path: Path) -> None:
    """Catches a verdict on runs of versions without the field, and on healthy ones."""
    assert verdict_on_gpus({}) == ""
    assert verdict_on_gpus({"unusable_gpus": []}) == ""
