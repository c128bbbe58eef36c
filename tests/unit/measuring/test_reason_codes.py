"""Codes of the reasons for skipped cases: what makes them, and what keeps them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from byteways.cases.reasons import MEANINGS, OUT_OF_TIME, PAGES_LAND_ELSEWHERE
from byteways.machine.model import Offer
from byteways.measuring.conduct import plan_file
from byteways.plan.legality import RULES, broken_rule
from byteways.plan.planner import make_plan
from tests.unit.legality import H200X4, TWO_DOMAINS, case
from tests.unit.planning import PAIRS, h200x4, suite


def test_every_code_has_one_meaning() -> None:
    """Catches two reasons that a program cannot tell from each other."""
    codes = [*MEANINGS, *(rule.code for rule in RULES)]
    assert len(codes) == len({*codes})
    assert all(code and code == code.lower() and " " not in code for code in codes)


def test_a_refusal_has_the_code_of_the_rule_that_is_broken() -> None:
    """Catches a prefetch that lands elsewhere under the code of one that is impossible, and the reverse."""
    topology, capabilities = TWO_DOMAINS
    calls = {name: {"prefetch-to-domain": Offer(False, "no domain")} for name in topology.names("gpu")}
    machine = topology, replace(capabilities, calls=calls)
    far, near = (case("prefetch", "gpu0:managed", f"{cpu}:managed", "gpu0") for cpu in ("cpu1", "cpu0"))
    within = case("prefetch", "gpu0:managed", "gpu0:managed", "gpu0")
    found = [broken_rule(one, *machine) for one in (far, near, within)]
    assert [one.code if one else None for one in found] == [PAGES_LAND_ELSEWHERE, None, "migration"]
    huge = broken_rule(case("copy", "gpu0:device", "gpu1:device", "gpu0", size=1 << 50), *H200X4)
    assert huge is not None and huge.code == "room"


def test_codes_of_a_plan_survive_its_file(tmp_path: Path) -> None:
    """Catches a case that is skipped without a code, and a resumed run that has lost the codes."""
    asked = suite(PAIRS, PAIRS.replace("64MiB", "32TiB"))
    whole = make_plan(asked, *h200x4)
    plan = make_plan(asked, *h200x4, budget_s=whole.estimated_s * 0.9 / 0.85)
    assert {one.reason_code for one in plan.cases if one.spare} == {OUT_OF_TIME}
    assert {one.reason_code for one in plan.cases if one.reason and not one.spare} == {"room"}
    assert {one.reason_code for one in plan.cases if one.reason is None} == {None}
    plan_file.write(tmp_path, plan)
    again = plan_file.read(tmp_path, plan.suite)
    assert [one.reason_code for one in again.cases] == [one.reason_code for one in plan.cases]
