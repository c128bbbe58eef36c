"""The node as a matrix: which result stands for a pair, and how it is printed."""

from __future__ import annotations

import io
import re
from pathlib import Path

from byteways.answers.best.title import results
from byteways.answers.claims.finding import Finding
from byteways.answers.results.index import Index
from byteways.console.node_text import print_node
from byteways.console.terminal import console
from byteways.questions.findings import findings
from byteways.questions.node_matrix import NodeMatrix, node_matrix
from byteways.record.run_folder import RunFolder
from tests.changed import replace
from tests.report import rank_runs, sample_run
from tests.report.run_builder import GB, MIB, Builder


def matrix_of(build: Builder, folder: Path) -> NodeMatrix | None:
    index = Index.of(RunFolder(build.write(folder)))
    found: list[Finding] = findings(index)
    return node_matrix(index, found)


def printed(matrix: NodeMatrix | None, width: int = 80) -> list[str]:
    assert matrix is not None
    text = io.StringIO()
    print_node(console(file=text, width=width, color_system=None), matrix)
    return [line.rstrip() for line in text.getvalue().splitlines()]


def pairs(gpus: int) -> list[tuple[int, int]]:
    return [(a, b) for a in range(gpus) for b in range(gpus) if a != b]


def copies(build: Builder, gpus: int, rate: float, odd: tuple[int, ...] = ()) -> None:
    """Copies between all pairs; those of `odd` GPUs reach half."""
    for a, b in pairs(gpus):
        own = rate / 2 if {a, b} & {*odd} else rate
        build.measure("copy", [(f"gpu{a}:device", f"gpu{b}:device", f"gpu{a}")], own, peak=450.0)


def test_pairs_of_a_class_show_the_same_way(tmp_path: Path) -> None:
    """Would catch one pair that looks better because one more way was tried there."""
    build = Builder(sample_run.topology(4))
    copies(build, 4, 300.0)
    build.measure("kernel", [("gpu0:device", "gpu1:device", "gpu0")], 400.0)
    matrix = matrix_of(build, tmp_path)
    assert matrix is not None
    assert {cell.record.interface for cell in matrix.cells.values()} == {"copy"}
    assert matrix.ways == (("gpu-gpu", "copy issued by the source"),)


def test_outliers_have_a_mark(tmp_path: Path) -> None:
    """Would catch a slow GPU that is told by colour alone."""
    build = Builder(sample_run.topology(6))
    copies(build, 6, 396.0, odd=(5,))
    lines = printed(matrix_of(build, tmp_path))
    assert lines[3].split() == ["gpu0", "·", *["396", "88%"] * 4, "198", "44%!"]
    assert lines[-1] == "  ! an outlier among equal links"


def test_sixteen_gpus_fit_80_columns(tmp_path: Path) -> None:
    """Would catch lines that a terminal folds, or a node that is left out though it fits."""
    build = Builder(sample_run.topology(16))
    copies(build, 16, 396.0, odd=(5,))
    for gpu in range(16):
        build.measure("copy", [("cpu0:pinned", f"gpu{gpu}:device", f"gpu{gpu}")], 55.0)
    lines = printed(matrix_of(build, tmp_path))
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line.startswith("Node")] == [
        "Node: best method of each link class at 1 GiB, GB/s",
        "Node: best method of each link class at 1 GiB, % of peak",
    ]
    assert lines[2].split() == ["from", *map(str, range(16)), "host"]
    assert lines[3].split() == ["gpu0", "·", *["396"] * 3, "396!198", *["396"] * 10, "·"]


def test_equal_shares_take_a_line(tmp_path: Path) -> None:
    """Would catch a second matrix of equal numbers, or a line that hides one that differs."""
    build = Builder(sample_run.topology(8))
    copies(build, 8, 396.0)
    lines = printed(matrix_of(build, tmp_path / "even"))
    assert [line for line in lines if line.startswith("Node")] == [
        "Node: best method of each link class at 1 GiB, GB/s"
    ]
    assert "  Of the peak: 88 % among each other" in lines
    build = Builder(sample_run.topology(8))
    copies(build, 8, 396.0, odd=(5,))
    lines = printed(matrix_of(build, tmp_path / "odd"))
    assert "Node: best method of each link class at 1 GiB, % of peak" in lines
    assert not any("Of the peak" in line for line in lines)


def test_a_node_wider_than_the_console_says_so(tmp_path: Path) -> None:
    """Would catch folded rows, which nobody can read, a silent gap, or a width that is not enough."""
    build = Builder(sample_run.topology(16))
    copies(build, 16, 396.0)
    matrix = matrix_of(build, tmp_path)
    told = " ".join(printed(matrix, width=40)).strip()
    found = re.fullmatch(
        r"Node: the matrix of 16 devices needs (\d+) columns, here are 40; COLUMNS=\1 before .*", told
    )
    assert found, told
    assert any("gpu15" in line for line in printed(matrix, width=int(found[1])))


def test_ranks_have_a_matrix_of_messages(tmp_path: Path) -> None:
    """Would catch ranks without a node, or the host's row between them."""
    matrix = matrix_of(rank_runs.sent(), tmp_path)
    assert matrix is not None
    assert all("/" in name for name in matrix.names)
    assert {what for what, _ in matrix.ways} == {"Between ranks"}


def test_memory_that_a_package_shares_has_no_share(tmp_path: Path) -> None:
    """Would catch '3.4 % of peak' in a title: the peak of a memory is none of a link."""
    machine = sample_run.topology(2)
    links = tuple(
        replace(link, peak_bytes_per_s=None) if link.kind == "pcie" else link for link in machine.links
    )
    build = Builder(replace(machine, links=links))
    copies(build, 2, 396.0)
    build.measure("copy", [("cpu0:pinned", "gpu0:device", "gpu0")], 90.0, peak=2662.0)
    index = Index.of(RunFolder(build.write(tmp_path)))
    matrix = node_matrix(index, findings(index))
    assert matrix is not None
    assert index.of_kind("cpu-gpu")[0].peak == 2662 * GB
    assert ("host", "gpu0") not in matrix.shares and ("gpu0", "gpu1") in matrix.shares
    assert results(index).endswith("88 % of peak; host to GPU 90 GB/s")


def test_a_title_spans_paths_that_differ(tmp_path: Path) -> None:
    """Would catch a title that names the rate of half of the links as that of all."""
    build = Builder(sample_run.topology(6))
    copies(build, 6, 396.0, odd=(5,))
    text = results(Index.of(RunFolder(build.write(tmp_path))))
    assert text == "GPU pairs over NVLink4 ×18 198 to 396 GB/s, 44–88 % of peak"


def test_a_title_names_a_size_below_what_a_link_needs(tmp_path: Path) -> None:
    """Would catch the rate of a small transfer that reads like what the link can do."""
    build = Builder(sample_run.topology(2))
    build.measure("copy", [("gpu0:device", "gpu1:device", "gpu0")], 60.0, size=MIB)
    assert results(Index.of(RunFolder(build.write(tmp_path)))).endswith(" 60 GB/s at 1 MiB")


def test_a_title_of_messages_alone(tmp_path: Path) -> None:
    """Would catch a machine without a result as the title of a run between ranks."""
    build = Builder(sample_run.topology(0))
    rank_runs.send(build, MIB, 9.0)
    text = results(Index.of(RunFolder(build.write(tmp_path))))
    assert text == "between ranks 9 GB/s at 1 MiB"


def test_a_title_tells_how_unsure_a_rate_is(tmp_path: Path) -> None:
    """Would catch '20 GB/s' where another run may well get 5."""
    build = Builder(sample_run.topology(2), spread=0.4)
    build.measure("copy", [("gpu0:device", "gpu1:device", "gpu0")], 396.0)
    text = results(Index.of(RunFolder(build.write(tmp_path))))
    assert re.search(r"×18 \d+ \([\d.]+–[\d.]+\) GB/s$", text), text
