"""What is normal: settings, learning from runs, and verdicts by what other machines give."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import learn_normal
from byteways.answers.results.index import Index
from byteways.answers.results.summary import WHY_NOT_RANKED
from byteways.base.errors import BytewaysError
from byteways.cases.reasons import OUT_OF_TIME
from byteways.record.run_folder import RunFolder
from byteways.verdicts.checks.check import Check, CheckQuestion, checked
from byteways.verdicts.checks.learning import learned
from byteways.verdicts.checks.normal import Normal, read_normal
from byteways.verdicts.checks.normal_reference import against_normal
from byteways.verdicts.checks.verdict import FAIL, HIGH, MISSING, NOT_DECIDED, PASS, UNKNOWN, Bounds, Judged
from byteways.verdicts.two_runs.setting import METHOD_CHANGES, setting_of, since
from equal_runs import slower
from tests.changed import replace
from tests.report import sample_run
from tests.report.run_builder import KIB, MIB, Builder
from tests.unit.verdicts.test_comparison import changed, folder_of, pairs_run
from unpack_examples import fleet

ROOT = Path(__file__).parents[3]
#: The current method; results of older ones may not count.
METHOD = max(version for version, _ in METHOD_CHANGES)


def machine(number: int, rate: float = 396.0, gpus: int = 4, **more: Any) -> Builder:
    """Copies and kernels between all pairs of GPUs of a machine with this number."""
    build = changed(pairs_run(lambda a, b: rate, gpus, **more), method_version=METHOD)
    devices = build.topology.devices
    known = (replace(one, uuid=f"GPU-{number}-{one.name}") if one.kind == "gpu" else one for one in devices)
    build.topology = replace(build.topology, devices=tuple(known))
    return build


def folder(build: Builder, path: Path) -> RunFolder:
    return folder_of(build, path)


def normal_of(tmp_path: Path, *builds: Builder, **more: Any) -> Normal:
    runs = [(folder(build, tmp_path / f"m{place}"), f"m{place}") for place, build in enumerate(builds)]
    return learned(runs, **more)


def judge(tmp_path: Path, build: Builder, normal: Normal, **more: Any) -> tuple[Judged, ...]:
    run = Index(folder(build, tmp_path / "own"))
    return against_normal(run, normal, ("own", "others"), bounds=Bounds(), **more)[0]


def words(cases: tuple[Judged, ...]) -> dict[str, int]:
    found = [one.verdict for one in cases]
    return {word: found.count(word) for word in dict.fromkeys(found)}


def index_of(build: Builder) -> Index:
    class Run:
        manifest, topology, records, damaged_lines = build.manifest(), build.topology, build.records, 0

    return Index(Run())


def test_equal_devices_have_one_setting() -> None:
    """Catches a reference per device, which no other machine would share."""
    run = index_of(machine(1))
    assert len({setting_of(run, record) for record in run.records}) == 2
    text = setting_of(run, run.records[0]) or ""
    assert text.startswith("NVIDIA H200 | NVLink4 ×18 | copy | unidirectional | ")


@pytest.mark.parametrize(
    "change",
    [
        lambda one: replace(one, size_bytes=MIB),
        lambda one: replace(one, cache="warm"),
        lambda one: replace(one, options={"blocks": 8}),
        lambda one: replace(one, environment={"HSA_XNACK": "1"}),
        lambda one: replace(one, flows=[{**one.flows[0], "executor": "gpu1"}]),
        lambda one: replace(one, flows=[{**one.flows[0], "source": "gpu0:managed"}]),
    ],
)
def test_other_settings(change: Callable[[Any], Any]) -> None:
    """Catches results of two settings that are judged by one another."""
    run = index_of(machine(1))
    assert setting_of(run, change(run.records[0])) != setting_of(run, run.records[0])


def test_gpus_links_and_cpus_are_part_of_a_setting() -> None:
    """Catches one model judged by another, and host memory by that of another CPU."""
    build = machine(1)
    key = setting_of(index_of(build), build.records[0])
    build.topology = replace(build.topology, links=build.topology.links[:1])
    assert setting_of(index_of(build), build.records[0]) != key
    build.topology = sample_run.topology(4, gpu_model="Another GPU")
    assert (setting_of(index_of(build), build.records[0]) or "").startswith("Another GPU | NVLink4")
    host = Builder(sample_run.topology(2))
    host.measure("memcpy", [("cpu0:pageable", "cpu0:pageable", "cpu0")], 10.0)
    assert (setting_of(index_of(host), host.records[0]) or "").startswith("Fixture CPU (1 domains, 2 cores)")


def test_what_is_not_known_has_no_setting() -> None:
    """Catches messages judged by those of another library, or over another network."""
    build = Builder(sample_run.topology(2))
    build.measure("mpi", [("0/cpu0:pageable", "1/cpu0:pageable", "cpu0")], 10.0)
    assert setting_of(index_of(build), build.records[0]) is None
    run = index_of(build)
    run.manifest = {**run.manifest, "libraries": [{"library": "mpi", "version": "MPICH 4", "usable": True}]}
    assert "MPICH 4" in (setting_of(run, build.records[0]) or "")
    flow = {"source": "a:cpu0:pageable", "destination": "b:cpu0:pageable", "executor": "cpu0"}
    assert setting_of(run, replace(build.records[0], flows=[flow])) is None


def test_every_method_version_is_known() -> None:
    """Catches a change of method that leaves older results comparable without anybody having decided so."""
    text = (ROOT / "native/timing/measure.hpp").read_text()
    (version,) = re.findall(r"kMethodVersion = (\d+);", text)
    assert [number for number, _ in METHOD_CHANGES] == list(range(2, int(version) + 1))
    pulled = Builder(sample_run.topology(2))
    pulled.measure("copy", [("gpu0:device", "gpu1:device", "gpu1")], 10.0, size=64 * KIB)
    pulled.measure("copy", [("gpu0:device", "gpu1:device", "gpu0")], 10.0, size=64 * KIB)
    assert [since(record) for record in pulled.records[::3]] == [5, 1]
    warmed = Builder(sample_run.topology(2))
    for interface, device in (("mpi-ping-pong", "cpu0"), ("mpi", "cpu0"), ("mpi-ping-pong", "gpu0")):
        memory = "pageable" if device == "cpu0" else "device"
        ends = (f"{rank}/{device}:{memory}" for rank in range(2))
        warmed.measure(interface, [(*ends, device)], 10.0, cache="warm")
    assert [since(record) for record in warmed.records[::3]] == [8, 4, 12]
    renewed = Builder(sample_run.topology(2))
    for interface, memory, size in (
        ("kernel", "device", MIB),
        ("copy", "device", MIB),
        ("allocate", "pool", MIB),
        ("allocate", "device", MIB),
    ):
        renewed.measure(interface, [(f"gpu0:{memory}", f"gpu0:{memory}", "gpu0")], 10.0, size=size)
    for size in (MIB, 64 * MIB):
        renewed.measure("pointer-chase", [("cpu0:pageable", "cpu0:pageable", "cpu0")], 10.0, size=size)
    assert [since(record) == 11 for record in renewed.records[::3]] == [True, False, True, False, True, False]


def test_learning(tmp_path: Path) -> None:
    """Catches runs of one machine counted as several, or a result of few rounds that is the only one."""
    normal = normal_of(tmp_path, machine(1), machine(1, 398.0), machine(2, 400.0))
    assert [one.source for one in normal.machines] == ["m0, m1", "m2"]
    (copies,) = [one for key, one in normal.settings.items() if "| copy |" in key]
    assert [(one.cases, one.rounds) for one in copies.samples] == [(24, 3), (12, 3)]
    assert copies.samples[0].value == pytest.approx(397e9, rel=1e-3) and copies.suites == {"quick": 12}
    few = normal_of(tmp_path / "few", machine(1), machine(2, rounds=1), least_rounds=1)
    assert [one.rounds for one in next(iter(few.settings.values())).samples] == [3, 1]
    alone = [(folder(machine(1, rounds=1), tmp_path / "alone"), "alone")]
    with pytest.raises(BytewaysError, match="alone: no result to learn from"):
        learned(alone, least_rounds=1)
    old = changed(machine(1), pattern="bidirectional", method_version=1)
    with pytest.raises(BytewaysError, match="no result to learn from"):
        normal_of(tmp_path / "old", old)


def test_the_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Catches a value lost between --learn and --against."""
    normal = normal_of(tmp_path, machine(1), machine(2, 380.0))
    (tmp_path / "n.json").write_text(normal.text())
    assert read_normal(tmp_path / "n.json") == normal
    assert len(normal.text().splitlines()) == len(normal.machines) + len(normal.settings) + 6


def test_verdicts(tmp_path: Path) -> None:
    """Catches healthy machines that are FAIL, slow ones that pass, and good ones that fail."""
    normal = normal_of(tmp_path, *(machine(number, 394.0 + number) for number in range(5)))
    assert words(judge(tmp_path / "a", machine(9, 393.0), normal)) == {PASS: 24}
    assert words(judge(tmp_path / "b", machine(9, 300.0), normal)) == {FAIL: 24}
    assert words(judge(tmp_path / "c", machine(9, 500.0), normal)) == {HIGH: 24}
    (first, *_) = judge(tmp_path / "d", machine(9, 300.0), normal)
    assert first.basis == "5 machines" and first.interval is not None and first.interval[1] < 0.95


def test_one_machine_says_so_and_is_wide(tmp_path: Path) -> None:
    """Catches a single machine whose every deviation is a fault of all others."""
    normal = normal_of(tmp_path, machine(1))
    run = folder(machine(2, 340.0), tmp_path / "own")
    cases, notes = against_normal(Index(run), normal, ("own", "others"), bounds=Bounds())
    assert words(cases) == {NOT_DECIDED: 24} and cases[0].basis == "1 machine"
    (note,) = notes
    assert note.startswith("24 cases of 24") and "50 %" in note
    assert words(judge(tmp_path / "half", machine(2, 198.0), normal)) == {FAIL: 24}


def test_a_machine_beside_its_own_results(tmp_path: Path) -> None:
    """Catches a machine that lost a tenth of its speed and passes by what others vary by."""
    normal = normal_of(tmp_path, machine(1), machine(2, 300.0))
    slower = machine(1, 356.0)
    assert words(judge(tmp_path / "a", slower, normal, own=True)) == {FAIL: 24}
    (first, *_) = judge(tmp_path / "b", machine(1, 400.0), normal, own=True)
    assert (first.verdict, first.basis) == (PASS, "this machine before")
    assert words(judge(tmp_path / "c", slower, normal)) == {NOT_DECIDED: 24}


def test_a_slow_machine_among_many_excuses_no_other(tmp_path: Path) -> None:
    """Catches a range that one slow node widens, or that unlike settings widen beside many machines."""
    healthy = [machine(number, 396.0 + number) for number in range(7)]
    among = normal_of(tmp_path / "a", *healthy, machine(8, 250.0))
    key = next(iter(among.settings))
    assert len(among.settings[key].samples) == 8 and among.reference(key).name == "7 machines"
    assert among.reference(key).deviation < 0.01
    assert words(judge(tmp_path / "b", machine(9, 360.0), among)) == {FAIL: 24}
    assert words(judge(tmp_path / "c", machine(9, 400.0), among)) == {PASS: 24}


def test_a_machine_of_the_fleet_passes_and_a_tenth_slower_fails() -> None:
    """Catches reference data by which a healthy machine fails, or that excuse a slow one."""
    single = [one for one in fleet() if "h100x4" not in one.parent.name]
    *others, (run, name) = [(Index(RunFolder(one)), one.parent.name) for one in single]
    normal = learned(others, least_rounds=1)
    verdicts = [
        {one.verdict for one in against_normal(this, normal, (name, "others"), bounds=Bounds())[0]}
        for this in (run, Index(slower(run, 0.9)))
    ]
    assert FAIL not in verdicts[0] and PASS in verdicts[0] and FAIL in verdicts[1]


def test_machines_that_vary_widen_what_is_normal(tmp_path: Path) -> None:
    """Catches a range that does not depend on how much machines differ."""
    alike = normal_of(tmp_path / "a", *(machine(number, 396.0 + number) for number in range(5)))
    apart = normal_of(tmp_path / "b", *(machine(number, 396.0 + 40 * number) for number in range(5)))
    keys = list(alike.settings)
    assert all(apart.reference(key).deviation > 1.5 * alike.reference(key).deviation for key in keys)


def test_obstacles(tmp_path: Path) -> None:
    """Catches results of other definitions that are judged, or a reason that is not told."""
    normal = normal_of(tmp_path, machine(1), machine(2))
    for fields, reason in (
        ({"timed_by": "host-clock"}, "other timer: host-clock and device-events"),
        ({"counts": "bus"}, "other count: bus and per-direction"),
        ({"size_bytes": 64 * MIB}, "no reference for such a machine or case"),
    ):
        cases = judge(tmp_path / reason[:8], changed(machine(9), **fields), normal)
        assert words(cases) == {UNKNOWN: 24} and {one.reason for one in cases} == {reason}
    few = judge(tmp_path / "few", machine(9, rounds=1), normal)
    assert {one.reason for one in few} == {WHY_NOT_RANKED}
    assert words(judge(tmp_path / "all", machine(9, rounds=1), normal, least_rounds=False)) == {
        NOT_DECIDED: 24
    }


def test_simulated_beside_measured(tmp_path: Path) -> None:
    """Catches a simulated machine that is said to be normal, unasked."""
    simulated = machine(9)
    simulated.simulated = True
    normal = normal_of(tmp_path, machine(1), machine(2))
    with pytest.raises(
        BytewaysError, match="simulated results are compared with measured ones only with --mixed"
    ):
        judge(tmp_path / "a", simulated, normal)
    assert words(judge(tmp_path / "b", simulated, normal, mixed=True)) == {NOT_DECIDED: 24}
    with pytest.raises(BytewaysError, match="not learned together"):
        normal_of(tmp_path / "c", machine(1), simulated)


def test_a_case_that_others_can_measure_is_missing(tmp_path: Path) -> None:
    """Catches peer access that is broken on this machine and passes as a case that cannot run."""
    run = machine(9)
    run.records = [one for one in run.records if (one.interface, one.path) != ("copy", "gpu0>gpu1")]
    flows = [("gpu0:device", "gpu1:device", "gpu0")]
    run.lose("skipped", "gpu0 and gpu1 have no peer access", "copy", flows)
    normal = normal_of(tmp_path, machine(1), machine(2))
    (missing, *_) = judge(tmp_path / "a", run, normal)
    assert (missing.verdict, missing.reason) == (MISSING, "skipped: gpu0 and gpu1 have no peer access")
    run.records = run.records[:-3]
    run.lose("skipped", "no time", "copy", flows, reason_code=OUT_OF_TIME)
    assert words(judge(tmp_path / "b", run, normal)) == {NOT_DECIDED: 23}


def test_parts_and_cases_of_own_machines(tmp_path: Path) -> None:
    """Catches a node that lost a GPU, or a suite that ended early, and passes by what is left."""
    normal = normal_of(tmp_path, machine(1), machine(2))
    cases = judge(tmp_path / "a", machine(9, gpus=3), normal, own=True)
    assert [one.case for one in cases if one.failing] == [
        "1 of 4 NVIDIA H200",
        "1 of 4 PCIe 5.0 ×16",
        "1 of 4 NVLink4 ×18",
    ]
    assert words(judge(tmp_path / "b", machine(9, gpus=3), normal)) == {PASS: 12}
    run = machine(9)
    run.records = run.records[3:]
    lost = folder_of(run, tmp_path / "lost", planned=len(run.records) + 3)
    for allowed, found in ((False, {MISSING: 1, NOT_DECIDED: 23}), (True, {NOT_DECIDED: 23})):
        more = {"bounds": Bounds(), "own": True, "allow_missing": allowed}
        cases, _ = against_normal(Index(lost), normal, ("own", "others"), **more)
        assert words(cases) == found
    less = Index(folder(run, tmp_path / "less"))
    cases, (note, *_) = against_normal(less, normal, ("own", "others"), bounds=Bounds(), own=True)
    assert words(cases) == {NOT_DECIDED: 23} and note == "1 case of such machines not planned in this run"


def test_a_link_that_all_others_have(tmp_path: Path) -> None:
    """Catches a link that is down on a machine whose shape no reference knows."""
    run = machine(9, gpus=5)
    links = [one for one in run.topology.links if {one.a, one.b} != {"gpu0", "nvswitch"}]
    run.topology = replace(run.topology, links=tuple(links))
    cases = judge(tmp_path, run, normal_of(tmp_path, machine(1), machine(2)))
    assert [one.case for one in cases if one.failing] == [f"link gpu0-gpu{n}" for n in range(1, 5)]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", "Input data was truncated"),
        ('{"version": 1}', "missing required field"),
        ('{"version": 9, "machines": [], "settings": {}}', "it has version 9, this byteways reads 1"),
        ('{"version": 1, "machines": [], "settings": {"a": SETTING}}', "names a machine that is not listed"),
    ],
)
def test_damaged_files(tmp_path: Path, text: str, cause: str) -> None:
    """Catches a damaged reference that judges."""
    sample = '{"machine": 0, "value": 1, "least": 1, "most": 1, "cases": 1, "rounds": 3}'
    setting = f'{{"family": ["x"], "counts": null, "timed_by": null, "suites": {{}}, "samples": [{sample}]}}'
    (tmp_path / "n.json").write_text(text.replace("SETTING", setting))
    with pytest.raises(BytewaysError, match="is not a file of --learn") as raised:
        read_normal(tmp_path / "n.json")
    assert cause in (raised.value.cause or "")
    with pytest.raises(BytewaysError, match="cannot read the reference"):
        read_normal(tmp_path / "nowhere.json")


def test_the_shipped_file_is_current() -> None:
    """Catches recorded runs or published values that were added, or read otherwise, and a file of before."""
    shipped = (ROOT / "src/byteways/verdicts/checks/normal.json").read_text(encoding="utf-8")
    assert learn_normal.text() == shipped, "run .venv/bin/python scripts/learn_normal.py"


def test_the_benchmark_starts_as_documented() -> None:
    """Catches a benchmark that finds its modules in the tests alone."""
    path = Path(__file__).parents[3] / "validation" / "normal.py"
    words = [sys.executable, "-c", f"import runpy; runpy.run_path({str(path)!r})"]
    subprocess.run(words, check=True, capture_output=True, timeout=120, env={**os.environ, "PYTHONPATH": ""})


def test_published_values() -> None:
    """Catches a published value of another setting, or one that is not said to be published."""
    normal = read_normal(None)
    (key,) = [
        key
        for key in normal.settings
        if key.startswith("NVIDIA H200 | NVLink4 ×18 | copy | unidirectional")
        and "| 536870912 | cold | {} | {}" in key
        and '"executor": "gpu1", "source": "gpu1:device"' in key
    ]
    published = [one for one in normal.settings[key].samples if normal.machines[one.machine].published]
    assert [one.value for one in published] == [3.964e11]
    assert normal.basis(key).endswith("(1 published)") and normal.reference(key).value < 4e11
    alone = [
        key
        for key, one in normal.settings.items()
        if all(normal.machines[sample.machine].published for sample in one.samples)
    ]
    assert len(alone) > 50 and min(normal.reference(key).deviation for key in alone) >= 0.05


def test_machines_that_nobody_here_has() -> None:
    """Catches a GPU whose published values are lost, and one of them that counts as measured."""
    normal = read_normal(None)
    for model in ("NVIDIA A100-SXM4-80GB", "NVIDIA GB200"):
        samples = [s for key, one in normal.settings.items() if key.startswith(model) for s in one.samples]
        assert samples
        assert all(normal.machines[sample.machine].published for sample in samples)


def test_families(tmp_path: Path) -> None:
    """Catches a variation between machines that like settings do not share, or that unlike ones do."""
    builds = [machine(number, 396.0 + 4 * number) for number in range(8)]
    for place, build in enumerate(builds):
        flows = [("gpu0:device", "gpu0:device", "gpu0")]
        build.measure("copy", flows, 2000.0 + 300 * place, size=MIB)
        if place == 0:
            build.measure("copy", [("gpu0:device", "gpu1:device", "gpu0")], 396.0, size=512 * MIB)
        build.records = changed(build, method_version=METHOD).records
    normal = normal_of(tmp_path, *builds)
    deviations = {key: normal.between(one) for key, one in normal.settings.items()}
    (single,) = [deviations[key] for key, one in normal.settings.items() if len(one.samples) == 1]
    assert single.freedom == 7 and 0.02 < single.deviation < 0.03
    (local,) = [deviations[key] for key in deviations if "| 1048576 |" in key]
    assert local.freedom == 7 and 0.2 < local.deviation < 0.4


def test_what_ships(tmp_path: Path) -> None:
    """Catches a shipped reference without source, of simulated runs, or that knows no common machine."""
    normal = read_normal(None)
    assert not normal.simulated and all(one.source for one in normal.machines)
    assert max(len(one.samples) for one in normal.settings.values()) >= 4
    assert {one.machine for setting in normal.settings.values() for one in setting.samples} <= {
        *range(len(normal.machines))
    }
    found: Check = checked(folder(machine(9), tmp_path / "own"), "own", CheckQuestion.of("normal"))
    # Of kernels no machine of this kind has been measured since their method changed.
    assert found.verdict == PASS and (found.counts[PASS], found.counts[UNKNOWN]) == (12, 12)
