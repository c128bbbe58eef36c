"""libbyteways_copy.so on a real GPU: each method moves the right bytes, and no sanitizer finds anything."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import sanitize
from tests.gpu import sides
from tests.native import copy_program as of

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).parents[2]
ROUND_TRIP = [sys.executable, "-m", "tests.gpu.copy_round_trip"]
GUEST = [sys.executable, "-m", "tests.gpu.copy_guest"]
COPIES = ROOT / "examples" / "copy"
#: Seconds of a program under the slowest tool.
LIMIT_S = 300


def ran(words: Sequence[str | Path], **variables: str) -> str:
    """What a command prints."""
    environment = {**os.environ, **variables}
    done = subprocess.run(
        words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_round_trip(found: Mapping[str, Any]) -> None:
    assert {"batch", "kernel", "kernel with 32 blocks", "captured"} <= found.keys()
    for name, one in found.items():
        if name == "bulk" and one["warning"]:
            continue  # before sm_90
        calls = 1 if name == "between GPUs" else 2
        assert (set(one["codes"]), one["right"], one["calls"]) == ({0}, True, calls), (name, one)
        assert not one.get("warning"), (name, one)


def test_each_method_moves_the_right_bytes() -> None:
    """Catches kernels that the driver does not compile, lists that it does not read, and lost pieces."""
    check_round_trip(json.loads(ran(ROUND_TRIP)))


def test_the_hip_side_compiles_and_runs_its_kernels(tmp_path: Path) -> None:
    """Catches a kernel of the HIP side that does not load there, or moves other bytes."""
    side = sides.make("hip", tmp_path)
    check_round_trip(json.loads(ran([*ROUND_TRIP, "hip"], **side.environment)))


def guest(scene: str) -> Any:
    """What copy_guest.py prints of a scene."""
    return json.loads(ran([*GUEST, scene]))


def test_threads_have_streams_of_their_own() -> None:
    """Catches lists and events that two streams of one handle share."""
    found = guest("streams of threads")
    assert (set(found["codes"]), found["calls"], found["fallbacks"]) == ({0}, 80, {})


def test_a_relay_is_left_to_the_stream_of_another_thread() -> None:
    """Catches a piece behind that of another thread, whose stream has the same handle."""
    found = guest("relays of threads")
    if found is None:
        pytest.skip("a relay needs two GPUs")
    assert (found["codes"], found["right"], found["all"]) == ([0, 0], True, 2) and found["relays"] >= 1


def test_after_a_reset_copies_are_the_drivers_until_prepared_again() -> None:
    """Catches kernels, lists and events of a context that was reset, with which the driver crashes."""
    before, after, prepared = guest("after a reset")["steps"]
    not_prepared = {str(of.NOT_PREPARED): 2}
    assert [one["right"] for one in (before, after, prepared)] == [True] * 3
    assert [one["codes"] for one in (before, after, prepared)] == [[0, 0]] * 3
    assert (before["calls"], before["fallbacks"]) == (2, {})
    assert (after["calls"], after["fallbacks"]) == (2, not_prepared)
    assert (prepared["calls"], prepared["fallbacks"], prepared["warning"]) == (4, not_prepared, "")


def test_no_call_ends_a_capture_of_the_program() -> None:
    """Catches an allocation, a load or a query for which the driver ends a capture."""
    for mode, found in guest("in captures").items():
        assert set(found["codes"]) == {0} and found["right"], mode


def test_streams_of_another_context_are_the_drivers() -> None:
    """Catches kernels of the primary context on a stream of another one."""
    found = guest("in another context")
    assert (found["codes"], found["right"]) == ([0, 0], True)
    assert found["fallbacks"] == {str(of.OTHER_CONTEXT): 2}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Commands of the programs that use the library: the round trip, and the examples with kernels."""
    folder, library = tmp_path_factory.mktemp("programs"), Path(of.copy_library()).parent
    driver, text = json.loads(ran([*ROUND_TRIP, "plan"]))
    plan, program = folder / "machine.plan", folder / "swap_blocks"
    plan.write_text(text, encoding="utf-8")
    links = [f"-L{library}", "-lbyteways_copy", driver, f"-Wl,-rpath,{library}:{Path(driver).parent}"]
    ran(["cc", COPIES / "swap_blocks.c", "-o", program, f"-I{of.HEADER.parent}", *links])
    return {
        "round trip": ROUND_TRIP,
        "example in C": [str(program), str(plan)],
        "example in Python": [sys.executable, str(COPIES / "swap_blocks.py"), str(plan)],
    }


@pytest.mark.parametrize("name", ["round trip", "example in C", "example in Python"])
@pytest.mark.parametrize("tool", sanitize.TOOLS)
def test_nothing_is_found_by_a_sanitizer(
    programs: Mapping[str, list[str]], name: str, tool: str, tmp_path: Path
) -> None:
    """Catches accesses beyond blocks, races in shared memory, words that nobody wrote, and memory that a
    closed plan keeps."""
    sanitizer = sanitize.installed_sanitizer()
    if sanitizer is None:
        pytest.skip("compute-sanitizer is not installed")
    words = sanitize.under(tool, sanitizer, tmp_path)
    if (
        tool == "memcheck" and name == "example in C"
    ):  # the others leave their memory to the end of the process
        words += ["--leak-check", "full"]
    printed = ran([*words, *programs[name]])
    if name == "round trip":
        check_round_trip(json.loads(printed))
    else:
        assert "24 of 24" in printed and "kernel: 1 calls" in printed
    reports = [file.read_text(errors="replace") for file in tmp_path.glob("report.*")]
    assert reports and not any(map(sanitize.unfinished, reports))
    assert sum(map(sanitize.findings, reports), Counter()) == Counter()
