"""How long a load into a GPU takes: the sum of its parts, what dominates, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import byteways
from byteways.answers.best.load import COPY_DATA, REGISTER_PAGES, LoadAnswer, load_answer
from byteways.answers.best.wording_load import load_lines, load_table
from byteways.answers.results.index import Index
from byteways.base.errors import BytewaysError
from byteways.cli import main
from byteways.plan.load_question import load_question
from byteways.plan.question_suite import suite_of
from byteways.record.run_folder import RunFolder
from tests.report import sample_run
from tests.report.run_builder import GIB, MIB, Builder

SECOND = 1e9
CPU, GPU = "cpu0", "gpu0"
#: Seconds of a GiB for each part.
GPU_MEMORY_S, PINNED_S, PAGES_S, REGISTER_S = 0.001, 0.4, 0.3, 0.1
#: GB/s.
READ, COPIES = 50.0, {"pinned": 50.0, "registered": 50.0, "pageable": 10.0}


def step(build: Builder, interface: str, buffer: str, executor: str, seconds: float, **more: object) -> None:
    flow = [(buffer, buffer, executor)]
    build.measure(interface, flow, {}, latency_ns=seconds * SECOND, cache="warm", **more)  # type: ignore[arg-type]


def steps(build: Builder, size: int = GIB) -> None:
    scale = size / GIB
    step(build, "allocate", f"{GPU}:device", GPU, GPU_MEMORY_S * scale, size=size)
    step(build, "allocate", f"{CPU}:pinned", CPU, PINNED_S * scale, size=size)
    for touched, seconds in (("no", 0.01), ("yes", PAGES_S)):
        step(
            build,
            "allocate",
            f"{CPU}:pageable",
            CPU,
            seconds * scale,
            size=size,
            options={"touched": touched},
        )
    step(build, "register", f"{CPU}:pageable", GPU, REGISTER_S * scale, size=size)


def transfers(build: Builder) -> None:
    for memory in ("pinned", "pageable"):
        build.measure("memcpy-mt", [(f"{CPU}:pageable", f"{CPU}:{memory}", CPU)], READ)
    for memory, rate in COPIES.items():
        build.measure("copy", [(f"{CPU}:{memory}", f"{GPU}:device", GPU)], rate)


def load_run() -> Builder:
    build = Builder(sample_run.topology(2))
    steps(build)
    transfers(build)
    return build


def answered(build: Builder, folder: Path, size: str = "20GiB", gpu: str = GPU) -> LoadAnswer:
    return load_answer(Index.of(RunFolder(build.write(folder))), load_question(gpu, size))


def test_the_sum_of_the_parts(tmp_path: Path) -> None:
    """Catches a part that is left out, counted twice or not scaled to the size."""
    found = answered(load_run(), tmp_path)
    size = 20 * GIB
    read, copies = size / READ, {memory: size / rate for memory, rate in COPIES.items()}
    expected = {
        "pinned": 20 * (GPU_MEMORY_S + PINNED_S) * SECOND + read + copies["pinned"],
        "registered": 20 * (GPU_MEMORY_S + PAGES_S + REGISTER_S) * SECOND + read + copies["registered"],
        "pageable": 20 * (GPU_MEMORY_S + PAGES_S) * SECOND + read + copies["pageable"],
    }
    times = {one.memory: one.time for one in found.methods if one.time}
    assert {memory: time.value for memory, time in times.items()} == pytest.approx(expected)
    assert all(time.low < time.value < time.high for time in times.values())
    assert found.hint == "" and found.relayed is None and found.all_at_once is None
    assert found.methods[0].memory == min(expected, key=expected.__getitem__)
    assert found.best and found.best.longest.what == "host-memory"
    assert found.faults is not None
    assert found.faults.time.value == pytest.approx(20 * (PAGES_S - 0.01) * SECOND)
    assert load_table(found)[1][0][0] == "pageable"


def test_pinned_memory_wins_ties(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches pageable memory as the answer because its sum is less by a twentieth of what rounds differ."""
    slower = GIB * (1 / COPIES["pageable"] - 1 / COPIES["pinned"]) / 1e9
    monkeypatch.setattr(f"{__name__}.PINNED_S", 1.0001 * (PAGES_S + slower))
    found = answered(load_run(), tmp_path)
    times = {one.memory: one.time.value for one in found.methods if one.time}
    assert times["pageable"] < times["pinned"]
    assert found.best and found.best.memory == "pinned"
    assert {claim.verdict for claim in found.claims} >= {"tie"}
    assert not any(claim.trails for claim in found.claims)


def test_what_is_prepared_ahead(tmp_path: Path) -> None:
    """Catches a load of prepared memory that still allocates, or one of kept data that still reads."""
    pinned = answered(load_run(), tmp_path).by("pinned")
    read, copy = 20 * GIB / READ, 20 * GIB / COPIES["pinned"]
    prepared, kept = pinned.only("read", COPY_DATA).time, pinned.only(COPY_DATA).time
    assert prepared and prepared.value == pytest.approx(read + copy)
    assert kept and kept.value == pytest.approx(copy)


def test_relays_and_all_gpus_at_once(tmp_path: Path) -> None:
    """Catches a relay that is compared with itself, or the sum of all GPUs taken for one's rate."""
    build = load_run()
    pair = [(f"{CPU}:pinned", f"{GPU}:device", GPU)]
    build.measure("route", pair, 50.0, options={"relays": 0})
    build.measure("route", pair, 90.0, options={"relays": 1})
    flows = [(f"{CPU}:pinned", f"gpu{number}:device", f"gpu{number}") for number in (0, 1)]
    rates = {f"{CPU}>gpu{number}": 40.0 for number in (0, 1)}
    build.measure("copy", flows, rates, pattern="fan-out")
    found = answered(build, tmp_path)
    assert found.relayed and found.relayed.time.value == pytest.approx(20 * GIB / 90)
    gpus, copy = found.all_at_once or (0, None)
    assert gpus == 2 and copy and copy.time.value == pytest.approx(20 * GIB / 40)


def test_a_load_as_a_whole_is_put_beside_the_sum(tmp_path: Path) -> None:
    """Catches a check against the sum at another size."""
    build = load_run()
    step(build, "cold-load", f"{CPU}:pinned", GPU, 0.5, size=512 * MIB)
    (trial,) = answered(build, tmp_path).trials
    expected = (GPU_MEMORY_S + PINNED_S) / 2 * SECOND + 512 * MIB / READ + 512 * MIB / COPIES["pinned"]
    assert (trial.memory, trial.size_bytes) == ("pinned", 512 * MIB)
    assert trial.parts.value == pytest.approx(expected)
    assert trial.ratio == pytest.approx(expected / (0.5 * SECOND))


def test_a_single_round_is_not_compared(tmp_path: Path) -> None:
    """Catches a traceback, or a sum from rounds that cannot be ranked."""
    build = load_run()
    build.records = [one for one in build.records if one.round == 0]
    found = answered(build, tmp_path)
    assert found.best is None and found.hint and load_lines(found)


def test_parts_that_were_not_measured(tmp_path: Path) -> None:
    """Catches a sum without one of its parts, and small sizes whose calls dominate taken for a rate."""
    build = Builder(sample_run.topology(2))
    steps(build)
    build.measure("copy", [(f"{CPU}:registered", f"{GPU}:device", GPU)], 50.0)
    build.measure("copy", [(f"{CPU}:pinned", f"{GPU}:device", GPU)], 1.0, size=MIB)
    found = answered(build, tmp_path)
    assert found.best is None and found.claims == ()
    assert found.by("registered").missing == ("read",)
    assert found.by("pinned").missing == ("read", "copy")
    assert "best --load 20GiB gpu0" in found.hint
    assert found.by("registered").part(REGISTER_PAGES) is not None
    assert load_lines(found)


def test_a_run_without_any_part(tmp_path: Path) -> None:
    """Catches an empty table in place of the reason."""
    build = Builder(sample_run.topology(2))
    build.measure("copy", [("gpu0:device", "gpu1:device", "gpu0")], 390.0)
    with pytest.raises(BytewaysError) as error:
        answered(build, tmp_path)
    assert error.value.hint and "best --load 20GiB gpu0" in error.value.hint


@pytest.mark.parametrize(
    ("gpu", "size", "hint"),
    [
        ("gpu0", "1MiB", "byteways best host gpu0 1MiB"),
        ("gpu0", "300GiB", "--load 141GiB"),
        ("cpu0", "20GiB", "gpu0, gpu1"),
        ("gpu*", "20GiB", "gpu0, gpu1"),
        ("gpu7", "20GiB", "gpu0"),
        ("gpu0", "many", "1MiB"),
    ],
)
def test_loads_that_are_none(tmp_path: Path, gpu: str, size: str, hint: str) -> None:
    """Catches a load that is answered for several devices, a host, or more than the memory holds."""
    with pytest.raises(BytewaysError) as error:
        answered(load_run(), tmp_path, size, gpu)
    assert error.value.hint and hint in error.value.hint


def test_the_suite_measures_every_part() -> None:
    """Catches a part that the question needs and its suite does not measure, or a size beyond the memory."""
    topology = sample_run.topology(4)
    suite = suite_of(load_question("gpu1", "60GiB"), topology)
    interfaces = {name for sweep in suite.sweeps for name in sweep.interfaces}
    assert interfaces == {"allocate", "register", "memcpy-mt", "copy", "route", "cold-load"}
    with pytest.raises(BytewaysError):
        suite_of(load_question("gpu1", "300GiB"), topology)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "missing argument 'SRC'\nhint: name the GPU: byteways best --load 60GiB gpu0"),
        (["gpu0", "RUN", "1MiB"], "'1MiB' is too much for --load\nhint: one GPU, then the run: "),
        (["gpu0", "RUN", "--memory", "pinned"], "--memory is not for --load\nhint: a load is answered for "),
        (["gpu0", "RUN", "--pattern", "fan-out"], "--pattern is not for --load\n"),
        (["gpu0", "RUN", "--within", "ranks"], "--within is not for --load\n"),
        (["gpu0", "RUN", "--out", "x"], "--out is for a measurement; "),
        (["gpu0", "nowhere"], "nowhere is not a run folder"),
        (
            ["gpu0", "h200-x4"],
            "h200-x4 is a machine model, not a run\nhint: byteways best --load 20GiB gpu0 --",
        ),
    ],
)
def test_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    """Catches words and options that a load does not have, taken without a word."""
    folder = str(load_run().write(tmp_path))
    words = [folder if word == "RUN" else word for word in words]
    assert main(["best", "--load", "20GiB", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith(f"error: {said}")


def test_from_python(tmp_path: Path) -> None:
    """Catches a load that a program cannot ask for."""
    run = byteways.load(str(load_run().write(tmp_path)))
    assert run.load_time("20GiB", "gpu0").best is not None


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches JSON that cannot be parsed, or that lacks the parts."""
    folder = str(load_run().write(tmp_path))
    assert main(["best", "--load", "20GiB", "gpu0", folder, "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["answers"]
    assert [part["part"] for part in told["prepared"]["parts"]] == ["read", "copy"]
    assert {one["memory"] for one in told["methods"]} == {"pinned", "registered", "pageable"}
    assert main(["best", "--load", "20GiB", "gpu0", folder]) == 0
    assert "Load 20 GiB into gpu0" in capsys.readouterr().out


def test_memory_that_the_machine_cannot_copy(tmp_path: Path) -> None:
    """Catches advice to measure what the machine refuses."""
    build = load_run()
    pair = [(f"{CPU}:pageable", f"{GPU}:device", GPU)]
    build.records = [
        one for one in build.records if (one.interface, one.source) != ("copy", f"{CPU}:pageable")
    ]
    build.lose("skipped", "copies of pageable memory are refused", "copy", pair, reason_code="plain-copy")
    found = answered(build, tmp_path)
    assert found.by("pageable").refusal and found.hint == ""
    assert found.best and found.best.memory != "pageable"
