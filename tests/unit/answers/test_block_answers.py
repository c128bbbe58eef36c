"""Which method for N scattered blocks of S bytes: answers, crossovers, and constants of other programs.

The rates are those of a probe on an H100: host time, pinned memory to the GPU, in GB/s.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import byteways
from byteways.answers.best.answers import Answer
from byteways.answers.best.block_advice import block_advice
from byteways.answers.best.block_answers import all_answers, block_answers, candidate_rows
from byteways.answers.best.crossovers import crossing, crossovers
from byteways.answers.best.no_answer import NoAnswer
from byteways.answers.claims.importance import Priority
from byteways.answers.results.index import Index
from byteways.base.errors import BytewaysError
from byteways.cases.block_list import BlockList
from byteways.cases.option_set import NO_OPTIONS
from byteways.cases.question import Question, question
from byteways.cli import main
from byteways.measuring.conduct.simulation import simulation_of
from byteways.models import names
from byteways.plan.question_suite import suite_of
from byteways.questions.findings import findings
from byteways.questions.subjects import blocks
from byteways.record.run_folder import RunFolder
from statements.blocks import check_blocks
from statements.outcome import CONTRADICTED, HOLDS
from statements.records import RunData
from tests.changed import replace
from tests.report import sample_run
from tests.report.run_builder import Builder

KIB = 1024
#: GB/s of the batched call and the kernel, by KiB of a block, for 16, 64, 1,024 and 4,096 blocks.
COUNTS = (16, 64, 1024, 4096)
BATCH = {1: (0.7, 0.8, 0.8, 0.9), 4: (1.4, 1.5, 2.4, 2.1), 16: (3.6, 4.1, 4.1, 4.1)}
BATCH |= {32: (19.9, 25.8, 27.5, 27.4), 64: (21.5, 35.1, 37.1, 36.6)}
KERNEL = {1: (1.1, 4.0, 19.9, 23.7), 4: (2.5, 8.8, 26.2, 28.4), 16: (10.3, 20.0, 27.5, 28.6)}
KERNEL |= {32: (17.1, 26.8, 31.7, 29.7), 64: (17.5, 28.0, 30.9, 29.1)}
FROM_HOST = [("cpu0:pinned", "gpu0:device", "gpu0")]


def measure(build: Builder, interface: str, size: int, count: int, rate: float, **options: object) -> None:
    chosen = {"block_bytes": size * KIB, "gate": False, **options}
    build.measure(
        interface, FROM_HOST, rate, size=size * KIB * count, options=chosen, submit_ns=1000.0 + count
    )


def probe(sizes: tuple[int, ...] = (1, 4, 16, 32, 64)) -> Builder:
    build = Builder(sample_run.topology(1))
    for size in sizes:
        for place, count in enumerate(COUNTS):
            measure(build, "copy-blocks", size, count, BATCH[size][place], submit="batch")
            measure(build, "kernel-blocks", size, count, KERNEL[size][place])
            measure(build, "copy-blocks", size, count, BATCH[size][place] / 3)
    return build


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return probe().write(tmp_path_factory.mktemp("blocks"))


@pytest.fixture(scope="module")
def index(folder: Path) -> Index:
    return Index.of(RunFolder(folder))


def asked(blocks: str, *ends: str, **more: str) -> Question:
    source, destination = ends or ("host", "gpu0")
    return question(source, destination, blocks, **more)  # type: ignore[arg-type]


def only(index: Index, blocks: str) -> Answer:
    (found,) = all_answers(index, asked(blocks))
    assert isinstance(found, Answer)
    return found


def test_measured_blocks(index: Index) -> None:
    """Catches an option that says which blocks are copied taken for a setting, or a batch for many copies."""
    answer = only(index, "1024x16KiB")
    assert (answer.interface, answer.options, answer.around) == ("kernel-blocks", NO_OPTIONS, ())
    assert answer.bandwidth_bytes_per_s == pytest.approx(27.5e9)
    assert answer.sure and answer.many is None and answer.default is None
    assert answer.call_ns == pytest.approx(2024.0)
    rivals = [(one.variant.interface, one.variant.options) for one in answer.ranking.rivals]
    assert rivals == [("copy-blocks", {"submit": "batch"}), ("copy-blocks", {})]
    assert only(index, "4096x64KiB").options == {"submit": "batch"}
    assert next(row.beside for row in candidate_rows(answer.ranking)) == "best"


def test_from_python(folder: Path) -> None:
    """Catches blocks that a program cannot ask for, or that are taken for a size."""
    answer = byteways.load(str(folder)).best("host", "gpu0", "1024x16KiB")
    assert answer.interface == "kernel-blocks"
    with pytest.raises(BytewaysError):
        byteways.load(str(folder)).best("host", "gpu0", "4x4x4KiB")


def test_between_measured_numbers_and_sizes(index: Index) -> None:
    """Catches an interpolation that is linear in the rate, or that forgets one of the two."""

    def time_ns(size: int, count: int) -> float:
        return size * KIB * count / KERNEL[size][COUNTS.index(count)]

    share_of_count = (500 - 64) / (1024 - 64)
    at = {
        size: (1 - share_of_count) * time_ns(size, 64) + share_of_count * time_ns(size, 1024)
        for size in (4, 16)
    }
    assert _time_ns(only(index, "500x4KiB")) == pytest.approx(at[4])
    share = (8 - 4) / (16 - 4)
    answer = only(index, "500x8KiB")
    assert _time_ns(answer) == pytest.approx((1 - share) * at[4] + share * at[16])
    assert {*answer.around} == {BlockList(n, size * KIB) for n in (64, 1024) for size in (4, 16)}
    assert answer.interval[0] < answer.bandwidth_bytes_per_s < answer.interval[1]


def _time_ns(answer: Answer) -> float:
    return 1e9 * answer.question.size_bytes / answer.bandwidth_bytes_per_s


def test_more_blocks_than_were_measured(index: Index) -> None:
    """Catches a rate that grows beyond the measured numbers, or an answer that is sure there."""
    answer = only(index, "10240x16KiB")
    assert answer.bandwidth_bytes_per_s == pytest.approx(28.6e9)
    assert answer.doubt and not answer.sure


def test_another_method_at_one_side_is_a_doubt(index: Index) -> None:
    """Catches a sure answer between two sizes of which each has another best method."""
    answer = only(index, "4096x48KiB")
    assert not answer.sure
    assert {blocks.block_bytes for blocks in answer.around} == {32 * KIB, 64 * KIB}


def test_what_cannot_be_answered(index: Index) -> None:
    """Catches an extrapolation to smaller or larger blocks, and hints that do not answer."""
    with pytest.raises(BytewaysError) as error:
        all_answers(index, asked("1024x8MiB"), "RUN")
    assert error.value.hint and "best host gpu0 --blocks" in error.value.hint
    nearest = error.value.hint.split("--blocks ")[1].split()[0]
    assert only(index, nearest)
    with pytest.raises(BytewaysError) as error:
        all_answers(index, asked("1024x16KiB", "gpu0", "host"))
    assert error.value.hint and "byteways run blocks" in error.value.hint
    with pytest.raises(BytewaysError):
        asked("4x4KiB", within="ranks")


def test_other_layouts_are_named(tmp_path: Path) -> None:
    """Catches strided blocks that answer for scattered ones."""
    build = Builder(sample_run.topology(1))
    measure(build, "kernel-blocks", 16, 1024, 27.0, layout="strided", pitch_bytes=64 * KIB)
    with pytest.raises(BytewaysError) as error:
        all_answers(RunFolder(build.write(tmp_path)), asked("1024x16KiB"))
    assert error.value.cause and "every 4 blocks" in error.value.cause


def test_blocks_of_different_sizes_are_no_alternatives(tmp_path: Path) -> None:
    """Catches a mixed list that answers for blocks of its largest size."""
    build = Builder(sample_run.topology(1))
    mixed = {"block_sizes": "3x4KiB,1x16KiB", "gate": False}
    build.measure("kernel-blocks", FROM_HOST, 27.0, size=1024 * 28 * KIB, options=mixed)
    with pytest.raises(BytewaysError):
        all_answers(RunFolder(build.write(tmp_path)), asked("1024x16KiB"))


def test_one_round_is_not_ranked(tmp_path: Path) -> None:
    """Catches a method that is recommended after a single round."""
    build = Builder(sample_run.topology(1), rounds=1)
    measure(build, "kernel-blocks", 16, 1024, 27.0)
    (found,) = block_answers(Index.of(RunFolder(build.write(tmp_path))), asked("1024x16KiB"))
    assert isinstance(found, NoAnswer)


def test_usual_methods_that_were_not_measured(tmp_path: Path) -> None:
    """Catches an answer that is sure without the batched call."""
    build = Builder(sample_run.topology(1))
    measure(build, "kernel-blocks", 16, 1024, 27.0)
    measure(build, "copy-blocks", 16, 1024, 3.0)
    answer = only(Index.of(RunFolder(build.write(tmp_path))), "1024x16KiB")
    assert answer.not_measured == ("copy-blocks (submit=batch)",)


def test_a_plain_question_ignores_blocks(index: Index) -> None:
    """Catches block copies ranked beside transfers of contiguous bytes."""
    with pytest.raises(BytewaysError):
        all_answers(index, question("host", "gpu0", 1024 * 16 * KIB))


def test_crossovers(index: Index) -> None:
    """Catches a crossover that is the same for every number of blocks, or outside its two sizes."""
    (found,) = crossovers(index)
    between = {one.count: one.between for one in found.counts}
    assert between == {
        16: (16 * KIB, 32 * KIB),
        64: (32 * KIB, 64 * KIB),
        1024: (32 * KIB, 64 * KIB),
        4096: (32 * KIB, 64 * KIB),
    }
    for one in found.counts:
        assert one.between and one.equal_at and one.between[0] < one.equal_at < one.between[1]


def test_where_two_rates_cross() -> None:
    """Catches a mean of ratios in place of their logarithms."""
    assert crossing([4.0, 1.0], [0.25, 1.0], 16, 64) == pytest.approx(32.0)
    assert crossing([2.0], [1.0], 16, 64) == 64.0


def test_constants_lose_least(index: Index) -> None:
    """Catches constants that give the kernel what the batched call does faster, or that are no optimum."""
    (advice,) = block_advice(index)
    assert 32 * KIB < advice.threshold_bytes <= 64 * KIB and advice.threshold_bytes % KIB == 0
    assert advice.least_blocks == 16
    assert advice.by_kernel(BlockList(1024, 16 * KIB))
    assert not advice.by_kernel(BlockList(1024, 64 * KIB)) and not advice.by_kernel(BlockList(8, KIB))
    assert advice.worst == BlockList(16, 32 * KIB)
    assert advice.most_loss == pytest.approx(19.9 / 17.1 - 1, rel=1e-3)
    assert advice.mean_loss == pytest.approx((19.9 / 17.1) ** (1 / 20) - 1, rel=1e-3)


def test_a_kernel_that_never_leads(tmp_path: Path) -> None:
    """Catches constants that use a slower kernel, and a sentence that praises it."""
    build = Builder(sample_run.topology(1))
    for size in (1, 4):
        measure(build, "copy-blocks", size, 64, 20.0, submit="batch")
        measure(build, "kernel-blocks", size, 64, 10.0)
    run = Index.of(RunFolder(build.write(tmp_path)))
    (advice,) = block_advice(run)
    assert advice.threshold_bytes == 0
    (finding,) = blocks.changes(run)
    assert all(claim.trails for claim in finding.claims)


def test_the_finding_and_the_topic(index: Index, tmp_path: Path) -> None:
    """Catches a finding without its claims, or a chart or table without a method."""
    (finding,) = blocks.changes(index)
    assert len(finding.claims) == 20 and "kernel-blocks" in finding.sentence
    topic = blocks.topic(index)
    assert topic is not None
    assert [len(chart.series) for chart in topic.charts] == [3]
    assert len(topic.tables) == 4
    assert blocks.topic(Index.of(RunFolder(sample_run.h200x4().write(tmp_path)))) is None


@pytest.mark.parametrize("name", names())
def test_crossovers_are_the_first_findings(name: str, tmp_path: Path) -> None:
    """Catches relays over other GPUs, or what a model assumes, ahead of what the suite was made for."""
    simulation = simulation_of(name, None)
    assert simulation is not None
    build = Builder(simulation.topology())
    build.simulated = True
    gpu, *others = build.topology.names("gpu")
    assert others  # one with a single GPU has no relays
    near = build.topology.nearest_cpu(gpu)
    ends = [(f"{near}:pinned", f"{gpu}:device", gpu)]
    for size, rate in ((4, 8.0), (64, 30.0)):
        blocks_of = {"size": 1024 * size * KIB, "simulated": True, "rests_on": ["assumed"]}
        chosen = {"block_bytes": size * KIB, "gate": False}
        build.measure("kernel-blocks", ends, 25.0, options=chosen, **blocks_of)
        build.measure("copy-blocks", ends, rate, options={**chosen, "submit": "batch"}, **blocks_of)
    for relays, rate in ((0, 50.0), (1, 90.0)):
        direct, over = f"{near}>{gpu}", f"{near}>{others[0]}>{gpu}"
        parts = {direct: 0.5, over: 0.5} if relays else {direct: 1.0}
        chosen = {"relays": relays}
        build.measure("route", ends, rate, options=chosen, parts=parts, simulated=True, rests_on=["fitted"])
    found = findings(RunFolder(build.write(tmp_path)))
    assert {Priority.BLOCKS, Priority.ROUTE_GAIN} <= {one.priority for one in found}
    assert found[0].priority is Priority.BLOCKS


def test_where_a_lead_ends_is_checked(folder: Path, index: Index) -> None:
    """Catches a sentence on a lead that its claims contradict, and a check that finds none."""
    (finding,) = blocks.changes(index)
    told, run = finding.to_json(), RunData(folder)
    true = [*check_blocks(run, told, "")]
    assert len(true) == len(COUNTS) and {one.outcome for one in true} == {HOLDS}
    wrong = {**told, "detail": told["detail"].replace("16 blocks: 16–32 KiB", "16 blocks: 32–64 KiB")}
    assert [one.outcome for one in check_blocks(run, wrong, "")].count(CONTRADICTED) == 1


def test_constants_of_vllm_are_python(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches constants that a program cannot take over."""
    assert main(["advise", str(folder), "--format", "vllm"]) == 0
    constants: dict[str, object] = {}
    exec(capsys.readouterr().out, constants)
    assert constants["MIN_N"] == 16
    by_count = constants["THRESHOLD_BYTES_BY_N"]
    assert isinstance(by_count, dict) and list(by_count) == [*COUNTS]
    assert 16 * KIB < by_count[16] <= 32 * KIB < by_count[1024] <= 64 * KIB


def test_advice_as_json_and_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches formats of which one lacks a number of blocks."""
    assert main(["advise", str(folder), "--format", "json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["advice"]
    assert [one["count"] for one in told["by_count"]] == [*COUNTS]
    assert main(["advise", str(folder)]) == 0
    assert "4,096" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["advise", "RUN", "--format", "xml"], "unknown --format 'xml'\nhint: valid: table, vllm, json"),
        (["advise", "nowhere"], "nowhere is not a run folder"),
        (
            ["best", "host", "gpu0", "--blocks", "4KiBx16", "RUN"],
            "'4KiBx16' is not a list of blocks\nhint: the n",
        ),
        (
            ["best", "host", "gpu0", "--model", "lama-70b", "RUN"],
            "unknown model 'lama-70b'\nhint: did you mean 'll",
        ),
        (["best", "host", "gpu0", "--tp", "4", "RUN"], "the size of a block does not follow"),
        (
            ["best", "host", "gpu0", "--blocks", "4x4KiB", "--model", "llama-70b", "RUN"],
            "--blocks and the numbers",
        ),
        (
            ["best", "host", "gpu0", "--blocks", "4x4KiB", "1MiB", "RUN"],
            "'1MiB' is too much: the blocks have a s",
        ),
        (["best", "--load", "1GiB", "gpu0", "--blocks", "4x4KiB"], "--load is for one piece of data"),
    ],
)
def test_mistakes(folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    """Catches words that are taken for others, or an error without a hint."""
    assert main([str(folder) if word == "RUN" else word for word in words]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith(f"error: {said}")


def beside(build: Builder, interface: str, rate_ns: float, **options: object) -> None:
    """Arithmetic on gpu0 while blocks are copied to it."""
    load = {"interface": interface, "options": {"block_bytes": 16 * KIB, **options}, "size_bytes": 16 << 20}
    build.measure(
        "compute",
        [("gpu0:device", "gpu0:device", "gpu0"), *FROM_HOST],
        {"gpu0>gpu0": 1.0, "cpu0>gpu0": 30.0},
        pattern="interference",
        size=1 << 20,
        latency_ns=rate_ns,
        window_ns=4e6,
    )
    flows = [build.records[-1].flows[0], {**build.records[-1].flows[1], **load}]
    build.records[-build.rounds :] = [
        replace(one, flows=flows, case_id=f"beside {interface}") for one in build.records[-build.rounds :]
    ]


def test_what_each_method_costs_arithmetic(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches advice that is silent on what a method takes from other kernels, or a grid that fills more
    multiprocessors than there are.
    """
    build = probe()
    build.records = [
        replace(one, launch={"blocks": 1024, "threads": 256}) if one.interface == "kernel-blocks" else one
        for one in build.records
    ]
    build.measure("compute", [("gpu0:device", "gpu0:device", "gpu0")], 1.0, size=1 << 20, latency_ns=1000.0)
    beside(build, "kernel-blocks", 1500.0)
    beside(build, "copy-blocks", 1000.0, submit="batch")
    folder = build.write(tmp_path)
    (finding,) = blocks.changes(Index.of(RunFolder(folder)))
    assert [one.verdict for one in finding.claims if one.kind == "interference"] == ["leads", "tie"]
    assert {one.outcome for one in check_blocks(RunData(folder), finding.to_json(), "")} == {HOLDS}
    assert main(["advise", str(folder), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)["compute_beside"]
    assert [(one["method"], one["multiprocessors"]) for one in told] == [
        ("kernel-blocks", 132),
        ("copy-blocks (submit=batch)", 0),
    ]
    assert told[0]["claim"]["effect"] == pytest.approx(1.5)
    assert main(["advise", str(folder), "--format", "vllm"]) == 0
    exec(capsys.readouterr().out, {})


def test_between_gpus_either_end_may_copy(tmp_path: Path) -> None:
    """Catches a comparison that is named after one end's copies, where the other end's are the best."""
    build = Builder(sample_run.topology(2))
    for size in (16, 64):
        for executor, rate in (("gpu0", 100.0), ("gpu1", 120.0)):
            ends = [("gpu0:device", "gpu1:device", executor)]
            size_bytes, chosen = 1024 * size * KIB, {"block_bytes": size * KIB, "gate": False}
            build.measure("kernel-blocks", ends, 2 * rate, options=chosen, size=size_bytes)
            build.measure("copy-blocks", ends, rate, options={**chosen, "submit": "batch"}, size=size_bytes)
    (found,) = crossovers(Index.of(RunFolder(build.write(tmp_path))))
    assert found.calls == "copy-blocks (submit=batch)"
    for one in found.compared:
        assert (one.kernel.cells[0].record.executor, one.calls.cells[0].record.executor) == ("gpu1", "gpu1")


def test_advice_without_blocks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches an empty file of constants."""
    assert main(["advise", str(sample_run.h200x4().write(tmp_path))]) == 2
    assert "hint: byteways run blocks" in capsys.readouterr().err


def test_a_model_and_its_blocks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a model's blocks answered with another number or size than its formula gives."""
    words = ["best", "host", "gpu0", str(folder), "--model", "llama-70b", "--tp", "4"]
    assert main([*words, "--block-tokens", "16", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    (answer,) = told["answers"]
    assert answer["blocks"] == {"count": 10240, "block_bytes": 8 * KIB}
    assert "80 layers" in told["cache"]


def test_the_suite_of_a_question_has_all_methods() -> None:
    """Catches a question that is measured without the batched call, or with a gate that hides the calls."""
    suite = suite_of(asked("100x8KiB"), sample_run.topology(1))
    assert {name for sweep in suite.sweeps for name in sweep.interfaces} >= {"copy-blocks", "kernel-blocks"}
    submits = [submit for sweep in suite.sweeps for submit in sweep.options.get("submit", ("calls",))]
    assert {*submits} == {"calls", "batch", "graph"}
    for sweep in suite.sweeps:
        assert sweep.sizes == (800 * KIB,) and sweep.options["gate"] == (False,)
