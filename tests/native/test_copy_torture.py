"""libbyteways_copy.so when each allocation, system call and call of the driver fails once, in turn."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from byteways.measuring.shared.simulator import simulator_path
from tests.cache import cached, version
from tests.native import copy_program as of
from tests.native import simulated as toy

FAKES = Path(__file__).parent / "fakes"
BLOCKS = "row 4096 1:100+ 4:400+ 16:1600+"
#: Of each method, and of the first call of a process: lines of a plan by which it leads.
PLANS = {
    "batch": ["method batch", BLOCKS],
    "kernel": ["method kernel", BLOCKS],
    "bulk": ["method bulk", BLOCKS],
    "relay": [
        "method relay via=gpu1 piece=16384 depth=2",
        "row 4096 1:400+ parts=500000,500000",
        "row 131072 1:16000+ parts=500000,500000",
    ],
    "first": ["method batch", BLOCKS],
}
USUAL = ["method default", "row 4096 1:1000 4:4000 16:16000", "row 131072 1:32000"]
CASES = [
    (vendor, method) for vendor in ("cuda", "hip") for method in PLANS if (vendor, method) != ("hip", "bulk")
]
KINDS = ("allocation", "system", "driver")
#: Where faults of a kind must have been possible, so that a test of none is not taken for one of all.
WITH_FAULTS = {
    "open": KINDS,
    "prepare": ("driver",),
    "copy": ("driver",),
    "copy_blocks": ("driver",),
    "copy_blocks_uniform": ("driver",),
    "first of a thread": ("allocation", "driver"),
    "choose": ("driver",),
    "close": ("driver",),
    "first call": KINDS,
}


def compiled(folder: Path, name: str, inputs: list[Path], *options: str) -> Path:
    """A program or library of the fakes."""
    command = ["cc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", f"-I{of.HEADER.parent}"]
    words: list[str | Path] = [*command, *inputs, *options]
    made = cached(
        name,
        [version("cc"), *words, of.HEADER],
        lambda path: subprocess.run([*words, "-o", path], check=True),
    )
    (folder / name).symlink_to(made)
    return folder / name


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The simulated driver behind a library that counts failed calls which free memory."""
    driver = Path(simulator_path())
    links = ["-Wl,--no-as-needed", f"-L{driver.parent}", f"-l:{driver.name}", f"-Wl,-rpath,{driver.parent}"]
    folder = tmp_path_factory.mktemp("front")
    source = FAKES / "freeing_driver.c"
    return compiled(folder, "libfreeing.so", [source], "-shared", "-fPIC", *links, "-ldl")


@pytest.fixture(scope="module")
def torture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = Path(of.copy_library())
    links = [
        f"-L{library.parent}",
        "-lbyteways_copy",
        f"-Wl,-rpath,{library.parent}",
        "-rdynamic",
        "-pthread",
    ]
    folder = tmp_path_factory.mktemp("torture")
    return compiled(folder, "copy_torture", [FAKES / "copy_torture.c"], *links, "-ldl")


def tried(program: Path, front: Path, folder: Path, vendor: str, method: str) -> dict[str, dict[str, int]]:
    """How many points were tried, by entry point and kind; the program checks what follows from each."""
    sheet, plan = folder / "sheet", folder / "plan"
    sheet.write_text(toy.nvidia() if vendor == "cuda" else toy.amd(), encoding="utf-8")
    key = of.run(lambda program: program.key(), vendor=vendor)
    plan.write_text(of.checked(*key, "path host gpu0 by gpu0", *USUAL, *PLANS[method]), encoding="utf-8")
    environment = {
        **os.environ,
        f"BYTEWAYS_LIB{vendor.upper()}": str(front),
        "COUNTED_DRIVER": simulator_path(),
        "BYTEWAYS_SIM_SHEET": str(sheet),
    }
    ended = subprocess.run(
        [program, vendor, method, plan], env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    found: dict[str, dict[str, int]] = json.loads(ended.stdout)
    return found


def check(found: dict[str, dict[str, int]]) -> None:
    for entry, points in found.items():
        without = [kind for kind in WITH_FAULTS.get(entry, ()) if points[kind] == 0]
        assert not without, (entry, points)
    assert found.get("look", {"driver": 0})["driver"] == 0


@pytest.mark.parametrize(("vendor", "method"), CASES)
def test_each_call_fails_once(vendor: str, method: str, torture: Path, front: Path, tmp_path: Path) -> None:
    """Catches a crash, a wrong code, wrong bytes, a count of what did not happen, memory that is left, and a
    plan, thread or process that does not work any more after one failure."""
    check(tried(torture, front, tmp_path, vendor, method))
