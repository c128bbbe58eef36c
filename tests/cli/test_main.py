"""The command line as a whole: help, errors in one style, exit statuses, nothing imported too early."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from byteways import __version__, cli
from byteways.base.errors import BytewaysError, ExitStatus
from byteways.cli import frame
from tests.cli import called
from tests.report import sample_run


def byteways(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "byteways", *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=240,
    )


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_help_names_every_verb(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """Would catch a verb that cannot be found, or help that goes to stderr."""
    done = called.byteways(tmp_path, *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    for verb, summary in frame.VERBS.items():
        assert verb in done.stdout and summary in done.stdout


@pytest.mark.parametrize("verb", frame.VERBS)
def test_every_verb_has_help(verb: str, tmp_path: Path) -> None:
    """Would catch a verb whose module or function is missing, or whose options Typer cannot read."""
    done = called.byteways(tmp_path, verb, "--help")
    assert done.returncode == 0, done.stderr
    assert f"byteways {verb}" in done.stdout


def test_help_without_a_verb_lists_all_by_task() -> None:
    """Would catch a verb that help does not list, and a task without verbs."""
    lines = byteways("help").stdout.splitlines()
    assert [line.split()[0] for line in lines if line.startswith("  ")] == [*frame.VERBS]
    assert all(task in lines for task in frame.VERBS_BY_TASK)


@pytest.mark.parametrize("verb", ["run", "help"])
def test_help_of_a_verb_is_its_own(verb: str) -> None:
    """Would catch help that differs from `--help`."""
    assert byteways("help", verb).stdout == byteways(verb, "--help").stdout


@pytest.mark.parametrize(
    ("word", "hint"),
    [("rnu", "did you mean 'run'?"), ("bench", "byteways run"), ("suites", "byteways list suites")],
)
def test_help_of_no_verb(word: str, hint: str) -> None:
    """Would catch a word that help takes for a verb, and an error without the nearest verb."""
    done = byteways("help", word)
    assert done.returncode == 2 and not done.stdout
    assert done.stderr.startswith(f"error: no such verb '{word}'\nhint: {hint}")


def test_version() -> None:
    """Would catch a version that differs from the package's."""
    assert byteways("--version").stdout == f"byteways {__version__}\n"


def test_help_imports_no_verb_and_nothing_heavy() -> None:
    """Would catch the import that makes `--help` slow on a login node."""
    program = (
        "import sys; from byteways.cli import main; status = main(['--help']);"
        "heavy = [m for m in sys.modules if m.split('.')[0] in ('rich', 'jinja2', 'numpy')"
        " or m in ('byteways._core', 'byteways.cli.run', 'byteways.report')];"
        "print(heavy, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (("nosuch",), "error: no such command 'nosuch'", "hint: byteways --help"),
        (("bset",), "error: no such command 'bset'", "hint: did you mean 'best'? byteways best --help"),
        (("Chek", "x"), "error: no such command 'Chek'", "hint: did you mean 'check'? byteways check"),
        (("--nosuch",), "error: no such option: --nosuch", "hint: byteways --help"),
        (("run", "xyzzy"), "error: unknown suite 'xyzzy'", "hint: valid: quick, full"),
        (("run", "--nosuch"), "error: no such option: --nosuch", "hint: byteways run --help"),
        (("run", "--ranks", "two"), "error: invalid value for '--ranks'", "hint: byteways run --help"),
        (("run", "a", "b"), "error: ", "hint: byteways run --help"),
        (("show", "/nowhere"), "error: ", "hint: "),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], error: str, hint: str, tmp_path: Path) -> None:
    """Would catch another style, a traceback, a status that scripts take for something else."""
    done = called.byteways(tmp_path, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    first, *_, last = done.stderr.splitlines()
    assert first.startswith(error)
    assert last.startswith(hint)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("shell", "variables", "offered"),
    [
        ("bash", {"COMP_WORDS": "byteways be", "COMP_CWORD": "1"}, "best"),
        ("bash", {"COMP_WORDS": "byteways best --mac", "COMP_CWORD": "2"}, "--machine"),
        ("bash", {"COMP_WORDS": "byteways show RUN fin", "COMP_CWORD": "3"}, "findings"),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "byteways run --mac"}, "--machine"),
        ("fish", {"_TYPER_COMPLETE_ARGS": "byteways ch", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}, "check"),
    ],
)
def test_completion(shell: str, variables: dict[str, str], offered: str, tmp_path: Path) -> None:
    """Would catch a shell that is offered no verbs, no options of a verb, or no sections of a run."""
    run = str(sample_run.cpu_only().write(tmp_path))
    variables = {name: text.replace("RUN", run) for name, text in variables.items()}
    done = byteways(**{frame.COMPLETION: f"complete_{shell}", **variables})
    assert done.returncode == 0, done.stderr
    assert offered in done.stdout


def test_error_with_its_cause(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch a cause or a status that is lost on the way to the user."""

    def fails(words: list[str]) -> int:
        raise BytewaysError("no disk", cause="EIO", hint="buy one", status=ExitStatus.FAILED)

    monkeypatch.setattr(frame, "call", fails)
    assert cli.main(["run"]) == 1
    assert capsys.readouterr().err == "error: no disk\n  caused by: EIO\nhint: buy one\n"


def test_the_unexpected(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a traceback without --debug, or none with it."""

    def breaks(words: list[str]) -> int:
        assert words == ["run"], "--debug is taken out wherever it stands"
        raise KeyError("gpu9")

    monkeypatch.setattr(frame, "call", breaks)
    assert cli.main(["run"]) == 1
    short = capsys.readouterr().err
    assert "caused by: KeyError: 'gpu9'" in short and "--debug" in short and "Traceback" not in short
    assert cli.main(["run", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_interrupt_outside_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a traceback on Ctrl-C in `doctor`, `topo` or `report`."""

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("byteways.cli.topo.topo", interrupted)
    assert cli.main(["topo"]) == 130


def to_output(output: int, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "byteways", *arguments],
        env={**os.environ, **variables},
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
        timeout=240,
    )


@pytest.mark.parametrize("arguments", [("--help",), ("list", "suites"), ("topo", "--json"), ("doctor",)])
def test_reader_that_has_seen_enough(arguments: tuple[str, ...]) -> None:
    """`byteways topo --json | head -1`; would catch a traceback, and status 1, which says that a measurement
    failed.
    """
    read, write = os.pipe()
    os.close(read)
    done = to_output(write, *arguments)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


def test_reader_that_rich_found_gone() -> None:
    """`byteways show R | head -1`; would catch the status 1 that Rich leaves with."""
    program = "import rich; from byteways.cli import frame, main; "
    program += "frame.call = lambda words: rich.print('some lines\\n' * 9_000); raise SystemExit(main([]))"
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=write, stderr=subprocess.PIPE, text=True, timeout=240
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


def test_reader_that_has_gone_before_an_error() -> None:
    """`byteways show /nowhere 2>&1 | true`; would catch a status other than the error's own."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "byteways", "show", "/nowhere"], stdout=write, stderr=write, timeout=240
    )
    os.close(write)
    assert done.returncode == 2


def test_disk_full_of_output() -> None:
    """`byteways list > FILE` on a full disk; catches advice to report a bug, or a missing error message."""
    with Path("/dev/full").open("wb") as full:
        done = to_output(full.fileno(), "list", "suites")
    assert done.returncode == 2
    assert done.stderr == (
        "error: cannot write the output\n  caused by: No space left on device\nhint: free some space\n"
    )


def test_other_errors_of_the_system_are_no_full_disk(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Would catch a mistake of ours that is put down to the user's disk."""

    def breaks(words: list[str]) -> int:
        raise OSError(errno.EBADF, "Bad file descriptor")

    monkeypatch.setattr(frame, "call", breaks)
    assert cli.main(["run"]) == 1
    assert "unexpected internal error" in capsys.readouterr().err


def test_locale_without_our_characters() -> None:
    """A bare container's C locale; would catch a traceback instead of a question mark for `×` or `└`."""
    program = "from byteways.cli import frame, main; "
    program += "frame.call = lambda words: print('2 × 3') or 0; raise SystemExit(main([]))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "2 ? 3\n", "")


def test_no_output_at_all() -> None:
    """`byteways list >&-`; would catch a traceback where there is no standard output."""
    done = subprocess.run(
        ["sh", "-c", '"$0" -m byteways list suites >&-', sys.executable],
        stderr=subprocess.PIPE,
        text=True,
        timeout=240,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_colour_only_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Would catch escape codes in a log file, or colour against NO_COLOR."""
    error = BytewaysError("no disk", hint="buy one")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    cli.print_error(error)
    assert capsys.readouterr().err == "\033[1;31merror:\033[0m no disk\n\033[1;36mhint:\033[0m buy one\n"
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    cli.print_error(error)
    assert capsys.readouterr().err == "error: no disk\nhint: buy one\n"


def test_package_imports_no_native_code() -> None:
    """Would catch `import byteways` that opens a GPU or costs time."""
    program = "import sys, byteways; print([m for m in sys.modules if m.startswith('byteways.')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
