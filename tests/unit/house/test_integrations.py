"""The files of integrations/, with a byteways that ends with a given status."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).parents[3] / "integrations"
#: `check` ends with $VERDICT and prints what would drain the node.
BYTEWAYS = """\
#!/bin/sh
echo "$@" >> "$CALLS"
[ "$1" = "$HANGS" ] && exec sleep 60
[ "$1" = run ] && exit "${RUN:-0}"
[ "$1" = check ] || exit 0
echo 'echo drained >> "$CALLS"; [ -z "$DRAINS" ]'
exit "$VERDICT"
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    program = tmp_path / "byteways"
    program.write_text(BYTEWAYS)
    program.chmod(0o755)
    (tmp_path / "check.conf").write_text("run_options=(--budget 9) against=ours.json metrics=out.prom\n")
    settings = {"CALLS": str(tmp_path / "calls"), "BYTEWAYS_CHECK_CONF": str(tmp_path / "check.conf")}
    return {**os.environ, **settings, "PATH": f"{tmp_path}:{os.environ['PATH']}"}


@pytest.mark.parametrize(
    ("caller", "verdict", "status", "drained"),
    [
        ("", 0, 0, False),
        ("", 1, 1, False),
        ("", 2, 2, False),
        ("prologue", 0, 0, False),
        ("prologue", 1, 1, True),
        ("prologue", 2, 0, False),
        ("prologue", 70, 0, False),
        ("health check", 0, 0, False),
        ("health check", 1, 0, True),
        ("health check", 2, 0, False),
    ],
)
def test_the_node_check_ends_as_its_caller_needs(
    environment: dict[str, str], caller: str, verdict: int, status: int, drained: bool
) -> None:
    """Catches a node that is drained because it cannot be judged, one that fails and keeps its jobs, a slurmd
    that waits for a health check that ends with 0, and settings that are ignored.
    """
    command = [str(FOLDER / ("byteways-slurm-check" if caller else "byteways-node-check"))]
    job = {"SLURM_JOB_ID": "7"} if caller == "prologue" else {}
    variables = {**environment, **job, "VERDICT": str(verdict)}
    done = subprocess.run(command, env=variables, capture_output=True, timeout=20)
    arguments = ("--slurm",) if caller else ()
    run, check, *rest = Path(environment["CALLS"]).read_text().splitlines()
    assert (done.returncode, rest) == (status, ["drained"] if drained else [])
    assert run.startswith("run quick --budget 9 ")
    assert check.split()[2:] == ["--against", "ours.json", "--prometheus", "out.prom", *arguments]
    assert not Path(run.split()[-1]).parent.exists()  # nothing is left on the node
    assert (b"was not judged" in done.stderr) == (bool(arguments) and verdict > 1)


def test_a_health_check_ends_before_slurm_kills_it(environment: dict[str, str], tmp_path: Path) -> None:
    """Catches a measurement or a check that goes on after 60 s, and a budget that leaves no time to judge."""
    timeout = tmp_path / "timeout"
    timeout.write_text(f'#!/bin/sh\necho "$2" >> {tmp_path}/limits\nshift 2\nexec "$@"\n')
    timeout.chmod(0o755)
    Path(environment["BYTEWAYS_CHECK_CONF"]).unlink()
    command = [str(FOLDER / "byteways-slurm-check")]
    variables = {**environment, "VERDICT": "0"}
    subprocess.run(command, env=variables, capture_output=True, timeout=20, check=True)
    measuring, judging = map(int, (tmp_path / "limits").read_text().split())
    assert 20 < measuring <= 45 and judging < 60 - 2  # both end at one time, 2 s before a process is killed
    assert Path(environment["CALLS"]).read_text().startswith("run quick --budget 20 ")
    variables["SLURM_JOB_ID"] = "7"  # a prologue, which PrologEpilogTimeout limits
    subprocess.run(command, env=variables, capture_output=True, timeout=20, check=True)
    assert (tmp_path / "limits").read_text().split()[2:] == ["0", "0"]


@pytest.mark.parametrize(("hangs", "lines"), [("run", 1), ("check", 2)])
def test_what_takes_too_long_is_not_judged(
    environment: dict[str, str], hangs: str, lines: int, tmp_path: Path
) -> None:
    """Catches a node that is drained because its check took too long, and a folder that is left there."""
    with Path(environment["BYTEWAYS_CHECK_CONF"]).open("a") as file:
        file.write("limit_s=1\n")
    variables = {**environment, "VERDICT": "1", "HANGS": hangs, "TMPDIR": str(tmp_path / "room")}
    (tmp_path / "room").mkdir()
    for name, status in (("byteways-slurm-check", 0), ("byteways-node-check", 2)):
        command = [str(FOLDER / name)]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=20)
        assert done.returncode == status and "limit_s" in done.stderr
    assert len(Path(environment["CALLS"]).read_text().splitlines()) == 2 * lines  # none drained it
    assert not list((tmp_path / "room").iterdir())


def test_a_health_check_that_cannot_drain_fails(environment: dict[str, str]) -> None:
    """Catches a slow node that registers with Slurm because nothing could drain it."""
    variables = {**environment, "VERDICT": "1", "DRAINS": "no"}
    command = [str(FOLDER / "byteways-slurm-check")]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=20)
    assert done.returncode == 1 and "was not drained" in done.stderr


def test_a_prologue_without_a_search_path(environment: dict[str, str], tmp_path: Path) -> None:
    """Catches a node that passes in silence because byteways was not found."""
    settings = tmp_path / "check.conf"
    bare = {name: environment[name] for name in ("CALLS", "BYTEWAYS_CHECK_CONF")} | {"VERDICT": "1"}
    command = [str(FOLDER / "byteways-node-check"), "--slurm"]
    settings.write_text(f"byteways={tmp_path}/nowhere\n")
    done = subprocess.run(command, env=bare, capture_output=True, text=True, timeout=20)
    assert done.returncode == 0 and "status 127" in done.stderr
    settings.write_text(f"byteways={tmp_path}/byteways\n")
    bare["SLURM_JOB_ID"] = "7"
    assert subprocess.run(command, env=bare, capture_output=True, timeout=20).returncode == 1
    assert Path(environment["CALLS"]).read_text().endswith("drained\n")


def test_no_program_of_the_current_folder_runs(environment: dict[str, str], tmp_path: Path) -> None:
    """Catches the search path that bash takes where there is none: a program in slurmd's folder would run as
    root.
    """
    here = tmp_path / "here"
    here.mkdir()
    (tmp_path / "byteways").rename(here / "byteways")
    bare = {name: environment[name] for name in ("CALLS", "BYTEWAYS_CHECK_CONF")} | {"VERDICT": "0"}
    command = [str(FOLDER / "byteways-slurm-check")]
    subprocess.run(command, env=bare, cwd=here, capture_output=True, timeout=20)
    assert not Path(environment["CALLS"]).exists()


@pytest.mark.parametrize(("arguments", "status"), [((), 2), (("--slurm",), 0)])
def test_a_node_without_room_is_not_judged(
    environment: dict[str, str], arguments: tuple[str, ...], status: int, tmp_path: Path
) -> None:
    """Catches a node that is drained, or measured into nowhere, because no folder can be made."""
    command = [str(FOLDER / "byteways-node-check"), *arguments]
    settings = {**environment, "VERDICT": "1", "TMPDIR": str(tmp_path / "nowhere")}
    assert subprocess.run(command, env=settings, capture_output=True, timeout=20).returncode == status
    assert not Path(environment["CALLS"]).exists()


@pytest.mark.parametrize(
    ("ran", "verdict", "status", "verbs"),
    [
        (0, 0, 0, ["run", "check"]),
        (1, 1, 1, ["run", "check", "report"]),
        (0, 2, 2, ["run", "check", "report"]),
        (2, 0, 1, ["run"]),
    ],
)
def test_the_action_of_github(
    environment: dict[str, str], tmp_path: Path, ran: int, verdict: int, status: int, verbs: list[str]
) -> None:
    """Catches failed cases that nothing judges, a report that nobody reads, and options that are one word."""
    action = yaml.safe_load((FOLDER / "github" / "action.yml").read_text())
    inputs = {f"${{{{ inputs.{name} }}}}": one["default"] for name, one in action["inputs"].items()}
    for step in action["runs"]["steps"]:
        given = {name: inputs[value] for name, value in step["env"].items()}
        variables = {**environment, **given, "RUN": str(ran), "VERDICT": str(verdict)}
        # The options of GitHub's own shell.
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done = subprocess.run(command, env=variables, cwd=tmp_path, capture_output=True, timeout=20)
        if done.returncode:
            break
    calls = [call.split() for call in Path(environment["CALLS"]).read_text().splitlines()]
    assert (done.returncode, [verb for verb, *_ in calls]) == (status, verbs)
    folder = action["outputs"]["run"]["value"]
    assert calls[0] == ["run", "quick", "--budget", "45", "--no-report", "--out", folder]
    assert all(call[1] == folder for call in calls[1:])
    if "check" in verbs:
        words = ["--against", "normal", "--junit", action["outputs"]["junit"]["value"]]
        assert calls[1][2:] == words


class Skipped(Exception):  # noqa: N818 - as in ReFrame, no error
    """ReFrame skips the test."""


def reframe_test(monkeypatch: pytest.MonkeyPatch, stage: Path) -> Any:
    """The test of integrations/reframe, in a ReFrame that has only what the test uses."""

    def decorated(*_: str) -> Callable[[Any], Any]:
        return lambda function: function

    def skip_if(_: Any, condition: bool, reason: str) -> None:
        if condition:
            raise Skipped(reason)

    class Base:
        stagedir, stderr = str(stage), "rfm_job.err"

    Base.skip_if = skip_if  # type: ignore[attr-defined]
    builtins = SimpleNamespace(
        run_before=decorated, sanity_function=lambda one: one, variable=lambda *_, value: value
    )
    sanity = SimpleNamespace(
        assert_true=lambda value, msg: bool(value),
        assert_eq=lambda one, other, msg: one == other,
        defer=lambda value: value,
        evaluate=lambda value: value,
        make_performance_function=lambda value, unit: (value, unit),
    )
    utility = SimpleNamespace(sanity=sanity)
    reframe = SimpleNamespace(simple_test=lambda one: one, RunOnlyRegressionTest=Base, utility=utility)
    for name, module in {
        "reframe": reframe,
        "reframe.core": SimpleNamespace(),
        "reframe.core.builtins": builtins,
        "reframe.utility": utility,
        "reframe.utility.sanity": sanity,
    }.items():
        monkeypatch.setitem(sys.modules, name, module)
    return runpy.run_path(str(FOLDER / "reframe" / "byteways_check.py"))["BytewaysCheck"]()


@pytest.mark.parametrize(
    ("status", "verdicts", "outcome"),
    [(0, ["PASS"], True), (1, ["FAIL", "PASS"], False), (2, ["UNKNOWN"], None), (2, None, False)],
)
def test_the_reframe_test_judges(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    status: int,
    verdicts: Sequence[str] | None,
    outcome: bool | None,
) -> None:
    """Catches a failed node that passes, and a reference that nobody can read taken for none."""
    test = reframe_test(monkeypatch, tmp_path)
    test.set_command()
    assert test.executable_opts == ["run", "quick", "--budget 45", "--no-report", "--out", "run"]
    (tmp_path / "run").mkdir()
    for name, text in {"run/run.json": "{}", "status": f"{status}\n", "check.log": ""}.items():
        (tmp_path / name).write_text(text)
    cases = None if verdicts is None else json.dumps({"cases": [{"verdict": one} for one in verdicts]})
    (tmp_path / "verdicts.json").write_text(cases or "")
    if outcome is None:
        with pytest.raises(Skipped):
            test.judge()
    else:
        assert test.judge() is outcome
    if verdicts is not None:
        test.name_verdicts()
        assert test.perf_variables == {one.lower(): (1, "cases") for one in verdicts}
