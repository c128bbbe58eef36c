"""The option `copy_engine`: which engines a machine was found to have, and every refusal in a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from byteways.base.errors import BytewaysError
from byteways.cases.case import Buffer, Case, Flow
from byteways.machine.model import Capabilities, CopyEngines, Offer, Topology
from byteways.measuring.work.capabilities import _copy_engines
from byteways.plan.legality import refusal
from byteways.plan.suite import load
from tests.changed import replace
from tests.unit import machines

TOPOLOGY: Topology
TOPOLOGY, _WITHOUT = machines.frontier()
LACKS = "the HSA runtime that was found lacks it (since ROCm 5.7)"
#: gpu0 as ROCm shows a die of MI250X; gpu2 with an older library.
FRONTIER: Capabilities = replace(
    _WITHOUT,
    copy_engines={
        "host": {"gpu0": CopyEngines((0, 1, 2, 3, 4)), "gpu2": CopyEngines((), LACKS)},
        "gpu0": {"host": CopyEngines((1, 2, 3, 4)), "gpu1": CopyEngines((2, 3, 4))},
    },
)


def case(source: str, destination: str, executor: str = "gpu0", engine: int = 2, **more: Any) -> Case:
    flow = Flow(Buffer.parse(source), Buffer.parse(destination), executor)
    made = Case("copy", "unidirectional", (flow,), 2**20, options={"copy_engine": engine})
    return replace(made, **more)


@pytest.mark.parametrize(
    "what",
    [
        case("gpu0:device", "gpu1:device"),
        case("gpu0:device-fine", "cpu1:registered", engine=1),
        case("cpu3:pinned", "gpu0:device", engine=0),
        case("gpu0:device", "gpu1:device", environment={"HSA_ENABLE_SDMA": "0"}),
    ],
)
def test_what_may_ask_for_an_engine(what: Case) -> None:
    """Catches engines that a machine has and a sweep does not get."""
    assert refusal(what, TOPOLOGY, FRONTIER) is None


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        (
            case("gpu0:device", "gpu1:device", engine=1),
            "copy engine 1 does not serve gpu0>gpu1; valid: 2, 3, 4",
        ),
        (case("cpu0:pinned", "gpu0:device", engine=31), "copy engine 31 does not serve host>gpu0; valid"),
        (case("cpu0:pinned", "gpu2:device", "gpu2"), f"no copy engine can be chosen for host>gpu2: {LACKS}"),
        (case("gpu1:device", "gpu0:device", "gpu1"), "no runtime reports which copy engines serve gpu1>gpu0"),
        (case("gpu0:device", "gpu1:device", "gpu1"), "the engine must belong to gpu0, and"),
        (case("gpu0:device", "gpu0:device"), "an engine can be chosen only for copies between two GPUs or"),
        (case("cpu0:pinned", "cpu1:pinned"), "an engine can be chosen only for copies between two GPUs or"),
        (case("cpu0:pageable", "gpu0:device"), "needs page-locked memory, and pageable"),
        (case("gpu0:device", "gpu1:managed"), "needs page-locked memory, and managed is not"),
        (
            case("gpu0:device", "gpu1:device", pattern="bidirectional"),
            "bidirectional flows would be serialised",
        ),
    ],
)
def test_what_may_not_and_why(what: Case, sentence: str) -> None:
    """Catches a copy that is planned and fails, or one that goes where nobody asked."""
    assert sentence in (refusal(what, TOPOLOGY, FRONTIER) or "")


def test_an_engine_needs_access_to_the_other_gpu() -> None:
    """Catches an engine that is sent to memory without access to it, which faults on a real GPU."""
    alone = replace(FRONTIER, peer={"gpu0": {"gpu1": Offer(False, "the driver refused it")}})
    what = case("gpu0:device", "gpu1:device")
    assert refusal(what, TOPOLOGY, alone) == "gpu0 and gpu1 have no peer access: the driver refused it"


def test_the_probe_tells_engines_by_both_ends() -> None:
    """Catches a pair of ends that the plan asks for and the probe does not tell, and a run without them."""
    asked = []

    def copy_engines(source: str, destination: str) -> SimpleNamespace:
        asked.append((source, destination))
        return SimpleNamespace(engines=[1], reason="")

    devices = [("cpu0", "host"), ("cpu1", "host"), ("gpu0", "hip"), ("gpu1", "hip")]
    session = SimpleNamespace(
        devices=[SimpleNamespace(name=name, runtime=runtime) for name, runtime in devices],
        copy_engines=copy_engines,
    )
    told = _copy_engines(session, ["gpu0", "gpu1"])  # type: ignore[arg-type]
    assert {(source, to) for source, row in told.items() for to in row} == {
        (a, b) for a in ("host", "gpu0", "gpu1") for b in ("host", "gpu0", "gpu1") if a != b
    }
    assert ("cpu0", "gpu1") in asked and ("cpu1", "gpu1") not in asked
    session.devices = session.devices[:2]
    assert _copy_engines(session, []) == {}  # type: ignore[arg-type]

    written = json.loads(json.dumps(FRONTIER.to_json()))
    assert Capabilities.from_json(written) == FRONTIER
    del written["copy_engines"]  # recorded before this was asked
    assert Capabilities.from_json(written) == _WITHOUT


@pytest.mark.parametrize(
    ("value", "fine"), [("[0, 3]", True), ("-1", False), ("true", False), ('"1"', False)]
)
def test_values_of_the_option(tmp_path: Path, value: str, fine: bool) -> None:
    """Catches engine 0 taken for none, and a word that reaches the native core."""
    path = tmp_path / "suite.toml"
    path.write_text(
        'name = "s"\ntitle = "t"\n[[sweep]]\nname = "e"\ninterface = "copy"\nsource = "gpu*:device"\n'
        f'destination = "gpu*:device"\nsize = "1MiB"\noptions = {{ copy_engine = {value} }}\n'
    )
    if fine:
        assert load(str(path)).sweeps[0].options == {"copy_engine": (0, 3)}
        return
    with pytest.raises(BytewaysError, match=r"positive integer|copy_engine must be from 0"):
        load(str(path))
