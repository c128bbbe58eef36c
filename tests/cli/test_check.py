"""`byteways check`: what it prints and writes, exit statuses, mistakes; files by their own validators."""

from __future__ import annotations

import functools
import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from junitparser import JUnitXml
from prometheus_client.parser import text_string_to_metric_families

from byteways.base.errors import BytewaysError
from byteways.cli import main
from byteways.cli.check import write_file
from byteways.report.verdicts.junit import junit
from byteways.report.verdicts.prometheus import prometheus
from byteways.report.verdicts.slurm import drain_line
from byteways.verdicts.checks.verdict import FAIL, PASS, VERDICT_CODES
from byteways.verdicts.two_runs.setting import METHOD_CHANGES
from tests.changed import replace
from tests.cli.called import byteways
from tests.lazily import Lazily
from tests.report import sample_run
from tests.report.run_builder import HOSTILE, Builder
from tests.unit.verdicts.test_checks import against
from tests.unit.verdicts.test_comparison import changed, folder_of
from tests.unit.verdicts.test_comparison import pairs_run as early_pairs_run

#: The current method: results of older ones may not count.
METHOD = METHOD_CHANGES[-1][0]


@functools.cache
def schema() -> Any:
    return Lazily("xmlschema").XMLSchema(Path(__file__).parents[1] / "report" / "junit.xsd")


def pairs_run(*words: Any, **more: Any) -> Builder:
    """Copies and kernels between all pairs of GPUs, by the current method."""
    return changed(early_pairs_run(*words, **more), method_version=METHOD)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    """A healthy run, one like it, and one whose gpu2 is slow and that lost a case."""
    base = tmp_path_factory.mktemp("check")
    slow = pairs_run(lambda a, b: 200.0 if "gpu2" in (a, b) else 396.0)
    slow.lose("failed", "CUDA_ERROR_UNKNOWN", "copy", [("cpu0:pinned", "gpu1:device", "gpu1")])
    slow.measure("copy", [("cpu0:pinned", "gpu0:device", "gpu0")], 55.0)
    builds = {"healthy": pairs_run(), "like": pairs_run(lambda a, b: 397.0), "slow": slow}
    return tuple(str(folder_of(build, base / name).path) for name, build in builds.items())  # type: ignore[return-value]


def test_a_slow_run(runs: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a verdict without reason, rows that pass among those that fail, or a status of success."""
    healthy, _, slow = runs
    assert main(["check", slow, "--against", healthy]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "result"
    assert lines[1] == f"  FAIL: of 26 cases 13 FAIL, 12 PASS, 1 UNKNOWN; against {healthy}"
    assert lines[2] == "  12 of 13 failing cases involve gpu2, and 12 of the 12 cases with it fail"
    assert lines[3] == "  1 case UNKNOWN: the reference has no result of it"
    assert sum(line.startswith("  FAIL ") for line in lines) == 13
    assert sum(line.endswith("failed: CUDA_ERROR_UNKNOWN") for line in lines) == 1
    assert not any(line.startswith("  PASS") for line in lines)
    assert main(["check", slow, "--against", healthy, "--all"]) == 1
    assert sum(line.startswith("  PASS") for line in capsys.readouterr().out.splitlines()) == 12


def test_a_healthy_run(runs: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a healthy machine that fails, or a table of nothing."""
    assert main(["check", runs[1], "--against", runs[0]]) == 0
    assert capsys.readouterr().out == f"result\n  PASS: of 24 cases 24 PASS; against {runs[0]}\n"


def test_what_is_not_decided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a status of failure for noise, unless asked for; and cases that nobody is told of."""
    names = [str(folder_of(pairs_run(spread=0.15), tmp_path / name).path) for name in ("run", "healthy")]
    words = [names[0], "--against", names[1]]
    assert main(["check", *words]) == 0
    assert "24 cases NOT DECIDED: each alone would have found a loss of " in capsys.readouterr().out
    assert main(["check", *words, "--strict"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("  NOT DECIDED ") for line in lines) == 24
    assert main(["check", *words, "--strict", "--least-effect", "95%"]) == 0
    assert main(["compare", *names]) == 0
    assert main(["compare", *names, "--strict"]) == 1
    assert capsys.readouterr().err == f"--strict: {names[1]}: 24 not decided\n"
    assert main(["compare", *names, "--strict", "--least-effect", "95%"]) == 0


def test_files_are_valid(runs: tuple[str, str, str], tmp_path: Path) -> None:
    """Catches files that continuous integration or a node exporter cannot read, or that say otherwise."""
    xml, metrics = tmp_path / "j.xml", tmp_path / "p.prom"
    words = ["--junit", str(xml), "--prometheus", str(metrics)]
    assert main(["check", runs[2], "--against", runs[0], *words]) == 1
    schema().validate(str(xml))
    (suite,) = JUnitXml.fromfile(str(xml))
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (27, 14, 0, 1)
    assert sum(bool(case.result) and case.result[0].type == "FAIL" for case in suite) == 14
    families = {one.name: one for one in text_string_to_metric_families(metrics.read_text())}
    assert families["byteways_check_passed"].samples[0].value == 0
    assert families["byteways_check_verdict"].samples[0].value == VERDICT_CODES[FAIL]
    cases = {one.labels["verdict"]: one.value for one in families["byteways_check_cases"].samples}
    assert cases == {"fail": 13, "missing": 0, "high": 0, "not_decided": 0, "pass": 12, "unknown": 1}
    ratios = families["byteways_check_speed_ratio"].samples
    assert len(ratios) == 24 and min(one.value for one in ratios) == pytest.approx(200 / 396)
    verdicts = [one.value for one in families["byteways_check_case_verdict"].samples]
    assert len(verdicts) == 26 and verdicts.count(VERDICT_CODES[FAIL]) == 13
    slow = [
        one.value
        for one in families["byteways_check_bandwidth_gigabytes_per_second"].samples
        if (one.labels["source"], one.labels["destination"], one.labels["size"]) == ("gpu0", "gpu2", "1GiB")
        and one.labels["method"] == "copy issued by the source"
    ]
    assert slow == [pytest.approx(200)]
    (whole,) = families["byteways_check_together_verdict"].samples
    assert (whole.labels["cases"], whole.value) == ("all", VERDICT_CODES[FAIL])
    assert families["byteways_check_run_timestamp_seconds"].samples[0].value == 1767323101
    assert main(["check", runs[1], "--against", runs[0], *words]) == 0
    schema().validate(str(xml))
    families = {one.name: one for one in text_string_to_metric_families(metrics.read_text())}
    assert families["byteways_check_passed"].samples[0].value == 1
    assert families["byteways_check_verdict"].samples[0].value == VERDICT_CODES[PASS]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["j.xml", "p.prom"]


def test_hostile_names(tmp_path: Path) -> None:
    """Catches a name that ends an attribute, a label or a shell word."""
    found = against(tmp_path, pairs_run(lambda a, b: 200.0), pairs_run())
    name = f'{HOSTILE}"\\\n\x00\ud800'
    cases = tuple(replace(one, case=name) for one in found.cases)
    found = replace(found, cases=cases, against=name, host=HOSTILE)
    schema().validate(junit(found))
    told = list(text_string_to_metric_families(prometheus(found)))
    assert {sample.labels["against"] for one in told for sample in one.samples} == {name}
    assert shlex.split(drain_line(found, HOSTILE))[2] == f"nodename={HOSTILE}"


def test_slurm(
    runs: tuple[str, str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a command that Slurm does not take, of another node, or one that drains a healthy node."""
    monkeypatch.setenv("SLURMD_NODENAME", "n17")
    assert main(["check", runs[2], "--against", runs[0], "--slurm"]) == 1
    said = capsys.readouterr().out
    reason = "reason=byteways check FAIL: 13 of 26 cases fail, gpu2 in 12 of them"
    assert shlex.split(said) == ["scontrol", "update", "nodename=n17", "state=drain", reason]
    monkeypatch.delenv("SLURMD_NODENAME")
    assert main(["check", runs[2], "--against", runs[0], "--slurm"]) == 1
    assert "nodename=fixture " in capsys.readouterr().out
    assert main(["check", runs[1], "--against", runs[0], "--slurm"]) == 0
    assert capsys.readouterr().out == ""


def test_json(runs: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Catches JSON that differs from what is printed."""
    assert main(["check", runs[2], "--against", runs[0], "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["verdict"], told["counts"]["FAIL"], len(told["cases"])) == ("FAIL", 13, 26)


def test_learn_and_check(
    runs: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches a file of --learn that --against does not read, or by which no machine is judged."""
    file = str(tmp_path / "normal.json")
    builds = [pairs_run(lambda a, b: 395.0), pairs_run()]
    learned = [str(folder_of(build, tmp_path / f"run{n}").path) for n, build in enumerate(builds)]
    assert main(["check", "--learn", *learned, "--out", file]) == 0
    assert capsys.readouterr().err == f"{file}: 2 settings of 1 machine\n"
    assert main(["check", runs[0], "--against", file]) == 0
    out = capsys.readouterr().out
    assert f"PASS: of 24 cases 24 PASS; against {file}" in out
    assert main(["check", runs[0], "--against", file, "--all"]) == 0
    assert capsys.readouterr().out.count("this machine before") == 24
    slow = folder_of(pairs_run(lambda a, b: 100.0), tmp_path / "slow").path
    assert main(["check", str(slow), "--against", file]) == 1
    assert "FAIL: of 24 cases 24 FAIL" in capsys.readouterr().out


def test_nothing_to_judge_by(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a machine that passes because nobody knows what is normal for it."""
    build = pairs_run(rounds=1)
    own = str(folder_of(build, tmp_path / "own").path)
    assert main(["check", own, "--prometheus", str(tmp_path / "p.prom")]) == 2
    captured = capsys.readouterr()
    assert "UNKNOWN: of 24 cases 24 UNKNOWN; against normal" in captured.out
    assert captured.err.startswith(
        f"error: no case of {own} can be judged against normal\n  caused by: 12 cases"
    )
    assert "hint: measure each case three times: byteways run --rounds 3\n" in captured.err
    assert 'byteways_check_passed{against="normal"} 0.0' in (tmp_path / "p.prom").read_text()
    unknown = pairs_run()
    unknown.topology = sample_run.topology(4, gpu_model="Another GPU")
    assert main(["check", str(folder_of(unknown, tmp_path / "unknown").path)]) == 2
    assert "hint: learn what is normal here: byteways check --learn" in capsys.readouterr().err


def test_damaged_runs(runs: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches lost lines that make a check pass, and other formats that are read all the same."""
    build = pairs_run()
    folder = folder_of(build, tmp_path / "damaged").path
    journal = folder / "measurements.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join([*lines[:-3], "not json\n"]))
    assert main(["check", str(folder), "--against", runs[0]]) == 1
    captured = capsys.readouterr()
    assert "1 damaged line(s)" in captured.err
    assert "FAIL: of 24 cases 1 MISSING, 23 PASS" in captured.out
    newer = folder_of(build, tmp_path / "newer").path
    manifest = json.loads((newer / "run.json").read_text())
    (newer / "run.json").write_text(json.dumps({**manifest, "schema_version": 9}))
    assert main(["check", str(newer)]) == 2
    assert "has schema version 9" in capsys.readouterr().err
    empty = pairs_run()
    empty.records = []
    assert main(["check", str(folder_of(empty, tmp_path / "empty").path)]) == 2
    assert "has no results to check" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "nowhere is not a run folder"),
        (["RUN", "--against", "nromal"], "unknown reference 'nromal'"),
        (["RUN", "--against", "RUN"], "are the same run"),
        (["RUN", "--against", "nowhere.toml"], "cannot read the limits 'nowhere.toml'"),
        (["RUN", "--against", "nowhere.json"], "cannot read the reference nowhere.json"),
        (["RUN", "RUN"], "one run is checked at a time"),
        (["RUN", "--out", "x"], "--out is for --learn"),
        (["RUN", "--learn"], "--learn needs a file to write"),
        (["RUN", "--slurm", "--json"], "--slurm and --json both print"),
        (["RUN", "--least-effect", "5"], "--least-effect '5' is not a percentage from 0% to 100%"),
        (["RUN", "--tolerance", "5"], "--tolerance '5' is not a percentage from 0% to 100%"),
        (["RUN", "--against", "peak", "--junit", "/nowhere/j.xml"], "cannot write /nowhere/j.xml"),
        (["RUN", "--learn", "--out", "/nowhere/n.json"], "cannot write /nowhere/n.json"),
    ],
)
def test_mistakes(
    runs: tuple[str, str, str], capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    """Catches a traceback, or output beside an error."""
    assert main(["check", *(runs[0] if word == "RUN" else word for word in words)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ") and said in captured.err


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a healthy simulated run `A`, small."""
    base = tmp_path_factory.mktemp("simulated")
    assert byteways(base, "run", "quick", *SMALL, "--out", "A").returncode == 0
    yield base


SMALL = ("--machine", "h200-x4", "--only", "interface=copy|kernel,path=gpu*>gpu*,pattern=unidirectional")


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        ("slow:gpu0-nvswitch:0.5", "gpu0-nvswitch"),
        ("down:gpu0-nvswitch", "gpu0-nvswitch"),
        ("corrupt:gpu0>gpu1:word=7", "gpu0>gpu1"),
        ("skip:gpu0>gpu1", "gpu0>gpu1"),
        ("false-peer:gpu0>gpu1", "gpu0>gpu1"),
    ],
)
def test_faults_are_found(simulated: Path, fault: str, named: str) -> None:
    """Catches a fault that passes, or whose device or link is not the first that is named."""
    out = f"faulty-{fault.partition(':')[0]}"
    byteways(simulated, "run", "quick", *SMALL, "--fault", fault, "--out", out)
    found = byteways(simulated, "check", out, "--against", "A")
    assert found.returncode == 1
    lines = found.stdout.splitlines()
    assert lines[0].startswith(f"{out}: SIMULATED") and lines[1].startswith("A: SIMULATED")
    assert f"involve {named}, and " in lines[4]


def test_what_is_no_regular_file_is_written_to(tmp_path: Path) -> None:
    """Catches a device, FIFO or link that is replaced by a file: root would lose /dev/null."""
    fifo, link, target = (tmp_path / name for name in ("fifo", "link", "target"))
    os.mkfifo(fifo)
    link.symlink_to(target)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_file(fifo, "verdicts", "--junit")
        assert os.read(reader, 100) == b"verdicts" and fifo.is_fifo()
    finally:
        os.close(reader)
    for text in ("old", "new"):
        write_file(link, text, "--junit")
        assert link.is_symlink() and target.read_text() == text
    with pytest.raises(BytewaysError, match="cannot write /dev/full"):
        write_file(Path("/dev/full"), "verdicts", "--junit")
    assert Path("/dev/full").is_char_device()
