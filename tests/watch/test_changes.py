"""`byteways watch` with changes and beside a run, and `byteways run --from`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from byteways.errors import BytewaysError
from byteways.record.run_folder import RunFolder
from byteways.watch.changes import MEMORY_LIBRARY, TRIED_MEMORY, ProgramChange, changes_of
from byteways.watch.folder import read_watch_folder
from byteways.watch.launching import WatchLaunch
from tests.cli.called import byteways as called
from tests.watch.programs import PATIENCE_S, program, watching

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
    ],
)
def test_changes_that_cannot_be_made(settings: list[str], memories: list[str]) -> None:
    """Catches a program that runs for hours before the mistake is found."""
    with pytest.raises(BytewaysError) as raised:
        changes_of(settings, memories)
    assert raised.value.hint


def test_what_is_preloaded_stays(tmp_path: Path) -> None:
    """Catches a collector or a library of the user that the other memory replaces."""
    launch = WatchLaunch({"LD_PRELOAD": "/x/one.so"})
    ProgramChange("pinned", memory="pinned").apply(launch, tmp_path, 4096)
    assert launch.environment["LD_PRELOAD"] == f"/x/one.so:{tmp_path / MEMORY_LIBRARY}"
    assert (launch.environment["BYTEWAYS_WATCH_MEMORY"], launch.environment["BYTEWAYS_WATCH_THRESHOLD"]) == (
        "pinned",
        "4096",
    )
    plain = WatchLaunch({})
    ProgramChange("A=1", {"A": "1"}).apply(plain, tmp_path)
    assert plain.environment == {}


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


def test_kinds_of_memory_are_those_of_the_library() -> None:
    """Catches a kind that the library ignores."""
    source = (Path(__file__).parents[2] / "native/watch/allocations/entries.cpp").read_text()
    assert set(re.findall(r'name == "(\w+)"|name != "(\w+)"', source)) == {
        (one, "") if one != "registered" else ("", one) for one in TRIED_MEMORY
    }


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
