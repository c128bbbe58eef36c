"""The data behind the map and the ranked ways."""

from __future__ import annotations

from pathlib import Path

from byteways.answers.results.index import Index
from byteways.questions.node_matrix import node_matrix
from byteways.record.run_folder import RunFolder
from byteways.report.explore import Explorer, explorer, question
from byteways.report.node.rates import gb_per_s, link_rates
from tests.report import sample_run


def explored(build: sample_run.Builder, folder: Path) -> Explorer:
    found = explorer(Index.of(RunFolder(build.write(folder))))
    assert found is not None
    return found


def ways(found: Explorer, pair: str, size: str, mode: int = 0) -> list[tuple[str, str, str]]:
    """Way, rate and verdict of each, in order."""
    data = found.data
    a, b = (data["devices"].index(end) for end in pair.split(">"))
    key = [a, b, data["sizeNames"].index(size), mode]
    entry = next(entry for entry in data["order"] if entry[:4] == key)
    cells = data["cells"]
    return [
        (data["ways"][cells["way"][n]], cells["text"][n], data["words"][verdict])
        for n, verdict in zip(entry[4], entry[5], strict=True)
    ]


def test_plain_ways_come_first_among_equals(tmp_path: Path) -> None:
    """Would catch settings or special memory before a program's default, and a slow way before a fast one."""
    build = sample_run.Builder(sample_run.topology(1), rounds=3)
    rates = {"registered": 55.0, "pinned": 55.0, "pinned-noncoherent": 55.0, "pageable": 14.0}
    for memory, rate in rates.items():
        build.measure("copy", [(f"cpu0:{memory}", "gpu0:device", "gpu0")], rate)
    for options in ({"copy_engine": 1}, {}):
        flow = [("cpu0:pinned", "gpu0:device", "gpu0")]
        build.measure("kernel", flow, 60.0, options=options)
    found = explored(build, tmp_path)
    assert [way for way, _, _ in ways(found, "cpu0>gpu0", found.size_name)] == [
        "kernel with pinned memory",
        "kernel with pinned memory (copy_engine=1)",
        "copy with pinned memory",
        "copy with pinned-noncoherent memory",
        "copy with registered memory",
        "copy with pageable memory",
    ]
    assert [(name, [label for _, label in some]) for name, some in found.ways] == [
        (
            "copy",
            [
                "copy with pinned memory",
                "copy with pageable memory",
                "copy with pinned-noncoherent memory",
                "copy with registered memory",
            ],
        ),
        ("kernel", ["kernel with pinned memory", "kernel with pinned memory (copy_engine=1)"]),
    ]


def test_one_way_stands_for_equal_pairs(tmp_path: Path) -> None:
    """Would catch a map, a picture and a matrix that show different results for one pair."""
    build = sample_run.four_pairs()
    flow = [("gpu0:device", "gpu1:device", "gpu1")]
    build.measure("kernel", flow, 420.0, peak=450)  # tried on one pair alone
    index = Index.of(RunFolder(build.write(tmp_path)))
    found = explorer(index)
    assert found is not None
    entry = next(one for one in found.data["order"] if one[:2] == [0, 1])
    texts, labels = found.data["cells"]["text"], found.data["ways"]
    shown, of_reads, of_writes = entry[6]
    assert labels[found.data["cells"]["way"][shown]] == "copy issued by the destination" and of_reads == shown
    assert of_writes is None
    assert (
        labels[found.data["cells"]["way"][entry[4][0]]] == "kernel issued by the destination"
    )  # the fastest of the pair alone
    matrix = node_matrix(index, [])
    (link,) = (rate for rate in link_rates(index, []) if {rate.link.a, rate.link.b} == {"gpu2", "nvswitch"})
    assert matrix is not None and link.best is not None
    assert texts[shown] == gb_per_s(matrix.cells["gpu0", "gpu1"])
    assert link.best.value == max(cell.value for pair, cell in matrix.cells.items() if "gpu2" in pair)


def test_a_question_is_an_address(tmp_path: Path) -> None:
    """Would catch a finding that links to another pair, size or mode, or to what the map does not have."""
    cells = Index.of(RunFolder(sample_run.h200x4(sizes=(sample_run.GIB,)).write(tmp_path))).cells
    told = {cell.record.pattern: question(cell) for cell in cells if cell.record.path == "gpu0>gpu1"}
    assert told == {"unidirectional": "pair=gpu0%3Egpu1&size=1+GiB"}
    both = next(cell for cell in cells if cell.record.pattern == "bidirectional")
    assert question(both) == "pair=gpu0%3Egpu1&size=1+GiB&both=1"
    others = [cell for cell in cells if cell.record.pattern == "fan-in"]
    assert {question(cell) for cell in others} == {""}
