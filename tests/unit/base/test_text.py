"""Text of somebody else's files is shown as text: on the terminal, in the report, in XML."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import byteways.cli
from byteways.base.text import visible, visible_data
from byteways.cli import main
from byteways.report import write_report
from byteways.report.render import script_json
from rooms import parsed
from tests.report import sample_run

#: Sets a window's title, clears the screen, turns a number around, is the 8-bit form of ESC [.
HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202e054\x9b31m\r\u2066\u2028"


@given(st.text())
def test_nothing_commands_and_nothing_else_changes(text: str) -> None:
    """Would catch a character that is let through, and a letter of any script that is not."""
    shown = visible(text)
    assert len(shown) == len(text)
    for before, after in zip(text, shown, strict=True):
        commands = (ord(before) < 32 and before not in "\n\t") or 0x7F <= ord(before) < 0xA0
        if commands or before in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c":
            assert after == "\N{REPLACEMENT CHARACTER}"
        elif before not in "\u2028\u2029" and not 0xD800 <= ord(before) < 0xE000:
            assert after == before


def test_data_keeps_its_shape() -> None:
    """Would catch a key or a text deep inside that is left as it was."""
    assert visible_data({"a\x1b": [1, ("\x07", None), {"b": "\u202e"}]}) == {
        "a�": [1, ["�", None], {"b": "�"}]
    }
    assert "\\u202e" not in script_json(["\u202e"]) and "\u202e" not in script_json(["\u202e"])


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A run folder whose every text tries to command whatever shows it."""
    build = sample_run.cpu_only()
    folder = build.write(tmp_path / "run")
    manifest = json.loads((folder / "run.json").read_text())
    manifest["suite"]["title"] = manifest["suite"]["name"] = f"quick{HOSTILE}"
    manifest["host"]["name"] = f"node{HOSTILE}"
    manifest["topology"]["host"] = f"node{HOSTILE}"
    manifest["topology"]["notes"] = [HOSTILE]
    for device in manifest["topology"]["devices"]:
        device["model"] = f"CPU{HOSTILE}"
    (folder / "run.json").write_text(json.dumps(manifest))
    lines = [json.loads(line) for line in (folder / "measurements.jsonl").read_text().splitlines()]
    for line in lines:
        line["reason"] = HOSTILE if line["status"] != "measured" else None
        line["warnings"] = [{"id": HOSTILE, "observed": HOSTILE, "required": HOSTILE, "advice": HOSTILE}]
    (folder / "measurements.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def commands_in(text: str) -> set[str]:
    return {character for character in text if visible(character) != character}


@pytest.mark.parametrize(
    "words",
    [["show"], ["show", "--json"], ["export"], ["export", "--format", "json"], ["topo", "--from"]],
    ids=" ".join,
)
def test_no_verb_passes_commands_on(
    hostile: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Would catch a table, a sentence or a cell that is printed past the one place that looks at text."""
    verb, *options = words
    arguments = (
        [verb, *options, str(hostile)] if options[-1:] == ["--from"] else [verb, str(hostile), *options]
    )
    assert main(arguments) == 0
    told = capsys.readouterr()
    assert commands_in(told.out) == set() and commands_in(told.err) == set()


def test_comment_of_xml_cannot_be_left(hostile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch the name of a foreign run's model that ends the comment it stands in, and adds elements."""
    manifest = json.loads((hostile / "run.json").read_text())
    name = f'x--><gpu dev="0"/><!--{HOSTILE}\n---'
    model = {"name": name, "title": "", "digest": "", "text": "", "faults": [], "sources": {}, "fit": None}
    manifest |= {"simulated": True, "machine_model": model}
    (hostile / "run.json").write_text(json.dumps(manifest))
    assert main(["topo", "--from", str(hostile), "--nccl-xml"]) == 0
    told = capsys.readouterr().out
    assert commands_in(told) == set()
    root = ElementTree.fromstring(told)
    assert root.tag == "system" and not list(root.iter("gpu"))


def test_errors_pass_no_commands_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch a key of a suite, or a file's name, that speaks to the terminal through the message."""
    suite = tmp_path / "s.toml"
    suite.write_text('name = "x"\ntitle = "\\u001b[2J"\n"\\u001b]0;x\\u0007" = 1\n')
    assert main(["run", str(suite), "--dry-run"]) == 2
    assert commands_in(capsys.readouterr().err) == set()
    assert main(["show", f"/nosuch{HOSTILE}"]) == 2
    assert commands_in(capsys.readouterr().err) == set()


def test_the_report_passes_no_commands_on(hostile: Path) -> None:
    """Would catch a bidirectional override or an escape sequence in what a browser, or `less`, shows."""
    page = write_report(hostile).read_text(encoding="utf-8")
    assert "owned" in page and "\u202e" not in page
    assert commands_in(page) == set()


def test_one_place_prints() -> None:
    """Would catch a verb that prints past terminal.py: the next foreign text would be raw again."""
    found = []
    for path in sorted(Path(byteways.cli.__file__).parent.glob("*.py")):
        for node in ast.walk(parsed(path)):
            if not isinstance(node, ast.Call) or path.name == "terminal.py":
                continue
            called = ast.unparse(node.func)
            if called in ("print", "Console", "typer.secho", "click.echo", "sys.stderr.write", "typer.echo"):
                found.append(f"{path.name}: {called}")
    # What prints an error cleans it itself; doctor's own colours are in the text that it prints.
    assert sorted(found) == ["__init__.py: print", "measuring/doctor.py: typer.echo"]
