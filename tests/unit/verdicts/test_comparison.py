"""Comparison of runs: what is compared, what counts as a difference, and what most differences share."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import byteways
from byteways.base.errors import BytewaysError
from byteways.record.run_folder import RunFolder
from byteways.verdicts.two_runs.across_machines import compare_classes
from byteways.verdicts.two_runs.comparison import Comparison, compare_runs
from byteways.verdicts.two_runs.environments import Difference, differences
from byteways.verdicts.two_runs.setting import method_changed
from byteways.verdicts.two_runs.wording_comparison import Condition, row, summary, suspicion
from tests.changed import replace
from tests.report import sample_run
from tests.report.run_builder import MIB, Builder

Rate = Callable[[str, str], float]


def pairs_run(rate: Rate = lambda a, b: 396.0, gpus: int = 4, **more: Any) -> Builder:
    """Copies and kernels between all pairs of GPUs."""
    build = Builder(sample_run.topology(gpus), **more)
    for a in range(gpus):
        for b in range(gpus):
            if a != b:
                flows = [(f"gpu{a}:device", f"gpu{b}:device", f"gpu{a}")]
                for interface, part in (("copy", 1.0), ("kernel", 0.9)):
                    build.measure(interface, flows, part * rate(f"gpu{a}", f"gpu{b}"), peak=450)
    return build


def folder_of(build: Builder, path: Path, **manifest: Any) -> RunFolder:
    """The run of a builder with an identity of its own."""
    build.write(path)
    file = path / "run.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "run_id": path.name, **manifest}))
    return RunFolder(path)


def compared(tmp_path: Path, first: Builder, second: Builder, **more: Any) -> Comparison:
    runs = [folder_of(build, tmp_path / name) for build, name in ((first, "a"), (second, "b"))]
    (found,) = compare_runs(runs, ["a", "b"], **more)
    return found


def test_equal_runs(tmp_path: Path) -> None:
    """Catches noise that is called a difference."""
    found = compared(tmp_path, pairs_run(), pairs_run(lambda a, b: 397.0))
    assert (len(found.pairs), found.slower, found.faster, found.suspect) == (24, (), (), None)
    assert str(found) == (
        "24 cases compared: none slower, none faster, 24 without significant difference of 1 % or more"
    )
    assert suspicion(found) == ""


@pytest.mark.parametrize(
    ("rate", "suspect", "slower"),
    [
        (lambda a, b: 200.0 if "gpu2" in (a, b) else 396.0, "gpu2", 12),
        (lambda a, b: 200.0 if {a, b} == {"gpu1", "gpu3"} else 396.0, "gpu1-gpu3", 4),
        (
            lambda a, b: 200.0 if "gpu0" in (a, b) or b == "gpu1" else 396.0,
            "gpu0 or nvswitch>gpu1",
            16,
        ),
    ],
)
def test_the_suspect(tmp_path: Path, rate: Rate, suspect: str, slower: int) -> None:
    """Catches a faulty device that is not named, or a pair whose devices are blamed."""
    found = compared(tmp_path, pairs_run(), pairs_run(rate))
    assert len(found.slower) == slower
    assert found.suspect is not None and found.suspect.name == suspect
    assert suspicion(found).startswith(
        f"{found.suspect.slower} of {slower} slower cases involve {suspect}, and "
    )
    assert [pair.slower for pair in found.pairs] == sorted((p.slower for p in found.pairs), reverse=True)
    assert found.pairs[0].speed == pytest.approx(200 / 396)
    assert found.pairs[0].interval[0] < 200 / 396 < found.pairs[0].interval[1]


def test_a_row(tmp_path: Path) -> None:
    """Catches first and second swapped, a wrong sign, or a latency whose growth is called faster."""
    first, second = pairs_run(gpus=2), pairs_run(lambda a, b: 198.0, gpus=2)
    for build, latency in ((first, 600.0), (second, 900.0)):
        flow = [("gpu0:device", "gpu0:device", "gpu0")]
        build.measure("pointer-chase", flow, 0.0, size=MIB, latency_ns=latency)
    found = compared(tmp_path, first, second)
    assert row(found.slower[0])[:2] == ("copy issued by the source, gpu0>gpu1, 1 GiB", "-50.0 %")
    assert row(found.slower[0])[3:] == ("396 GB/s", "198 GB/s")
    chase = next(pair for pair in found.slower if pair.first.record.interface == "pointer-chase")
    assert chase.speed == pytest.approx(2 / 3) and chase.interval[0] < 2 / 3 < chase.interval[1]
    assert row(chase)[1] == "-33.3 %" and row(chase)[3:] == ("600 ns", "900 ns")
    assert summary(found).startswith("5 cases compared: 5 slower, none faster, none without significant")
    turned = compared(tmp_path / "turned", second, first)
    assert (len(turned.faster), turned.slower) == (5, ())


def test_many_comparisons_hold_simultaneously(tmp_path: Path) -> None:
    """Catches intervals for a single comparison: of hundreds of equal cases some would then differ."""
    draw = random.Random(7)

    def noisy(name: str) -> Builder:
        build = pairs_run()
        records = []
        for record in build.records:
            factor = draw.gauss(1, 0.02)
            assert record.time_ns is not None and record.bandwidth_bytes_per_s is not None
            rate = record.bandwidth_bytes_per_s * factor
            records.append(replace(record, bandwidth_bytes_per_s=rate))
        build.records = records
        return build

    wrong = sum(
        bool((found := compared(tmp_path / str(place), noisy("a"), noisy("b"))).slower or found.faster)
        for place in range(6)
    )
    assert wrong <= 1
    levels = sorted({pair.claim.comparisons for pair in found.pairs})
    assert levels[-1] == len(found.pairs) == 24


def test_holm_steps_down(tmp_path: Path) -> None:
    """Catches a correction for all cases at every step, which overlooks small differences."""
    found = compared(tmp_path, pairs_run(), pairs_run(lambda a, b: 200.0 if a == "gpu0" else 396.0))
    assert sorted({pair.claim.comparisons for pair in found.slower}) == list(range(19, 25))
    assert {pair.claim.comparisons for pair in found.pairs if not pair.slower} == {18}


def changed(build: Builder, **fields: Any) -> Builder:
    build.records = [replace(record, **fields) for record in build.records]
    return build


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"method_version": 99}, "other method version: 1 and 99"),
        ({"timed_by": "host-clock"}, "other timer: device-events and host-clock"),
        ({"counts": "bus"}, "other count: per-direction and bus"),
    ],
)
def test_only_equal_definitions_compare(tmp_path: Path, fields: dict[str, Any], reason: str) -> None:
    """Catches figures of two definitions that are subtracted from each other."""
    with pytest.raises(BytewaysError) as raised:
        compared(tmp_path, pairs_run(), changed(pairs_run(), **fields))
    assert raised.value.what == "no case of a and b can be compared"
    assert raised.value.cause == f"{reason} (24)"
    mixed = pairs_run()
    mixed.records = mixed.records[:36] + changed(pairs_run(), **fields).records[36:]
    found = compared(tmp_path / "mixed", pairs_run(), mixed)
    assert (len(found.pairs), dict(found.not_compared)) == (12, {reason: 12})


@pytest.mark.parametrize(
    ("interface", "pattern", "versions", "is_changed"),
    [
        ("copy", "unidirectional", (8, 9), False),
        ("torch-copy", "unidirectional", (8, 9), True),
        ("torch-copy", "unidirectional", (9, 9), False),
        ("copy", "bidirectional", (5, 9), True),
        ("copy", "bidirectional", (9, 6), False),
        ("copy", "unidirectional", (9, 10), False),
        ("kernel", "unidirectional", (9, 10), True),
        ("stream-triad", "unidirectional", (9, 10), True),
        ("mpi", "unidirectional", (9, 10), False),
        ("mpi", "bidirectional", (9, 10), True),
        ("mpi-put", "unidirectional", (11, 12), True),
        ("xccl", "unidirectional", (11, 12), False),
    ],
)
def test_a_change_of_the_method_concerns_its_cases_alone(
    interface: str, pattern: str, versions: tuple[int, int], is_changed: bool
) -> None:
    """Catches runs of two versions of byteways that cannot be compared, and cases measured in two ways."""
    record = replace(pairs_run().records[0], interface=interface, pattern=pattern)
    assert method_changed(record, *versions) == is_changed


def test_too_few_rounds(tmp_path: Path) -> None:
    """Catches results that are never ranked and are compared all the same."""
    with pytest.raises(BytewaysError) as raised:
        compared(tmp_path, pairs_run(rounds=1), pairs_run(rounds=1))
    assert (raised.value.cause or "").startswith("fewer than 3 rounds")


def test_cases_without_counterpart(tmp_path: Path) -> None:
    """Catches a case that failed, or was not planned, and is missing without a word."""
    second = pairs_run(gpus=3)
    lost = ("copy", [("gpu0:device", "gpu3:device", "gpu0")])
    second.lose("failed", "CUDA_ERROR_UNKNOWN", *lost)
    second.measure("copy", [("cpu0:pinned", "gpu0:device", "gpu0")], 55.0)
    second.topology = sample_run.topology(4)
    found = compared(tmp_path, pairs_run(), second)
    assert [(one.status, one.path) for one in found.lost] == [("failed", "gpu0>gpu3")]
    assert (len(found.pairs), found.only_first, found.only_second) == (12, 11, 1)
    assert Condition.parse("failed").broken_by(found) == "1 case failed"
    assert suspicion(found) == ""  # the fault of gpu0, of gpu3 or of a link between them


def test_a_run_of_which_nothing_is_left_is_compared(tmp_path: Path) -> None:
    """Catches a comparison that is refused where the second run lost all that the first has measured."""
    first, second = Builder(topology=sample_run.topology(2)), Builder(topology=sample_run.topology(2))
    flow = ("copy", [("gpu0:device", "gpu1:device", "gpu0")])
    first.measure(*flow, 396.0)
    second.lose("failed", "CUDA_ERROR_UNKNOWN", *flow)
    found = compared(tmp_path, first, second)
    assert not found.pairs and [one.status for one in found.lost] == ["failed"]


def test_missing_cases_have_a_suspect(tmp_path: Path) -> None:
    """Catches a device that is lost: no case is slower, and the cases of the others go on."""
    second = pairs_run(gpus=3)
    for other in ("gpu0", "gpu1", "gpu2"):
        second.lose("lost", "the GPU fell off the bus", "copy", [(f"{other}:device", "gpu3:device", other)])
        second.lose("skipped", "gpu3 is lost", "copy", [("gpu3:device", f"{other}:device", "gpu3")])
    second.topology = sample_run.topology(4)
    found = compared(tmp_path, pairs_run(), second)
    told = "6 of 6 missing cases involve gpu3, and 6 of the 6 cases with it are missing"
    assert suspicion(found) == told
    assert found.to_json()["missing_cases"] == 6


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("slower > 3%", "12 cases slower > 3%"),
        ("Slower>49.4 %", "12 cases slower > 49.4%"),
        ("slower > 60 %", ""),
        ("faster > 1%", ""),
        ("different > 3%", "12 cases different > 3%"),
        ("failed", ""),
    ],
)
def test_conditions(tmp_path: Path, text: str, said: str) -> None:
    """Catches a threshold in other units, a direction turned round, or a condition that never breaks."""
    found = compared(tmp_path, pairs_run(), pairs_run(lambda a, b: 200.0 if "gpu2" in (a, b) else 396.0))
    assert Condition.parse(text).broken_by(found) == said


@pytest.mark.parametrize("text", ["slower", "slower > 3", "slower < 3%", "worse > 3%", "", "slower > x%"])
def test_no_conditions(text: str) -> None:
    """Catches a mistyped condition that is never broken."""
    with pytest.raises(BytewaysError, match="is no condition"):
        Condition.parse(text)


def test_refusals(tmp_path: Path) -> None:
    """Catches runs that are compared although nothing follows from it."""
    simulated = pairs_run()
    simulated.simulated = True
    one, two = folder_of(pairs_run(), tmp_path / "one"), folder_of(simulated, tmp_path / "two")
    with pytest.raises(BytewaysError, match="needs two runs"):
        compare_runs([one], ["one"])
    with pytest.raises(BytewaysError, match="one and again are the same run"):
        compare_runs([one, one], ["one", "again"])
    with pytest.raises(BytewaysError) as raised:
        compare_runs([one, two], ["one", "two"])
    assert raised.value.cause == "one: measured, two: simulated"
    (found,) = compare_runs([one, two], ["one", "two"], mixed=True)
    assert found.simulated and found.to_json()["simulated"]
    other = folder_of(sample_run.cpu_only(), tmp_path / "cpu")
    with pytest.raises(BytewaysError) as raised:
        compare_runs([one, other], ["one", "cpu"])
    assert raised.value.what == "one and cpu have no case in common"
    assert "--by link-class" in (raised.value.hint or "")
    with pytest.raises(BytewaysError, match="no transfer in common"):
        compare_classes([one, other], ["one", "cpu"])


def test_several_runs_share_one_correction(tmp_path: Path) -> None:
    """Catches intervals that hold for each run alone where several are compared."""
    runs = [folder_of(pairs_run(), tmp_path / name) for name in "abc"]
    found = compare_runs(runs, [*"abc"])
    assert [one.names for one in found] == [("a", "b"), ("a", "c")]
    assert {pair.claim.comparisons for one in found for pair in one.pairs} == {48}


def test_environments() -> None:
    """Catches a driver, device or setting that changed and is not named."""
    build = pairs_run(gpus=2)
    first = build.manifest()
    second = json.loads(json.dumps(first))
    assert differences(first, second) == []
    second["topology"]["devices"][1]["uuid"] = "GPU-other"
    second["libraries"] = [{"library": "cuda-driver", "version": "580"}]
    second["environment"] = {**second.get("environment", {}), "NCCL_ALGO": "Ring"}
    second["host"]["kernel"] = "6.1"
    second["machine_model"] = {"faults": ["slow:gpu0-gpu1:0.5"]}
    told = {one.what: (one.first, one.second) for one in differences(first, second)}
    assert told["gpu0"] == ("NVIDIA H200, GPU-00000000", "NVIDIA H200, GPU-other")
    assert told["NCCL_ALGO"] == ("", "Ring") and told["library cuda-driver"][1] == "580"
    assert told["injected faults"] == ("", "slow:gpu0-gpu1:0.5")
    assert told["kernel"][1] == "6.1"
    assert Difference("kernel", first["host"]["kernel"], "6.1") in differences(first, second)


def test_libraries_between_ranks_come_first() -> None:
    """Catches another MPI or NCCL told below links and kernels, and one that could not be used."""
    first = pairs_run(gpus=2).manifest()
    second = json.loads(json.dumps(first))
    second["host"]["kernel"] = "6.1"
    rccl = {"library": "rccl", "usable": False, "version": "2.22.3"}
    for manifest, mpi, nccl in ((first, "MPICH Version: 5.0.2", "2.28.3"), (second, "Open MPI v5", "2.28.9")):
        libraries = {"cuda-driver": "580", "nccl": nccl, "mpi": mpi}
        manifest["libraries"] = [
            {"library": name, "usable": True, "version": version, "path": f"/lib/{version}"}
            for name, version in libraries.items()
        ]
    second["libraries"].append(rccl)
    assert differences(first, second) == [
        Difference("MPI", "MPICH Version: 5.0.2", "Open MPI v5"),
        Difference("NCCL", "2.28.3", "2.28.9"),
        Difference("kernel", first["host"]["kernel"], "6.1"),
        Difference("path of MPI", "/lib/MPICH Version: 5.0.2", "/lib/Open MPI v5"),
    ]


def test_across_machines(tmp_path: Path) -> None:
    """Catches GB/s of different links in one comparison instead of parts of their peaks."""
    other = pairs_run(lambda a, b: 198.0, gpus=3)
    other.topology = sample_run.topology(3, gpu_model="Another GPU")
    other = changed(other, peak_bytes_per_s=300e9)
    runs = [folder_of(pairs_run(), tmp_path / "a"), folder_of(other, tmp_path / "b")]
    (found,) = compare_classes(runs, ["a", "b"])
    copies = next(one for one in found.rows if one.variant.interface == "copy")
    assert copies.claim.effect == pytest.approx((198 / 300) / (396 / 450))
    assert copies.claim.trails and copies.claim.quantity == "fraction of peak"
    assert copies.peaks_bytes_per_s == (450e9, 300e9)
    assert (copies.claim.pairs, copies.claim.comparisons) == (72, len(found.rows))
    assert json.loads(json.dumps(found.to_json()))["rows"][0]["link_classes"] == ["NVLink4 ×18"] * 2


def test_json_has_every_claim(tmp_path: Path) -> None:
    """Catches JSON that no program can check, or that JSON does not allow."""
    found = compared(tmp_path, pairs_run(), pairs_run(lambda a, b: 200.0 if a == "gpu0" else 396.0))
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert data["compared"] == len(data["cases"]) == 24
    assert (data["slower_cases"], data["suspect"]["name"], data["same_gpus"]) == (6, "gpu0>nvswitch", True)
    case = data["cases"][0]
    assert case["speed"] == pytest.approx(case["claim"]["effect"])
    assert case["case_id"] in case["claim"]["first"]["case_ids"]


def test_the_library_compares(tmp_path: Path) -> None:
    """Catches a library that compares otherwise than the command, or shows names as markup."""
    slow = pairs_run(lambda a, b: 200.0 if a == "gpu0" else 396.0)
    first, second = folder_of(pairs_run(), tmp_path / "a"), folder_of(slow, tmp_path / "<script>")
    found = byteways.compare(first.path, byteways.load(second.path))
    assert isinstance(found, Comparison) and len(found.slower) == 6
    page = found._repr_html_()
    assert "-49.5 %" in page and "<script" not in page
    with pytest.raises(BytewaysError, match="the same run"):
        byteways.compare(first.path, first.path)
