"""`byteways show`: the tables of a run, plain in a pipe."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from byteways.cli import main
from byteways.cli.progress import WRONG
from byteways.record.warnings import Warning
from scripts.unpack_examples import recorded
from tests.report import sample_run


@pytest.fixture(scope="module")
def gpu_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_run.h200x4().write(tmp_path_factory.mktemp("gpu"))


@pytest.fixture(scope="module")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated run with more than a page of tables and findings."""
    build = sample_run.h200x4()
    build.simulated = True
    return build.write(tmp_path_factory.mktemp("long"))


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole rows, unless a test asks for less."""
    monkeypatch.setenv("COLUMNS", "400")


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["show", *words]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def table(text: str, title: str) -> list[str]:
    """The lines of a table, without its title and trailing blanks."""
    lines = text.splitlines()
    rows = []
    for line in lines[lines.index(title) + 1 :]:
        if not line.strip():
            break
        rows.append(line.rstrip())
    return rows


def test_matrix(gpu_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch rows and columns swapped, a wrong unit, or a figure in the wrong cell."""
    assert table(
        shown(capsys, str(gpu_run), "--all"), "copy issued by the destination, unidirectional at 1 GiB, GB/s"
    ) == [
        "from \\ to  gpu0  gpu1  gpu2  gpu3",
        "gpu0       2084   394   394   394",
        "gpu1        394  2084   394   394",
        "gpu2        394   394  2084   394",
        "gpu3        394   394   394  2084",
        "88 % of 450.0 GB/s; Diagonal: copy inside one GPU, each byte counted once",
    ]


def test_rows_are_sources(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch a matrix that shows gpu1>gpu0 where gpu0>gpu1 stands, and gpu10 before gpu2."""
    build = sample_run.Builder(sample_run.topology(11))
    build.measure("copy", [("gpu10:device", "gpu2:device", "gpu10")], 400.0)
    build.measure("copy", [("gpu2:device", "gpu10:device", "gpu2")], 300.0)
    assert table(
        shown(capsys, str(build.write(tmp_path)), "--all"),
        "copy issued by the source, unidirectional at 1 GiB, GB/s",
    )[:3] == [
        "from \\ to  gpu2  gpu10",
        "gpu2               300",
        "gpu10       400",
    ]


def test_pipe_is_plain_and_fits_80_columns(
    gpu_run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Would catch colour codes or rules where a program reads, and lines that an 80-column log folds."""
    monkeypatch.delenv("COLUMNS")
    text = shown(capsys, str(gpu_run), "--all")
    assert "\x1b" not in text
    assert not set(text) & set("│─┃━╭╰")
    assert max(map(len, text.splitlines())) <= 80
    monkeypatch.setenv("COLUMNS", "400")
    assert (
        max(map(len, shown(capsys, str(gpu_run), "--all").splitlines())) > 160
    )  # the row of all pairs is whole


def test_node_is_drawn_first(gpu_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch figures in the wrong cell, a share without its peak, or a way that is not named."""
    text = shown(capsys, str(gpu_run), "--all")
    assert text.splitlines()[2] == (
        "4 × H200: GPU pairs over NVLink4 ×18 396 GB/s, 88 % of peak; host to GPU 55.4 GB/s, 88 % of peak"
    )
    assert table(text, "Node: best method of each link class at 1 GiB, GB/s and % of peak") == [
        "  from       gpu0       gpu1       gpu2       gpu3       host",
        "  gpu0          ·   396  88%   396  88%   396  88%  55.2  88%",
        "  gpu1   396  88%          ·   396  88%   396  88%  55.2  88%",
        "  gpu2   396  88%   396  88%          ·   396  88%  55.2  88%",
        "  gpu3   396  88%   396  88%   396  88%          ·  55.2  88%",
        "  host  55.4  88%  55.4  88%  55.4  88%  55.4  88%          ·",
        "  Between GPUs: copy issued by the source",
        "  From host to GPU: copy with pinned memory",
        "  From GPU to host: copy with pinned memory",
    ]
    assert text.index("Node: best method") < text.index("Recommended interface") < text.index("\nFindings")


def titles(text: str) -> list[str]:
    """The numbers of the findings that a text has."""
    return re.findall(r"^ {0,2}(\d+)\. ", text, re.MULTILINE)


@pytest.mark.parametrize("run", ["h200x4-rounds/full", "h100x4/quick", "h100x2-ranks/mpi"])
def test_a_page_of_terminal(
    run: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a page that scrolls away, a finding that is left out of the count, and one out of order."""
    monkeypatch.setenv("COLUMNS", "80")
    folder = str(recorded(run))
    text = shown(capsys, folder)
    assert len(text.splitlines()) <= 60
    assert max(map(len, text.splitlines())) <= 80
    numbers = titles(text)
    (left,) = re.findall(r"^(\d+) more findings", text, re.MULTILINE)
    assert len(numbers) >= 3 and numbers == [str(number + 1) for number in range(len(numbers))]
    assert len(titles(shown(capsys, folder, "findings"))) == len(numbers) + int(left)


def test_sections_by_name(
    long_run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a section that the page names and no command prints, or that --all leaves out."""
    monkeypatch.setenv("COLUMNS", "80")
    page, everything = shown(capsys, str(long_run)), shown(capsys, str(long_run), "--all")
    named = " ".join(page[page.index("by name:") :].split())
    names = named[named.index("SECTION ") + 8 : named.index("; or --all")].split(", ")
    assert {"node", "recommended", "findings", "matrices", "latency", "patterns", "warnings"} < set(names)
    lines = [line for line in everything.splitlines() if not line.startswith("SIMULATED")]
    for name in names:
        mark, *section = shown(capsys, str(long_run), name).splitlines()
        assert mark.startswith("SIMULATED") and section
        at = lines.index(section[0])
        assert [line for line in section if not line.startswith("SIMULATED")] == lines[at : at + len(section)]
    both = shown(capsys, str(long_run), "latency", "node")
    assert both.index("Latency of a dependent load") < both.index("Node: ")


def test_simulated_is_said_once_a_screen(long_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a screen of simulated figures without the mark, and a mark above each table."""
    assert shown(capsys, str(long_run)).count("SIMULATED") == 1
    lines = shown(capsys, str(long_run), "--all").splitlines()
    marks = [number for number, line in enumerate(lines) if line.startswith("SIMULATED")]
    gaps = [later - earlier for earlier, later in zip(marks, [*marks[1:], len(lines)], strict=True)]
    assert marks[0] == 0 and len(gaps) > 1
    assert min(gaps[:-1]) >= 60 and max(gaps) < 90  # a table is not cut


@pytest.mark.parametrize("status", sorted(WRONG))
def test_what_failed_is_not_measured(status: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a run that failed and names a section which does not have the reason."""
    build = sample_run.Builder(sample_run.topology(2))
    build.lose(status, "the driver has gone", "copy", [("gpu0:device", "gpu1:device", "gpu0")])
    assert "the driver has gone" in shown(capsys, str(build.write(tmp_path)), "not-measured")


def test_a_short_run_is_printed_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a page that hides the tables of a run which it has room for."""
    build = sample_run.Builder(sample_run.topology(2))
    build.measure("copy", [("gpu0:device", "gpu1:device", "gpu0")], 400.0)
    folder = str(build.write(tmp_path))
    assert shown(capsys, folder) == shown(capsys, folder, "--all")


def test_only_and_size(gpu_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch filters that are ignored, or tables that show another size than asked for."""
    text = shown(capsys, str(gpu_run), "--only", "interface=kernel,path=gpu0>gpu1", "--size", "1MiB")
    assert table(text, "kernel issued by the destination, unidirectional at 1 MiB, GB/s") == [
        "from \\ to  gpu1",
        "gpu0        181",
        "40 % of 450.0 GB/s",
    ]
    assert "copy" not in text
    assert "1 GiB" not in text


def test_json(gpu_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch JSON that lacks the interval, or mixes units."""
    data = json.loads(
        shown(capsys, str(gpu_run), "--json", "--only", "interface=pointer-chase", "--size", "1GiB")
    )
    assert {cell["latency_ns"] for cell in data["cells"]} == {640.0, 828.0, 1171.0, 96.0}
    cell = data["cells"][0]
    assert cell["latency_ns_interval"][0] < cell["latency_ns"] < cell["latency_ns_interval"][1]
    assert data["findings"][0]["title"].startswith("Load latency on a GPU: its own memory 640 ns")
    assert data["not_measured"] == []
    assert data["simulated"] is False


def test_replicates_become_one_cell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch rounds counted as cases, or an interval that ignores their spread."""
    build = sample_run.Builder(sample_run.topology(2), rounds=3, spread=0.1, half_width=0.001)
    build.measure("copy", [("gpu0:device", "gpu1:device", "gpu0")], 400.0)
    cell = json.loads(shown(capsys, str(build.write(tmp_path)), "--json"))["cells"][0]
    assert cell["rounds"] == 3
    assert cell["bandwidth_bytes_per_s"] == pytest.approx(400e9)
    low, high = cell["bandwidth_bytes_per_s_interval"]
    assert low < 360e9 and high > 440e9


def test_simulated_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch simulated figures that could be taken for measured ones."""
    build = sample_run.cpu_only()
    build.simulated = True
    assert shown(capsys, str(build.write(tmp_path)), "--all").startswith("SIMULATED")


def test_damaged_lines_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch a damaged journal being shown as if it were whole."""
    build = sample_run.cpu_only()
    build.extra_lines = ['{"case_id": 1}']
    assert main(["show", str(build.write(tmp_path)), "--all"]) == 0
    captured = capsys.readouterr()
    assert "1 damaged line(s)" in captured.err
    assert "1 line of measurements.jsonl could not be read" in captured.out


def test_markup_in_names_is_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch a name from the machine being read as terminal markup."""
    build = sample_run.Builder(sample_run.topology(2, host="[red]host[/red]"))
    warning = Warning("[bold]noisy", "[/]", "1", "[link=x]advice")
    build.measure("copy", [("gpu0:device", "gpu1:device", "gpu0")], 394.0, warnings=[warning])
    text = shown(capsys, str(build.write(tmp_path)), "--all")
    assert "[red]host[/red]" in text
    assert "[link=x]advice" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show", "nowhere"], "nowhere is not a run folder"),
        (["show", "RUN/run.json"], "hint: name the folder it is in: RUN"),
        (["show", "RUN", "--only", "interfce=copy"], "unknown key 'interfce'"),
        (["show", "RUN", "--only", "interface=nosuch"], "unknown interface 'nosuch'"),
        (["show", "RUN", "--size", "0"], "--size"),
        (
            ["show", "RUN", "latncy"],
            "did you mean 'latency'? valid: node, recommended, findings, contention, ",
        ),
        (["show", "RUN", "node", "nosuch"], "no section 'nosuch' in this run"),
        (["show", "RUN", "node", "--all"], "hint: byteways show RUN node, or byteways show RUN --all"),
        (["show", "RUN", "node", "--json"], "--json prints all sections, not node alone"),
    ],
)
def test_errors(gpu_run: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    """Would catch a traceback, or an empty page, for wrong usage."""
    assert main([word.replace("RUN", str(gpu_run)) for word in words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert said in captured.err.replace(str(gpu_run), "RUN")
    assert "hint: " in captured.err


def state(build: sample_run.Builder, folder: Path, **changes: object) -> Path:
    """A run folder whose manifest says otherwise."""
    build.write(folder)
    path = folder / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return folder


@pytest.mark.parametrize(
    ("changes", "head", "told"),
    [
        (
            {"state": "running", "planned": 90},
            "not finished (no end recorded): 66 of 90 planned measurements recorded",
            "This run is not finished (no end recorded), 66 of 90 planned measurements are recorded: "
            "continue with `byteways run --resume RUN`.",
        ),
        (
            {"state": "interrupted", "planned": 90},
            "interrupted: 66 of 90 planned measurements recorded",
            "This run is interrupted, 66 of 90 planned measurements are recorded: "
            "continue with `byteways run --resume RUN`.",
        ),
        (
            {"state": "complete", "planned": 90},
            "complete: 66 of 90 planned measurements recorded",
            "This run is complete, but only 66 of 90 planned measurements are recorded: measurements.jsonl "
            "has lost the others; continue with `byteways run --resume RUN`.",
        ),
    ],
)
def test_unfinished_runs_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, object], head: str, told: str
) -> None:
    """Would catch a dead run that reads like a whole one."""
    folder = state(sample_run.cpu_only(), tmp_path, **changes)
    assert main(["show", str(folder)]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[0] == f"quick on fixture, 2026-01-02 03:04 UTC, {head}"
    assert captured.err == f"warning: {folder}: {told}\n"


@pytest.mark.parametrize("verb", ["show", "report", "export"])
def test_lost_figures_are_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    """Would catch an empty page over a run whose figures were deleted."""
    folder = sample_run.cpu_only().write(tmp_path)
    (folder / "measurements.jsonl").unlink()
    assert main([verb, str(folder)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"error: {folder} has no results")
    assert not (folder / "report.html").exists()


def test_no_blanks_at_the_end_of_lines(gpu_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch lines that are filled up with blanks in a pipe."""
    lines = shown(capsys, str(gpu_run), "--all").splitlines()
    assert [line for line in lines if line != line.rstrip()] == []


def on_a_terminal(folder: Path, columns: int, **environment: str) -> str:
    """What `show` writes to a terminal of this width."""
    master, slave = os.openpty()
    command = [sys.executable, "-m", "byteways", "show", str(folder), "--all"]
    more = {"COLUMNS": str(columns), "TERM": "xterm-256color", **environment}
    with subprocess.Popen(command, stdout=slave, env=os.environ | more) as process:
        os.close(slave)
        parts = []
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # the terminal is closed at its other end
                break
            if not part:
                break
            parts.append(part)
        assert process.wait(60) == 0
    os.close(master)
    return b"".join(parts).decode().replace("\r\n", "\n")


def test_continued_lines_keep_their_indent(tmp_path: Path) -> None:
    """Would catch findings whose further lines start below their number."""
    text = on_a_terminal(sample_run.cpu_only().write(tmp_path), 60, NO_COLOR="1")
    lines = text[text.index("Findings") : text.index("\nIn host memory")].splitlines()[1:]
    found = [line for line in lines if line.strip()]
    assert max(map(len, found)) <= 60
    assert all(line.startswith("     ") or re.match(r" {0,2}\d+\. \S", line) for line in found)
    assert sum(line.startswith("     ") for line in found) > 12


def test_no_color_means_plain(tmp_path: Path) -> None:
    """Would catch bold or dim text on a terminal where NO_COLOR asks for none, or plain text without it."""
    folder = sample_run.cpu_only().write(tmp_path)
    assert "\x1b" not in on_a_terminal(folder, 80, NO_COLOR="1")
    assert "\x1b[1m" in on_a_terminal(folder, 80)
