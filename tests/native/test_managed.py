"""Managed pages on simulated machines: what moves them, what keeps them, and how both are seen."""

from __future__ import annotations

from typing import Any

import pytest

from byteways import _core
from byteways.cases.case import Buffer, Case, Flow
from byteways.measuring.work.measuring import NativeMeasurer
from byteways.measuring.work.residency import pages_of
from tests.asked import asked
from tests.native import simulated as toy

PAGE = 4096
BOTH = pytest.mark.parametrize("sheet", [toy.nvidia(), toy.amd()], ids=["nvidia", "amd"])


def seen(sides: list[_core.SideResidency]) -> list[Any]:
    return [[side.side, side.sampled, dict(side.on_host), side.prefetched_to] for side in sides]


def prefetch(session: _core.Session, source: str, to: str, executor: str, size: int, bytes: int) -> Any:
    buffer = session.allocate(source, "managed", bytes, source)
    flow = _core.Flow(buffer, buffer, executor, "prefetch", size, partner=to)
    return session.measure([flow], toy.options())


def far_prefetch(session: _core.Session, source: str, to: str) -> Any:
    """Of 1 MiB by gpu0, which is beside cpu0."""
    return prefetch(session, source, to, "gpu0", toy.MIB, 8 * toy.MIB).flows[0]


@BOTH
@pytest.mark.parametrize(
    ("source", "to", "executor"),
    [("cpu0", "gpu0", "gpu0"), ("gpu0", "cpu0", "gpu0"), ("gpu0", "gpu1", "gpu0"), ("gpu0", "gpu1", "gpu1")],
)
def test_a_prefetch_moves_pages_every_way(sheet: str, source: str, to: str, executor: str) -> None:
    """Catches pages that are not where the operation begins or ends, on either vendor's calls."""

    def scene(session: _core.Session) -> list[Any]:
        measured = prefetch(session, source, to, executor, toy.MIB, 8 * toy.MIB)
        flow = measured.flows[0]
        return [measured.verified, measured.gated, seen(flow.before), seen(flow.after), seen(flow.timed)]

    def at(device: str, pages: int) -> list[Any]:
        host = device == "cpu0"
        return [["pages", pages, {device: pages} if host else {}, "host" if host else device]]

    verified, gated, before, after, timed = toy.play(sheet, scene)
    pages = toy.MIB // PAGE
    assert (verified, gated) == (True, True)
    assert before == at(source, pages) and after == at(to, pages)
    assert timed[0][1] > pages and timed == at(to, timed[0][1])


@pytest.mark.parametrize("gpu", ["gpu0", "gpu1"])
def test_an_apu_that_touches_managed_pages_has_them(gpu: str) -> None:
    """Catches pages of the first domain, whichever APU has touched them first."""

    def scene(session: _core.Session) -> dict[str, int]:
        return dict(session.allocate("cpu0", "managed", toy.MIB, gpu).placement())

    sheet = toy.amd(features__host_access=1, features__pageable_access=1)
    assert toy.play(sheet, scene) == {gpu[3:]: toy.MIB // PAGE}


def test_memory_of_a_gpu_may_be_a_numa_domain() -> None:
    """Catches pages on GH200's GPU that count as pages on the host, and a void prefetch because of them."""

    def scene(session: _core.Session) -> list[Any]:
        flow = prefetch(session, "gpu0", "gpu1", "gpu0", toy.MIB, 8 * toy.MIB).flows[0]
        sides = [*flow.before, *flow.after]
        return [[dict(side.on_host), dict(side.on_gpus), pages_of(side, True).where] for side in sides]

    told = toy.play(toy.nvidia(features__gpu_domains=1), scene)
    assert told == [[{}, {gpu: 256}, {gpu: 256}] for gpu in ("gpu0", "gpu1")]


@BOTH
def test_pages_of_a_far_domain_are_brought_back_to_it(sheet: str) -> None:
    """Catches a host treated as one place: pages of cpu1 that return to cpu0, next to the calling GPU."""
    told = toy.play(sheet, lambda session: seen(far_prefetch(session, "cpu1", "gpu0").before))
    assert told == [["pages", 256, {"cpu1": 256}, "host"]]


@pytest.mark.parametrize(("sheet", "lands"), [(toy.nvidia(), "cpu1"), (toy.amd(), "cpu0")])
def test_a_prefetch_names_a_domain_where_the_call_can(sheet: str, lands: str) -> None:
    """Catches a prefetch to cpu1 that lands next to the GPU, and a runtime that claims better support."""

    def scene(session: _core.Session) -> list[Any]:
        offered = session.offers_call("gpu0", "prefetch-to-domain")
        return [seen(far_prefetch(session, "gpu0", "cpu1").after), offered.available, offered.reason]

    after, available, reason = toy.play(sheet, scene)
    assert after == [["pages", 256, {lands: 256}, "host"]]
    assert available == (lands == "cpu1") and available == (reason == "")


def test_a_prefetch_to_another_domain_has_no_figure() -> None:
    """Catches the rate of a path that is not the named one: of a runtime that cannot name the domain."""

    def scene() -> dict[str, Any]:
        measurer = NativeMeasurer.open(toy.amd())
        flow = Flow(Buffer("gpu0", "managed"), Buffer("cpu1", "managed"), "gpu0")
        case = Case("prefetch", "unidirectional", (flow,), toy.MIB)
        return measurer.measure(asked(case)).outcome

    answer = toy.apart(scene)
    assert answer["status"] == "failed" and "bandwidth_bytes_per_s" not in answer
    assert "sampled pages were not on cpu1: sampled pages on cpu0" in answer["reason"]


def test_a_prefetch_that_does_nothing_is_seen() -> None:
    """Catches a look that believes the call: the data is right although no page has moved."""

    def scene(session: _core.Session) -> list[Any]:
        measured = prefetch(session, "cpu0", "gpu0", "gpu0", toy.MIB, 8 * toy.MIB)
        return [measured.verified, seen(measured.flows[0].after), seen(measured.flows[0].timed)]

    verified, after, timed = toy.play(toy.nvidia(**{"faults.0": "skip:cpu0>gpu0"}), scene)
    pages = timed[0][1]
    assert verified and after == [["pages", 256, {"cpu0": 256}, "host"]]
    assert timed == [["pages", pages, {"cpu0": pages}, "host"]]


@pytest.mark.parametrize("size", [8, 1000, PAGE + 8, 3 * PAGE, 2 * toy.MIB + 8])
def test_sizes_that_are_no_multiple_of_a_page(size: int) -> None:
    """Catches operations that share a page: the second would find its bytes already migrated."""

    def scene(session: _core.Session) -> list[Any]:
        measured = prefetch(session, "cpu0", "gpu0", "gpu0", size, 16 * toy.MIB)
        return [measured.verified, seen(measured.flows[0].timed), measured.time_ns.min]

    verified, timed, least_ns = toy.play(toy.nvidia(noise=0.0), scene)
    assert verified and timed[0][2] == {}
    assert least_ns > 10_000  # what the model has every prefetch cost that moves something


@pytest.mark.parametrize(
    ("sheet", "environment"),
    [(toy.nvidia(), {}), (toy.amd(managed__kernels_migrate=1), {"HSA_XNACK": "0"})],
    ids=["nvidia", "amd"],
)
@pytest.mark.parametrize("owner", ["cpu0", "gpu1"])
def test_kept_pages_are_reached_where_they_are(sheet: str, environment: dict[str, str], owner: str) -> None:
    """Catches an option that nothing acts on, and advice that outlives the case that gave it."""

    def scene(session: _core.Session) -> list[Any]:
        size = 64 * toy.MIB
        source = session.allocate(owner, "managed", size, owner)
        destination = session.allocate("gpu0", "device", size, "gpu0")
        flow = _core.Flow(source, destination, "gpu0", "kernel", size, migration="off")
        kept = session.measure([flow], toy.options())
        moved = session.measure([_core.Flow(source, destination, "gpu0", "kernel", size)], toy.options())
        return [
            kept.verified,
            seen(kept.flows[0].before) == seen(kept.flows[0].after),
            kept.flows[0].bytes_per_s,
            moved.flows[0].bytes_per_s,
        ]

    verified, stayed, kept, moved = toy.play(sheet, scene, environment)
    in_place = toy.RATES["kernel-host-read" if owner == "cpu0" else "kernel-peer-read"]
    assert verified and stayed
    assert kept == pytest.approx(in_place, rel=0.05)
    if not environment:
        assert moved < 0.5 * kept


def test_pages_are_not_kept_with_retry() -> None:
    """Catches zero-copy that is claimed of a process whose kernels move what they touch."""

    def scene(session: _core.Session) -> str:
        flow = toy.flow(
            session, ("cpu0", "managed"), ("gpu0", "device"), "gpu0", "kernel", toy.MIB, migration="off"
        )
        with pytest.raises(_core.UnsupportedError) as raised:
            session.measure([flow], toy.options())
        return str(raised.value)

    said = toy.play(toy.amd(features__pageable_access=1), scene, {"HSA_XNACK": "1"})
    assert "HSA_XNACK=1" in said


@BOTH
def test_a_core_that_touches_moves_pages(sheet: str) -> None:
    """Catches cores that reach a GPU's memory as fast as their own, and batches that pay for one slot."""

    def scene(session: _core.Session) -> list[Any]:
        source = session.allocate("gpu0", "managed", 64 * toy.MIB, "gpu0")
        destination = session.allocate("cpu0", "pageable", 64 * toy.MIB, "cpu0")
        flow = _core.Flow(source, destination, "cpu0", "memcpy", toy.MIB)
        measured = session.measure([flow], toy.options(batch=8))
        found = measured.flows[0]
        return [
            measured.verified,
            seen(found.before),
            seen(found.after),
            found.bytes_per_touch,
            measured.time_ns.min,
            measured.batch,
        ]

    verified, before, after, per_touch, least_ns, batch = toy.play(sheet, scene)
    assert (verified, batch, per_touch) == (True, 8, PAGE)  # a page is what the simulator moves at once
    assert before == [["source", 256, {}, "gpu0"]] and after[0][2] == {"cpu0": 256}
    assert least_ns > 20_000  # the model's fault, paid by each of the eight


def test_pages_are_with_their_owner_from_the_first_batch() -> None:
    """Catches a GPU's pages that its own kernel filled on the host, where it found them."""

    def scene(session: _core.Session) -> list[Any]:
        source = session.allocate("gpu0", "managed", 64 * toy.MIB, "gpu0")
        destination = session.allocate("gpu0", "device", 64 * toy.MIB, "gpu0")
        flow = _core.Flow(source, destination, "gpu0", "kernel", 64 * 1024)  # far more slots than batches
        return seen(session.measure([flow], toy.options(batch=1)).flows[0].before)

    assert toy.play(toy.amd(), scene) == [["source", 16, {}, "gpu0"]]


def test_what_is_free_is_told() -> None:
    """Catches a plan that thinks all of a GPU's memory free."""

    def scene(session: _core.Session) -> list[int]:
        before = session.free_bytes("gpu0")
        held = session.allocate("gpu0", "device", 64 * toy.MIB, "gpu0")
        return [before - session.free_bytes("gpu0"), held.bytes, session.free_bytes("cpu0")]

    for sheet in (toy.nvidia(), toy.amd()):
        used, bytes, on_host = toy.play(sheet, scene)
        assert bytes <= used <= bytes + toy.MIB and on_host == 0


def test_no_case_asks_for_more_than_is_free() -> None:
    """Catches managed memory beyond what other programs leave of a GPU, with which drivers may hang it."""
    sheet = toy.nvidia()

    def scene() -> list[dict[str, Any]]:
        measurer = NativeMeasurer.open(sheet)
        flow = Flow(Buffer("cpu0", "managed"), Buffer("gpu0", "managed"), "gpu0")
        case = Case("prefetch", "unidirectional", (flow,), 64 * toy.MIB)
        answers = [measurer.measure(asked(case)).outcome]
        free = measurer.session.free_bytes("gpu0")
        held = measurer.session.allocate("gpu0", "device", free - 100 * toy.MIB, "gpu0")
        answers += [measurer.measure(asked(case)).outcome]
        assert held.bytes
        return [{name: answer.get(name) for name in ("status", "reason")} for answer in answers]

    before, after = toy.apart(scene)
    assert before == {"status": "measured", "reason": None}
    assert after["status"] == "skipped"
    assert "needs 128 MiB of managed memory, and gpu0 currently has 80 MiB available" in after["reason"]


def test_pages_between_gpus_pass_the_link() -> None:
    """Catches counters of links that pages do not move, which then speak against what the case claims."""

    def scene() -> dict[str, Any]:
        measurer = NativeMeasurer.open(toy.nvidia())
        flow = Flow(Buffer("gpu0", "managed"), Buffer("gpu1", "managed"), "gpu0")
        case = Case("prefetch", "unidirectional", (flow,), 64 * toy.MIB)
        answer = measurer.measure(asked(case)).outcome
        return {name: answer.get(name) for name in ("status", "link_bytes", "warnings")}

    answer = toy.apart(scene)
    assert answer["status"] == "measured"
    sent = answer["link_bytes"]["gpu0"]
    assert sent["counted"] >= sent["expected_at_least"] > 0
    assert "unexpected-path" not in [warning["id"] for warning in answer["warnings"]]
