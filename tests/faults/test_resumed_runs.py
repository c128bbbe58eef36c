"""Runs that are resumed after their files were damaged, or on what has changed meanwhile."""

from __future__ import annotations

import json

import pytest

from byteways.record.run_folder import RunFolder
from tests.faults.harness import Command, assert_complete


def test_truncated_line_is_cut_off(command: Command) -> None:
    """Would catch an append to half a line, which spoils two records."""
    assert command.new().returncode == 0
    journal = command.folder / "measurements.jsonl"
    content = journal.read_bytes()
    journal.write_bytes(content[:-300])
    assert RunFolder(command.folder).damaged_lines == 1
    assert command.resume().returncode == 0
    assert_complete(command.folder)
    kept = (command.folder / "measurements.cut-off").read_bytes()
    assert kept.startswith(b'{"case_id"')
    assert RunFolder(command.folder).damaged_lines == 0


def test_garbage_in_the_middle_is_reported_and_measured_again(command: Command) -> None:
    """Would catch a reader that stops at the first bad line, or a resume that counts it as done."""
    assert command.new().returncode == 0
    journal = command.folder / "measurements.jsonl"
    all_lines = journal.read_bytes().splitlines(keepends=True)
    all_lines[2] = b'{"case_id": "\xff\x00 nonsense\n'
    journal.write_bytes(b"".join(all_lines))
    run = RunFolder(command.folder)
    assert (len(run.records), run.journal.damaged) == (4, [3])
    assert command.resume().returncode == 0
    assert_complete(command.folder)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("driver", "driver: none became cuda 13.0"),
        ("code", "code: 0.0.9 became "),
        ("method_version", "method_version: 0 became 1"),
        ("topology", "topology: gpu7 disappeared"),
        ("suite", "suite: 'small' changed since the run was started"),
        ("plan", "plan: 6 cases became 5"),
    ],
)
def test_resume_on_what_has_changed(command: Command, change: str, said: str) -> None:
    """Would catch figures of two machines or two methods in one run, or a refusal that does not say why."""
    assert command.new().returncode == 0
    file = command.folder / "run.json"
    manifest = json.loads(file.read_text())
    arguments = ["--resume", str(command.folder)]
    variables = {}
    if change == "driver":
        variables["BYTEWAYS_FAKE_DRIVER"] = "13.0"
    elif change == "code":
        manifest["fingerprint"]["code"] = "0.0.9"
    elif change == "method_version":
        manifest["fingerprint"]["method_version"] = 0
    elif change == "topology":
        manifest["topology"]["devices"].append({**manifest["topology"]["devices"][0], "name": "gpu7"})
        manifest["fingerprint"]["topology"] = "0000"
    elif change == "suite":
        command.suite.write_text(command.suite.read_text() + "\n# another\n")
        arguments.insert(0, str(command.suite))
    elif change == "plan":
        manifest["planned"] = 6
    file.write_text(json.dumps(manifest))
    resumed = command.run(*arguments, **variables)
    assert resumed.returncode == 2
    assert said in resumed.stderr
    assert "hint: start a new run: byteways run" in resumed.stderr


def test_resume_with_options_of_another_version(command: Command) -> None:
    """Would catch a traceback where a manifest holds options that this version does not know."""
    assert command.new().returncode == 0
    file = command.folder / "run.json"
    manifest = json.loads(file.read_text())
    manifest["options"]["nosuch"] = 1
    file.write_text(json.dumps(manifest))
    resumed = command.run("--resume", str(command.folder))
    assert resumed.returncode == 2
    assert "run.json is damaged" in resumed.stderr and "nosuch" in resumed.stderr
