"""Commands of the documentation with their outputs, and what they print now.

    python -m tests.cli.outputs_of_guides

writes the outputs into the pages again, after a change of what is printed that is meant. An example is an
indented block that begins with `$ byteways …`. An output that ends in `…` shows its first lines only;
`; echo $?` adds the exit status. The examples of all pages run in one folder, in the order of PAGES; one that
several pages have runs once.
"""

from __future__ import annotations

import re
import shlex
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from scripts.unpack_examples import unpack
from tests.cli.called import byteways

ROOT = Path(__file__).parents[2]
#: Guides of which every command is an example.
GUIDES = tuple(
    ROOT / "docs" / f"{name}.md"
    for name in (
        "tutorial",
        "guides/ask",
        "guides/for-performance-engineers",
        "guides/for-node-owners",
        "guides/for-code-authors",
        "guides/for-researchers",
        "guides/without-the-machine",
        "guides/copy-library",
    )
)
#: Pages whose examples are run.
PAGES = (ROOT / "README.md", ROOT / "docs" / "index.md", *GUIDES)
_INDENT, _PROMPT, _STATUS, _MORE = "    ", "$ byteways ", "; echo $?", "…"


class Examples:
    """Runs the commands of pages in one folder.

    Args:
        folder: A new folder; it gets the recorded runs as `examples`.
    """

    def __init__(self, folder: Path) -> None:
        unpack()
        (folder / "examples").symlink_to(ROOT / "examples")
        self._folder = folder
        self._printed: dict[str, list[str]] = {}

    def printed(self, command: str) -> list[str]:
        """Returns the lines that a command prints; raises AssertionError if it fails unexpectedly."""
        if command not in self._printed:
            words = shlex.split(command.removesuffix(_STATUS))
            done = byteways(self._folder, *words, COLUMNS="80")
            told = done.stderr if done.returncode == 2 else done.stdout
            assert command.endswith(_STATUS) or done.returncode == 0, f"{command}\n{done.stderr}"
            status = [str(done.returncode)] if command.endswith(_STATUS) else []
            self._printed[command] = [*(line.rstrip() for line in told.splitlines()), *status]
        return self._printed[command]

    def current(self, text: str) -> str:
        """Returns the text of a page with the outputs of now."""
        return _with_outputs(text, self.printed)


def commands(text: str) -> list[str]:
    """Returns the commands of the examples of a page."""
    found: list[str] = []

    def printed(command: str) -> list[str]:
        found.append(command)
        return []

    _with_outputs(text, printed)
    return found


def _with_outputs(text: str, printed: Callable[[str], list[str]]) -> str:
    lines, told = text.split("\n"), []
    while lines:
        line = lines.pop(0)
        told.append(line)
        if not line.startswith(_INDENT + _PROMPT):
            continue
        shown: list[str] = []
        while lines and _continues(lines):
            shown.append(lines.pop(0).removeprefix(_INDENT))
        output = printed(line.removeprefix(_INDENT + _PROMPT))
        if shown and shown[-1] == _MORE:
            output = [*output[: len(shown) - 1], _MORE]
        told += [(_INDENT + one).rstrip() for one in output]
    return "\n".join(told)


def _continues(lines: list[str]) -> bool:
    """Whether the first line is part of the output: indented, or empty before another such line."""
    further = next((line for line in lines if line), "")
    return bool(re.match(_INDENT, further)) and not further.startswith(f"{_INDENT}$ ")


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        examples = Examples(Path(folder))
        for page in PAGES:
            page.write_text(examples.current(page.read_text(encoding="utf-8")), encoding="utf-8")
            sys.stdout.write(f"{page.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
