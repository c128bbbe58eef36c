"""Writes the tables of the documentation that the code already has: settings, errors, commands and others.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`. Run it after changing one of them;
tests/unit/test_docs.py fails while a page and the code differ.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from error_messages import error_messages

from byteways import settings
from byteways.cli.frame import VERBS, load_verb
from byteways.plan import suite
from byteways.plan.filters import KEYS
from byteways.results.warnings import ADVICE

DOCS = Path(__file__).parents[1] / "docs"
PLACE = re.compile(r"(<!-- table: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table; bars inside cells are escaped."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def settings_table() -> str:
    rows = [(f"`{row.name}`", row.meaning, row.default) for row in settings.SETTINGS]
    return table(("variable", "what it does", "without it"), rows)


def recorded_list() -> str:
    return ", ".join(f"`{name}`" for name in settings.RECORDED_VARIABLES) + ".\n"


def warnings_table() -> str:
    return table(
        ("warning", "what it means and what to do"), ((f"`{id}`", text) for id, text in ADVICE.items())
    )


def errors_table() -> str:
    rows = (
        (f"`{message}`", "; or: ".join(hints) or "See the cause.")
        for message, hints in error_messages().items()
    )
    return table(("message", "what to do"), rows)


def suites_table() -> str:
    return table(("suite", "what it measures"), ((f"`{name}`", title) for name, title in suite.names()))


def filters_list() -> str:
    return ", ".join(f"`{key}`" for key in KEYS) + ".\n"


def commands() -> str:
    """A section a verb: usage, arguments and options as the parser knows them."""
    return "\n".join(command(verb, summary) for verb, summary in VERBS.items())


def command(verb: str, summary: str) -> str:
    parsed: Any = load_verb(verb)
    arguments = [parameter for parameter in parsed.params if parameter.param_type_name == "argument"]
    options = [parameter for parameter in parsed.params if parameter.param_type_name == "option"]
    usage = " ".join(["byteways", verb, *(argument_usage(argument) for argument in arguments), "[OPTIONS]"])
    rows = [(f"`{argument.human_readable_name}`", argument.help or "") for argument in arguments]
    rows += [(option_usage(option), option.help or "") for option in options]
    rows += [("`-h`, `--help`", "Show this and exit.")]
    return f"## {verb}\n\n{summary}\n\n    {usage}\n\n{table(('', ''), rows)}"


def argument_usage(argument: Any) -> str:
    name = argument.human_readable_name + ("..." if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def option_usage(option: Any) -> str:
    names = [*option.opts, *option.secondary_opts]
    value = "" if option.is_flag else f" {option.metavar or option.type.name.upper()}"
    return ", ".join(f"`{name}{value}`" for name in names)


TABLES: dict[str, Callable[[], str]] = {
    "settings": settings_table,
    "recorded": recorded_list,
    "warnings": warnings_table,
    "errors": errors_table,
    "suites": suites_table,
    "filters": filters_list,
    "commands": commands,
}


def with_tables(text: str) -> str:
    """A page with its tables as the code has them now. Raises KeyError at a table that nobody makes."""
    return PLACE.sub(lambda place: f"{place[1]}{TABLES[place[2]]()}{place[3]}", text)


def main() -> int:
    for page in sorted(DOCS.rglob("*.md")):
        before = page.read_text(encoding="utf-8")
        after = with_tables(before)
        if after != before:
            page.write_text(after, encoding="utf-8")
            sys.stdout.write(f"{page.relative_to(DOCS.parent)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
