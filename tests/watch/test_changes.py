"""`byteways watch` with changes and beside a run, and `byteways run --from`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from byteways.base.errors import BytewaysError
from byteways.ext.watch.changes import MEMORY_COLLECTOR, ProgramChange, changes_of
from byteways.ext.watch.folder import read_watch_folder
from byteways.ext.watch.launching import WatchLaunch
from byteways.record.run_folder import RunFolder
from tests.cli.called import byteways as called
from tests.watch.programs import HERE, PATIENCE_S, compiled, fake_mpi, program, watching

TRACE = Path(__file__).parents[1] / "watched" / "traces" / "kineto" / "torch-2.5.json"


def byteways(*words: str) -> subprocess.CompletedProcess[str]:
    """The command line in this folder."""
    return called(Path.cwd(), *words)


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder of a program with copies of a GPU, from a trace."""
    folder = tmp_path_factory.mktemp("traced") / "W"
    done = byteways("watch", "--out", str(folder), "--import", str(TRACE))
    assert done.returncode == 0, done.stderr
    return folder


def test_changes_that_are_asked_for() -> None:
    """Catches a value that is lost, and a program as it is that is not run."""
    found = changes_of(["A=1,2", "B=", r"C=x\,y,z"], ["pinned"])
    assert [(one.name, one.variables, one.memory) for one in found] == [
        ("", {}, ""),
        ("A=1", {"A": "1"}, ""),
        ("A=2", {"A": "2"}, ""),
        ("B=", {"B": ""}, ""),
        ("C=x,y", {"C": "x,y"}, ""),
        ("C=z", {"C": "z"}, ""),
        ("pinned", {}, "pinned"),
    ]
    assert len({one.folder_name for one in found}) == len(found)


@pytest.mark.parametrize(
    ("settings", "memories"),
    [
        (["A"], []),
        (["=1"], []),
        (["A B=1"], []),
        (["A=1,1"], []),
        ([], ["pined"]),
        ([], ["pinned", "pinned"]),
        ([], ["batch"]),
        ([], ["copies"]),
        (["BYTEWAYS_WATCH=/tmp"], []),
        (["BYTEWAYS_WATCH_MEMCPY=1"], []),
        (["CUDA_INJECTION64_PATH=/x.so"], []),
        (["NCCL_PROFILER_PLUGIN=x"], []),
        (["ROCP_TOOL_LIBRARIES=x"], []),
        (["LD_PRELOAD=/no/such/library.so"], []),
    ],
)
def test_changes_that_cannot_be_made(settings: list[str], memories: list[str]) -> None:
    """Catches a program that runs for hours before the mistake is found."""
    with pytest.raises(BytewaysError) as raised:
        changes_of(settings, memories)
    assert raised.value.hint


def test_what_is_preloaded_stays(tmp_path: Path) -> None:
    """Catches a library of the user that is replaced, or that a sanitizer refuses to run behind."""
    launch = WatchLaunch({"LD_PRELOAD": "/x/one.so:libasan.so.8 two.so"})
    ProgramChange("pinned", memory="pinned").apply(launch, tmp_path, 4096)
    memory = tmp_path / MEMORY_COLLECTOR
    assert launch.environment["LD_PRELOAD"] == f"libasan.so.8:{memory}:/x/one.so:two.so"
    assert (launch.environment["BYTEWAYS_WATCH_MEMORY"], launch.environment["BYTEWAYS_WATCH_THRESHOLD"]) == (
        "pinned",
        "4096",
    )
    plain = WatchLaunch({})
    ProgramChange("A=1", {"A": "1"}).apply(plain, tmp_path)
    assert plain.environment == {}


def test_a_program_that_cannot_load_the_library(tmp_path: Path) -> None:
    """Catches a program of another C library that does not start with other memory."""
    launch = WatchLaunch({}, loads_libraries=False)
    ProgramChange("pinned", memory="pinned").apply(launch, tmp_path)
    assert "LD_PRELOAD" not in launch.environment


def test_a_tool_of_the_user_stays_in_the_chain(tmp_path: Path) -> None:
    """Catches calls that a preloaded tool hides from the watch, or the watch from the tool."""
    tool = compiled("libtool.so", [HERE / "pmpi_tool.c", fake_mpi()], "-shared", "-fPIC")
    words = ("--set", f"LD_PRELOAD={tool}", "--repeat", "1", "--", program(), "send", "3")
    process = watching("-o", tmp_path / "W", *words)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out) == (0, "tool: 3 messages\n"), err
    [folder] = [path for path in (tmp_path / "W").iterdir() if path.name.startswith("1-LD_PRELOAD")]
    assert sum(one.count for one in read_watch_folder(folder).watched.bins if one.method == "MPI_Send") == 3


def test_each_turn_runs_every_change(tmp_path: Path) -> None:
    """Catches a change that reaches another run, a run that is lost, and turns in one order."""
    script = (
        "import os, sys; print(os.environ.get('A', 'none'), os.environ.get('BYTEWAYS_WATCH_MEMORY', 'none'))"
    )
    words = ("--set", "A=1", "--try", "hugepage", "--repeat", "2", "--", sys.executable, "-c", script)
    process = watching("-o", tmp_path / "W", *words)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    assert out.splitlines() == [
        *("none none", "1 none", "none hugepage"),
        *("1 none", "none hugepage", "none none"),
    ]
    found = json.loads((tmp_path / "W" / "trials.json").read_text())
    assert [(one["change"], one["turn"]) for one in found["runs"]] == [
        *(("", 0), ("A=1", 0), ("hugepage", 0)),
        *(("A=1", 1), ("hugepage", 1), ("", 1)),
    ]
    assert [(one["change"], one["turns"]) for one in found["changes"]] == [
        ("", 2),
        ("A=1", 2),
        ("hugepage", 2),
    ]
    assert all(one["duration_ratio"]["low"] <= one["duration_ratio"]["high"] for one in found["changes"][1:])
    folders = sorted(path.name for path in (tmp_path / "W").iterdir() if path.is_dir())
    assert folders == ["1-A=1", "1-as-it-is", "1-hugepage", "2-A=1", "2-as-it-is", "2-hugepage"]
    assert read_watch_folder(tmp_path / "W" / "1-A=1").manifest.options["change"] == "A=1"


def test_a_program_that_fails_has_its_status(tmp_path: Path) -> None:
    """Catches a failure that only other runs of the program show, and times of runs that ended early."""
    process = watching(
        "-o", tmp_path / "W", "--set", "A=1", "--repeat", "1", "--", program(), "send", "3", "exit", "4"
    )
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 4
    found = json.loads((tmp_path / "W" / "trials.json").read_text())
    assert [one["turns"] for one in found["changes"]] == [0, 0]


def test_a_change_that_ends_the_program(tmp_path: Path) -> None:
    """Catches a program that crashes with a change, of which nothing is said and whose status is 0."""
    script = "import os; os.environ.get('A') == '1' and os.abort()"
    page = tmp_path / "page.html"
    words = ("--set", "A=1", "--set", "B=1,2", "--repeat", "2", "--html", page, "--json")
    process = watching("-o", tmp_path / "W", *words, "--", sys.executable, "-c", script)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    [error] = [line for line in err.splitlines() if line.startswith("error:")]
    assert "A=1" in error and "SIGABRT" in error and "hint:" in err
    changes = {one["change"]: one for one in json.loads(out)["changes"]}
    assert changes["A=1"]["bad_ends"] == [{"exit_status": None, "signal": 6, "turns": 2}]
    assert (changes["A=1"]["turns"], changes["A=1"]["of_turns"]) == (0, 2)
    assert (changes["B=1"]["turns"], changes["B=1"]["bad_ends"]) == (2, [])
    assert "SIGABRT" in page.read_text(encoding="utf-8")


def test_values_that_all_end_the_program(tmp_path: Path) -> None:
    """Catches one value with a comma that is taken for two, without a word of how to write it."""
    script = "import os, sys; sys.exit(3 if os.environ.get('BTL') in ('self', 'tcp') else 0)"
    process = watching(
        *("-o", tmp_path / "W", "--set", "BTL=self,tcp", "--repeat", "1"),
        *("--", sys.executable, "-c", script),
    )
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert sum(line.startswith("error:") for line in err.splitlines()) == 2
    assert r"'BTL=self\,tcp'" in err


def test_an_allocator_of_the_program_is_said(tmp_path: Path) -> None:
    """Catches a change that was not made and is taken for one that gains nothing."""
    source = [HERE / "allocators.cpp", HERE / "allocators.h"]
    own = compiled("own", source, "-std=c++20", "-rdynamic", "-fno-builtin", "-DOWN_MALLOC", compiler="g++")
    shell = f"{own}; test $? = 7"
    process = watching(
        *("-o", tmp_path / "W", "--try", "hugepage", "--repeat", "1", "--json", "--", "sh", "-c", shell)
    )
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    found = json.loads(out[out.index("{") :])["changes"][1]["problems"]
    assert [one["code"] for one in found] == ["own-allocator"]
    assert "warning: hugepage: own" in err


def test_a_turn_that_fails_is_not_what_is_shown(tmp_path: Path) -> None:
    """Catches a launcher that fails once, whose empty run is measured and explained."""
    mark = tmp_path / "mark"
    new = f"not os.path.exists({str(mark)!r})"
    script = f"import os, sys; new = {new}; open({str(mark)!r}, 'w'); sys.exit(3 * new)"
    words = ("--set", "A=1", "--repeat", "2", "--", sys.executable, "-c", script)
    process = watching("-o", tmp_path / "W", *words)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 3
    shown = [name for name in ("1-as-it-is", "2-as-it-is") if str(tmp_path / "W" / name) in err]
    assert shown == ["2-as-it-is"]


@pytest.mark.parametrize("end", [("kill", "15"), ("exit", "130")])
def test_a_program_that_is_interrupted_is_not_run_again(tmp_path: Path, end: tuple[str, str]) -> None:
    """Catches a user who has to interrupt every run, and runs that are lost when the first is interrupted."""
    process = watching(
        "-o", tmp_path / "W", "--set", "A=1", "--repeat", "3", "--", program(), "send", "3", *end
    )
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == {"kill": 128 + 15, "exit": 130}[end[0]]
    assert len(json.loads((tmp_path / "W" / "trials.json").read_text())["runs"]) == 1


def test_advice_beside_a_run(traced: Path, tmp_path: Path) -> None:
    """Catches advice that is not in the JSON, and a page without it."""
    from unpack_examples import recorded  # type: ignore[import-not-found]

    run, page = recorded("h100x2/full"), tmp_path / "page.html"
    done = byteways("watch", "--read", str(traced), "--against", str(run), "--json", "--html", str(page))
    assert done.returncode == 0, done.stderr
    advice = json.loads(done.stdout)["advice"]
    reasons = {(one["bin"]["what"], one["bin"]["size_to"]): one["no_gain"] for one in advice["bins"]}
    assert reasons["copy", 8192] == "slower-than-run" and reasons["copy", 2**20] == "faster"
    assert advice["taken_ns"] > 0 and not advice["simulated"]
    text = page.read_text()
    assert 'data-chart="0"' in text and 'data-run="watch"' in text


def test_a_run_that_cannot_be_read_is_found_first(tmp_path: Path) -> None:
    """Catches a program that runs for hours before its run is looked for."""
    done = byteways(
        "watch", "-o", str(tmp_path / "W"), "--against", str(tmp_path / "none"), "--", str(program())
    )
    assert done.returncode == 2 and not (tmp_path / "W").exists()


def test_a_run_measures_what_a_program_moved(traced: Path, tmp_path: Path) -> None:
    """Catches sizes or ends of a program that a run leaves out."""
    out = tmp_path / "R"
    words = ("run", "--from", str(traced), "--machine", "h200-x4", "--out", str(out), "--no-report")
    done = byteways(*words)
    assert done.returncode == 0, done.stderr
    sizes = {record.size_bytes for record in RunFolder(out).records if record.interface == "copy"}
    moved = read_watch_folder(traced).watched.bins
    copied = {round(one.bytes / one.count) for one in moved if one.what == "copy" and one.source.memory}
    assert copied and copied <= sizes
    again = byteways("watch", "--read", str(traced), "--against", str(out), "--json")
    reasons = {
        one["no_gain"] for one in json.loads(again.stdout)["advice"]["bins"] if one["bin"]["what"] == "copy"
    }
    assert "not-in-run" not in reasons


@pytest.mark.parametrize(
    "words",
    [
        ("run", "quick", "--from", "{}"),
        ("run", "--from", "{}", "--transfers", "gpu0>gpu1"),
        ("run", "--from", "missing"),
        ("watch", "--read", "{}", "--set", "A=1"),
        ("watch", "--set", "A=1", "--import", str(TRACE)),
        ("watch", "--plan", "{}", "--", "true"),
        ("watch", "--try", "copies", "--plan", "missing", "--", "true"),
        ("watch", "--measure", "60s", "--import", str(TRACE)),
        ("watch", "--read", "{}", "--measure", "60s", "--against", "{}"),
        ("watch", "--read", "{}", "--measure", "soon"),
        ("watch", "--read", "{}", "--measure", "2s"),
        ("watch", "--read", "missing", "--measure", "60s"),
    ],
)
def test_words_that_do_not_go_together(traced: Path, words: tuple[str, ...]) -> None:
    """Catches an option that is ignored."""
    done = byteways(*(word.format(traced) for word in words))
    assert done.returncode == 2 and "hint:" in done.stderr


def test_nothing_to_measure(tmp_path: Path) -> None:
    """Catches an empty suite of a program that moved nothing between devices, and its status that is lost."""
    command = ("--measure", "60s", "--", sys.executable, "-c", "import sys; sys.exit(3)")
    process = watching("-o", tmp_path / "W", *command)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 3 and "error:" in err and not (tmp_path / "W" / "measured").exists()
    done = byteways("run", "--from", str(tmp_path / "W"))
    assert done.returncode == 2 and "can be measured" in done.stderr


def test_other_memory_leaves_results_alone(tmp_path: Path) -> None:
    """Catches a large allocation that is not zero, too small, or lost when it grows."""
    script = (
        "import hashlib; data = bytearray(3_000_000); data.extend(b'x' * 5_000_000); "
        "print(hashlib.sha256(data).hexdigest())"
    )
    plain = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    process = watching(
        *("-o", tmp_path / "W", "--try", "hugepage", "--try", "registered", "--repeat", "1"),
        *("--", sys.executable, "-c", script),
        variables={"PYTHONMALLOC": "malloc", **os.environ},
    )
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    assert out.splitlines() == 3 * [plain.strip()]
