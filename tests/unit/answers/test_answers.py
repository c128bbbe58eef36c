"""Which way from here to there: what is compared, what is said, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from byteways.answers.best.answers import Answer, answers
from byteways.answers.best.no_answer import NoAnswer
from byteways.answers.best.placement import Placement
from byteways.answers.claims.claim import LEADS
from byteways.base.errors import BytewaysError
from byteways.base.units import parse_size
from byteways.cases.question import question
from byteways.cases.sizes import expand_sizes, single_sizes
from byteways.plan.question_suite import suite_of
from byteways.record.run_folder import RunFolder
from byteways.record.warnings import Warning
from tests.changed import replace
from tests.report import rank_runs, sample_run
from tests.report.run_builder import GIB, KIB, MIB, Builder
from tests.unit import machines

BOTH = {"gpu0>gpu1": 390.0, "gpu1>gpu0": 390.0}
READ, WRITE = [("gpu0:device", "gpu1:device", "gpu1")], [("gpu0:device", "gpu1:device", "gpu0")]


def run_of(build: Builder, folder: Path) -> RunFolder:
    return RunFolder(build.write(folder))


def asked(build: Builder, folder: Path, *words: str, **more: str) -> list[Answer | NoAnswer | Placement]:
    source, destination, size = words or ("gpu0", "gpu1", "1GiB")
    return answers(run_of(build, folder), question(source, destination, size, **more))  # type: ignore[arg-type]


def only(found: list[Answer | NoAnswer | Placement]) -> Answer:
    assert len(found) == 1
    assert isinstance(found[0], Answer)
    return found[0]


def pair(**more: object) -> Builder:
    return Builder(sample_run.topology(2), **more)  # type: ignore[arg-type]


def test_the_best_and_the_runner_up(tmp_path: Path) -> None:
    """Catches a winner that its claim does not support, or a runner-up of the same interface."""
    build = pair()
    build.measure("copy", WRITE, 396.0, peak=450)
    build.measure("copy", READ, 390.0, peak=450)
    build.measure("kernel", READ, 360.0, peak=450)
    build.measure("kernel", WRITE, 350.0, peak=450)
    answer = only(asked(build, tmp_path))
    assert str(answer) == (
        "gpu0>gpu1, 1 GiB: cudaMemcpyAsync in a stream of gpu0 (copy, issued by the source), "
        "396 GB/s (88 % of 450), 10 % faster than kernel issued by the destination (360 GB/s); sure"
    )
    assert (answer.sure, answer.interface, answer.default) == (True, "copy", None)
    assert answer.bandwidth_bytes_per_s == pytest.approx(396e9)
    assert answer.interval[0] < 396e9 < answer.interval[1]
    assert answer.runner_up is not None and answer.runner_up.value == pytest.approx(360e9)
    assert {claim.verdict for claim in answer.claims} == {LEADS}


@pytest.mark.parametrize(("rate", "rivals"), [(396.2, {"kernel"}), (380.0, {"kernel", "torch-copy"})])
def test_a_front_end_of_the_best_call_leaves_no_doubt(rate: float, rivals: set[str], tmp_path: Path) -> None:
    """Catches an unsure answer because PyTorch's copy, which makes the same call, is as fast; and one that
    loses time of its own and is not named.
    """
    build = pair()
    build.measure("copy", WRITE, 396.0)
    build.measure("torch-copy", WRITE, rate)
    for flow in (READ, WRITE):
        build.measure("kernel", flow, 360.0)
    build.measure("copy", READ, 390.0)
    answer = only(asked(build, tmp_path))
    others = {one.variant.interface for one in answer.ranking.rivals} - {"copy"}
    assert (answer.interface, answer.sure, others) == ("copy", True, rivals)


def test_a_way_that_cannot_be_ranked_is_compared_where_it_was_measured(tmp_path: Path) -> None:
    """Catches a way that is called faster because the pairs that it has are fast."""
    build = Builder(sample_run.topology(4))
    fast = {("gpu0", "gpu1"), ("gpu1", "gpu0")}
    pairs = [(f"gpu{a}", f"gpu{b}") for a in range(4) for b in range(4) if a != b]
    for a, b in pairs:
        flow = [(f"{a}:device", f"{b}:device", a)]
        build.measure("copy", flow, 390.0 if (a, b) in fast else 200.0)
        build.measure("kernel-bulk", flow, 100.0)
    build.rounds = 1
    build.measure("kernel", WRITE, 350.0)
    assert "kernel issued" not in only(asked(build, tmp_path, "gpu*", "gpu*", "1GiB")).doubt
    build.measure("kernel", [("gpu2:device", "gpu3:device", "gpu2")], 300.0, options={"blocks": 8})
    doubt = only(asked(build, tmp_path / "slow", "gpu*", "gpu*", "1GiB")).doubt
    assert doubt.endswith(
        "kernel issued by the source (blocks=8) reached 300 GB/s in too few rounds to compare"
    )


def test_settings_of_a_tied_interface_are_named(tmp_path: Path) -> None:
    """Catches "6 % faster than kernel; no significant difference between copy and kernel" in one line."""
    build = pair()
    build.measure("copy", WRITE, 396.0)
    build.measure("kernel", WRITE, 372.0)
    build.spread = 0.05
    build.measure("kernel", WRITE, 371.0, options={"blocks": 8})
    answer = only(asked(build, tmp_path))
    assert "6.5 % faster than kernel issued by the source (372 GB/s)" in str(answer)
    assert "between copy and kernel issued by the source (blocks=8)" in answer.doubt


def test_a_faster_way_that_cannot_be_ranked_is_named(tmp_path: Path) -> None:
    """Catches a sure answer beside a copy of 200 times the bandwidth, in batches too short for the timer."""
    short = [Warning("short-batch", 2500.0, 100000.0, "more operations")]
    build = pair()
    build.measure("copy", WRITE, 1.9, size=4 * KIB)
    build.measure("kernel", WRITE, 0.7, size=4 * KIB)
    build.measure("copy", WRITE, 390.0, size=4 * KIB, options={"stream": 1}, warnings=short)
    build.measure("copy", READ, 0.5, size=4 * KIB, options={"stream": 1}, warnings=short)
    answer = only(asked(build, tmp_path, "gpu0", "gpu1", "4KiB"))
    said = "copy issued by the source (stream=1) reached 390 GB/s in batches too short for the timer"
    assert answer.doubt == said and not answer.sure
    build.records = [one for one in build.records if not (one.options and one.round)]
    build.records = [replace(one, warnings=[]) for one in build.records]
    answer = only(asked(build, tmp_path / "rounds", "gpu0", "gpu1", "4KiB"))
    assert answer.doubt.endswith("(stream=1) reached 391 GB/s in too few rounds to compare")


def test_a_setting_stands_beside_the_default(tmp_path: Path) -> None:
    """Catches a winner that needs a setting, recommended without the best that needs none."""
    build = pair()
    build.measure("copy", WRITE, 390.0, size=MIB, options={"stream": 1})
    build.measure("copy", WRITE, 200.0, size=MIB)
    build.measure("kernel", WRITE, 150.0, size=MIB)
    answer = only(asked(build, tmp_path, "gpu0", "gpu1", "1MiB"))
    assert answer.options == {"stream": 1} and answer.to_json()["options"] == "stream=1"
    assert answer.method == "cudaMemcpyAsync in a stream of gpu0 (copy, issued by the source, stream=1)"
    assert "by default (no setting): copy issued by the source, 200 GB/s" in str(answer)
    assert answer.default is not None and answer.default.value == pytest.approx(200e9)


def test_a_tie_is_not_sure(tmp_path: Path) -> None:
    """Catches a winner among equals."""
    build = pair(spread=0.03)
    build.measure("copy", WRITE, 396.0)
    build.measure("kernel", WRITE, 394.0)
    answer = only(asked(build, tmp_path))
    assert not answer.sure
    assert answer.doubts == ("no significant difference between copy and kernel",)


@pytest.mark.parametrize(("warned", "said"), [("noisy", "noisy"), ("drift", "drifting")])
def test_a_doubtful_winner_is_not_sure(tmp_path: Path, warned: str, said: str) -> None:
    """Catches a figure with a data warning that is called sure."""
    build = pair()
    build.measure("copy", WRITE, 396.0, warnings=[Warning(warned, 0.03, 0.01, "more time")])
    build.measure("kernel", WRITE, 200.0)
    assert only(asked(build, tmp_path)).doubts == (said,)


def test_the_only_way_is_not_sure(tmp_path: Path) -> None:
    """Catches a single interface that is called the best of several."""
    build = pair()
    build.measure("copy", WRITE, 396.0)
    answer = only(asked(build, tmp_path))
    assert answer.runner_up is None
    assert (answer.sure, answer.doubts) == (False, ())
    assert str(answer).endswith(
        "396 GB/s; best of what this suite measured; not measured: copy issued by the destination, "
        "kernel issued by the source, kernel issued by the destination"
    )


def test_settings_of_one_interface(tmp_path: Path) -> None:
    """Catches memory of one interface left out of the comparison where there is no other interface."""
    build = pair()
    for memory, rate in (("pinned", 55.0), ("pageable", 14.0)):
        build.measure("copy", [(f"cpu0:{memory}", "gpu0:device", "gpu0")], rate)
    answer = only(asked(build, tmp_path, "host", "gpu0", "1GiB"))
    assert answer.runner_up is not None and "pageable" in answer.runner_up.name
    assert answer.not_measured == ("kernel",)
    slow = only(asked(build, tmp_path / "b", "host", "gpu0", "1GiB", memory="pageable"))
    assert slow.bandwidth_bytes_per_s == pytest.approx(14e9)


def test_globs_are_answered_by_link_class(tmp_path: Path) -> None:
    """Catches links of two classes in one ranking, or paths left out."""
    build = sample_run.h200x4(sizes=(GIB,))
    found = asked(build, tmp_path, "gpu*", "gpu*", "1GiB")
    assert [one.between for one in found] == ["Between GPUs, NVLink4 ×18, 12 paths", "Inside a GPU, 4 paths"]
    named = asked(build, tmp_path / "b", "0000:01:00.0", "GPU-00000001", "1GiB")
    assert only(named).between == "gpu0>gpu1"


def test_host_is_the_nearest_domain(tmp_path: Path) -> None:
    """Catches the far NUMA domain in the answer for `host`; by name it can be asked for."""
    build = Builder(sample_run.topology(2, 2))
    for cpu, rate in (("cpu0", 55.0), ("cpu1", 56.0)):
        build.measure("copy", [(f"{cpu}:pinned", "gpu0:device", "gpu0")], rate)
        build.measure("kernel", [(f"{cpu}:pinned", "gpu0:device", "gpu0")], rate - 20)
    folder = build.write(tmp_path / "run")
    near, far, every = (
        [one.between for one in answers(RunFolder(folder), question(word, "gpu0", "1GiB"))]
        for word in ("host", "cpu1", "cpu*")
    )
    assert (near, far) == (["cpu0>gpu0"], ["cpu1>gpu0"])
    assert sorted(every) == ["NUMA domains", "cpu0>gpu0", "cpu1>gpu0"]


def test_patterns(tmp_path: Path) -> None:
    """Catches other patterns in the answer, or one direction of a bidirectional case that is not found."""
    build = sample_run.h200x4(sizes=(GIB,))
    for ends in (("gpu0", "gpu1"), ("gpu1", "gpu0")):
        both = only(asked(build, tmp_path / ends[0], *ends, "1GiB", pattern="bidir"))
        assert (both.between, both.interface, both.question.pattern) == (
            "gpu0<>gpu1",
            "copy",
            "bidirectional",
        )
    fan = asked(build, tmp_path / "fan", "cpu0", "gpu*", "1GiB", pattern="fan-out")
    assert [one.between for one in fan] == [
        "cpu0>gpu0,gpu1",
        "cpu0>gpu0,gpu1,gpu2",
        "cpu0>gpu0,gpu1,gpu2,gpu3",
    ]


def test_within_ranks(tmp_path: Path) -> None:
    """Catches messages in an answer for one process, and transfers of one process in one for ranks."""
    build = Builder(sample_run.topology(2))
    rank_runs.send_xccl(build, MIB, 80.0)
    build.measure("mpi", [("0/gpu0:device", "1/gpu1:device", "gpu0")], 60.0, size=MIB)
    build.measure("copy", WRITE, 200.0, size=MIB)
    build.measure("kernel", WRITE, 150.0, size=MIB)
    ranks = only(asked(build, tmp_path / "a", "gpu0", "gpu1", "1MiB", within="ranks"))
    process = only(asked(build, tmp_path / "b", "gpu0", "gpu1", "1MiB"))
    assert (ranks.interface, process.interface) == ("xccl", "copy")
    assert ranks.runner_up is not None and "MPI" in ranks.runner_up.name


def test_too_few_rounds(tmp_path: Path) -> None:
    """Catches a ranking of results whose repeatability is unknown."""
    build = pair(rounds=1)
    build.measure("copy", WRITE, 396.0)
    (found,) = asked(build, tmp_path)
    assert isinstance(found, NoAnswer)
    assert str(found) == "gpu0>gpu1: not ranked: measured in 1 round, and a ranking needs 3"


def test_hints_are_commands_that_can_be_copied(tmp_path: Path) -> None:
    """Catches a hint with RUN in place of the folder, without the restrictions asked for, or unquoted."""
    build = pair()
    build.measure("copy", WRITE, 396.0)
    folder = build.write(tmp_path / "run")
    with pytest.raises(BytewaysError) as raised:
        answers(RunFolder(folder), question("gpu*", "gpu1", "2MiB", memory="dev*"), "my run")
    assert raised.value.hint == (
        "nearest: byteways best 'gpu*' gpu1 1GiB 'my run' --memory 'dev*'; "
        "or measure it now: byteways best 'gpu*' gpu1 2MiB --memory 'dev*'"
    )
    build.simulated = True
    with pytest.raises(BytewaysError) as raised:
        answers(RunFolder(build.write(tmp_path / "simulated")), question("gpu0", "gpu1", "2MiB"))
    assert (raised.value.hint or "").endswith(
        "or simulate it now: byteways best gpu0 gpu1 2MiB --machine toy"
    )


def test_simulated(tmp_path: Path) -> None:
    """Catches a simulated answer that speaks of measuring, or does not say what it rests on."""
    build = pair()
    build.simulated = True
    build.measure("copy", WRITE, 396.0, simulated=True, rests_on=["assumed"])
    answer = only(asked(build, tmp_path))
    assert answer.doubts == ("based on assumed parameters of the model",)
    assert "not sure, in the model (based on assumed parameters" in str(answer)
    assert answer.to_json()["simulated"] is True
    assert "SIMULATED" in answer._repr_html_()


def test_json_has_the_claims(tmp_path: Path) -> None:
    """Catches an answer that no program can check, or whose JSON has other figures than its line."""
    answer = only(asked(sample_run.h200x4(sizes=(GIB,)), tmp_path))
    data = json.loads(json.dumps(answer.to_json(), allow_nan=False))
    assert data["sentence"] == str(answer)
    assert data["paths"] == ["gpu0>gpu1"]
    assert data["bandwidth_bytes_per_s"] == answer.bandwidth_bytes_per_s
    assert len(data["claims"]) == len(answer.claims) > 2
    assert all(claim["first"]["case_ids"] for claim in data["claims"])


@pytest.fixture(scope="module")
def several_sizes(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    build = pair()
    for size in (4 * KIB, MIB, GIB):
        build.measure("copy", WRITE, 396.0, size=size)
    build.measure("copy", [*WRITE, ("gpu1:device", "gpu0:device", "gpu1")], BOTH, pattern="bidirectional")
    return run_of(build, tmp_path_factory.mktemp("sizes"))


@pytest.mark.parametrize(
    ("words", "more", "what", "hint"),
    [
        (
            ("gpu0", "gpu1", "2MiB"),
            {},
            "the run has no result of 2 MiB from gpu0 to gpu1",
            "gpu0 gpu1 1MiB RUN",
        ),
        (
            ("gpu0", "gpu1", "1TiB"),
            {},
            "the run has no result of 1 TiB from gpu0 to gpu1",
            "gpu0 gpu1 1GiB RUN",
        ),
        (("gpu0", "gpu9", "1MiB"), {}, "unknown device 'gpu9'", "devices: cpu0"),
        (("gpu0", "gpu1", "0"), {}, "'0' is not a whole, positive number of bytes", "write a size"),
        (("gpu0", "gpu1", "1MiB"), {"within": "rank"}, "unknown --within 'rank'", "did you mean 'ranks'"),
        (("gpu0", "gpu1", "1MiB"), {"memory": "pined"}, "unknown memory 'pined'", "did you mean 'pinned'"),
        (("gpu0", "gpu1", "1MiB"), {"memory": "zz*"}, "no memory matches 'zz*'", "valid: "),
        (("gpu0", "gpu1", "1MiB"), {"pattern": "fun-in"}, "unknown pattern 'fun-in'", "'fan-in'"),
        (("gpu0", "gpu1", "1MiB"), {"memory": "host"}, "'host' could mean pageable", "write the one"),
        (
            ("gpu0", "gpu1", "1MiB"),
            {"pattern": "ring"},
            "the run has no ring results from gpu0 to gpu1",
            "measured patterns: unidirectional, bidirectional",
        ),
        (
            ("gpu0", "gpu1", "1MiB"),
            {"memory": "pool"},
            "the run has no results from gpu0 to gpu1 with pool memory",
            "memory: device",
        ),
        (
            ("gpu0", "gpu1", "1MiB"),
            {"within": "ranks"},
            "the run has no results from gpu0 to gpu1 between ranks",
            "there are some with --within process",
        ),
    ],
)
def test_refusals(
    several_sizes: RunFolder, words: tuple[str, ...], more: dict[str, str], what: str, hint: str
) -> None:
    """Catches an answer to another question than the one asked, or an error that leads nowhere."""
    with pytest.raises(BytewaysError) as raised:
        answers(several_sizes, question(*words, **more))  # type: ignore[arg-type]
    assert raised.value.what.startswith(what)
    assert hint in (raised.value.hint or "")


def test_nothing_between_these_devices(tmp_path: Path) -> None:
    """Catches a run without such cases whose error names no path that there is."""
    with pytest.raises(BytewaysError) as raised:
        asked(sample_run.h200x4(sizes=(GIB,)), tmp_path, "cpu0", "cpu0", "1GiB")
    assert raised.value.what == "the run has no results from cpu0 to cpu0"
    assert "measured patterns: " in (raised.value.hint or "")
    with pytest.raises(BytewaysError) as raised:
        asked(pair(), tmp_path / "empty")
    assert raised.value.hint == "measure it now: byteways best gpu0 gpu1 1GiB"


def test_void_results_are_no_answer(tmp_path: Path) -> None:
    """Catches a result beyond the physical limit that is recommended."""
    build = pair()
    build.measure("copy", WRITE, 4000.0)
    told = [Warning("beyond-limit", 4e12, 4.5e11, "void")]
    build.records = [replace(record, warnings=told) for record in build.records]
    with pytest.raises(BytewaysError) as raised:
        asked(build, tmp_path)
    assert raised.value.cause == "some results are beyond a physical limit and void"


@pytest.mark.parametrize(
    ("words", "more", "sources", "interfaces"),
    [
        (("gpu0", "gpu1"), {}, {"gpu0:device"}, {"copy", "kernel", "kernel-bulk"}),
        (("host", "gpu*"), {}, {"cpu*:pinned", "cpu*:pageable"}, {"copy", "kernel", "kernel-bulk"}),
        (("host", "gpu*"), {"memory": "registered"}, {"cpu*:registered"}, {"copy", "kernel", "kernel-bulk"}),
        (("host", "host"), {}, {"cpu*:pageable", "cpu*:hugepage"}, {"memcpy", "memcpy-mt", "memcpy-stream"}),
        (("gpu0", "gpu1"), {"within": "ranks"}, {"gpu0:device"}, {"mpi", "xccl"}),
        (("gpu0", "gpu1"), {"pattern": "bidirectional"}, {"gpu0:device"}, {"copy", "kernel"}),
    ],
)
def test_the_suite_of_a_question(
    words: tuple[str, str], more: dict[str, str], sources: set[str], interfaces: set[str]
) -> None:
    """Catches a measurement of something else than what is asked, or without an alternative."""
    problem = question(*words, "1MiB", **more)  # type: ignore[arg-type]
    suite = suite_of(problem, machines.h200x4()[0])
    assert {glob.text for sweep in suite.sweeps for glob in sweep.sources} == sources
    assert {name for sweep in suite.sweeps for name in sweep.interfaces} == interfaces
    assert {size for sweep in suite.sweeps for size in sweep.sizes} == {MIB}
    within = suite.budget_s is not None and suite.budget_s < problem.answer_within_s
    assert (suite.rounds, within) == (3, True)


def test_a_question_on_devices_of_two_kinds() -> None:
    """Catches `*`, which would be measured as if it were of one kind."""
    with pytest.raises(BytewaysError, match="matches both CPUs and GPUs"):
        suite_of(question("*", "gpu0", "1MiB"), machines.h200x4()[0])


@pytest.mark.parametrize(
    ("word", "same"), [("0", "gpu0"), ("cuda:0", "gpu0"), ("GPU0", "gpu0"), ("hip:0", "gpu0")]
)
def test_spellings_of_devices(word: str, same: str, several_sizes: RunFolder) -> None:
    """Catches a usual spelling of a GPU that is refused."""
    found = answers(several_sizes, question(word, "cuda:1", "1MiB"))
    assert [one.between for one in found] == [f"{same}>gpu1"]


@pytest.mark.parametrize(("text", "size"), [("3MB", 3_000_000), ("3MiB", 3 << 20), ("3M", 3 << 20)])
def test_a_size_has_one_meaning_everywhere(text: str, size: int, tmp_path: Path) -> None:
    """Catches `best` that asks for 1 MiB where `run --size` measures 1 MB, or for one in silence."""
    asked = question("gpu0", "gpu1", text)
    assert (asked.size_bytes, single_sizes(text), expand_sizes(text)) == (size, (size,), (size,))
    build = pair()
    for measured in (MIB, 16 * MIB):
        build.measure("copy", WRITE, 396.0, size=measured)
    (answer,) = answers(run_of(build, tmp_path), asked)
    assert isinstance(answer, Answer)
    assert answer.interpolated is not None and answer.interpolated[0] < size < answer.interpolated[1]
    assert parse_size(str(answer).split(", ")[1].partition(":")[0]) == size
