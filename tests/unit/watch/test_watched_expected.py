"""What a run expects of a change of a program: of other memory, and of variables it was measured with."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec import structs

from byteways.answers.results.index import Index
from byteways.answers.results.summary import ResultGroup
from byteways.cases.case import Buffer, Case, Flow
from byteways.cases.option_set import OptionSet
from byteways.ext.watch.advice.advice import advice
from byteways.ext.watch.advice.expected import ExpectedRatio, communication_ns, expected, expected_of_turns
from byteways.ext.watch.advice.figures import Figures
from byteways.ext.watch.advice.mean_times import mean_time_of
from byteways.ext.watch.advice.open_predictions import open_figures
from byteways.ext.watch.advice.wording_advice import advice_table
from byteways.ext.watch.bins import Bin, Watched, What
from byteways.ext.watch.changes import ProgramChange
from byteways.ext.watch.questions import (
    MOST_AT_ONCE,
    at_once,
    collective_of,
    exchanging,
    may_alter,
    own_options,
    question_of,
    questions_of,
    with_waits,
)
from byteways.plan.question_suite import suite_of_questions
from byteways.record.record import Record
from tests.unit import study_runs
from tests.unit.run_folders import TOPOLOGY
from tests.unit.watch.test_watched_advice import GPU0, PAGEABLE, PINNED, copies

KIB, MIB = 2**10, 2**20
#: Of a copy of 1 MiB to a GPU, in ns.
PAGEABLE_NS, PINNED_NS = 100_000.0, 20_000.0
#: Of a message of 64 KiB one way, and of one each way at once, in ns; and these with other variables.
ONE_WAY_NS, BOTH_NS, OTHER_ONE_WAY_NS, OTHER_BOTH_NS = 10_000.0, 16_000.0, 40_000.0, 80_000.0
TCP = ProgramChange("BTL=tcp", {"BTL": "tcp"})


def messages(
    method: str,
    time_ns: int,
    *,
    process: int = 0,
    count: int = 100,
    what: What = "message",
    size: int = 64 * KIB,
) -> Bin:
    """Returns a bin of calls between two ranks, or of waits."""
    moved = 0 if what == "synchronisation" else size
    ends = {} if what == "synchronisation" else {"source": PAGEABLE, "destination": PAGEABLE}
    return Bin(what, method, count, count * moved, moved, moved, process=process, time_ns=time_ns, **ends)


def measured(
    pattern: str,
    time_ns: float,
    environment: Mapping[str, str],
    mean: float = 1.0,
    scatter: float = 1.0,
    **options: int,
) -> list[Record]:
    """Returns three rounds of a message between two ranks, whose mean time is `mean` of the median."""
    ends = [("0/cpu0:pageable", "1/cpu0:pageable")]
    if pattern == "bidirectional":
        ends.append((ends[0][1], ends[0][0]))
    flows = [Flow.from_json({"source": one, "destination": two, "executor": "cpu0"}) for one, two in ends]
    case = Case("mpi", pattern, tuple(flows), 64 * KIB, "warm", options, environment=environment)
    gb_per_s = len(flows) * 64 * KIB / time_ns
    times = study_runs.record(case, 64 * KIB / time_ns, mean=mean).time_ns
    slow = study_runs.record(case, 64 * KIB / time_ns / scatter, mean=mean).time_ns
    return [
        study_runs.record(case, gb_per_s, round=number, time_ns=slow if number == 0 else times)
        for number in range(3)
    ]


def ranks_run(
    plain: Mapping[str, str] = {}, other: Mapping[str, str] = TCP.variables, scatter: float = 1.0
) -> Index:
    """Returns a run with messages between two ranks, with variables and with others that are slower.

    Args:
        plain: The variables.
        other: Those others.
        scatter: What the first round takes longer.
    """
    records = [
        one
        for environment, one_way, both in (
            (plain, ONE_WAY_NS, BOTH_NS),
            (other, OTHER_ONE_WAY_NS, OTHER_BOTH_NS),
        )
        for pattern, time_ns in (("unidirectional", one_way), ("bidirectional", both))
        for one in measured(pattern, time_ns, environment, scatter=scatter)
    ]
    return Index.of(study_runs.run("h200-x4", *records))


def gpu_run() -> Index:
    """Returns a run with copies of 1 MiB to a GPU from pageable and from pinned memory."""
    records = [
        study_runs.record(case, MIB / time_ns, round=number, mean=1.0)
        for memory, time_ns in (("pageable", PAGEABLE_NS), ("pinned", PINNED_NS))
        for case in [study_runs.flow_case("copy", f"cpu0:{memory}", "gpu0:device", "gpu0", size_bytes=MIB)]
        for number in range(3)
    ]
    return Index.of(study_runs.run("h200-x4", *records))


def of_tcp(*bins: Bin) -> ExpectedRatio:
    return expected(Watched([], [*bins]), ranks_run(), [ProgramChange(), TCP])["BTL=tcp"]


def test_a_change_scales_the_time_of_the_run() -> None:
    """Catches figures of another setting, and messages one way that are taken for an exchange."""
    found = of_tcp(
        messages("MPI_Send", round(100 * ONE_WAY_NS)), messages("MPI_Recv", round(100 * ONE_WAY_NS))
    )
    assert found.ratio is not None and found.known == 1.0
    assert found.ratio.value == pytest.approx(OTHER_ONE_WAY_NS / ONE_WAY_NS, rel=1e-3)
    assert found.ratio.low <= found.ratio.value <= found.ratio.high


def test_waiting_stays_as_it_is() -> None:
    """Catches a change that is promised to shorten what a program waits for others."""
    own, waiting = 100 * ONE_WAY_NS, 300 * ONE_WAY_NS
    found = of_tcp(messages("MPI_Send", round(own)), messages("MPI_Recv", round(own + waiting), process=1))
    assert found.ratio is not None
    assert found.ratio.value == pytest.approx((2 * 4 * own + waiting) / (2 * own + waiting), rel=1e-3)


def test_contention_slows_down_all_alike() -> None:
    """Catches ranks that share cores, and whose change is taken to concern a part of their time."""
    each_ns = round(5 * 100 * ONE_WAY_NS)
    found = of_tcp(messages("MPI_Send", each_ns), messages("MPI_Recv", each_ns, process=1))
    assert found.ratio is not None and found.ratio.value == pytest.approx(4.0, rel=1e-3)
    assert found.ratio.low < found.ratio.value


def test_transfers_that_overlap_keep_the_ratio() -> None:
    """Catches a time below zero for a program that is faster than the run."""
    found = of_tcp(messages("MPI_Send", round(10 * ONE_WAY_NS)))
    assert found.ratio is not None and found.ratio.value == pytest.approx(4.0, rel=1e-3)


def test_what_overlaps_now_need_not_later() -> None:
    """Catches a gain that rests on as much overlap among shorter messages, and bounds without that gain."""
    shared = ProgramChange("BTL=sm", {"BTL": "sm"})
    run = ranks_run(plain=shared.variables, other={})
    taken = round(100 * OTHER_ONE_WAY_NS / 2)
    bins = [messages("MPI_Isend", 0), messages("MPI_Wait", taken, what="synchronisation")]
    ratio = expected(Watched([], bins), run, [shared])["BTL=sm"].ratio
    of_run = ONE_WAY_NS / OTHER_ONE_WAY_NS
    assert ratio is not None and ratio.value == pytest.approx(2 * of_run, rel=1e-3)
    assert ratio.low <= of_run and ratio.high >= ratio.value


def test_means_count() -> None:
    """Catches medians of samples and of rounds where a program has the sum of its operations."""
    skewed = measured("unidirectional", ONE_WAY_NS, {}, mean=1.5)
    # A round in another state than the others, as launches of a program are.
    slow = measured("unidirectional", 8 * ONE_WAY_NS, {})[0]
    for records, wanted in (
        (skewed, 1.5 * ONE_WAY_NS),
        ([slow, *measured("unidirectional", ONE_WAY_NS, {})[1:]], 2 * ONE_WAY_NS),
    ):
        [cell] = Index.of(study_runs.run("h200-x4", *records)).cells
        time = mean_time_of(ResultGroup((cell,), cell.value, cell.low, cell.high))
        assert time is not None and time.value == pytest.approx(wanted, rel=1e-3)
        assert time.low < time.value < time.high


def test_a_call_with_pageable_memory_is_its_time() -> None:
    """Catches the time on the GPU alone of a copy that the driver stages in the call."""
    staged = copies(PAGEABLE, GPU0, 5.0, count=1)
    for each, wanted in (
        (structs.replace(staged, call_ns=15), 15.0),
        (structs.replace(staged, call_ns=2), 5.0),
        (structs.replace(copies(PINNED, GPU0, 5.0, count=1), call_ns=15), 5.0),
    ):
        assert communication_ns(each) == wanted


def test_rounds_go_where_a_prediction_is_open() -> None:
    """Catches rounds of what a change leaves alone, of what is known well, and none of what is not."""
    watched = Watched([], [messages("MPI_Send", round(100 * ONE_WAY_NS))])
    assert open_figures(ranks_run(), watched, [ProgramChange(), TCP]) == []
    apart = ranks_run(scatter=1.5)
    one_way = {one.record.case_id for one in apart.cells if one.record.pattern == "unidirectional"}
    assert len(one_way) == 2
    [cases] = open_figures(apart, watched, [ProgramChange(), TCP])
    assert {*cases} == one_way
    # Without a change the time itself is to be known, and the best method's.
    [cases] = open_figures(apart, watched, [ProgramChange()])
    assert {*cases} <= one_way


def test_an_exchange_takes_its_wait_and_both_ways() -> None:
    """Catches waits that are left out, or counted twice, and an exchange that is measured one way."""
    bins = [
        messages("MPI_Isend", 0),
        messages("MPI_Irecv", 0),
        messages("MPI_Waitall", round(100 * BOTH_NS), what="synchronisation"),
    ]
    watched = Watched([], bins)
    assert exchanging(watched) == {0}
    figures = Figures(watched, ranks_run())
    assert [figures.own_ns(one).value for one in bins[:2]] == [  # type: ignore[union-attr]
        pytest.approx(50 * BOTH_NS, rel=1e-3)
    ] * 2
    found = of_tcp(*bins)
    assert found.ratio is not None
    assert found.ratio.value == pytest.approx(OTHER_BOTH_NS / BOTH_NS, rel=1e-3)


def test_an_exchange_is_one_time() -> None:
    """Catches the part of an exchange that its sends take, which is taken for waiting of the sends."""
    bins = [
        messages("MPI_Isend", round(60 * BOTH_NS)),
        messages("MPI_Irecv", 0),
        messages("MPI_Waitall", round(40 * BOTH_NS), what="synchronisation"),
    ]
    found = of_tcp(*bins)
    assert found.ratio is not None
    assert found.ratio.value == pytest.approx(OTHER_BOTH_NS / BOTH_NS, rel=1e-3)


def test_turns_are_averaged() -> None:
    """Catches a prediction that rests on one turn, and one of a turn that the run does not know."""
    turns = [Watched([], [messages("MPI_Send", round(time_ns))]) for time_ns in (1e6, 4e6)]
    changes = [ProgramChange(), TCP]
    one, two = (expected(turn, ranks_run(), changes)["BTL=tcp"].ratio for turn in turns)
    both = expected_of_turns(turns, ranks_run(), changes)["BTL=tcp"].ratio
    assert one is not None and two is not None and both is not None
    assert (both.value, both.high) == pytest.approx(
        ((one.value * two.value) ** 0.5, (one.high * two.high) ** 0.5)
    )
    unknown = Watched([], [messages("MPI_Allreduce", 10**9, what="collective")])
    found = expected_of_turns([turns[0], unknown], ranks_run(), changes)["BTL=tcp"]
    assert found.ratio is None and found.known == 0.0


def test_nothing_is_expected_of_what_was_not_measured() -> None:
    """Catches a ratio of 1 where the run knows nothing."""
    unknown = messages("MPI_Allreduce", 10**9, what="collective")
    found = of_tcp(messages("MPI_Send", 1000), unknown)
    assert found.ratio is None and found.known < 0.1
    assert found.to_json()["ratio"] is None
    assert expected(Watched([], [unknown]), ranks_run(), [ProgramChange("managed", memory="managed")]) == {}


def test_other_memory_changes_pageable_copies_alone() -> None:
    """Catches memory that is changed of copies between GPUs, and a gain in the wrong direction."""
    pageable = copies(PAGEABLE, GPU0, PAGEABLE_NS)
    within = copies(GPU0, GPU0, PAGEABLE_NS, method="cuMemcpyDtoDAsync")
    change = ProgramChange("pinned", memory="pinned")
    one = expected(Watched([], [pageable]), gpu_run(), [change])["pinned"].ratio
    two = expected(Watched([], [pageable, within]), gpu_run(), [change])["pinned"].ratio
    assert one is not None and two is not None
    assert one.value == pytest.approx(PINNED_NS / PAGEABLE_NS, rel=1e-3)
    assert two.value == pytest.approx((one.value + 1) / 2)


def test_waits_for_a_device_are_no_communication() -> None:
    """Catches kernels that are waited for and count as transfers."""
    device = Bin("synchronisation", "cudaStreamSynchronize", 1, 0, 0, 0, time_ns=5)
    ranks = Bin("synchronisation", "MPI_Waitall", 1, 0, 0, 0, time_ns=5)
    assert (communication_ns(device), communication_ns(ranks)) == (None, 5.0)


def test_waits_are_shared_within_a_process() -> None:
    """Catches the wait of a rank in the time of another one or counted twice, and a division by nothing."""
    bins = [
        messages("MPI_Isend", 10),
        messages("MPI_Irecv", 10, count=300),
        messages("MPI_Wait", 400, what="synchronisation"),
        messages("MPI_Isend", 10, process=1),
        messages("MPI_Send", 10),
    ]
    watched = Watched([], bins)
    assert with_waits(watched, lambda one: one.count) == [110.0, 310.0, 0.0, 10.0, 10.0]
    assert with_waits(watched, lambda one: 0.0) == [110.0, 310.0, 0.0, 10.0, 10.0]


def test_a_wait_is_in_the_time_of_what_it_was_for() -> None:
    """Catches waits for messages, files or windows in the time of a sum that nobody waited for."""

    def wait(requests: str, time_ns: int) -> Bin:
        return structs.replace(
            messages("MPI_Wait", time_ns, what="synchronisation"), detail={"requests": requests}
        )

    bins = [
        messages("MPI_Iallreduce", 10, what="collective", size=8),
        messages("MPI_Send_init", 10),
        wait("messages", 1000),
        wait("collectives", 200),
        wait("unknown", 30),
        wait("one-sided", 4),
        wait("several", 100),
        messages("MPI_Isend", 10, process=1),
        structs.replace(wait("collectives", 50), process=1),  # no sum of this process is known
    ]
    # The weight of all but messages of 64 KiB is unknown, as in a run that has not measured them.
    times = with_waits(Watched([], bins), lambda one: 1.0 if one.what == "message" else 0.0)
    assert times == [210.0, 1110.0, 0.0, 0.0, 30.0, 4.0, 0.0, 10.0, 50.0]


def test_persistent_requests_and_halves_of_exchanges() -> None:
    """Catches persistent messages that are no exchange, and a half of MPI_Isendrecv taken for a send."""
    both = [messages("MPI_Send_init", 10), messages("MPI_Recv_init", 10, process=1)]
    assert exchanging(Watched([], both)) == frozenset()
    assert exchanging(Watched([], [*both, messages("MPI_Irecv", 10)])) == {0}
    halves = [
        structs.replace(messages("MPI_Isendrecv", 10), detail={"direction": one})
        for one in ("send", "receive")
    ]
    assert exchanging(Watched([], halves)) == {0} and exchanging(Watched([], halves[1:])) == frozenset()
    assert collective_of("MPI_Reduce_scatter_init") == collective_of("MPI_Ireduce_scatter") != ""


def test_many_sizes_are_measured_at_powers_of_two() -> None:
    """Catches a program of hundreds of sizes that takes hours to measure."""
    few = [messages("MPI_Send", 10, size=1000 + 8 * number) for number in range(12)]
    many = [messages("MPI_Send", 10, size=1000 + 8 * number) for number in range(100)]
    assert {one.size_bytes for one in questions_of(Watched([], few))} == {1000 + 8 * n for n in range(12)}
    assert {one.size_bytes for one in questions_of(Watched([], many))} == {512, 1024, 2048}


def test_a_suite_has_every_setting_and_warm_messages() -> None:
    """Catches a setting that is not measured, and messages of data that no program has just written."""
    asked = question_of(messages("MPI_Isend", 1), {0})
    assert not isinstance(asked, str) and asked.pattern == "bidirectional"
    suite = suite_of_questions([asked], TOPOLOGY, {"name": "s", "title": "t"}, "f", [{"BTL": "self,tcp"}])
    assert [sweep.environment for sweep in suite.sweeps] == [{}, {"BTL": ("self,tcp",)}]
    assert all(sweep.caches == ("warm",) for sweep in suite.sweeps)


def exchange(together: int, wait: str = "MPI_Waitall") -> Watched:
    """Returns what a process exchanges by 400 messages each way, so many of which it waits for together."""
    both = [messages(f"MPI_I{word}", 1, count=400) for word in ("send", "recv")]
    waits = messages(wait, 10_000_000, count=400 // together, what="synchronisation")
    return Watched([], [*both, waits])


def test_messages_at_once_are_those_that_a_program_waits_for_together() -> None:
    """Catches a program with two messages in flight whose times are taken from windows of 64."""
    assert at_once(exchange(2)) == {0: 2} and at_once(exchange(100)) == {0: MOST_AT_ONCE}
    assert at_once(exchange(1, "MPI_Wait")) == {}  # how many calls belong together is unknown
    (question,) = questions_of(exchange(2))
    assert own_options(exchange(2))[question] == {OptionSet({"window": 2})}
    assert own_options(exchange(100)) == {}  # as runs have them anyway
    suite = suite_of_questions(
        [question],
        TOPOLOGY,
        {"name": "s", "title": "t"},
        "f",
        [TCP.variables],
        own_options={question: {OptionSet({"window": 2})}},
    )
    assert [(dict(sweep.options), len(sweep.environment)) for sweep in suite.sweeps] == [
        *(({}, place) for place in (0, 1)),
        *(({"window": (2,)}, place) for place in (0, 1)),
    ]


def test_a_change_is_expected_with_as_many_messages_at_once() -> None:
    """Catches a ratio of many messages at once for a program that has few."""
    few = [
        *measured("bidirectional", 2 * BOTH_NS, {}, window=2),
        *measured("bidirectional", 6 * BOTH_NS, TCP.variables, window=2),
    ]
    run = Index.of(study_runs.run("h200-x4", *ranks_run().records, *few))
    for together, ratio in ((2, 3.0), (64, OTHER_BOTH_NS / BOTH_NS)):
        own = messages("MPI_Waitall", 10**10, count=400 // together, what="synchronisation")
        program = Watched([], [*exchange(together).bins[:2], own])
        found = expected(program, run, [TCP])["BTL=tcp"]
        assert found.ratio is not None and found.ratio.high == pytest.approx(ratio, rel=0.02)
    (best, *_) = advice(exchange(2), run).bins
    assert best.gain is None and best.no_gain == "slower-than-run"  # more at once is no advice


def summed(time_ns: float, **options: str) -> list[Record]:
    """Returns three rounds of an allreduce of 64 KiB between two ranks."""
    ends = [Buffer("cpu0", "pageable", rank=rank) for rank in range(2)]
    flow = Flow(ends[0], ends[0], "cpu0", others=((ends[1], ends[1]),))
    case = Case("mpi", "allreduce", (flow,), 64 * KIB, "warm", options)
    return [study_runs.record(case, 64 * KIB / time_ns, round=number, mean=1.0) for number in range(3)]


def test_a_sum_in_place_is_compared_with_sums_in_place() -> None:
    """Catches the time of other buffers, which took a third of that with Open MPI, as that of the program."""
    slow, fast = 30_000.0, 10_000.0
    run = Index.of(study_runs.run("h200-x4", *summed(fast), *summed(slow, in_place="yes")))
    calls = messages("MPI_Allreduce", round(100 * slow), what="collective")
    sums = structs.replace(calls, ranks=2, detail={"in_place": "yes"})
    figures = Figures(Watched([], [sums]), run)
    own = figures.own_ns(sums)
    assert own is not None and own.value == pytest.approx(100 * slow, rel=0.02)
    (question,) = questions_of(Watched([], [sums]))
    assert own_options(Watched([], [sums]))[question] == {OptionSet({"in_place": "yes"})}
    ((found,), (other,)) = (advice(Watched([], [one]), run).bins for one in (sums, calls))
    assert found.gain is not None and found.gain.change == "buffers"
    assert found.gain.high_ns == pytest.approx(100 * (slow - fast), rel=0.1)
    assert other.gain is None
    unmeasured = Index.of(study_runs.run("h200-x4", *summed(fast)))
    ((alone,),) = (advice(Watched([], [sums]), unmeasured).bins,)
    assert alone.gain is None and alone.no_gain == "tie"


def test_a_library_alters_its_own_calls_alone() -> None:
    """Catches minutes of copies that are measured under variables of NCCL, and their time that is unknown."""
    assert may_alter(["NCCL_PROTO"], "xccl") and not may_alter(["NCCL_PROTO"], "copy")
    assert may_alter(["OMPI_MCA_btl"], "mpi") and not may_alter(["OMPI_MCA_btl"], "xccl")
    assert may_alter(["HSA_ENABLE_SDMA"], "copy") and may_alter(["NCCL_PROTO", "MALLOC_ARENA_MAX"], "copy")
    copied = copies(PAGEABLE, GPU0, PAGEABLE_NS)
    change = ProgramChange("NCCL_PROTO=LL", {"NCCL_PROTO": "LL"})
    found = expected(Watched([], [copied]), gpu_run(), [change])["NCCL_PROTO=LL"]
    assert found.known == 1.0 and found.ratio is not None and found.ratio.value == 1.0
    asked = [question_of(copied), question_of(messages("MPI_Send", 1))]
    suite = suite_of_questions(
        [one for one in asked if not isinstance(one, str)],
        study_runs.topology("h200-x4"),
        {"name": "s", "title": "t"},
        "f",
        [{"OMPI_MCA_btl": "tcp"}],
        may_alter,
    )
    under = {
        name for sweep in suite.sweeps if "OMPI_MCA_btl" in sweep.environment for name in sweep.interfaces
    }
    assert under == {"mpi"}
    of = {name: [one.priority for one in suite.sweeps if name in one.interfaces] for name in ("mpi", "copy")}
    assert min(of["mpi"]) > max(of["copy"])  # time that is short goes to what the change alters


def test_time_beyond_the_run_is_waiting() -> None:
    """Catches a gain that includes what the program waits for."""
    waiting_ns = 1e9
    (found,) = advice(Watched([], [copies(PAGEABLE, GPU0, PAGEABLE_NS + waiting_ns)]), gpu_run()).bins
    assert found.own_ns is not None and found.gain is not None and found.gain.change == "pinned"
    assert found.excess_ns == pytest.approx(1000 * waiting_ns, rel=1e-3)
    assert found.gain.high_ns == pytest.approx(1000 * (PAGEABLE_NS - PINNED_NS), rel=0.2)
    assert found.to_json()["excess_ns"] == found.excess_ns


def test_another_setting_that_leads_is_a_gain() -> None:
    """Catches variables that were measured and whose lead is not said."""
    run = Index.of(
        study_runs.run(
            "h200-x4",
            *measured("unidirectional", OTHER_ONE_WAY_NS, {}),
            *measured("unidirectional", ONE_WAY_NS, {"BTL": "sm"}),
        )
    )
    (found,) = advice(Watched([], [messages("MPI_Send", round(100 * OTHER_ONE_WAY_NS))]), run).bins
    assert found.gain is not None and found.gain.change == "setting"
    assert found.gain.answer.environment == {"BTL": "sm"}


@pytest.mark.parametrize(
    ("options", "change"),
    [
        ({"in_place": "yes"}, None),
        ({"in_place": "yes", "launch": "single"}, "method"),
        ({"launch": "single"}, "method"),
    ],
)
def test_what_a_program_would_change_rests_on_no_order_of_options(
    options: dict[str, str], change: str | None
) -> None:
    """Catches a change that is not said because an option of the program's own is first in the alphabet."""
    slow, fast = 30_000.0, 10_000.0
    own = on_gpus(slow, {"in_place": "yes"}) if change else []
    run = Index.of(study_runs.run("h200-x4", *own, *on_gpus(fast, options)))
    calls = messages("ncclAllReduce", round(100 * slow), what="collective")
    sums = structs.replace(calls, ranks=2, source=GPU0, destination=GPU0, detail={"in_place": "yes"})
    (found,) = advice(Watched([], [sums]), run).bins
    assert found.best is not None and found.best.options == options
    assert (found.gain.change if found.gain else None) == change


def on_gpus(time_ns: float, options: Mapping[str, str]) -> list[Record]:
    """Returns three rounds of an allreduce of 64 KiB between two ranks with a GPU each."""
    ends = [Buffer(f"gpu{rank}", "device", rank=rank) for rank in range(2)]
    flow = Flow(ends[0], ends[0], "gpu0", others=((ends[1], ends[1]),))
    case = Case("xccl", "allreduce", (flow,), 64 * KIB, "warm", options)
    return [study_runs.record(case, 64 * KIB / time_ns, round=number, mean=1.0) for number in range(3)]


def test_ranks_of_a_collective_are_one_row() -> None:
    """Catches a row for each of hundreds of ranks."""
    bins = [messages("MPI_Allreduce", 10**6, process=rank, what="collective") for rank in range(4)]
    table = advice_table(advice(Watched([], bins), ranks_run()), "R")
    assert len(table.rows) == 1 and "4" in table.rows[0][3]
