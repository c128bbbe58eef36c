"""What a case is: its identity, its names, its access."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byteways.cases.case import CACHES, PATTERNS, Buffer, Case, Flow
from byteways.cases.interfaces import INTERFACES
from byteways.cases.memory import MEMORIES

devices = st.builds(lambda kind, index: f"{kind}{index}", st.sampled_from(["cpu", "gpu"]), st.integers(0, 15))
buffers = st.builds(Buffer, devices, st.sampled_from(MEMORIES), st.none() | devices)
flows = st.builds(Flow, buffers, buffers, devices)
# A truth value where a number may stand would equal 1 here, but not in the canonical text that is hashed.
options = st.fixed_dictionaries(
    {},
    optional={
        "gate": st.booleans(),
        **dict.fromkeys(("blocks", "threads", "stages"), st.integers(1, 2048) | st.text()),
    },
)
cases = st.builds(
    Case,
    st.sampled_from(sorted(INTERFACES)),
    st.sampled_from(PATTERNS),
    st.lists(flows, min_size=2, max_size=5).map(tuple),
    st.integers(1, 2**40),
    st.sampled_from(CACHES),
    options,
    st.dictionaries(st.text(min_size=1), st.text()),
)


def shuffled(mapping: Mapping[str, Any]) -> dict[str, Any]:
    return dict(reversed(list(mapping.items())))


@given(cases)
def test_identity_round_trip(case: Case) -> None:
    """Catches a field that is lost on the way to a worker and back, so that it measures something else."""
    again = Case.from_json(case.identity())
    assert again == case
    assert again.case_id == case.case_id


@given(cases)
def test_case_id_does_not_depend_on_order(case: Case) -> None:
    """Catches an id that changes with the order in which options are written: runs would not compare."""
    other = Case.from_json(
        {
            **shuffled(case.identity()),
            "options": shuffled(case.options),
            "environment": shuffled(case.environment),
        }
    )
    assert other.case_id == case.case_id


@given(cases, cases)
def test_case_id_tells_cases_apart(one: Case, other: Case) -> None:
    """Catches a field that is not part of the id, so that two cases would share a record."""
    assert (one.case_id == other.case_id) == (one.identity() == other.identity())


def test_case_id_is_what_it_always_was() -> None:
    """Catches a change of the id, which would make every recorded run incomparable with new ones."""
    flow = Flow(Buffer("gpu0", "device"), Buffer("gpu1", "device"), "gpu0")
    case = Case("copy", "unidirectional", (flow,), 2**30, options={"blocks": 8}, environment={"A": "1"})
    assert case.case_id == "272783d58935d036"


@given(buffers)
def test_buffers_round_trip(buffer: Buffer) -> None:
    """Catches a buffer whose text reads back as another."""
    assert Buffer.parse(str(buffer)) == buffer


@pytest.mark.parametrize(
    "text", ["", "gpu0", "gpu:device", "gpu0:", "gpu0:device@", "0:device", "gpu0:device@x"]
)
def test_no_buffer_is_refused(text: str) -> None:
    """Catches a mistyped buffer that is taken for something."""
    with pytest.raises(ValueError, match="is not a buffer"):
        Buffer.parse(text)


def on_device(device: str) -> Buffer:
    return Buffer(device, "device")


def flow(source: str, destination: str, executor: str | None = None) -> Flow:
    return Flow(on_device(source), on_device(destination), executor or source)


def test_every_interface_has_a_category() -> None:
    """Catches an interface whose records would have no category."""
    known = ("explicit", "direct access", "memory", "message passing", "application")
    flows = (flow("gpu0", "gpu1"),)
    found = {name: Case(name, "unidirectional", flows, 4096).category for name in INTERFACES}
    assert {name: category for name, category in found.items() if category not in known} == {}
