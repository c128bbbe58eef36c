"""What a concurrent case says of flows that did not run together."""

from __future__ import annotations

from typing import Any

import pytest

from byteways.questions.subjects.concurrency import _together
from byteways.record import warnings
from tests.changed import replace


@pytest.mark.parametrize(
    ("observed", "required", "said"),
    [
        (10e9, 15e9, "10 GB/s together; the rates of the flows while each ran add up to 15 GB/s"),
        ("10 GB/s", "15 GB/s", "10 GB/s together, 15 GB/s required"),
        ("10 GB/s", 15e9, "10 GB/s together, 15000000000.0 required"),
        (10e9, "15 GB/s", "10000000000.0 together, 15 GB/s required"),
    ],
)
def test_rates_of_flows_that_took_turns(observed: Any, required: Any, said: str) -> None:
    """Catches a warning of an older version, whose words are not numbers, that ends the report."""
    assert _together(replace(warnings.make("serialised", 0, 0), observed=observed, required=required)) == said
