"""The files of integrations/, with a byteways that ends with a given status."""

from __future__ import annotations

import ast
import os
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "integrations"
#: `check` ends with $VERDICT and prints what would drain the node.
BYTEWAYS = """\
#!/bin/sh
echo "$@" >> "$CALLS"
[ "$1" = check ] || exit 0
echo 'echo drained >> "$CALLS"'
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
    ("arguments", "verdict", "status", "drained"),
    [
        ((), 0, 0, False),
        ((), 1, 1, False),
        ((), 2, 2, False),
        (("--slurm",), 0, 0, False),
        (("--slurm",), 1, 1, True),
        (("--slurm",), 2, 0, False),
        (("--slurm",), 70, 0, False),
    ],
)
def test_the_node_check_ends_as_its_caller_needs(
    environment: dict[str, str], arguments: tuple[str, ...], verdict: int, status: int, drained: bool
) -> None:
    """Catches a node that is drained because it cannot be judged, one that fails and keeps its jobs, and
    settings that are ignored.
    """
    command = [str(FOLDER / "byteways-node-check"), *arguments]
    done = subprocess.run(
        command, env={**environment, "VERDICT": str(verdict)}, capture_output=True, timeout=20
    )
    run, check, *rest = Path(environment["CALLS"]).read_text().splitlines()
    assert (done.returncode, rest) == (status, ["drained"] if drained else [])
    assert run.startswith("run quick --budget 9 ")
    assert check.split()[2:] == ["--against", "ours.json", "--prometheus", "out.prom", *arguments]
    assert not Path(run.split()[-1]).parent.exists()  # nothing is left on the node
    assert (b"was not judged" in done.stderr) == (bool(arguments) and verdict > 1)


def test_a_prologue_without_a_search_path(environment: dict[str, str], tmp_path: Path) -> None:
    """Catches a node that passes in silence because byteways was not found."""
    settings = tmp_path / "check.conf"
    bare = {name: environment[name] for name in ("CALLS", "BYTEWAYS_CHECK_CONF")} | {"VERDICT": "1"}
    command = [str(FOLDER / "byteways-node-check"), "--slurm"]
    settings.write_text(f"byteways={tmp_path}/nowhere\n")
    done = subprocess.run(command, env=bare, capture_output=True, text=True, timeout=20)
    assert done.returncode == 0 and "status 127" in done.stderr
    settings.write_text(f"byteways={tmp_path}/byteways\n")
    assert subprocess.run(command, env=bare, capture_output=True, timeout=20).returncode == 1
    assert Path(environment["CALLS"]).read_text().endswith("drained\n")


@pytest.mark.parametrize(("arguments", "status"), [((), 2), (("--slurm",), 0)])
def test_a_node_without_room_is_not_judged(
    environment: dict[str, str], arguments: tuple[str, ...], status: int, tmp_path: Path
) -> None:
    """Catches a node that is drained, or measured into nowhere, because no folder can be made."""
    command = [str(FOLDER / "byteways-node-check"), *arguments]
    settings = {**environment, "VERDICT": "1", "TMPDIR": str(tmp_path / "nowhere")}
    assert subprocess.run(command, env=settings, capture_output=True, timeout=20).returncode == status
    assert not Path(environment["CALLS"]).exists()


def test_the_reframe_test_has_its_steps() -> None:
    """Catches a file that Python does not read, and a step that is lost."""
    tree = ast.parse((FOLDER / "reframe" / "byteways_check.py").read_text())
    (test,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
    assert {one.name for one in test.body if isinstance(one, ast.FunctionDef)} == {
        "set_command",
        "judge",
        "name_verdicts",
    }
