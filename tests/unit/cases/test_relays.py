"""Routes on paper: which relays a case means, what is refused, what the links allow, what is said of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from byteways.answers.results.summary import cells
from byteways.base.errors import BytewaysError
from byteways.cases.case import Case, Flow
from byteways.cases.relays import Paths, paths_of
from byteways.plan.footprint import footprint
from byteways.plan.legality import refusal
from byteways.plan.peaks import peak
from byteways.plan.suite import parse
from byteways.questions.findings import findings
from byteways.questions.subjects.routes import gains, route_tables
from byteways.record.run_folder import RunFolder
from tests.report import sample_run
from tests.unit import machines

H200X4 = machines.h200x4()
GPUS = ["gpu0", "gpu1", "gpu2", "gpu3"]
MIB, GIB = sample_run.MIB, sample_run.GIB


def case(source: str, destination: str, executor: str, size: int = 64 * MIB, **options: int | str) -> Case:
    flow = Flow.from_json({"source": source, "destination": destination, "executor": executor})
    return Case("route", "unidirectional", (flow,), size, options=options)


def to_gpu(number: int, **options: int | str) -> Case:
    return case("cpu0:pinned", f"gpu{number}:device", f"gpu{number}", **options)


@pytest.mark.parametrize(
    ("what", "relays"),
    [
        (to_gpu(0), ("gpu1", "gpu2", "gpu3")),
        (to_gpu(2, relays=2), ("gpu3", "gpu0")),
        (to_gpu(2, relays=0), ()),
        (to_gpu(0, via="gpu3,gpu1"), ("gpu3", "gpu1")),
        (case("gpu2:device", "cpu0:pinned", "gpu2", relays=1), ("gpu3",)),
        (case("gpu1:device", "gpu0:device", "gpu1"), ("gpu2", "gpu3")),
    ],
)
def test_relays_follow_the_end(what: Case, relays: tuple[str, ...]) -> None:
    """Catches an end of the transfer that is taken for a relay, and an order that depends on the run."""
    assert paths_of(what, what.flows[0], GPUS) == Paths(relays, 4 * MIB, 2)


@pytest.mark.parametrize(
    ("what", "why"),
    [
        (to_gpu(0, relays=4), "4 relays requested, but 3 GPUs can relay cpu0>gpu0"),
        (to_gpu(0, relays=1, via="gpu1"), "either via, which names the relays"),
        (to_gpu(0, via="gpu0"), "gpu0 is an end of the transfer"),
        (to_gpu(0, via="gpu9"), "there is no gpu9 here"),
        (to_gpu(0, via="gpu1,gpu1"), "names a relay twice"),
        (to_gpu(0, piece_bytes=5000), "piece_bytes must be a multiple of 4096, not 5000"),
        (to_gpu(0, size=16), "16 bytes cannot be split over 4 paths"),
        (to_gpu(0, size=GIB, piece_bytes=65536), "2048 pieces per stream of a relay"),
        (to_gpu(0, piece_bytes=2**37), "its buffers need"),
        (case("gpu0:device", "gpu0:device", "gpu0"), "there is no second path"),
        (
            case("cpu0:pageable", "gpu0:device", "gpu0"),
            "needs page-locked memory, and pageable memory is not",
        ),
        (case("cpu0:pinned", "gpu0:device", "gpu1"), "gpu1 is not an end of cpu0>gpu0"),
        (case("cpu0:pinned", "cpu0:pinned", "cpu0"), "route runs on a GPU"),
    ],
)
def test_what_cannot_be_is_refused_while_planning(what: Case, why: str) -> None:
    """Catches a route that a worker would only then find out to be none."""
    assert why in (refusal(what, *H200X4) or "")


@pytest.mark.parametrize("options", [{"relays": 4}, {"via": "gpu9"}, {"via": "gpu0"}])
def test_a_refused_route_has_no_relays(options: dict[str, int | str]) -> None:
    """Catches an internal error where memory or peak of a case are asked for before its refusal, and the peak
    of the direct route for a case that has relays.
    """
    what, direct = to_gpu(0, **options), to_gpu(0, relays=0)
    assert footprint(what, H200X4[1]) == footprint(direct, H200X4[1])
    assert peak(H200X4[0], direct).bytes_per_s is not None
    assert peak(H200X4[0], what).bytes_per_s is None


def test_a_relay_needs_access_to_the_gpu_at_the_end() -> None:
    """Catches relays that would pass on through the host, which the driver does without a word."""
    machine = machines.gpus(3, without_peer=[("gpu2", "gpu0")])
    why = "gpu2 cannot relay: gpu2 and gpu0 have no peer access"
    assert why in (refusal(to_gpu(0, relays=2), *machine) or "")
    assert refusal(to_gpu(0, relays=1), *machine) is None
    assert refusal(to_gpu(1, relays=2), *machine) is None


def test_staging_is_counted() -> None:
    """Catches relays whose memory nobody knows to be used."""
    needed = footprint(to_gpu(0, relays=1, depth=4, piece_bytes=MIB), H200X4[1])
    assert needed["gpu1"] == 4 * MIB
    assert "gpu2" not in needed


def test_peak_is_the_sum_over_the_paths_where_links_allow_it() -> None:
    """Catches a peak of the straight path alone, and one that counts a shared link twice."""
    alone = peak(H200X4[0], to_gpu(0, relays=0)).bytes_per_s
    assert alone
    four = peak(H200X4[0], to_gpu(0, relays=3))
    assert four.bytes_per_s == pytest.approx(4 * alone)
    assert "as the sum of 4 paths" in four.source
    between = peak(H200X4[0], case("gpu0:device", "gpu1:device", "gpu0", relays=2))
    assert between.bytes_per_s == pytest.approx(450e9)  # all of it leaves gpu0 over the same links


def test_suite_names_gpus(tmp_path: Path) -> None:
    """Catches names that nothing understands before a machine is opened."""
    text = """
name = "mine"
title = "Mine"
[[sweep]]
name = "one"
interface = "route"
source = "cpu*:pinned"
destination = "gpu0:device"
size = "1MiB"
options = { via = "gpu1,gpu2" }
"""
    assert parse(text, file="mine.toml").sweeps[0].options == {"via": ("gpu1,gpu2",)}
    for wrong in ('"gpu1;gpu2"', '"cpu0"', "3"):
        with pytest.raises(BytewaysError, match="instead of GPU names"):
            parse(text.replace('"gpu1,gpu2"', wrong), file="mine.toml")


def built(*, gain: float) -> sample_run.Builder:
    """Straight and over 4 paths at three sizes: a loss at 1 MiB, then `gain` times the straight path."""
    build = sample_run.Builder(sample_run.topology(4))
    ends = [("cpu0:pinned", "gpu0:device", "gpu0")]
    paths = ["cpu0>gpu0", *(f"cpu0>gpu{relay}>gpu0" for relay in (1, 2, 3))]
    for size, factor in ((MIB, 0.5), (64 * MIB, gain), (GIB, gain)):
        build.measure("route", ends, 55.0, size=size, options={"relays": 0}, parts={"cpu0>gpu0": 1.0})
        build.measure(
            "route", ends, 55.0 * factor, size=size, options={"relays": 3}, parts=dict.fromkeys(paths, 0.25)
        )
    return build


def test_gain_and_from_which_size_on() -> None:
    """Catches a gain that is claimed for sizes at which the straight path is faster."""
    (gain,) = gains(cells(built(gain=3.0).records))
    assert (gain.paths, gain.via, gain.pays_from, gain.loses_at) == (4, "4 paths", 64 * MIB, MIB)
    assert gain.claim.leads and gain.claim.effect == pytest.approx(3.0)


def test_sentences(tmp_path: Path) -> None:
    """Catches a gain that is called one where paths only cost, and a sentence without its numbers."""
    won = findings(RunFolder(built(gain=3.0).write(tmp_path / "won")))[0]
    assert won.title == (
        "cpu0>gpu0 over 4 paths reaches 165 GB/s at 1 GiB, 3 times as fast as the same copies over the "
        "direct path (55)"
    )
    assert "It pays off from 64 MiB. It loses at 1 MiB." in won.detail
    lost = [item.title for item in findings(RunFolder(built(gain=0.8).write(tmp_path / "lost")))]
    assert (
        "Relays do not pay off on cpu0>gpu0: 4 paths reach 44 GB/s at 1 GiB, 20 % less than the direct "
        "path (55)" in lost
    )


def test_tables() -> None:
    """Catches a table that mixes numbers of paths, and pieces that are lost in it."""
    build = built(gain=3.0)
    ends = [("cpu0:pinned", "gpu0:device", "gpu0")]
    parts = {"cpu0>gpu0": 0.5, "cpu0>gpu1>gpu0": 0.5}
    for piece in (MIB, 4 * MIB):
        options = {"relays": 1, "piece_bytes": piece, "depth": 2}
        build.measure("route", ends, 100.0, options=options, parts=parts)
    sizes, pieces = route_tables(cells(build.records))
    assert [row[0] for row in sizes.rows] == ["straight", "4 paths"]
    assert sizes.headings[1:] == ("1 MiB", "64 MiB", "1 GiB")
    assert ([row[0] for row in pieces.rows], pieces.headings[1:]) == (["1 MiB", "4 MiB"], ("2",))
