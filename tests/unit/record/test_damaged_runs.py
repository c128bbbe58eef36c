"""Run folders that came from elsewhere, were edited, or were damaged: told, counted, read over."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from byteways.answers.results.progress import damage
from byteways.base.errors import BytewaysError
from byteways.measuring.conduct.journal import encode
from byteways.record import manifest as manifests
from byteways.record.journal_lines import JournalLines
from byteways.record.run_folder import JOURNAL, RunFolder, is_left_over, read_journal
from byteways.record.times import Times
from tests.changed import replace
from tests.unit.run_folders import LINES, TOPOLOGY, a_manifest, record

WRONG = {
    "interface": ("warp", "interface 'warp' is unknown"),
    "pattern": ("two-way", "pattern 'two-way' is unknown"),
    "status": ("fine", "status 'fine' is unknown"),
    "size_bytes": ("8", "Expected `int`, got `str`"),
    "round": (-1, "round is out of range"),
    "flows": ([], "flows"),
    "path": ("gpu0>gpu1", "not those of its flows"),
    "executor": ("cpu1", "not those of its flows"),
    "source": ("cpu0:pinned", "not those of its first flow"),
    "options": ([1], "Expected `object`"),
    "warnings": ([{"id": 1}], "Expected `str`"),
    "reason": ("", "without a reason"),
}


@pytest.mark.parametrize("field", WRONG)
def test_well_formed_line_that_is_wrong(tmp_path: Path, field: str) -> None:
    """Would catch one wrong record that takes the whole run away, or is left out without a word."""
    value, said = WRONG[field]
    spoilt = {**json.loads(LINES[1]), field: value}
    (tmp_path / JOURNAL).write_bytes(LINES[0] + json.dumps(spoilt).encode() + b"\n" + LINES[2])
    text = read_journal(tmp_path / JOURNAL)
    assert (len(text.records), text.damaged) == (2, [2])
    assert said in text.reasons[0]
    manifests.write(tmp_path, a_manifest())
    assert f"1 damaged line(s) in {JOURNAL} left out (line 2: {text.reasons[0]})" == damage(
        RunFolder(tmp_path)
    )


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"time_ns": None}, "has no time"),
        ({"bandwidth_bytes_per_s": None}, "has no result"),
        ({"bandwidth_bytes_per_s": 0.0}, "not a valid value"),
        ({"bandwidth_bytes_per_s": -4e9}, "not a valid value"),
        ({"peak_bytes_per_s": 0.0}, "peak_bytes_per_s"),
        ({"directions": {"gpu0>gpu1": 4e9, "gpu1>gpu0": 1e30}}, "directions of gpu1>gpu0"),
        ({"end_to_end_bytes_per_s": {"gpu0>gpu1": -4e9}}, "end_to_end_bytes_per_s of gpu0>gpu1"),
    ],
)
def test_measured_record_needs_figures(fields: dict[str, object], said: str) -> None:
    """Would catch a division by a figure that is not there, or a negative rate in a table."""
    times = Times(1.5, (1.0, 2.0), 1.0, 2.0, 1.5, 0.1, 20)
    good = replace(record(0), status="measured", reason=None, time_ns=times, bandwidth_bytes_per_s=4e9)
    assert JournalLines().record(encode(good)) == good
    with pytest.raises(ValueError, match=said):
        JournalLines().record(encode(replace(good, **fields)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("launch", {"blocks": "many"}),
        ("options", {"blocks": "many"}),
        ("options", {"blocks": True}),
        ("other_count", {"counts": "per-direction", "bytes_per_s": "fast"}),
        ("corruption", {"bad_words": []}),
        ("health", {"gpu0": {"before": {"power_mw": "hot"}}}),
        ("energy", {"joules_per_GB": 1.0}),
        ("energy", {"reason": 5}),
    ],
)
def test_table_in_a_record_that_is_wrong(part: str, value: dict[str, Any]) -> None:
    """Would catch a text where a sum is made, in the parts of a record that may hold more than we know."""
    good = {"more": "than we know", **({"reason": "it did not advance"} if part == "energy" else {})}
    if part in ("corruption", "energy"):
        assert JournalLines().record(encode(record(0, **{part: good})))
    with pytest.raises(ValueError, match=part[:6]):
        JournalLines().record(encode(record(0, **{part: value})))


def test_record_of_a_device_that_is_not_there(tmp_path: Path) -> None:
    """Would catch a KeyError in every table for a device that the topology does not have."""
    manifests.write(tmp_path, a_manifest())
    elsewhere = LINES[1].replace(b"cpu0", b"cpu7")
    (tmp_path / JOURNAL).write_bytes(LINES[0] + elsewhere)
    run = RunFolder(tmp_path)
    assert (len(run.records), run.journal.reasons) == (1, ["the topology has no cpu7"])


def test_record_of_a_newer_minor_version(tmp_path: Path) -> None:
    """Would catch a field that we do not know making a record `damaged`, so that resume measures all
    again.
    """
    newer = {**json.loads(LINES[0]), "colour": "blue"}
    newer["flows"][0]["colour"] = "red"
    (tmp_path / JOURNAL).write_bytes(json.dumps(newer).encode() + b"\n" + LINES[1])
    text = read_journal(tmp_path / JOURNAL)
    assert (len(text.records), text.damaged) == (2, [])


def test_records_that_are_there_twice(tmp_path: Path) -> None:
    """Would catch a record that counts twice, or one left out without a word."""
    manifests.write(tmp_path, a_manifest())
    (tmp_path / JOURNAL).write_bytes(LINES[0] + LINES[1] + LINES[0])
    run = RunFolder(tmp_path)
    assert (len(run.records), run.journal.doubled, run.doubled_lines, run.damaged_lines) == (2, [3], 1, 0)
    assert damage(run) == "1 record(s) of a case and round that are there already left out (line 3)"


@pytest.mark.parametrize("kind", ["fifo", "folder", "device"])
def test_what_is_no_file_is_told(tmp_path: Path, kind: str) -> None:
    """Would catch a reader that waits for a FIFO for ever, reads a device without end, or has a traceback."""
    manifests.write(tmp_path, a_manifest())
    for name in ("run.json", JOURNAL):
        path = tmp_path / name
        path.unlink(missing_ok=True)
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        else:
            path.symlink_to("/dev/zero")
        with pytest.raises(BytewaysError) as caught:
            _ = RunFolder(tmp_path).records
        assert str(path) in f"{caught.value.what} {caught.value.cause}"
        if name == "run.json":
            path.rmdir() if kind == "folder" else path.unlink()
            manifests.write(tmp_path, a_manifest())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "is not a run folder"),
        ("{", "is damaged"),
        ("[]", "is damaged"),
        ("{}", "is damaged"),
        ('{"schema_version": 2}', "is damaged"),
        ('{"schema_version": 99}', "has schema version 99, this byteways reads 3"),
        ('{"schema_version": [2]}', "is damaged"),
        ("[" * 100_000, "is damaged"),
        ('{"schema_version": ' + "9" * 5000 + "}", "is damaged"),
    ],
)
def test_manifest_that_cannot_be_read(tmp_path: Path, content: str | None, said: str) -> None:
    """Would catch a traceback where a user named the wrong folder."""
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(BytewaysError, match=said):
        RunFolder(tmp_path)


def without(data: dict[str, Any], *place: str) -> dict[str, Any]:
    """A copy of JSON data that lacks one key."""
    copy: dict[str, Any] = json.loads(json.dumps(data))
    inner = copy
    for key in place[:-1]:
        inner = inner[key]
    del inner[place[-1]]
    return copy


@pytest.mark.parametrize(
    "spoilt",
    [
        without(a_manifest(), "fingerprint", "topology"),
        without(a_manifest(), "suite", "text"),
        without(a_manifest(), "topology", "devices"),
        a_manifest(planned=-1),
        a_manifest(planned=10**30),
        a_manifest(planned=2**31),
        a_manifest(planned="5"),
        a_manifest(state="gone"),
        a_manifest(wall_s="long"),
        a_manifest(options=[]),
        a_manifest(simulated=1),
    ],
)
def test_manifest_of_wrong_types(tmp_path: Path, spoilt: dict[str, Any]) -> None:
    """Would catch a KeyError or TypeError deep inside for a manifest that somebody has edited."""
    (tmp_path / "run.json").write_text(json.dumps(spoilt))
    with pytest.raises(BytewaysError, match="is damaged") as caught:
        RunFolder(tmp_path)
    assert caught.value.cause


@pytest.mark.parametrize(
    "change",
    [
        {"devices": [{"name": "gpu0", "kind": "gpu", "model": "x"}] * 2},
        {"devices": [{"name": "GPU 0", "kind": "gpu", "model": "x"}]},
        {"links": [{**vars(TOPOLOGY.links[0]), "b": "gpu9"}]},
    ],
)
def test_topology_that_no_machine_has(tmp_path: Path, change: dict[str, Any]) -> None:
    """Would catch two devices of one name, or a link to nowhere, ending in a KeyError of some table."""
    manifests.write(tmp_path, a_manifest(topology={**TOPOLOGY.to_json(), **change}))
    with pytest.raises(BytewaysError, match="is damaged"):
        _ = RunFolder(tmp_path).topology


def test_damaged_manifest_says_what_can_be_done(tmp_path: Path) -> None:
    """Would catch advice to name the folder that was named."""
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(BytewaysError) as caught:
        RunFolder(tmp_path)
    assert (caught.value.cause or "").startswith("not JSON: ")
    assert caught.value.hint == "restore it from a copy, or measure again: byteways run"
    (tmp_path / JOURNAL).write_bytes(LINES[0])
    with pytest.raises(BytewaysError) as caught:
        RunFolder(tmp_path)
    assert f"the results are in {tmp_path / JOURNAL}" in (caught.value.hint or "")


def test_run_folder_reads_what_was_written(tmp_path: Path) -> None:
    """Would catch a topology or a count that changes between the run and its report."""
    manifests.write(tmp_path, a_manifest())
    (tmp_path / JOURNAL).write_bytes(LINES[0] + b"garbage\n" + LINES[1][:-1])
    run = RunFolder(str(tmp_path))
    assert run.topology == TOPOLOGY
    assert (len(run.records), run.damaged_lines) == (1, 2)
    manifests.write(tmp_path, a_manifest(topology={"host": "node1"}))
    with pytest.raises(BytewaysError, match="is damaged"):
        _ = RunFolder(tmp_path).topology


@pytest.mark.parametrize(
    ("files", "left_over"),
    [
        ({}, True),
        ({JOURNAL: "", "plan.jsonl": "a plan"}, True),
        ({".byteways-0123456789abcdef": "{", JOURNAL: ""}, True),
        ({".byteways-notes": ""}, False),
        ({JOURNAL: "{}\n", "plan.jsonl": "a plan"}, False),
        ({"plan.jsonl": "a plan", "thesis.tex": "years of work"}, False),
        ({"thesis.tex": ""}, False),
    ],
)
def test_what_is_left_of_a_run_that_never_began(
    tmp_path: Path, files: dict[str, str], left_over: bool
) -> None:
    """Would catch a folder that is taken for empty although somebody's files or records are in it."""
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    assert is_left_over(tmp_path) == left_over
