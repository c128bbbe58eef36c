"""What conductor and workers tell each other: checked where it arrives, and declared once."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from types import SimpleNamespace
from typing import Any, get_type_hints

import pytest

from byteways import _core
from byteways.cases.case import Buffer, Case, Flow
from byteways.measuring.conduct.probe import listed_devices
from byteways.measuring.conduct.process import WorkerLost
from byteways.measuring.conduct.recording import answered
from byteways.measuring.shared.messages import (
    DeviceFields,
    Hello,
    LibraryFields,
    PlacesAnswer,
    ProbeAnswer,
    library_fields,
    read,
)
from byteways.measuring.shared.request import CaseRequest, MeasureRequest
from byteways.measuring.work.outcome_fields import HostsAnswer, MeasureAnswer
from byteways.record import part_types
from byteways.record.blame import FailureBlame
from byteways.record.evidence import EvidenceFields, Fallback
from byteways.record.library_choice import LibraryChoice
from byteways.record.times import Times

OUTCOME: dict[str, Any] = {
    "status": "measured",
    "reason": None,
    "time_ns": {"median": 1.0, "ci95": [1, 2.0], "min": 1, "max": 2, "mean": 1, "sd": 0, "n": 3},
    "samples_ns": [1, 2.5],
    "health": {"gpu0": {"before": {"power_mw": 1}, "after": None}, "host": {"window_s": 0.5, "cores": 2}},
    "warnings": [{"id": "noisy", "observed": 1, "required": "words", "advice": "wait"}],
}


def changed(**fields: Any) -> dict[str, Any]:
    return {"did": "measure", "outcome": {**OUTCOME, **fields}}


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (MeasureAnswer, changed()),
        (MeasureAnswer, {**changed(energy={"reason": "no counter"}), "leaving": True}),
        (HostsAnswer, {"outcomes": [None, {"status": 3}]}),
        (Hello, {"clock_step_ns": None, "ranks": [{"host": "n1", "pid": 4, "cores": []}]}),
        (Hello, {"did": "hello", "of a newer version": [1]}),
        (PlacesAnswer, {"places": [{"gpus": {"gpu0": "GPU-1"}, "allowed": [0]}, {"gpus": {}}]}),
    ],
)
def test_messages_that_are_read(kind: type[Any], message: dict[str, Any]) -> None:
    """Catches a sound message that costs a worker, and one that its check changes."""
    before = json.dumps(message)
    assert read(kind, message) is message and json.dumps(message) == before


@pytest.mark.parametrize(
    ("kind", "message", "said"),
    [
        (MeasureAnswer, [], "the message is [], not an object"),
        (MeasureAnswer, {"outcome": 5}, "outcome is 5, not an object"),
        (MeasureAnswer, {"did": "measure"}, "'outcome'"),
        (MeasureAnswer, changed(verified=1), "outcome.verified is 1, not true or false"),
        (MeasureAnswer, changed(batch=True), "outcome.batch is True, not an integer"),
        (MeasureAnswer, changed(latency_ns="3"), "outcome.latency_ns is '3', not a number"),
        (MeasureAnswer, changed(samples_ns=[1.0, "2"]), "outcome.samples_ns[1] is '2', not a number"),
        (MeasureAnswer, changed(time_ns={"median": 1.0}), "'outcome.time_ns.ci95'"),
        (MeasureAnswer, changed(time_ns={**OUTCOME["time_ns"], "ci95": [1]}), "ci95 is [1], not a list"),
        (MeasureAnswer, changed(evidence=[]), "outcome.evidence is [], not an object"),
        (MeasureAnswer, changed(reason=3), "outcome.reason is 3, not text"),
        (Hello, {"ranks": [{"host": "n1"}]}, "'ranks[0].pid'"),
        (Hello, {"mpi": {"version": None}}, "mpi.version is None, not text"),
        (ProbeAnswer, {"capabilities": {}, "libraries": []}, "'method_version'"),
        (PlacesAnswer, {"places": [{"gpus": {"gpu0": 3}}]}, "places[0].gpus.gpu0 is 3, not text"),
        (MeasureRequest, {}, "'budget_s'"),
    ],
)
def test_messages_that_are_refused(kind: type[Any], message: Any, said: str) -> None:
    """Catches a damaged message that fails where its field is first used, and an error without its place."""
    with pytest.raises((KeyError, ValueError)) as error:
        read(kind, message)
    assert said in str(error.value)


def test_an_answer_that_is_none_loses_the_worker() -> None:
    """Catches a run that ends because of one answer."""
    with pytest.raises(WorkerLost, match=r"an invalid outcome: outcome\.samples_ns is 1, not a list"):
        answered(changed(samples_ns=1))
    worker: Any = SimpleNamespace(answer=lambda _: {"did": "devices", "devices": {"gpu0": []}})
    with pytest.raises(WorkerLost, match=r"devices\.gpu0 is \[\], not an object"):
        listed_devices(worker)


def test_a_request_arrives_as_it_was_sent() -> None:
    """Catches a field that one side forgets, and one without which older messages are refused."""
    end = Buffer("gpu0", "device")
    case = Case("copy", "unidirectional", (Flow(end, end, "gpu0"),), 8)
    request = CaseRequest(case, 0.5, 0.01, 3, 7, True, ((0, 1), (2,)), {"gpu0": "GPU-1"}, {"cpu": 2})
    message = json.loads(json.dumps(request.to_json()))
    assert CaseRequest.from_json(message) == request
    assert [*message] == ["do", *(one.name for one in fields(CaseRequest))]
    assert {*get_type_hints(MeasureRequest)} == {*message}
    optional = ("do", "fresh", "cores", "uuids", "devices_of_host")
    least = {name: value for name, value in message.items() if name not in optional}
    assert CaseRequest.from_json(least) == CaseRequest(case, 0.5, 0.01, 3, 7)


@pytest.mark.parametrize(
    ("declared", "meant"),
    [
        (part_types.Blame, FailureBlame.__struct_fields__),
        (part_types.Evidence, EvidenceFields.__struct_fields__),
        (part_types.FallbackUsed, Fallback.__struct_fields__),
        (part_types.ChoiceFields, [one.name for one in fields(LibraryChoice)]),
        (part_types.TimesFields, [one.name for one in fields(Times)]),
        (DeviceFields, [*(name for name in vars(_core.Device) if name[0] != "_"), "free_bytes"]),
        (LibraryFields, [*(name for name in vars(_core.LibraryReport) if name[0] != "_"), "ucx"]),
    ],
)
def test_a_table_has_the_fields_of_its_class(declared: type[Any], meant: Any) -> None:
    """Catches a field of one of two that mean the same: workers load the standard library alone, so that
    what they send is declared beside the class that reads it.
    """
    assert {*declared.__annotations__} == {*meant}


def test_a_class_as_its_table() -> None:
    """Catches a field that is left out of what is written, or in another order."""
    times = Times(1.0, (0.5, 1.5), 0.5, 2.0, 1.0, 0.1, 3)
    assert [*times.to_json().items()] == [*asdict(times).items()]
    choice = LibraryChoice("Ring", "LL", 2, "log", None)
    assert [*choice.to_json().items()] == [*asdict(choice).items()]
    report: Any = SimpleNamespace(
        **dict.fromkeys(("library", "path", "found_by", "version", "reason", "hint"), "x"),
        usable=True,
        searched=["/lib"],
        missing=[SimpleNamespace(name="f", introduced_in="1", required=False)],
    )
    told = library_fields(report)
    assert read(LibraryFields, told) == told and {*told} == {*vars(report)}
