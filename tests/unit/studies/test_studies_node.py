"""Claims on the node itself and on what a runtime refuses: decided without a figure."""

from __future__ import annotations

from typing import Any

import pytest

from byteways.ext.studies.comparison.claims import Verdict, judge
from byteways.ext.studies.comparison.outcome import compare
from byteways.ext.studies.comparison.verdicts import BUILT_IN, CORRECTED, FAILS_HERE, HOLDS, UNTESTED
from byteways.ext.studies.published.reading import load
from byteways.ext.studies.published.study import ClaimCheck, PublishedClaim
from byteways.machine.facts import FACTS
from byteways.record.record import Record
from tests.changed import replace
from tests.unit.study_runs import Sheet, flow_case, record, run, topology

STUDY = load("schieffer2025")


def told(check: dict[str, Any], of: Any) -> Verdict:
    keys = dict(check)
    return judge(PublishedClaim("one", "", (ClaimCheck(keys.pop("kind"), keys),)), Sheet(STUDY, of))


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        (
            "elcap-mi300a",
            {
                "gpus": 4,
                "packages": 4,
                "shared-memories": 4,
                "cores": 96,
                "cores-per-domain": 24,
                "l3-bytes": 2**25,
                "l3-cores": 8,
                "compute-units": 228,
                "gpu-memory-bytes": 2**37,
                "gpu-memory-peak": 5324.8,
                "link-classes": 1,
                "most-hops": 1,
                "links-of-a-gpu": 6,
                "accelerator-dies": 6,
                "partition-modes": 3,
                "gpu-l1-bytes": 2**15,
                "gpu-line-bytes": 128,
                "gpu-l1-instruction-bytes": 2**16,
                "gpu-l1-instruction-units": 2,
                "package-power-limit": 550,
                "package-fp64-peak": pytest.approx(122.57, rel=1e-4),
                "nics": 4,
                "nics-of-a-package": 1,
                "nic-link-peak": 50,
            },
        ),
        (
            "frontier-mi250x",
            {
                "gpus": 8,
                "packages": 4,
                "shared-memories": 0,
                "cores": 64,
                "link-classes": 3,
                "most-hops": 2,  # the widest ways have three
                "links-of-a-gpu": None,  # differs
                "gpu-l1-bytes": None,
                "package-power-limit": 560,
                "gpu-power-limit": 280,
                "package-fp64-peak": pytest.approx(95.744),
                "nics": None,
                "nics-of-a-package": None,
                "nic-link-peak": None,
            },
        ),
    ],
)
def test_facts_of_two_nodes(machine: str, expected: dict[str, float | None]) -> None:
    """Would catch bundles that count as links, a way that no traffic needs, a mean of unequals."""
    here = topology(machine)
    assert {name: (of := FACTS[name].of) and of(here) for name in expected} == expected


def test_facts_of_pairs_and_of_what_is_unknown() -> None:
    """Would catch a rate of all links for that of one, and an unknown rate that reads as none."""
    here = topology("elcap-mi300a")
    between = {name: fact.between for name, fact in FACTS.items() if fact.between}
    assert [of(here, "gpu0", "gpu1") for of in between.values()] == [2, 128, 64]
    assert [of(here, "gpu0", "cpu0") for of in between.values()] == [1, None, None]
    alone = replace(here, links=())
    assert [FACTS[name].of(alone) for name in ("most-hops", "link-classes")] == [None, None]  # type: ignore[misc]


def test_a_fact_is_decided_without_a_record() -> None:
    """Would catch a sentence on the node that waits for a measurement."""
    on_model = {one.claim.id: one for one in compare(STUDY, run("elcap-mi300a", simulated=True)).verdicts}
    assert on_model["two-links"].verdict == on_model["infinity-cache"].verdict.replace(UNTESTED, BUILT_IN)
    assert on_model["two-links"].verdict == BUILT_IN  # the numbers are of this source
    assert on_model["link-against-memory"].verdict == CORRECTED  # 5.3 TB/s for 5.6
    assert on_model["three-tiers"].verdict == UNTESTED
    real = {one.claim.id: one for one in compare(STUDY, run("frontier-mi250x")).verdicts}
    assert real["three-tiers"].verdict == real["table-1-mi250x"].verdict == HOLDS
    assert real["three-tiers"].detail == "3 (classes of links between GPUs); expected 3"


def test_what_a_machine_does_not_tell_is_not_tested() -> None:
    """Would catch a verdict on an unknown number, and on a place that is not here."""
    here = run("h200-x4", runtime="cuda")
    found = told({"kind": "node", "fact": "links-of-a-gpu", "about": 6}, here)  # through switches
    assert found.verdict == UNTESTED and "does not report one number: links from a GPU" in found.detail
    found = told({"kind": "node", "fact": "links", "at": "GCD6", "about": 2}, here)
    assert found.verdict == UNTESTED and "MI250X" in found.detail


@pytest.mark.parametrize(
    ("bound", "verdict"),
    [
        ({"about": 24}, HOLDS),
        ({"about": 25}, FAILS_HERE),
        ({"about": 25, "within": 0.05}, HOLDS),
        ({"at_least": 25}, FAILS_HERE),
        ({"at_most": 24}, HOLDS),
    ],
)
def test_bounds_of_a_fact(bound: dict[str, float], verdict: str) -> None:
    """Would catch a number of parts that is nearly right."""
    found = told({"kind": "node", "fact": "cores-per-domain", **bound}, run("elcap-mi300a"))
    assert found.verdict == verdict


# --- what is refused


def refused(*records: Record) -> Verdict:
    of = "hipMemcpy, malloc, not registered@APU0>APU1/*"
    return told({"kind": "refused", "of": of, "reason": "invalid argument"}, run("elcap-mi300a", *records))


def test_a_refusal_with_the_reason_of_the_source_holds() -> None:
    """Would catch a failure for another reason, and a copy that ran, taken for the source's refusal."""
    case = flow_case("copy", "cpu0:pageable", "cpu1:pageable", "gpu0")
    gone = {"time_ns": None, "bandwidth_bytes_per_s": None}
    why = "hipMemcpyAsync: hipErrorInvalidValue (invalid argument)"
    failed = record(case, 1.0, **gone, status="failed", reason=why)
    assert refused(failed).verdict == HOLDS
    assert why in refused(failed).detail
    other = record(case, 1.0, **gone, status="skipped", reason="out of memory")
    assert refused(other).verdict == FAILS_HERE
    ran = refused(record(case, 10.0))
    assert ran.verdict == FAILS_HERE and ran.detail.startswith("it ran (hipMemcpy, malloc, not registered")


def test_a_case_that_is_not_there_is_no_refusal() -> None:
    """Would catch an interrupted run that confirms what it did not try."""
    assert refused().verdict == UNTESTED


def test_packages_that_differ_tell_no_number() -> None:
    """Would catch the power of the first package, and a peak that leaves out a die without a clock."""
    here = topology("frontier-mi250x")
    told = [replace(one, power_limit_watts=500.0) if one.name == "gpu2" else one for one in here.devices]
    assert FACTS["package-power-limit"].of(replace(here, devices=tuple(told))) is None  # type: ignore[misc]
    silent = [replace(one, clock_mhz=None) if one.name == "gpu1" else one for one in here.devices]
    assert FACTS["package-fp64-peak"].of(replace(here, devices=tuple(silent))) is None  # type: ignore[misc]
