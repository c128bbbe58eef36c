"""`byteways doctor`: the whole at 100 columns, as JSON, and its exit status."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
import typer

from byteways.base.errors import BytewaysError
from byteways.cli import doctor as verb
from byteways.measuring.conduct.probe import Probe
from byteways.measuring.doctor.check import CHECK_STATES, Diagnosis
from tests.machines import synthetic
from tests.machines.synthetic import ABSENT, BULK, FOUND, capabilities


@pytest.fixture
def gpu_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Probe:
    """A doctor who finds four GPUs, one busy, and a driver that lacks a function."""
    from byteways.machine import nvml
    from byteways.measuring.conduct import probe

    machine = synthetic.h200x4(tmp_path)
    machine.management[1].compute_processes = 1
    found = Probe(capabilities(machine), [{**FOUND, "missing": [BULK]}], 1)
    monkeypatch.setattr(probe, "probe", lambda: found)
    told = nvml.Nvml(tuple(machine.management), report={**ABSENT, "library": "nvml"})
    monkeypatch.setattr(nvml, "read", lambda: told)
    monkeypatch.setattr(verb, "WATCH_S", 0.0)
    return found


def test_the_text_fits_and_is_read_without_colour(
    gpu_machine: Probe, capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches lines beyond 100 columns, escape codes in a pipe, and findings without advice or summary."""
    verb.doctor()
    text = capsys.readouterr().out
    assert "\033" not in text
    assert max(len(line) for line in text.splitlines()) <= verb.MOST_TEXT_WIDTH
    lines = text.splitlines()
    assert (
        "  warning  gpu1            NVIDIA H200 0000:00:06.0; busy: 1 other process computes on it" in lines
    )
    assert "to do: wait for them to end" in text
    assert [line for line in lines if line in ("Worker", "Libraries", "GPUs", "Host", "Process")] == [
        "Worker",
        "Libraries",
        "GPUs",
        "Host",
        "Process",
    ]
    assert "warning" in lines[-1]


def test_json_holds_every_finding(gpu_machine: Probe, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches findings that only the text has, and details that are lost."""
    verb.doctor(as_json=True)
    data = json.loads(capsys.readouterr().out)
    assert data["format_version"] == 1
    assert data["works"] is True
    driver = next(check for check in data["checks"] if check["name"] == "cuda-driver")
    assert driver["details"]["missing"] == [BULK]
    assert {check["state"] for check in data["checks"]} <= set(CHECK_STATES)


def test_a_worker_that_does_not_start_is_the_one_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches exit status 0 when nothing can be measured, and a doctor who stops at the first problem."""
    from byteways.measuring.conduct import probe

    def lost() -> Probe:
        raise BytewaysError(
            "this machine could not be probed", cause="SIGSEGV", hint="BYTEWAYS_GPUS=0 byteways run"
        )

    monkeypatch.setattr(probe, "probe", lost)
    monkeypatch.setattr(verb, "WATCH_S", 0.0)
    with pytest.raises(typer.Exit) as caught:
        verb.doctor()
    assert caught.value.exit_code == 1
    text = capsys.readouterr().out
    assert "problem  worker          this machine could not be probed: SIGSEGV" in text
    assert "Python" in text


@pytest.mark.parametrize(
    ("loads", "hint", "advice"),
    [
        (True, "BYTEWAYS_GPUS=0 byteways run", "BYTEWAYS_GPUS=0 byteways run"),
        (
            True,
            "byteways doctor",
            "reinstall byteways: its native module must match this Python and this system",
        ),
        (False, "BYTEWAYS_GPUS=0 byteways run", "reinstall byteways"),
    ],
)
def test_the_advice_for_a_lost_worker(
    loads: bool, hint: str, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a doctor who sends the user to the doctor, or blames GPUs for a broken installation."""
    from byteways.measuring.conduct import probe

    def lost() -> Probe:
        raise BytewaysError("this machine could not be probed", hint=hint)

    monkeypatch.setattr(probe, "probe", lost)
    monkeypatch.setitem(sys.modules, "byteways._core", object() if loads else None)
    found, (check,) = verb.start_worker()
    assert found is None
    assert (check.advice or "").startswith(advice)


def test_long_names_get_a_line_of_their_own() -> None:
    """Catches a name that runs into its text."""
    check = Diagnosis("process", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "warning", "50: part", "unset it")
    text = [re.sub(r"\x1b\[\d*m", "", line) for line in verb.lines([check])]
    assert text[1:4] == [
        "  warning  CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
        " " * 27 + "50: part",
        " " * 27 + "to do: unset it",
    ]
    assert text[-1] == "1 warning"


def test_a_narrow_terminal_is_kept_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches COLUMNS being ignored on a terminal, and being heeded in a pipe."""
    monkeypatch.setenv("COLUMNS", "60")
    assert verb._width() == 100
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert verb._width() == 60
    check = Diagnosis("host", "huge pages", "warning", "many words " * 20, "more of them " * 10)
    text = [re.sub(r"\x1b\[\d*m", "", line) for line in verb.lines([check], 60)]
    assert max(len(line) for line in text) <= 60
    assert text[1] == "  warning  huge pages"
    assert text[2].startswith("      many words")
    monkeypatch.setenv("COLUMNS", "300")
    assert verb._width() == 100
