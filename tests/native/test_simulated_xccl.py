"""The simulated NCCL and RCCL: what a call takes by its protocol, and who waits for whom."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

import pytest

from byteways.cases.case import Buffer, Case, Flow
from byteways.measuring.shared.request import CaseRequest
from byteways.measuring.shared.simulator import simulator_path
from byteways.measuring.work.answer import WorkerAnswer
from byteways.measuring.work.rank_measuring import RankMeasurer
from byteways.measuring.work.simulated_ranks import SimulatedRanks
from tests.asked import asked
from tests.native import simulated as toy
from tests.native.simulated_ranks import Machine

LL_STEP_NS, SIMPLE_STEP_NS, CALL_NS = 900.0, 2100.0, 1000.0
FURTHER_LAUNCH_PART, FURTHER_CALL_NS, CLOCK_NS = 0.4, 30.0, 20.0
#: Where a message takes as long by either protocol: LL sends twice the bytes.
AS_GOOD = int((SIMPLE_STEP_NS - LL_STEP_NS) * 1e-9 * toy.RATES["kernel-peer-write"])
BYTE, UNSIGNED64, SUM = 1, 5, 0


class UniqueId(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_ubyte * 128)]


class Ranks:
    """Two ranks of an AMD machine with a GPU, a stream and a communicator each."""

    def __init__(self, **overrides: Any) -> None:
        self.machine = Machine(toy.amd(**overrides))
        self.library = self.machine.library
        self.id = UniqueId()
        assert self.library.ncclGetUniqueId(ctypes.byref(self.id)) == 0

    def join(self, rank: int) -> tuple[Any, Any, int]:
        data = self.machine.device(rank, toy.MIB)
        comm, stream = ctypes.c_void_p(), ctypes.c_void_p()
        assert self.library.ncclCommInitRank(ctypes.byref(comm), 2, self.id, rank) == 0
        assert self.library.hipStreamCreateWithFlags(ctypes.byref(stream), 1) == 0
        return comm, stream, data

    def allreduce(self, comm: Any, stream: Any, data: int, count: int) -> int:
        ends, size = [ctypes.c_void_p(data)] * 2, ctypes.c_size_t(count)
        return int(self.library.ncclAllReduce(*ends, size, UNSIGNED64, SUM, comm, stream))

    def message(self, rank: int, comm: Any, stream: Any, data: int, size: int) -> int:
        name = "ncclSend" if rank == 0 else "ncclRecv"
        at, count = ctypes.c_void_p(data), ctypes.c_size_t(size)
        return int(getattr(self.library, name)(at, count, BYTE, 1 - rank, comm, stream))

    def wait(self, stream: Any) -> str:
        """The error of the stream, empty for none."""
        error = self.library.hipStreamSynchronize(stream)
        text = self.library.hipGetErrorString
        text.restype = ctypes.c_char_p
        return text(error).decode() if error else ""


def times(sizes: list[int], **overrides: Any) -> list[float]:
    """From the call to the end of a message of each size, in nanoseconds."""
    ranks = Ranks(**overrides)

    def body(rank: int) -> list[float]:
        comm, stream, data = ranks.join(rank)
        taken = []
        for size in sizes:
            ranks.machine.barrier()
            begin = ranks.machine.now()
            assert ranks.message(rank, comm, stream, data, size) == 0
            assert ranks.wait(stream) == ""
            taken.append(float(ranks.machine.now() - begin))
        return taken

    first, _ = ranks.machine.ranks(2, body)
    assert isinstance(first, list), first
    return first


def test_a_message_takes_the_protocol_that_is_faster() -> None:
    """Catches a protocol that is chosen by anything but its cost, and LL that sends no flags."""
    sizes = [8, AS_GOOD - 1000, AS_GOOD + 1000, 4 * AS_GOOD]
    first, short, long, longest = toy.apart(lambda: times(sizes))
    rate = toy.RATES["kernel-peer-write"]
    assert short - first == pytest.approx(2 * (sizes[1] - 8) / rate * 1e9, rel=0.01)
    steps = SIMPLE_STEP_NS - LL_STEP_NS
    assert long - first == pytest.approx(steps + (sizes[2] - 16) / rate * 1e9, rel=0.01)
    assert longest - long == pytest.approx((sizes[3] - sizes[2]) / rate * 1e9, rel=0.01)


def test_a_protocol_has_its_part_of_the_rate_and_a_call_its_time() -> None:
    """Catches an efficiency that another protocol gets, and a launch that costs nothing."""
    sizes = [8, 64, 4 * AS_GOOD]
    plain, slower = (
        toy.apart(lambda: times(sizes)),
        toy.apart(lambda: times(sizes, xccl__simple_efficiency=0.5)),
    )
    assert slower[:2] == plain[:2]
    rate = toy.RATES["kernel-peer-write"]
    by_ll = 2 * sizes[2] / rate * 1e9 - (
        SIMPLE_STEP_NS - LL_STEP_NS
    )  # which is as good as Simple at half the rate
    assert slower[2] - plain[2] == pytest.approx(by_ll - sizes[2] / rate * 1e9, rel=0.02)
    later = toy.apart(lambda: times(sizes, xccl__call_ns=5 * CALL_NS))
    assert later[0] - plain[0] == pytest.approx(4 * CALL_NS)


def allreduce_ns(environment: dict[str, str], **overrides: Any) -> float:
    """From the call to the end of a sum of 8 bytes per rank, in nanoseconds; 0 if the call is refused."""
    os.environ.update(environment)
    ranks = Ranks(**overrides)

    def body(rank: int) -> float:
        comm, stream, data = ranks.join(rank)
        begin = ranks.machine.now()
        if ranks.allreduce(comm, stream, data, 1) != 0:
            return 0.0
        assert ranks.wait(stream) == ""
        return float(ranks.machine.now() - begin)

    (first, second) = ranks.machine.ranks(2, body)
    assert isinstance(first, float) and isinstance(second, float), (first, second)
    return first


@pytest.mark.parametrize(
    ("environment", "step_ns"),
    [
        ({"NCCL_PROTO": "simple"}, SIMPLE_STEP_NS),
        ({"NCCL_PROTO": "LL128"}, 1500.0),
        ({"NCCL_PROTO": "^LL"}, 1500.0),
        ({"NCCL_ALGO": "Tree", "NCCL_PROTO": "Simple,LL128"}, 1500.0),
    ],
)
def test_variables_choose_algorithm_and_protocol(environment: dict[str, str], step_ns: float) -> None:
    """Catches a variable that is not read, or taken for its opposite."""
    by_ll = toy.apart(lambda: allreduce_ns({"NCCL_PROTO": "LL"}, xccl__ll128_step_ns=1500.0))
    asked_for = toy.apart(lambda: allreduce_ns(environment, xccl__ll128_step_ns=1500.0))
    assert asked_for - by_ll == pytest.approx(2 * (step_ns - LL_STEP_NS), abs=2)


@pytest.mark.parametrize("environment", [{"NCCL_ALGO": "^Ring,Tree"}, {"NCCL_PROTO": "LL128"}])
def test_variables_that_allow_nothing_are_an_error(environment: dict[str, str]) -> None:
    """Catches a call that goes another way than it was asked to."""
    assert toy.apart(lambda: allreduce_ns(environment)) == 0


def test_a_group_is_one_launch_on_a_stream() -> None:
    """Catches calls of a group that each take the host's time of a launch."""

    def scene() -> list[Any]:
        ranks = Ranks(xccl__call_ns=50e3)

        def body(rank: int) -> list[float]:
            comm, stream, data = ranks.join(rank)
            taken = []
            for messages in (1, 4):
                ranks.machine.barrier()
                begin = ranks.machine.now()
                assert ranks.library.ncclGroupStart() == 0
                for _ in range(messages):
                    assert ranks.message(rank, comm, stream, data, 8) == 0
                assert ranks.library.ncclGroupEnd() == 0
                assert ranks.wait(stream) == ""
                taken.append(float(ranks.machine.now() - begin))
            return taken

        return ranks.machine.ranks(2, body)

    (one, four), _ = toy.apart(scene)
    assert FURTHER_CALL_NS <= (four - one) / 3 < 1000


def test_one_thread_pays_each_further_launch_of_a_group_in_part() -> None:
    """Catches launches of one thread on several GPUs that each take the time of a whole call, or none."""

    def host_ns(gpus: int) -> int:
        machine = Machine(toy.amd())
        library = machine.library
        unique = UniqueId()
        assert library.ncclGetUniqueId(ctypes.byref(unique)) == 0

        def body(_: int) -> int:
            ends = []
            assert library.ncclGroupStart() == 0
            for gpu in range(gpus):
                data, comm, stream = machine.device(gpu, toy.MIB), ctypes.c_void_p(), ctypes.c_void_p()
                assert library.ncclCommInitRank(ctypes.byref(comm), gpus, unique, gpu) == 0
                assert library.hipStreamCreateWithFlags(ctypes.byref(stream), 1) == 0
                ends.append((data, comm, stream))
            assert library.ncclGroupEnd() == 0
            begin = machine.now()
            assert library.ncclGroupStart() == 0
            for data, comm, stream in ends:
                at = [ctypes.c_void_p(data)] * 2
                assert library.ncclAllReduce(*at, ctypes.c_size_t(1), UNSIGNED64, SUM, comm, stream) == 0
            assert library.ncclGroupEnd() == 0
            return machine.now() - begin

        (took,) = machine.ranks(1, body)
        assert isinstance(took, int), took
        return took

    one, two = toy.apart(lambda: host_ns(1)), toy.apart(lambda: host_ns(2))
    assert two - one == pytest.approx(FURTHER_LAUNCH_PART * CALL_NS + CLOCK_NS)


@pytest.mark.parametrize("call", ["allreduce", "send", "receive"])
def test_a_call_that_one_rank_does_not_make_is_named(call: str) -> None:
    """Catches a deadlock whose message names streams alone, and leaves open which rank is to blame."""

    def scene() -> list[Any]:
        ranks = Ranks()
        caller = 1 if call == "receive" else 0

        def body(rank: int) -> str:
            comm, stream, data = ranks.join(rank)
            if rank == caller and call == "allreduce":
                assert ranks.allreduce(comm, stream, data, 8) == 0
            elif rank == caller:
                assert ranks.message(rank, comm, stream, data, 8) == 0
            return ranks.wait(stream)

        return ranks.machine.ranks(2, body)

    said = toy.apart(scene)
    caller, other = (1, 0) if call == "receive" else (0, 1)
    assert said[other] == ""
    assert f"rank {caller} waits for a stream of gpu{caller}; " in said[caller]
    assert f"rank {other} has left; " in said[caller]
    who, whom = f"rank {caller} on gpu{caller}", f"rank {other} on gpu{other}"
    expected = {
        "allreduce": f"{whom} has not called AllReduce, which the others wait for",
        "send": f"{who} waits for {whom} to receive",
        "receive": f"{who} waits for {whom} to send",
    }
    assert said[caller].endswith(expected[call])


def test_a_link_that_fails_is_named_to_all() -> None:
    """Catches ranks that wait for ever behind a broken link, and a message that blames only the waiting."""

    def scene() -> list[Any]:
        ranks = Ranks(faults__0="link-fails:gpu0-gpu1:after=5")

        def body(rank: int) -> list[str]:
            comm, stream, data = ranks.join(rank)
            said = [""]
            while not said[-1]:  # two transfers each
                assert ranks.allreduce(comm, stream, data, 8) == 0
                said.append(ranks.wait(stream))
            return said[1:]

        return ranks.machine.ranks(2, body)

    for said in toy.apart(scene):
        assert said[:2] == ["", ""] and len(said) == 3
        assert "the link between gpu0 and gpu1 has failed (fault), and so rank 0 waits" in said[2]


def test_a_lost_gpu_is_named_before_those_that_wait() -> None:
    """Catches a message of a deadlock that does not say what broke."""

    def scene() -> list[Any]:
        ranks = Ranks(faults__0="lost:gpu1:after=4")

        def body(rank: int) -> list[str]:
            comm, stream, data = ranks.join(rank)
            said = []
            for _ in range(4):
                if ranks.allreduce(comm, stream, data, 8) != 0:
                    break
                said.append(ranks.wait(stream))
            return said

        return ranks.machine.ranks(2, body)

    said, _ = toy.apart(scene)
    assert any("gpu1 does not answer any more, and so rank 0 waits" in text for text in said), said


def test_aborting_ends_what_waits_for_a_rank_that_is_gone() -> None:
    """Catches a simulated library that would hide a teardown which waits for ever."""

    def scene() -> list[Any]:
        ranks = Ranks()

        def body(rank: int) -> str:
            comm, stream, data = ranks.join(rank)
            if rank == 1:
                return ""  # it is gone
            assert ranks.allreduce(comm, stream, data, 8) == 0
            assert ranks.library.ncclCommAbort(comm) == 0
            return ranks.wait(stream)

        return ranks.machine.ranks(2, body)

    assert toy.apart(scene) == ["", ""]


@pytest.mark.parametrize(("fault", "usable"), [("", True), ("link-fails:gpu0-gpu1:after=40", False)])
def test_a_failed_measurement_abandons_its_communicator(
    monkeypatch: pytest.MonkeyPatch, fault: str, usable: bool
) -> None:
    """Catches a teardown by ncclCommDestroy, which waits for a rank that is gone, and a next case that uses
    the communicator of a failed one.
    """
    ends = [Buffer(f"gpu{rank}", "device", rank=rank) for rank in range(2)]
    flow = Flow(ends[0], ends[0], "gpu0", others=((ends[1], ends[1]),))
    case = Case("xccl", "allreduce", (flow,), toy.MIB, "warm", {})
    request = asked(case, precision=0.05, key=3)

    def scene() -> list[Any]:
        seen, measure = [], RankMeasurer.measure

        def and_look(self: RankMeasurer, request: CaseRequest) -> WorkerAnswer:
            answer = measure(self, request)
            seen.extend(communicator.usable for communicator in self._vendors.values())
            return answer

        monkeypatch.setattr(RankMeasurer, "measure", and_look)
        sheet = toy.nvidia(faults__0=fault) if fault else toy.nvidia()
        outcome, _ = SimulatedRanks(simulator_path(), sheet).measure(request)
        return [outcome["status"], *seen]

    assert toy.apart(scene) == ["measured" if usable else "failed", usable, usable]


@pytest.mark.parametrize("pattern", ["alltoall", "gather", "scatter"])
def test_a_collective_by_messages_does_what_the_own_call_does(pattern: str) -> None:
    """Catches a call whose blocks go to other places, and a record that does not say which call it was."""
    ends = [Buffer(f"gpu{rank}", "device", rank=rank) for rank in range(2)]
    flow = Flow(ends[0], ends[0], "gpu0", others=((ends[1], ends[1]),))

    def scene(options: dict[str, str | int]) -> dict[str, Any]:
        case = Case("xccl", pattern, (flow,), toy.MIB, "warm", options)
        return SimulatedRanks(simulator_path(), toy.nvidia()).measure(asked(case, precision=0.05, key=3))[0]

    own = toy.apart(lambda: scene({}))
    by_messages = toy.apart(lambda: scene({"calls": "messages"}))
    for outcome in (own, by_messages):
        assert outcome["status"] == "measured" and outcome["verified"], outcome["reason"]
    assert own["evidence"]["call"] != by_messages["evidence"]["call"] == "ncclSend and ncclRecv"
    assert own["time_ns"]["median"] == pytest.approx(by_messages["time_ns"]["median"], rel=0.01)


def test_a_window_is_registered_and_named() -> None:
    """Catches memory that is registered as a buffer where a window was asked for."""
    ends = [Buffer(f"gpu{rank}", "xccl", rank=rank) for rank in range(2)]
    flow = Flow(ends[0], ends[0], "gpu0", others=((ends[1], ends[1]),))

    def scene(options: dict[str, str | int]) -> dict[str, Any]:
        case = Case("xccl", "allgather", (flow,), toy.MIB, "warm", options)
        return SimulatedRanks(simulator_path(), toy.nvidia()).measure(asked(case, precision=0.05, key=3))[0]

    buffers = toy.apart(lambda: scene({}))
    windows = toy.apart(lambda: scene({"registration": "window"}))
    assert buffers["verified"] and windows["verified"], windows["reason"]
    assert "windows" in windows["engine_evidence"] and "windows" not in buffers["engine_evidence"]


def put_outcome(pattern: str, size: int, simulator: str = "", **overrides: Any) -> dict[str, Any]:
    """What SimulatedRanks answers of puts between two GPUs with windows."""
    ends = [Buffer(f"gpu{rank}", "xccl", rank=rank) for rank in range(2)]
    flows = (Flow(ends[0], ends[1], "gpu0"), Flow(ends[1], ends[0], "gpu1"))
    case = Case("xccl-put", pattern, flows[: 2 if pattern == "bidirectional" else 1], size, "warm")
    ranks = SimulatedRanks(simulator or simulator_path(), toy.nvidia(**overrides))
    return dict(ranks.measure(asked(case, precision=0.05, key=3)).outcome)


@pytest.mark.parametrize("pattern", ["unidirectional", "bidirectional"])
def test_a_put_stores_into_the_window_of_another_rank(pattern: str) -> None:
    """Catches bytes that arrive elsewhere, and a receiver that goes on before its signal."""
    outcome = toy.apart(lambda: put_outcome(pattern, 4 * toy.KIB))
    assert outcome["status"] == "measured", outcome["reason"]
    assert outcome["verified"]
    assert outcome["evidence"]["call"] == "ncclPutSignal"
    assert "windows" in outcome["engine_evidence"]


def test_copy_engines_carry_puts() -> None:
    """Catches puts within a host that take the rate of the ranks' kernels: NCCL takes copy engines."""
    size = 64 * toy.MIB
    plain, slow = (
        toy.apart(lambda part=part: put_outcome("unidirectional", size, xccl__simple_efficiency=part))
        for part in (1.0, 0.25)
    )
    assert slow["time_ns"]["median"] == pytest.approx(plain["time_ns"]["median"], rel=1e-6)
    rate = toy.RATES["engine-peer-write"]
    assert plain["time_ns"]["median"] == pytest.approx(size / rate * 1e9, rel=0.2)


def test_a_library_without_one_sided_calls_is_named(tmp_path: Path) -> None:
    """Catches a crash, or a failure that counts against the GPUs, where NCCL is older than 2.29."""
    older = tmp_path / "libolder.so"
    whole = Path(simulator_path()).read_bytes()
    older.write_bytes(whole.replace(b"\0ncclPutSignal\0", b"\0ncclPutAbsent\0"))
    outcome = toy.apart(lambda: put_outcome("unidirectional", 4 * toy.KIB, simulator=str(older)))
    assert (outcome["status"], outcome["reason_code"]) == ("skipped", "unavailable")
    assert "2.29" in outcome["reason"]
