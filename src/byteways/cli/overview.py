"""What `run` ends with and `show` begins with: title, node, findings and the table of best interfaces.

On a terminal as wide as it is, in colour unless NO_COLOR is set; elsewhere 80 columns (COLUMNS changes that)
without colour.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from byteways.cli.node_text import print_node
from byteways.cli.show_tables import print_table
from byteways.cli.terminal import console as terminal_console
from byteways.cli.terminal import echo_rendered
from byteways.cli.wrapping import wrapped

if TYPE_CHECKING:
    from rich.console import Console

    from byteways.explain.claims.finding import Finding
    from byteways.explain.results.index import Index


def printed(fill: Callable[[Console], None]) -> None:
    """Prints on standard output what `fill` prints on the console that it is given, like rendered()."""
    echo_rendered(rendered(fill))


def rendered(fill: Callable[[Console], None]) -> str:
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


def print_verdict(console: Console, text: str) -> None:
    """Prints what to read before any figure: that the run is simulated or misses GPUs; nothing if ''."""
    if text:
        console.print(text, style="bold red", soft_wrap=True)


def print_title(console: Console, index: Index, findings: Sequence[Finding]) -> None:
    """Prints the machine with what it reaches, then the node."""
    from rich.text import Text

    from byteways.explain.best.title import results
    from byteways.explain.node_matrix import node_matrix
    from byteways.explain.results.machine_names import machine

    reached = results(index)
    title = f"{machine(index.topology)}: {reached}" if reached else machine(index.topology)
    console.print(Text("\n".join(wrapped(title, max(console.width, 1))), style="bold"), soft_wrap=True)
    matrix = node_matrix(index, findings)
    if matrix is not None:
        print_node(console, matrix)


def print_headline(console: Console, index: Index, mark: str) -> None:
    """Prints the recommended interface by kind of pair and size."""
    from byteways.explain.best.headline import headline, rows_of_text
    from byteways.explain.claims.wording import NO_DIFFERENCE

    first = headline(index)
    if first is None:
        return
    title = "Recommended interface by path"
    short = rows_of_text(first, tie="≈")
    print_table(console, mark, title, ["between", *first.size_names], short)
    if short != rows_of_text(first):
        console.print(f"≈: {NO_DIFFERENCE}", style="dim")
    for name in first.methods:
        hanging(console, "", name, style="dim")


def print_findings(console: Console, found: Sequence[Finding], title: str = "Findings") -> None:
    """Prints findings, numbered."""
    if not found:
        return
    console.print(f"\n{title}", style="bold")
    for number, finding in enumerate(found, start=1):
        hanging(console, f"{number:3}. ", finding.title)
        hanging(console, "     ", finding.detail, style="dim")


def hanging(console: Console, lead: str, text: str, style: str = "") -> None:
    """Prints text after its lead, with continuation lines indented below the text."""
    from rich.text import Text

    first, *rest = wrapped(text, max(console.width - len(lead), 1))
    lines = [first, *(f"{' ' * len(lead)}{line}" for line in rest)]
    console.print(Text(lead) + Text("\n".join(lines), style=style), soft_wrap=True)
