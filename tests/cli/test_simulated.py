"""Simulated machines on the command line, with a fake worker: what is carried, marked and refused."""

from __future__ import annotations

import csv
import io
import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from byteways.base.errors import BytewaysError
from byteways.base.settings import recorded_environment
from byteways.cli import main
from byteways.measuring.conduct.simulation import Simulation
from byteways.models import load, sheet
from byteways.record.run_folder import RunFolder, refuse_mix
from tests.cli import called
from tests.faults.harness import FAKE, SUITE, TIGHT

MARK = "SIMULATED by byteways from the model h200-x4 (not measured)"
#: The fake worker has one CPU device, as this model has.
MACHINE = "h200-x4"


def byteways(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return called.byteways(folder, *arguments, **{"BYTEWAYS_WORKER": shlex.join(FAKE), **variables})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a simulated run S, a measured one M, and the suite of both."""
    place = tmp_path_factory.mktemp("simulated")
    (place / "small.toml").write_text(SUITE)
    done = byteways(place, "run", "small.toml", "--machine", MACHINE, "--out", "S")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == MARK
    assert MARK in done.stderr
    assert "5 simulated in" in done.stderr
    assert "measured" not in (done.stdout + done.stderr).replace("(not measured)", "")
    assert byteways(place, "run", "small.toml", "--no-report", "--out", "M").returncode == 0
    return place


def manifest(folder: Path) -> dict[str, Any]:
    return RunFolder(folder).manifest


def test_manifest_and_sheet(folder: Path) -> None:
    """Would catch a run whose model cannot be found again."""
    written = manifest(folder / "S")
    model = load(MACHINE)
    assert written["simulated"] is True
    assert written["machine_model"]["text"] == model.text
    assert (written["machine_model"]["digest"], written["machine_model"]["faults"]) == (model.digest, [])
    assert set(written["machine_model"]["sources"]) == set(model.sources)
    assert written["topology"]["host"] == MACHINE
    assert (folder / "S" / "machine.sheet").read_text() == sheet(model)
    measured = manifest(folder / "M")
    assert (measured["simulated"], measured["machine_model"]) == (False, None)
    assert not (folder / "M" / "machine.sheet").exists()


def test_a_simulated_machine_that_cannot_be_probed(folder: Path, tmp_path: Path) -> None:
    """Would catch an error that sends users to settings of their own machine."""
    arguments = ("run", str(folder / "small.toml"), "--machine", MACHINE)
    for more in (("--dry-run",), ("--out", "R")):
        dead = byteways(tmp_path, *arguments, *more, BYTEWAYS_FAKE_PROBE="segfault")
        assert dead.returncode == 2
        assert f"error: the simulated {MACHINE} could not be probed" in dead.stderr
        assert "BYTEWAYS_GPUS" not in dead.stderr
    assert not (tmp_path / "R").exists()


def test_where_real_libraries_lie_is_not_recorded() -> None:
    """Would catch a manifest that says a simulated run used the user's HIP library."""
    own = {"BYTEWAYS_LIBHIP": "/opt/mine.so", "HSA_XNACK": "1"}
    assert recorded_environment(own)["BYTEWAYS_LIBHIP"] == "/opt/mine.so"
    kept = recorded_environment(own, simulated=True)
    assert "BYTEWAYS_LIBHIP" not in kept
    assert kept["HSA_XNACK"] == "1"


def test_every_view_is_marked(folder: Path) -> None:
    """Would catch a table, a document or an export that could be taken for a measured one."""
    shown = byteways(folder, "show", "S").stdout
    assert shown.startswith(f"{MARK}\nsmall on {MACHINE}, ")
    assert shown.count(MARK) == 1  # once a screen
    assert byteways(folder, "show", "S", "matrices").stdout.startswith(f"{MARK}\n")
    assert "Simulated: " in shown
    assert "measured" not in shown.replace("(not measured)", "")
    data = json.loads(byteways(folder, "show", "S", "--json").stdout)
    assert (data["simulated"], data["machine_model"]) == (True, MACHINE)
    assert byteways(folder, "topo", "--from", "S").stdout.startswith(MARK)
    exported = byteways(folder, "export", "S")
    assert MARK in exported.stderr
    assert {row["simulated"] for row in csv.DictReader(io.StringIO(exported.stdout))} == {"true"}
    assert json.loads(byteways(folder, "export", "S", "-f", "json").stdout)["simulated"] is True
    measured = byteways(folder, "export", "M")
    assert {row["simulated"] for row in csv.DictReader(io.StringIO(measured.stdout))} == {"false"}
    assert "SIMULATED" not in byteways(folder, "show", "M").stdout
    report = (folder / "S" / "report.html").read_text()
    title = report[report.index("<title>") : report.index("</title>")]
    assert title.startswith("<title>SIMULATED: ") and f" · small on {MACHINE}, " in title


def test_topo_of_a_model(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Would catch a model's topology that loses its mark on the way through a file."""
    monkeypatch.chdir(tmp_path)

    def printed(*arguments: str, status: int = 0) -> str:
        assert main(["topo", *arguments]) == status
        return capsys.readouterr().out

    shown = printed("--machine", "crusher-mi250x")
    mark = "SIMULATED by byteways from the model crusher-mi250x (not measured)"
    assert shown.startswith(f"{mark}\nNUMA domains of crusher-mi250x")
    Path("t.json").write_text(
        printed("--machine", "crusher-mi250x", "--fault", "down:gpu0-gpu1", "--json"), encoding="utf-8"
    )
    again = printed("--from", "t.json")
    assert again.startswith("SIMULATED by byteways from the model crusher-mi250x, with faults down:gpu0-gpu1")
    assert "gpu0<>gpu1  xGMI" not in again
    written = printed("--machine", MACHINE, "--nccl-xml")
    assert written.startswith(f"<!-- {MARK} -->")
    Path("t.xml").write_text(written, encoding="utf-8")
    assert printed("--from", "t.xml").startswith(MARK)
    data = json.loads(printed("--from", "t.xml", "--json"))
    assert (data["simulated"], data["mark"]) == (True, MARK)
    printed("--machine", MACHINE, "--from", str(folder / "S"), status=2)
    assert printed("--from", str(folder / "S")).startswith(MARK)


def test_dry_run_and_lists_are_marked(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Would catch a plan or list of a simulated machine that passes for this one's."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("BYTEWAYS_WORKER", shlex.join(FAKE))
    assert main(["run", "small.toml", "--machine", MACHINE, "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith(MARK)
    assert main(["list", "devices", "--machine", MACHINE]) == 0
    assert capsys.readouterr().out.startswith(MARK)
    assert main(["list", "devices", "--machine", MACHINE, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["simulated"], data["machine_model"]) == (True, MACHINE)
    assert main(["list", "devices", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["simulated"] is False


def test_default_folder_says_simulated(folder: Path, tmp_path: Path) -> None:
    """Would catch a folder of simulated results whose name looks measured."""
    (tmp_path / "small.toml").write_text(SUITE)
    assert byteways(tmp_path, "run", "small.toml", "--machine", MACHINE, "--no-report").returncode == 0
    assert [
        path.name.startswith(f"byteways-small-simulated-{MACHINE}-") for path in tmp_path.glob("byte*")
    ] == [True]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--resume", "M", "--machine", MACHINE), f"a measured run cannot resume as simulated {MACHINE}"),
        (("--resume", "S", "--machine", "mi300x-8"), "machine model: h200-x4"),
        (("--resume", "S", "--machine", MACHINE, "--fault", "lost:gpu1"), "faults: none became lost:gpu1"),
        (("--resume", "S", "--machine", "mi300x-8", "--dry-run"), "machine model: h200-x4"),
        (("--resume", "S", "--machine", MACHINE, "--seed", "2"), "seed: 1 became 2"),
    ],
)
def test_runs_go_on_as_they_began_or_not_at_all(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    """Would catch figures of two machines in one run."""
    before = (folder / "S" / "measurements.jsonl").read_bytes()
    refused = byteways(folder, "run", *arguments)
    assert refused.returncode == 2
    assert "cannot be resumed" in refused.stderr
    assert said in refused.stderr
    assert (folder / "S" / "measurements.jsonl").read_bytes() == before


def test_a_simulated_run_is_taken_up(folder: Path, tmp_path: Path) -> None:
    """Would catch a resumed run that looks at the real machine, or believes a manifest that was changed."""
    (tmp_path / "small.toml").write_text(SUITE)
    arguments = ("--machine", MACHINE, "--out", "R", "--no-report", "--fault", "slow:gpu0-nvswitch:0.5")
    assert byteways(tmp_path, "run", "small.toml", *arguments, "--seed", "7").returncode == 0
    journal = tmp_path / "R" / "measurements.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:3]))
    (tmp_path / "R" / "machine.sheet").unlink()
    again = byteways(tmp_path, "run", "--resume", "R", "--no-report")
    assert again.returncode == 0, again.stderr
    assert "2 cases to simulate, 0 skipped, 3 already recorded" in again.stderr
    assert len(RunFolder(tmp_path / "R").records) == 5
    assert "faults.0\tslow:gpu0-nvswitch:0.5" in (tmp_path / "R" / "machine.sheet").read_text()
    assert "seed\t7\n" in (tmp_path / "R" / "machine.sheet").read_text()
    changed = manifest(tmp_path / "R")
    assert changed["machine_model"]["seed"] == 7
    for wrong in (-1, "7"):
        damaged = {**changed, "machine_model": {**changed["machine_model"], "seed": wrong}}
        (tmp_path / "R" / "run.json").write_text(json.dumps(damaged))
        refused = byteways(tmp_path, "run", "--resume", "R")
        assert (refused.returncode, "is damaged" in refused.stderr) == (2, True)
    changed["machine_model"]["text"] += "# changed\n"
    (tmp_path / "R" / "run.json").write_text(json.dumps(changed))
    refused = byteways(tmp_path, "run", "--resume", "R")
    assert (refused.returncode, "is damaged" in refused.stderr) == (2, True)
    del changed["machine_model"]
    (tmp_path / "R" / "run.json").write_text(json.dumps(changed))
    refused = byteways(tmp_path, "run", "--resume", "R")
    assert (refused.returncode, "machine_model" in refused.stderr) == (2, True)


def test_nothing_depends_on_real_time(tmp_path: Path) -> None:
    """Would catch a simulated run that measures other cases, or longer, on a faster machine: the fake worker
    is instant, so that a measured run puts spare cases back.
    """
    (tmp_path / "tight.toml").write_text(TIGHT)
    outcomes = []
    for name in ("A", "B"):
        arguments = ("--machine", MACHINE, "--budget", "12", "--out", name, "--no-report")
        done = byteways(tmp_path, "run", "tight.toml", *arguments)
        assert done.returncode == 0, done.stderr
        own = ("started_at", "wall_s", "worker")
        records = [record.to_json() for record in RunFolder(tmp_path / name).records]
        outcomes.append([{key: value for key, value in line.items() if key not in own} for line in records])
    assert outcomes[0] == outcomes[1]
    assert {line["status"] for line in outcomes[0]} == {"measured", "skipped"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--fault", "lost:gpu0"), "--fault lost:gpu0 needs a simulated machine"),
        (("--seed", "2"), "--seed 2 needs a simulated machine"),
        (("--machine", MACHINE, "--seed", "-1"), "a seed of -1 is out of range"),
        (("--machine", "crusher"), "unknown machine 'crusher'"),
        (("--machine", MACHINE, "--fault", "lost:gpu9"), "h200-x4 has no device gpu9"),
    ],
)
def test_usage_errors_come_before_anything_runs(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Would catch a run folder left by a command with wrong options."""
    assert main(["run", "--out", str(tmp_path / "R"), *arguments]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert "hint: " in captured.err
    assert not (tmp_path / "R").exists()


def test_mixed_runs_are_refused(folder: Path) -> None:
    """Catches simulated values mixed with measured ones."""
    simulated, measured = RunFolder(folder / "S"), RunFolder(folder / "M")
    refuse_mix([simulated, simulated])
    refuse_mix([measured])
    refuse_mix([])
    with pytest.raises(BytewaysError, match="not put side by side") as caught:
        refuse_mix([simulated, measured])
    assert str(folder / "M") in (caught.value.cause or "")


def test_list_machines(capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch a model that hides how good it is."""
    assert main(["list", "machines"]) == 0
    text = capsys.readouterr().out
    for name in ("crusher-mi250x", "h200-x4"):
        assert f"  {name}" in text
    assert "not yet checked" in text or "median" in text
    assert "  pearson2023: " in text
    assert main(["list", "machines", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["machines"]
    assert {row["name"]: row["gpus"] for row in rows}["crusher-mi250x"] == 8
    assert all(row["sources"] for row in rows)


def test_lists_of_no_machine_take_none(capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch --machine that is silently ignored."""
    assert main(["list", "machines", "--machine", MACHINE]) == 2
    assert "machines are the same on every machine" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """Would catch a traceback where the disk refuses the run folder."""
    simulation = Simulation(load(MACHINE))
    with pytest.raises(BytewaysError, match="cannot write"):
        simulation.write_sheet(tmp_path / "none")
