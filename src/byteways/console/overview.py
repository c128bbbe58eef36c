"""What `run` ends with and `show` begins with: title, node, findings and the table of best interfaces.

On a terminal as wide as it is, in colour unless NO_COLOR is set; elsewhere 80 columns (COLUMNS changes that)
without colour.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from byteways.console.layout import SCREEN_LINES
from byteways.console.node_text import print_node
from byteways.console.show_tables import print_table
from byteways.console.terminal import console as terminal_console
from byteways.console.terminal import echo_rendered
from byteways.console.wrapping import wrapped

if TYPE_CHECKING:
    from rich.console import Console

    from byteways.answers.claims.finding import Finding
    from byteways.answers.results.index import Index

#: Before the names of interfaces from which the recommended one does not differ.
TIE_SIGN = "≈"


def printed(fill: Callable[[Console], None]) -> None:
    """Prints on standard output what `fill` prints on the console that it is given, like rendered()."""
    echo_rendered(rendered(fill))


def rendered(fill: Callable[[Console], object]) -> str:
    """Returns what `fill` prints on the console that it is given."""
    # Without a colour system Rich omits bold and dim, too.
    system: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
    # Without a terminal Rich takes COLUMNS, or 80.
    console = terminal_console(color_system=system, highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        fill(console)
    # Rich pads the last column with blanks.
    lines = (line.rstrip(" ") for line in captured.get().splitlines())
    return "\n".join(lines)


def marked_each_screen(text: str, mark: str) -> str:
    """Returns a text that begins with this mark of a simulated run; the mark is repeated each screen."""
    if not mark:
        return text
    above = rendered(lambda console: print_verdict(console, mark))
    lines: list[str] = []
    last = 0
    for line in text.splitlines():
        lines.append(line)
        if not line and len(lines) - last > SCREEN_LINES:
            last = len(lines)
            lines.append(above)
    return "\n".join(lines)


def print_verdict(console: Console, text: str) -> None:
    """Prints what to read before any figure: that the run is simulated or misses GPUs; nothing if ''."""
    from rich.text import Text

    if text:
        console.print(Text("\n".join(wrapped(text, max(console.width, 1))), style="bold red"), soft_wrap=True)


def print_title(console: Console, index: Index) -> None:
    """Prints the machine with what it reaches."""
    from rich.text import Text

    from byteways.answers.best.title import results
    from byteways.answers.results.machine_names import machine

    reached = results(index)
    title = f"{machine(index.topology)}: {reached}" if reached else machine(index.topology)
    console.print(Text("\n".join(wrapped(title, max(console.width, 1))), style="bold"), soft_wrap=True)


def print_matrix(
    console: Console, index: Index, findings: Sequence[Finding], *, rates_alone: bool = False
) -> None:
    """Prints the node as a matrix of its pairs, if it has any."""
    from byteways.questions.node_matrix import node_matrix

    matrix = node_matrix(index, findings)
    if matrix is not None:
        print_node(console, matrix, rates_alone=rates_alone)


def print_headline(console: Console, index: Index, most: int | None = None) -> int:
    """Prints the recommended interface by kind of pair and size; returns the number of rows left out.

    Args:
        console: Where.
        index: Of the run.
        most: Prints so many rows, with interface, rate and lead alone; None: all, with their details.
    """
    from byteways.answers.best.headline import headline, rows_of_text
    from byteways.answers.claims.wording import NO_DIFFERENCE

    first = headline(index)
    if first is None:
        return 0
    title = "Recommended interface by path"
    rows = rows_of_text(first, tie=TIE_SIGN, brief=most is not None)
    print_table(console, title, ["between", *first.size_names], rows[:most])
    if any(f"{TIE_SIGN} " in cell for row in rows[:most] for cell in row):
        console.print(f"{TIE_SIGN}: {NO_DIFFERENCE}", style="dim")
    if most is None:
        for name in first.methods:
            hanging(console, "", name, style="dim")
    return len(rows[most:]) if most is not None else 0


def print_findings(
    console: Console, found: Sequence[Finding], title: str = "Findings", *, details: bool = True
) -> None:
    """Prints findings, numbered."""
    if not found:
        return
    console.print(f"\n{title}", style="bold")
    for number, finding in enumerate(found, start=1):
        hanging(console, f"{number:3}. ", finding.title)
        if details:
            hanging(console, "     ", finding.detail, style="dim")


def hanging(console: Console, lead: str, text: str, style: str = "") -> None:
    """Prints text after its lead, with continuation lines indented below the text."""
    from rich.text import Text

    first, *rest = wrapped(text, max(console.width - len(lead), 1))
    lines = [first, *(f"{' ' * len(lead)}{line}" for line in rest)]
    console.print(Text(lead) + Text("\n".join(lines), style=style), soft_wrap=True)
