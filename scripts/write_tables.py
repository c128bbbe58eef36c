"""Writes what the documentation has from the code: tables of settings, commands and others, and the schemas.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`. Run it after changing one of them;
tests/unit/house/test_docs.py fails while a page and the code differ.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, get_args, get_type_hints

from typer.models import ArgumentInfo

from byteways.base import aliases, settings
from byteways.base.errors import BytewaysError
from byteways.base.units import format_size
from byteways.cases.interfaces import INTERFACES, OF_ALL, OPTIONS
from byteways.cases.kv_cache import SHAPES, cache_blocks
from byteways.cases.reasons import MEANINGS
from byteways.cli import schema
from byteways.cli.frame import VERBS, function_of
from byteways.ext.audit.imported.formats import DOCUMENT_FORMATS, TEXT_FORMATS
from byteways.ext.watch.traces.formats import TRACE_FORMATS
from byteways.machine.facts import FACTS
from byteways.plan import suite
from byteways.plan.filter_keys import CASE_FIELDS, KEYS
from byteways.plan.legality import RULES
from byteways.plan.variables import accepted_variables, words_of_code
from byteways.record.columns import COLUMNS
from byteways.record.warnings import ADVICE
from error_messages import error_messages
from rooms import CORE, ROOMS, Room, lines_of

DOCS = Path(__file__).parents[1] / "docs"
PLACE = re.compile(r"(<!-- table: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)

#: A row of the table of rooms: name and lines.
ROOM_LINES = re.compile(r"^\| ([^|]+) \| [^|]+ \| ([\d,]+) \|", re.MULTILINE)
VALUE_NAMES = {Path: "PATH", str: "TEXT", int: "INTEGER", float: "NUMBER"}


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table; in cells that are no code, what Markdown would take for HTML is escaped."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    cells = ([escaped(cell) for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def escaped(cell: str) -> str:
    cell = cell.replace("|", "\\|")
    return cell if cell.startswith("`") else cell.replace("<", "&lt;")


def settings_table() -> str:
    rows = [(f"`{row.name}`", row.meaning, row.default) for row in settings.SETTINGS]
    return table(("variable", "what it does", "default"), rows)


def accepted_list() -> str:
    """What a suite, a plan or a run folder may set, and the words that exclude a variable."""
    names = ", ".join(f"`{name}`" for name in accepted_variables())
    return f"Accepted: {names}.\n\nExcluded words: {', '.join(f'`{word}`' for word in words_of_code())}.\n"


def recorded_list() -> str:
    names = (*settings.RECORDED_VARIABLES, *(f"{prefix}*" for prefix in settings.RECORDED_PREFIXES))
    return ", ".join(f"`{name}`" for name in names) + ".\n"


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


def cache_shapes_table() -> str:
    rows = [
        (
            f"`{name}`",
            str(shape.layers),
            f"latent vector of {shape.latent}" if shape.latent else f"{shape.kv_heads} × {shape.head_size}",
            format_size(cache_blocks(name).blocks.block_bytes),
            shape.source,
        )
        for name, shape in SHAPES.items()
    ]
    head = ("model", "layers", "KV heads × head size", "block of 16 tokens, 16 bit, one GPU", "source")
    return table(head, rows)


def facts_table() -> str:
    rows = ((f"`{name}`", fact.says, fact.unit or "number") for name, fact in FACTS.items())
    return table(("fact", "what it is", "unit"), rows)


def options_table() -> str:
    """Options by interface; interfaces with the same ones share a row."""
    rows: dict[tuple[str, ...], list[str]] = {(): [], OF_ALL: ["all"]}
    for name, row in INTERFACES.items():
        rows.setdefault(tuple(option.name for option in row.options), []).append(f"`{name}`")
    rows.pop(())
    cells = (
        (", ".join(names), ", ".join(f"`{name}`" for name in options)) for options, names in rows.items()
    )
    return table(("interface", "options"), cells)


def names_table(kind: str) -> str:
    """Other tools' names by our word. Where several words are in the first cell, the names are ambiguous."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for alias in aliases.ALIASES[kind]:
        names = ", ".join(f"`{name}`" for name in alias.theirs)
        rows.setdefault(alias.ours, []).append(f"{names} ({alias.used_by})")
    cells = ((" or ".join(f"`{word}`" for word in ours), "; ".join(names)) for ours, names in rows.items())
    return table(("byteways", "elsewhere"), cells)


def nearest_table() -> str:
    rows = ((f"`{one.theirs}`", one.used_by, one.nearest, one.difference) for one in aliases.NEAREST)
    return table(("name", "tool", "nearest in byteways", "difference"), rows)


def columns_table() -> str:
    """Columns of a run as a table, those of equal type and without words of their own in one row."""
    rows: list[tuple[str, str, str]] = []
    for column in COLUMNS:
        told = column.meaning or "as in the record"
        if rows and rows[-1][1:] == (column.kind, told):
            rows[-1] = (f"{rows[-1][0]}, `{column.name}`", column.kind, told)
        else:
            rows.append((f"`{column.name}`", column.kind, told))
    return table(("column", "type", "value"), rows)


def numbers_table() -> str:
    rows = (
        (f"`{name}`", str(span.least), str(span.most), "" if span.step == 1 else str(span.step), span.why)
        for name, option in OPTIONS.items()
        if (span := option.span)
    )
    return table(("option", "from", "to", "multiple of", "what the number is"), rows)


def mistake_example() -> str:
    """What the guide's own suite, with a slip of the pen, is answered."""
    guide = (DOCS / "guides" / "your-own-suite.md").read_text(encoding="utf-8")
    text = guide.partition("```toml\n")[2].partition("```")[0]
    try:
        suite.parse(text.replace("kernel-bulk", "kernel-bulc"), file="bulk-blocks.toml")
    except BytewaysError as error:
        return "\n" + "".join(f"    {line}\n" for line in error.lines()) + "\n"
    raise ValueError("the guide's suite has no kernel-bulk to mistype")


def rooms_table() -> str:
    """The rooms of the package. Written lines stay while they are right within a tenth: few changes of code
    change the page.
    """
    page = (DOCS / "concepts" / "architecture.md").read_text(encoding="utf-8")
    written = {name: int(lines.replace(",", "")) for name, lines in ROOM_LINES.findall(page)}
    rows = []
    for room in ROOMS:
        lines, before = lines_of(room), written.get(room_name(room), 0)
        shown = (
            before if abs(lines - before) <= lines / 10 else round(lines, -1 if lines < 1000 else -2) or lines
        )
        rows.append(
            (room_name(room), room.says, f"{shown:,}", ", ".join(map(import_name, room.imports)) or "–")
        )
    return table(("room", "what it is for", "lines", "may import"), rows)


def room_name(room: Room) -> str:
    return room.name if room.modules else f"`{room.name.replace('.', '/')}/`"


def import_name(name: str) -> str:
    return "the native core" if name == CORE else name.replace(".", "/")


def filters_list() -> str:
    options = (key for key in KEYS if key not in CASE_FIELDS)
    return f"- {_named(CASE_FIELDS)}: of every case.\n- {_named(options)}: options.\n"


def _named(keys: Iterable[str]) -> str:
    return ", ".join(f"`{key}`" for key in keys)


def commands() -> str:
    """A section a verb: usage, arguments and options as the parser knows them."""
    return "\n".join(command(verb, summary) for verb, summary in VERBS.items())


def command(verb: str, summary: str) -> str:
    function = function_of(verb)
    hints = get_type_hints(function, include_extras=True)
    usage, rows = ["byteways", verb], []
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints[name]
        if not hasattr(hint, "__metadata__"):  # Python 3.10 puts Optional around what has the default None
            hint = get_args(hint)[0]
        kind, info = get_args(hint)[:2]
        if isinstance(info, ArgumentInfo):
            required = parameter.default is inspect.Parameter.empty
            usage.append(name.upper() if required else f"[{name.upper()}]")
            rows.append((f"`{name.upper()}`", info.help or ""))
        else:
            value = "" if kind is bool else f" {info.metavar or value_name(kind)}"
            # Typer takes the first name for a default until it sees that the parameter is Annotated.
            names = [
                option for option in (info.default, *(info.param_decls or ())) if isinstance(option, str)
            ]
            rows.append((", ".join(f"`{option}{value}`" for option in names), info.help or ""))
    rows.append(("`-h`, `--help`", "Show this and exit."))
    return f"## {verb}\n\n{summary}\n\n    {' '.join([*usage, '[OPTIONS]'])}\n\n{table(('', ''), rows)}"


def value_name(kind: Any) -> str:
    """What stands for a value of this type, of an optional one, or of the elements of a list."""
    inner = next((part for part in get_args(kind) if part is not type(None)), kind)
    return VALUE_NAMES.get(inner) or value_name(inner)


def reason_codes_table() -> str:
    rows = [*MEANINGS.items(), *((rule.code, f"it breaks the rule: {rule.holds}") for rule in RULES)]
    return table(("code", "why"), ((f"`{code}`", why) for code, why in rows))


def foreign_formats_table() -> str:
    """A row a format of other programs' outputs."""
    rows = [(known.says, f"`{known.made_by}`") for known in TEXT_FORMATS]
    rows += [(known.says, f"`{known.made_by}`") for known in DOCUMENT_FORMATS]
    return table(("output", "for example of"), rows)


def trace_formats_table() -> str:
    """A row a format of other profilers' traces."""
    return table(("trace", "made by"), [(known.says, f"`{known.made_by}`") for known in TRACE_FORMATS])


TABLES: dict[str, Callable[[], str]] = {
    "settings": settings_table,
    "accepted-variables": accepted_list,
    "recorded": recorded_list,
    "warnings": warnings_table,
    "errors": errors_table,
    "suites": suites_table,
    "cache-shapes": cache_shapes_table,
    "facts": facts_table,
    "options": options_table,
    "columns": columns_table,
    "numbers": numbers_table,
    "names-interface": partial(names_table, "interface"),
    "names-memory": partial(names_table, "memory"),
    "names-pattern": partial(names_table, "pattern"),
    "names-path": partial(names_table, "path"),
    "names-nearest": nearest_table,
    "mistake": mistake_example,
    "rooms": rooms_table,
    "reason-codes": reason_codes_table,
    "filters": filters_list,
    "commands": commands,
    "foreign-formats": foreign_formats_table,
    "trace-formats": trace_formats_table,
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
    schema.write(DOCS / "reference" / "schemas")
    return 0


if __name__ == "__main__":
    sys.exit(main())
