"""What is told of a worker's output, and how it is started."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from byteways.measuring.conduct.process import WorkerProcess
from byteways.measuring.work.worker import expected_parent, main


def of_log(path: Path, text: str, start: int = 0) -> WorkerProcess:
    path.write_text(text)
    process = WorkerProcess.__new__(WorkerProcess)
    process._log, process._log_start = path, start
    return process


@pytest.mark.parametrize(
    ("text", "start", "said"),
    [
        ("", 0, ""),
        ("\n  \n", 0, ""),
        ("one\n", 0, "; it last printed: one"),
        ("a\n\n b \nc\nd", 0, "; it last printed: a | b | c | d"),
        ("old\nnew\n", 4, "; it last printed: new"),  # what was printed before this request is not of it
    ],
)
def test_last_lines_are_told(tmp_path: Path, text: str, start: int, said: str) -> None:
    """Catches lines of an earlier request, empty ones, and words where nothing was printed."""
    assert of_log(tmp_path / "log", text, start)._last_words() == said


def test_the_first_lines_are_told_with_the_last(tmp_path: Path) -> None:
    """Catches the message of a dying driver hidden by what prints after it, in a short and in a long log."""
    for count in (20, 20_000):
        text = "".join(f"{number}\n" for number in range(count))
        said = of_log(tmp_path / "log", f"fault of node 1\n{text}\n{'x' * 300}\nend\n")._last_words()
        first, last = said.split(" | … | ")
        assert first == "; it last printed: fault of node 1 | 0 | 1"
        assert last.split(" | ")[0] == str(count - 1)
        assert last.endswith("… | end")


def test_a_log_that_is_gone_says_nothing(tmp_path: Path) -> None:
    """Catches an error of reading the log told in place of why the worker was lost."""
    process = of_log(tmp_path / "log", "words")
    (tmp_path / "log").unlink()
    assert process._last_words() == ""


@pytest.mark.parametrize(
    ("arguments", "parent"),
    [
        (["--socket", "s", "--parent", "42"], 42),
        (["--parent", "42", "--socket", "s"], 42),
        (["--socket", "s"], -1),
        (["--parent"], -1),
        ([], -1),
    ],
)
def test_the_parent_is_read_before_anything_else(arguments: list[str], parent: int) -> None:
    """Catches a worker that outlives its conductor because its words came in another order."""
    assert expected_parent(arguments) == parent


@pytest.mark.parametrize("missing", ["--socket", "--parent"])
def test_what_a_worker_must_be_told(
    missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches a worker that starts without a conductor to answer to."""
    words = {"--socket": "/nowhere", "--parent": "1"}
    given = [word for name, value in words.items() if name != missing for word in (name, value)]
    monkeypatch.setattr(sys, "argv", ["worker", *given])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert missing in capsys.readouterr().err


def test_what_a_launcher_prints_when_it_is_ended_is_no_reason(tmp_path: Path) -> None:
    """Catches the launcher's words on our own signal told as why the ranks did not answer."""
    process = of_log(tmp_path / "log", "before\n")
    process.hello = {}

    def kill() -> bool:
        (tmp_path / "log").write_text("before\nYOUR APPLICATION TERMINATED\n")
        return True

    process.kill = kill  # type: ignore[method-assign]
    assert process._timed_out(42).reason == "no answer within 42 s; it last printed: before"
