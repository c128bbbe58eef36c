"""`byteways best`: one line, JSON, measured now, and mistakes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from byteways.cli import best, main
from byteways.plan.budget import BudgetError
from tests.report import sample_run
from tests.report.run_builder import GIB
from tests.unit.verdicts.test_comparison import folder_of, pairs_run

ORDER = "devices, then the size, then the run: byteways best gpu0 gpu1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_run.h200x4(sizes=(GIB,)).write(tmp_path_factory.mktemp("best"))


def test_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches anything but the answer on standard output."""
    assert main(["best", "gpu0", "gpu1", "1GiB", str(folder)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    (line,) = captured.out.splitlines()
    assert line.startswith(
        "gpu0>gpu1, 1 GiB: cudaMemcpyAsync in a stream of gpu0 (copy, issued by the source), 396 GB/s (88 %"
    )
    assert line.endswith("; sure")


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches JSON that lacks the claims, or an answer for each link class."""
    assert main(["best", "gpu*", "gpu*", "1GiB", str(folder), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["simulated"] is False
    assert told["measured_now_s"] is None
    assert [len(answer["paths"]) for answer in told["answers"]] == [12, 4]


def test_simulated_and_damaged_runs_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches an answer from a simulated run without its mark, or lost lines that go unnoticed."""
    build = sample_run.h200x4(sizes=(GIB,))
    build.simulated = True
    build.extra_lines = ["not json"]
    assert main(["best", "gpu0", "gpu1", "1GiB", str(build.write(tmp_path))]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("SIMULATED by byteways from the model ")
    assert "1 damaged line(s)" in captured.err


def test_a_question_too_long_for_its_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches advice on a budget, which `best` does not have."""

    def too_long(*_: object) -> None:
        raise BudgetError("no case fits", cause="start-up and the shortest case take about 12 s")

    monkeypatch.setattr(best, "_measured", too_long)
    assert main(["best", "gpu0", "gpu1", "1MiB", "--machine", "h200-x4"]) == 2
    told = capsys.readouterr().err
    assert told == (
        "error: no answer within 10 s\n"
        "  caused by: start-up and the shortest case take about 12 s, as estimated\n"
        "hint: measure without that limit: byteways run quick\n"
    )


@pytest.mark.parametrize(
    ("words", "opened"),
    [
        (["host", "host", "1MiB"], "0"),
        (["cpu0", "numa1", "1MiB", "--memory", "hugepage"], "0"),
        (["host", "host", "1MiB", "--memory", "pinned"], None),
        (["host", "gpu0", "1MiB"], None),
    ],
)
def test_a_question_about_the_host_opens_no_gpu(
    words: list[str], opened: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches GPUs that take all the time of a question about host memory, and a setting that stays."""
    seen = []

    def measured(*_: object) -> None:
        seen.append(os.environ.get("BYTEWAYS_GPUS"))
        raise BudgetError("enough", cause="seen")

    monkeypatch.delenv("BYTEWAYS_GPUS", raising=False)
    monkeypatch.setattr(best, "_measured", measured)
    assert main(["best", *words]) == 2
    assert seen == [opened]
    assert "BYTEWAYS_GPUS" not in os.environ


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["gpu0", "gpu1", "1GiB", "nowhere"], "nowhere is not a run folder"),
        (["gpu0", "gpu1", "1GiB", "RUN", "--machine", "h200-x4"], "--machine is for a measurement; "),
        (["gpu0", "gpu1", "1GiB", "RUN", "--out", "x"], "--out is for a measurement; "),
        (["gpu0", "gpu1", "3MiB", "RUN"], "the run has no result of 3 MiB from gpu0 to gpu1"),
        (["gup0", "gpu1", "1GiB", "RUN"], "unknown device 'gup0'\nhint: did you mean 'gpu0'? devices: "),
        (
            ["allredcue", "64KiB"],
            "'allredcue' is neither a device nor a collective\nhint: did you mean 'allr",
        ),
        (
            ["allreduce", "RUN"],
            "'RUN' is not a size\nhint: the size follows the collective: byteways best all",
        ),
        (
            ["bidirectional", "1MiB"],
            "'bidirectional' is no device\nhint: 'bidirectional' is the pattern: --p",
        ),
        (
            ["allreduce", "1MiB", "RUN"],
            "the run has no allreduce results among all ranks\nhint: measured paths: ",
        ),
        (["gpu0", "gpu77", "1MiB", "--machine", "h200-x4"], "unknown device 'gpu77'"),
        (["gpu0", "gpu1", "1MiB", "--machine", "nosuch"], "unknown machine 'nosuch'"),
        (["gpu0", "gpu1"], "missing argument 'SIZE'\nhint: name both ends and the size: byteways best gpu0"),
        (["gpu0", "gpu1", "RUN"], f"'RUN' is a run, not a size\nhint: {ORDER} 1MiB RUN"),
        (["gpu0", "gpu1", "RUN", "1GiB"], f"'RUN' is a run, not a size\nhint: {ORDER} 1GiB RUN"),
        (["RUN", "gpu0", "gpu1", "1GiB"], f"'gpu1' is not a size\nhint: {ORDER} 1GiB RUN"),
        (["1GiB", "gpu0", "gpu1"], f"'gpu1' is not a size\nhint: {ORDER} 1GiB"),
        (["gpu0>gpu1", "1GiB", "RUN"], f"'RUN' is a run, not a size\nhint: {ORDER} 1GiB RUN"),
        (["gpu0", "1GiB", "RUN"], "'RUN' is a run, not a size\nhint: name both ends: "),
        (["h2d", "1GiB", "RUN"], "'h2d' is no device\nhint: 'h2d' is the path cpu*>gpu*: name both"),
        (["gpu0", "gpu1", "large", "RUN"], "'large' is not a size; write 4096, "),
    ],
)
def test_mistakes(folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    """Catches a traceback, or output beside an error."""
    assert main(["best", *(str(folder) if word == "RUN" else word for word in words)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.replace(str(folder), "RUN").startswith(f"error: {said}")


def test_why_there_is_no_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches one round, or cases that all failed, told without the reason or what to do."""
    few = sample_run.h200x4(sizes=(GIB,), rounds=1).write(tmp_path / "few")
    assert main(["best", "gpu0", "gpu1", "1GiB", str(few)]) == 0
    captured = capsys.readouterr()
    assert captured.out == "gpu0>gpu1: not ranked: measured in 1 round, and a ranking needs 3\n"
    now = "measure it now: byteways best gpu0 gpu1 1GiB"
    assert captured.err == f"hint: byteways run --rounds 3; or {now}\n"
    failed = pairs_run(gpus=3)
    failed.records = [one for one in failed.records if one.path != "gpu0>gpu1"]
    failed.lose(
        "skipped", "3 workers were lost on gpu0>gpu1", "kernel", [("gpu0:device", "gpu1:device", "gpu0")]
    )
    failed.lose("timeout", "no answer within 20 s", "copy", [("gpu0:device", "gpu1:device", "gpu0")])
    assert main(["best", "gpu0", "gpu1", "1GiB", str(folder_of(failed, tmp_path / "failed").path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(
        "error: the run has no results from gpu0 to gpu1\n  caused by: 2 cases there have "
    )
    assert "have no result: copy gpu0>gpu1: timeout, no answer within 20 s\nhint: measured paths: " in said


def test_measured_now(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a question without a run that is not measured, not kept where asked, or not labelled."""
    kept = tmp_path / "kept"
    words = ["best", "0000:00:06.0", "gpu1", "1MiB", "--machine", "h200-x4"]
    assert main([*words, "--out", str(kept)]) == 0
    captured = capsys.readouterr()
    mark, line = captured.out.splitlines()
    assert mark == "SIMULATED by byteways from the model h200-x4 (not measured)"
    assert line.startswith(
        "gpu0>gpu1, 1 MiB: cudaMemcpyAsync in a stream of gpu0 (copy, issued by the source), "
    )
    assert f"simulated now into {kept}, in " in captured.err
    assert main(["best", "gpu0", "gpu1", "1MiB", str(kept)]) == 0
    assert capsys.readouterr().out.splitlines() == [mark, line]


def test_no_answer_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches a machine that takes minutes to open, and a folder of nothing that is left behind."""
    monkeypatch.setattr("byteways.cases.question.SLOW_WITHIN_S", 0.0)
    assert main(["best", "cpu0", "cpu0", "4KiB", "--out", str(tmp_path / "run")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(
        "error: no answer within 0 s\n  caused by: the devices of this machine were"
    )
    assert captured.err.endswith("hint: measure without that limit: byteways run quick\n")
    assert not (tmp_path / "run").exists()


def test_an_answer_says_what_there_was_no_time_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches a question whose time is over and that has no answer, or one that hides what is missing."""
    from byteways.cli.progress import Progress
    from byteways.measuring.conduct.time_limit import TimeLimit
    from byteways.record.record import Record

    ended = Progress.ended

    def the_time_ends(self: Progress, record: Record) -> None:
        ended(self, record)
        if self.counts["measured"] == 2:
            assert isinstance(self._interruption, TimeLimit)
            self._interruption._limit_s = 0.0

    monkeypatch.setattr(Progress, "ended", the_time_ends)
    assert main(["best", "cpu0", "cpu0", "4KiB", "--out", str(tmp_path / "run"), "--json"]) == 0
    captured = capsys.readouterr()
    told = json.loads(captured.out)
    assert len(told["left_out"]) >= 4 and "memcpy with hugepage memory" in told["left_out"]
    assert f"left out for lack of time: {told['left_out'][0]}" in captured.err
    assert [answer["reason"] for answer in told["answers"]] == [
        "not ranked: measured in 1 round, and a ranking needs 3"
    ]
    records = (tmp_path / "run" / "measurements.jsonl").read_text().splitlines()
    assert len(records) == 2


def _with_manifest(folder: Path, **changes: object) -> None:
    file = folder / "run.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def _of_one_identifier(folder: Path) -> None:
    """GPUs of several PCI domains on one bus, whose UUIDs begin alike."""
    file = folder / "run.json"
    manifest = json.loads(file.read_text())
    gpus = [device for device in manifest["topology"]["devices"] if device["name"].startswith("gpu")]
    for number, device in enumerate(gpus):
        device |= {"pci_address": f"000{number}:01:00.0", "uuid": f"GPU-aaaa{number}000"}
    file.write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("spoil", "words", "said"),
    [
        (
            lambda run: _with_manifest(run, schema_version=99),
            "gpu0",
            "error: RUN has schema version 99, this",
        ),
        (lambda run: (run / "run.json").write_text("{"), "gpu0", "error: RUN/run.json is damaged\n"),
        (lambda run: (run / "run.json").unlink(), "gpu0", "error: RUN has lost its run.json\n"),
        (lambda run: (run / "measurements.jsonl").unlink(), "gpu0", "error: RUN has no results\n"),
        (
            lambda run: (run / "measurements.jsonl").write_text(""),
            "gpu0",
            "error: the run has no results from gpu0 to gpu1\n"
            "hint: measure it now: byteways best gpu0 gpu1 1GiB\n",
        ),
        (
            _of_one_identifier,
            "01:00.0",
            "error: '01:00.0' is ambiguous\n  caused by: it fits gpu0, gpu1, gpu2",
        ),
        (_of_one_identifier, "GPU-aaaa", "error: 'GPU-aaaa' is ambiguous\n  caused by: it fits gpu0, gpu1"),
    ],
    ids=["other version", "damaged", "no manifest", "no journal", "empty", "PCI address", "UUID"],
)
def test_runs_that_cannot_answer(
    spoil: Callable[[Path], object], words: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches a damaged run or an ambiguous device that is answered, or refused without the reason."""
    folder = sample_run.h200x4(sizes=(GIB,)).write(tmp_path / "run")
    spoil(folder)
    assert main(["best", words, "gpu1", "1GiB", str(folder)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err.replace(str(folder), "RUN")
