"""What slower cases have in common: the smallest set of links, devices and roles that explains them; links
that are missing.
"""

from __future__ import annotations

from collections.abc import Callable

from byteways.machine.model import Topology
from byteways.questions.bottlenecks.culprits import CaseEvidence, SlowParts, culprit, parts_of
from byteways.record.record import Record
from byteways.verdicts.two_runs.suspects import missing_links, suspect
from tests.changed import replace
from tests.report import sample_run
from tests.report.run_builder import Builder

MACHINE = sample_run.topology(4)


def record(*flows: tuple[str, str, str], interface: str = "copy") -> Record:
    build = Builder(MACHINE, rounds=1)
    build.lose("skipped", "", interface, flows)
    return build.records[0]


def involved(*flows: tuple[str, str, str], interface: str = "copy") -> frozenset[str]:
    return parts_of(record(*flows, interface=interface), MACHINE)


PEER = ("gpu0:device", "gpu1:device", "gpu0")
HOST = ("cpu0:pinned", "gpu0:device", "gpu0")


def test_parts() -> None:
    """Catches a link, pair or role that a case involves and that is left out, or one it does not involve."""
    links = {"gpu0-nvswitch", "gpu0>nvswitch", "gpu1-nvswitch", "nvswitch>gpu1"}
    assert involved(PEER) == {"gpu0", "gpu1", "gpu0-gpu1", "gpu0>gpu1"} | links
    assert involved(("gpu2:device", "gpu2:device", "gpu2")) == {"gpu2", "memory of gpu2"}
    both = involved(HOST, ("gpu0:device", "cpu0:pinned", "gpu0"))
    link = {"cpu0-gpu0", "cpu0>gpu0", "gpu0>cpu0"}
    assert both == {"cpu0", "gpu0", "concurrent flows issued by gpu0"} | link


def test_an_executor_elsewhere_crosses_a_link() -> None:
    """Catches a GPU that reads another one's memory and is not said to use the link between them."""
    remote = involved(("gpu0:device", "gpu0:device", "gpu1"), interface="pointer-chase")
    assert {"gpu0-gpu1", "gpu0-nvswitch", "gpu1-nvswitch"} <= remote and "memory of gpu0" not in remote


def test_ranks_and_strangers() -> None:
    """Catches the rank of a buffer taken for its device, or a route asked for of an unknown device."""
    one = replace(
        record(PEER),
        flows=[{"source": "0/gpu0:device", "destination": "1/gpu9:device@cpu0", "executor": "gpu0"}],
    )
    assert parts_of(one, MACHINE) == {"gpu0", "gpu9", "gpu0-gpu9", "gpu0>gpu9"}


def case(*parts: str, speed: float = 1.0, rate: float = 100.0, half: float = 0.002) -> CaseEvidence:
    """A single flow of 100 GB/s when healthy, slower if its speed is below 1."""
    return CaseEvidence(frozenset(parts), speed < 1, speed, speed - half, speed * rate * 1e9, True)


def names(*cases: CaseEvidence) -> tuple[str, ...]:
    found = culprit(cases)
    return found.names if found else ()


def switched(slow: Callable[[str, str], float]) -> list[CaseEvidence]:
    """Pairs of four GPUs behind a switch, and a copy within each of them."""
    gpus = ("gpu0", "gpu1", "gpu2", "gpu3")
    within = [case(gpu, f"memory of {gpu}", rate=2000.0) for gpu in gpus]
    return within + [
        case(*involved((f"{one}:device", f"{other}:device", one)), speed=slow(one, other))
        for one in gpus
        for other in gpus
        if one != other
    ]


def test_a_switch_port_is_named_by_half_of_the_pairs() -> None:
    """Catches a GPU blamed for its port, though copies within it are at full speed, and other ports."""
    found = culprit(switched(lambda a, b: 0.9 if "gpu2" in (a, b) else 1.0))
    assert found == SlowParts(("gpu2-nvswitch",), ((),), 6, 6, 6)


def test_one_direction_of_a_port_is_named() -> None:
    """Catches a link that is blamed in both directions, and one that is not found for its other direction."""
    assert names(*switched(lambda a, b: 0.9 if b == "gpu2" else 1.0)) == ("nvswitch>gpu2",)


def test_two_faults_are_two_parts() -> None:
    """Catches one part that is blamed for two faults, and three parts for what two explain."""
    found = culprit(switched(lambda a, b: 0.5 if "gpu2" in (a, b) else 0.8 if "gpu1" in (a, b) else 1.0))
    assert found is not None and set(found.names) == {"gpu1-nvswitch", "gpu2-nvswitch"}
    assert (found.slower, found.of) == (10, 10)


def test_a_pair_that_no_link_explains_is_a_pair() -> None:
    """Catches ports that are blamed although other pairs are at full speed over them."""
    assert names(*switched(lambda a, b: 0.5 if {a, b} == {"gpu1", "gpu3"} else 1.0)) == ("gpu1-gpu3",)


def test_a_link_at_full_speed_is_not_blamed() -> None:
    """Catches a link that slower cases have in common, and that carries more in a case at full speed."""
    slow = [case("a-b", "b-c", speed=0.9), case("a-b", "b-c", "d", speed=0.9)]
    assert names(*slow, case("a-b")) == ("b-c",)
    assert names(*slow, case("a-b", rate=80.0), case("b-c"), case("b-c")) == ("a-b",)  # 80 fit into 90 GB/s


def test_an_interval_that_contains_the_loss_contradicts_nothing() -> None:
    """Catches the slow link acquitted by a case whose interval hides the same loss of 3 %."""
    slow = [case("a-b", speed=0.97), case("a-b", "c", speed=0.97)]
    unclear = case("a-b", speed=1.0, rate=110.0, half=0.04)
    assert names(*slow, unclear) == ("a-b",)
    assert names(*slow, replace(unclear, low=0.999)) != ("a-b",)


def test_one_stray_case_adds_no_part() -> None:
    """Catches a second link that is blamed for a single case, which may differ by chance."""
    slow = [case("a-b", f"x{place}", speed=0.8) for place in range(5)]
    assert names(*slow, case("c-d", speed=0.9)) == ("a-b",)
    assert set(names(*slow, *[case("c-d", f"y{place}", speed=0.9) for place in range(2)])) == {"a-b", "c-d"}


def test_scattered_losses_have_no_culprit() -> None:
    """Catches a set of parts that explains anything, and the part with most cases for lack of another."""
    assert culprit([case(f"x{place}", speed=0.9) for place in range(12)]) is None
    assert culprit([case("a-b"), case("c-d")]) is None


def test_parts_of_the_same_cases_are_alike() -> None:
    """Catches one of several parts named as if the cases distinguished it from the others."""
    assert names(case("cpu1", "cpu1-gpu0", speed=0.8), case("cpu0", "cpu0-gpu1")) == ("cpu1-gpu0",)
    found = culprit([case("gpu0", "gpu0-nvswitch", speed=0.8), case("gpu1")])
    assert found is not None and (found.names, found.alike) == (("gpu0",), (("gpu0-nvswitch",),))


def test_a_missing_link_comes_first() -> None:
    """Catches a neighbour that is blamed where the link between two devices has gone."""
    cases = [case("gpu0", "gpu0-gpu1", speed=0.5), case("gpu0", speed=0.5), case("gpu0-gpu1")]
    found = suspect(cases, missing=["gpu0-gpu1", "gpu2-gpu3"])
    assert found is not None and (found.name, found.missing, found.slower) == ("gpu0-gpu1", True, 1)
    assert suspect(cases, missing=["gpu2-gpu3"]) == suspect(cases)
    assert suspect(cases[2:], missing=["gpu0-gpu1"]) is None


def without(*links: tuple[str, str]) -> Topology:
    left = tuple(link for link in MACHINE.links if (link.a, link.b) not in links)
    return replace(MACHINE, links=left)


def test_missing_links() -> None:
    """Catches a link that is down and not named, or links of devices that the other machine lacks."""
    assert missing_links(MACHINE, MACHINE) == ()
    assert missing_links(MACHINE, without(("gpu0", "nvswitch"))) == ("gpu0-nvswitch",)
    assert missing_links(without(("gpu0", "nvswitch")), MACHINE) == ()
