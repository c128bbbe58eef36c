"""A PCIe switch in a machine model that no discovery shows: the whole way from the command to its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from byteways.answers.results.index import Index
from byteways.models import load
from byteways.questions.bottlenecks.prediction import predictions
from byteways.record.run_folder import RunFolder
from tests.cli.called import byteways

SWEEPS = ("from-host", "to-host", "host-out", "host-in", "host-out-two", "host-in-two", "host-bidirectional")


def shown(folder: Path, links: str, *, memory: float = 1) -> dict[str, Any]:
    """`byteways show --json` of `concurrency` on h200-x4 with other PCIe links, and faster host memory."""
    model = load("h200-x4")
    text = model.text
    for key in ("read_bytes_per_s", "write_bytes_per_s"):
        rate = model.number(f"cpu.{key}")
        assert f"{key} = [{rate / 1e9:g}e9" in text
        text = text.replace(f"{key} = [{rate / 1e9:g}e9", f"{key} = [{memory * rate / 1e9:g}e9")
    pairs = 'pairs = ["gpu0-cpu0", "gpu1-cpu0", "gpu2-cpu0", "gpu3-cpu0"]'
    assert pairs in text
    (folder / "planted.toml").write_text(text.replace(pairs, f"pairs = [{links}]"), encoding="utf-8")
    arguments = ["run", "concurrency", "--machine", "planted.toml", "--rounds", "3", "--out", "R"]
    arguments += ["--only", f"sweep={'|'.join(SWEEPS)}", "--no-report"]
    for line in (arguments, ["show", "R", "--json"]):
        done = byteways(folder, *line)
        assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def bottlenecks(answer: dict[str, Any]) -> set[str]:
    (topic,) = [topic for topic in answer["topics"] if topic["anchor"] == "together"]
    tables = [table for table in topic["tables"] if table["title"].startswith("Bottlenecks")]
    return {row[0] for table in tables for row in table["rows"]}


@pytest.mark.parametrize("pair", [("gpu0", "gpu1"), ("gpu1", "gpu3")])
def test_a_planted_switch_is_found(pair: tuple[str, str], tmp_path: Path) -> None:
    """Would catch a shared switch that stays without a name, or is told of GPUs that do not share it.

    With the machine's own memory, which four GPUs fill, a switch holds back no case that the memory does not.
    """
    ends = {gpu: "switch0" if gpu in pair else "cpu0" for gpu in ("gpu0", "gpu1", "gpu2", "gpu3")}
    links = ", ".join([*(f'"{gpu}-{end}"' for gpu, end in ends.items()), '"switch0-cpu0"'])
    answer = shown(tmp_path, links, memory=4)
    found = bottlenecks(answer)
    a, b = pair
    assert f"an uplink shared by {a} and {b}, from the host" in found
    assert f"an uplink shared by {a} and {b}, to the host" in found
    hidden = {name for name in found if "uplink shared by" in name}
    uplink = f"an uplink shared by {a} and {b}"
    assert all(name.startswith(uplink) for name in hidden)
    assert any(f"Shared bottleneck: {uplink}" in one["title"] for one in answer["findings"])


def test_without_a_switch_there_is_none(tmp_path: Path) -> None:
    """Would catch a hidden switch on a machine that has none: its limits are memory and links both ways."""
    links = '"gpu0-cpu0", "gpu1-cpu0", "gpu2-cpu0", "gpu3-cpu0"'
    found = {name.partition(" or ")[0] for name in bottlenecks(shown(tmp_path, links))}
    assert "each PCIe 5.0 ×16 link, both directions together" in found
    memory = ("when read", "when written", "read and written", "cpu0's memory")
    assert [name for name in found if not name.startswith("each PCIe") and not name.endswith(memory)] == []


def test_every_pattern_runs_and_kernels_are_as_predicted(tmp_path: Path) -> None:
    """Would catch a pattern that plans and does not run, and routes that model and analysis see differently.

    Kernels are not held back by engines, so on this model the links alone decide.
    """
    arguments = ["run", "concurrency", "--machine", "crusher-mi250x", "--rounds", "3", "--no-report"]
    sweeps = "pairs|to-host|from-host|all|two-pairs|ring-from-host|ring-to-host"
    arguments += ["--only", f"sweep={sweeps},interface=kernel", "--out", "R"]
    done = byteways(tmp_path, *arguments)
    assert done.returncode == 0, done.stderr
    run = RunFolder(tmp_path / "R")
    assert {record.status for record in run.records} == {"measured"}
    found = predictions(Index(run))
    assert {case.cell.record.pattern for case in found.cases} >= {
        "two-pairs",
        "ring",
        "host-and-ring",
        "bisection",
    }
    assert found.lacking == 0
    for case in found.cases:
        assert case.kept == pytest.approx(1, abs=0.05), case.cell.record.path
