"""What lies in a run folder before, while and after a run: a plan, samples, leftovers, nothing at all."""

from __future__ import annotations

import json
import shutil

import pytest

from byteways.record.run_folder import RunFolder
from tests.faults.harness import Command, assert_complete, lines, wait_for


def test_resume_does_not_plan_again(command: Command) -> None:
    """Would catch a plan made anew from free memory or a new probe: cases that appear, vanish or are
    skipped.
    """
    whole = command.new()
    assert whole.returncode == 0
    journal = command.folder / "measurements.jsonl"
    journal.write_bytes(b"".join(lines(command.folder)[:2]))
    plan = (command.folder / "plan.jsonl").read_bytes()
    for option in ("--dry-run", ""):
        resumed = command.run("--resume", str(command.folder), *option.split(), BYTEWAYS_FAKE_MEMORY="4096")
        assert resumed.returncode == 0, resumed.stderr
    assert_complete(command.folder)
    assert {record.status for record in RunFolder(command.folder).records} == {"measured"}
    assert (command.folder / "plan.jsonl").read_bytes() == plan


def test_run_of_an_earlier_version(command: Command) -> None:
    """Would catch a run without a plan that is planned again, or a refusal that does not say why."""
    assert command.new().returncode == 0
    file = command.folder / "run.json"
    manifest = json.loads(file.read_text())
    manifest["format_version"] = manifest.pop("schema_version") - 1
    file.write_text(json.dumps(manifest))
    for arguments in (("--dry-run",), ()):
        resumed = command.run("--resume", str(command.folder), *arguments)
        assert resumed.returncode == 2
        assert "was written by an earlier version: it can be read, but not resumed" in resumed.stderr
        assert "hint: start a new run: byteways run" in resumed.stderr


@pytest.mark.parametrize("drafts", [False, True])
def test_folder_of_a_run_that_was_killed_before_it_began(command: Command, drafts: bool) -> None:
    """Would catch a folder that can neither be taken up nor be used again."""
    process = command.start(str(command.suite), "--out", str(command.folder), BYTEWAYS_FAKE_PROBE="hang")
    wait_for(lambda: (command.folder / "workers.log").exists())
    process.kill()
    process.communicate()
    assert not (command.folder / "run.json").exists()
    if drafts:
        (command.folder / ".byteways-0123456789abcdef").write_text("{")
        (command.folder / "plan.jsonl").write_text("{")
    resumed = command.resume()
    assert resumed.returncode == 2
    assert "was ended before it began to measure" in resumed.stderr
    assert (
        f"hint: start it again, into the same folder: byteways run --out {command.folder}" in resumed.stderr
    )
    again = command.new()
    assert again.returncode == 0, again.stderr
    assert_complete(command.folder)
    assert not list(command.folder.glob(".*"))


def test_records_without_a_manifest_are_kept(command: Command) -> None:
    """Would catch a run whose manifest was lost being taken for one that never began, and overwritten."""
    assert command.new().returncode == 0
    (command.folder / "run.json").unlink()
    (command.folder / "report.html").unlink()
    before = lines(command.folder)
    assert command.new().returncode == 2
    assert lines(command.folder) == before


def test_folder_deleted_in_the_middle(command: Command) -> None:
    """Would catch a run that measures on for hours into a folder that is gone, and advice to free space."""
    process = command.start(
        *(str(command.suite), "--out", str(command.folder), "--no-report"), BYTEWAYS_FAKE_SLEEP="0.4"
    )
    wait_for(lambda: len(lines(command.folder)) == 2)
    shutil.rmtree(command.folder)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 2
    assert f"error: {command.folder} was deleted while the run was writing into it" in err
    assert "free some space" not in err
    assert not command.folder.exists()


@pytest.mark.parametrize("name", ["samples.jsonl", "measurements.jsonl"])
def test_one_file_deleted_in_the_middle(command: Command, name: str) -> None:
    """Would catch `its contents are lost; start a new run` of a run that can be resumed."""
    process = command.start(
        *(str(command.suite), "--out", str(command.folder), "--no-report"), BYTEWAYS_FAKE_SLEEP="0.4"
    )
    wait_for(lambda: len(lines(command.folder)) == 2)
    (command.folder / name).unlink()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    hint = err.strip().splitlines()[-1]
    assert hint.startswith("hint: ") and hint.endswith(f": byteways run --resume {command.folder}")
    resumed = command.run(*hint.partition("byteways run ")[2].split(), "--no-report")
    assert resumed.returncode == 0, resumed.stderr
    assert {record.status for record in RunFolder(command.folder).records} == {"measured"}
    assert len(RunFolder(command.folder).records) == 5


def test_plan_of_a_repeated_suite_grows(command: Command) -> None:
    """Would catch a round that is measured and was never planned, or planned and lost when the run is
    killed.
    """
    process = command.start(
        *(str(command.suite), "--out", str(command.folder), "--no-report", "--for", "1h"),
        BYTEWAYS_FAKE_SLEEP="0.05",
    )
    wait_for(lambda: len(lines(command.folder)) >= 12)
    process.kill()
    process.communicate()
    planned = (command.folder / "plan.jsonl").read_text().splitlines()[1:]
    keys = [(entry["case_id"], entry["round"]) for entry in map(json.loads, planned)]
    recorded = [(record.case_id, record.round) for record in RunFolder(command.folder).records]
    assert recorded == keys[: len(recorded)] and len(keys) % 5 == 0
    shown = command.run("--resume", str(command.folder), "--dry-run", "--json")
    assert shown.returncode == 0, shown.stderr
    assert [(case["case_id"], case["round"]) for case in json.loads(shown.stdout)] == keys[len(recorded) :]


def test_samples_and_plan_beside_the_records(command: Command) -> None:
    """Catches samples that stay in the record, or samples that cannot be found for a record."""
    assert command.new().returncode == 0
    run = RunFolder(command.folder)
    for record in run.records:
        found = run.samples(record)
        assert record.samples_ns is None
        assert found is not None and found.samples_ns == [999.0, 1000.0, 1001.0]
    assert len((command.folder / "plan.jsonl").read_text().splitlines()) == 1 + run.manifest["planned"]
