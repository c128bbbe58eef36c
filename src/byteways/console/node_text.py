"""The node as text: a matrix of its pairs with the share of the peak, within 80 columns up to 16 GPUs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from byteways.console.wrapping import wrapped

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from byteways.questions.node_matrix import NodeMatrix

#: Up to this many columns rate and share stand side by side, and with more in two matrices.
SIDE_BY_SIDE = 6
#: Shares of the peak from which a number has this style; the number says the same without colour.
STYLES = ((0.85, "green"), (0.7, "cyan"), (0.5, "yellow"), (0.0, "bold red"))
#: Percentage points by which shares of the peak may differ that a line says instead of a matrix.
EVEN_WITHIN = 2
#: Up to this many columns each has its whole name; with more, marks stand in the gaps between numbers.
SPACED = 10
NO_VALUE = "·"
#: Beside a number: an outlier among equal links.
OUTLIER_SIGN = "!"
INDENT = 2

#: A cell's text with its style.
_Cell = tuple[str, str]
_Pair = tuple[str, str]


def print_node(console: Console, matrix: NodeMatrix, *, rates_alone: bool = False) -> None:
    """Prints the matrix; of a node too wide for the console, how wide it is and how to see it.

    Args:
        console: Where.
        matrix: The node.
        rates_alone: Leaves out a second matrix of the shares of the peak.
    """
    from rich.text import Text

    from byteways.answers.best.representative import RULE
    from byteways.answers.results.counting import listed
    from byteways.base.units import format_size

    grids = _grids(matrix)[: 1 if rates_alone else None]
    needed = max(len(line.plain) for _, lines in grids for line in lines)
    if needed > console.width:
        told = f"the matrix of {len(matrix.names)} devices needs {needed} columns, here are {console.width}"
        console.print(f"\nNode: {told}; COLUMNS={needed} before the command prints it")
        return
    at = listed([format_size(size) for size in matrix.sizes])
    for unit, lines in grids:
        console.print()
        console.print(Text(f"Node: {RULE} at {at}, {unit}", style="bold"), soft_wrap=True)
        for line in lines:
            console.print(line, soft_wrap=True)
    for note in _notes(matrix):
        first, *rest = wrapped(note, max(console.width - 2 * INDENT, 1))
        hung = [" " * INDENT + first, *(" " * 2 * INDENT + line for line in rest)]
        console.print(Text("\n".join(hung), style="dim"), soft_wrap=True)


def _grids(matrix: NodeMatrix) -> list[tuple[str, list[Text]]]:
    """Returns each matrix as unit and lines."""
    if not matrix.shares:
        return [("GB/s", _lines(matrix, lambda pair: (_marked(matrix, pair, _rate(matrix, pair)), "")))]
    if _even(matrix):  # a note has the shares
        return [
            (
                "GB/s",
                _lines(
                    matrix, lambda pair: (_marked(matrix, pair, _rate(matrix, pair)), _style(matrix, pair))
                ),
            )
        ]
    if len(matrix.names) <= SIDE_BY_SIDE:
        both = _lines(matrix, lambda pair: _both(matrix, pair))
        return [("GB/s and % of peak", both)]
    return [
        (
            "GB/s",
            _lines(matrix, lambda pair: (_marked(matrix, pair, _rate(matrix, pair)), _style(matrix, pair))),
        ),
        (
            "% of peak",
            _lines(matrix, lambda pair: (_marked(matrix, pair, _share(matrix, pair)), _style(matrix, pair))),
        ),
    ]


def _even(matrix: NodeMatrix) -> str:
    """Returns what pairs reach of the peak, if those of a kind are nearly equal; else ''."""
    from byteways.questions.node_matrix import HOST_HEADING

    if len(matrix.names) <= SIDE_BY_SIDE or any(pair not in matrix.shares for pair in matrix.cells):
        return ""
    kinds: dict[str, set[int]] = {}
    for pair, share in matrix.shares.items():
        kinds.setdefault("with the host" if HOST_HEADING in pair else "among each other", set()).add(
            round(100 * share)
        )
    if any(max(some) - min(some) > EVEN_WITHIN for some in kinds.values()):
        return ""
    told = (
        f"{'–'.join(map(str, sorted({min(some), max(some)})))} % {kind}"
        for kind, some in sorted(kinds.items())
    )
    return f"Of the peak: {', '.join(told)}"


def _lines(matrix: NodeMatrix, cell: Callable[[_Pair], _Cell]) -> list[Text]:
    """Returns heading and rows, aligned to the right below the columns' names."""
    from rich.text import Text

    heads = _heads(matrix.names)
    rows = [
        [
            cell((row, column)) if (row, column) in matrix.cells else (NO_VALUE, "dim")
            for column in matrix.names
        ]
        for row in matrix.names
    ]
    gap = 2 if len(heads) <= SIDE_BY_SIDE else 1
    if len(heads) > SPACED:  # a mark stands in the gap
        texts = [[text.lstrip(OUTLIER_SIGN) for text, _ in row] for row in rows]
    else:
        texts = [[text for text, _ in row] for row in rows]
    widths = [max(len(head), *(len(row[at]) for row in texts)) + gap for at, head in enumerate(heads)]
    first = max(map(len, (*matrix.names, "from")))
    lines = [Text(f"{' ' * INDENT}{'from':{first}}" + _aligned(heads, widths), style="dim")]
    for name, row in zip(matrix.names, rows, strict=True):
        line = Text(f"{' ' * INDENT}{name:{first}}")
        for (text, style), width in zip(row, widths, strict=True):
            line.append(text.rjust(width), style=style or None)
        lines.append(line)
    return lines


def _aligned(texts: Sequence[str], widths: Sequence[int]) -> str:
    return "".join(text.rjust(width) for text, width in zip(texts, widths, strict=True))


def _heads(names: Sequence[str]) -> list[str]:
    """Returns the headings of the columns: of many GPUs, their numbers alone."""
    if len(names) <= SPACED:
        return [*names]
    return [name.removeprefix("gpu") for name in names]


def _rate(matrix: NodeMatrix, pair: _Pair) -> str:
    """`392`, `38`, `7.1`: three characters where they can be; `38.2` where there is room."""
    from byteways.answers.claims.phrases import supported

    cell = matrix.cells[pair]
    value = cell.value / 1e9
    if len(matrix.names) <= SIDE_BY_SIDE:
        return supported(value, cell.low / 1e9, cell.high / 1e9)
    return f"{value:.0f}" if value >= 9.95 else f"{value:.2g}"


def _marked(matrix: NodeMatrix, pair: _Pair, number: str) -> str:
    mark = OUTLIER_SIGN * (pair in matrix.odd)
    return f"{mark}{number}" if len(matrix.names) > SPACED else f"{number}{mark}"


def _share(matrix: NodeMatrix, pair: _Pair) -> str:
    share = matrix.shares.get(pair)
    return NO_VALUE if share is None else f"{100 * share:.0f}"


def _both(matrix: NodeMatrix, pair: _Pair) -> _Cell:
    share = matrix.shares.get(pair)
    part = f" {100 * share:3.0f}%" if share is not None else " " * 5
    # A column for the mark, so that numbers stay below each other.
    mark = (OUTLIER_SIGN if pair in matrix.odd else " ") if matrix.odd else ""
    return f"{_rate(matrix, pair)}{part}{mark}", _style(matrix, pair)


def _style(matrix: NodeMatrix, pair: _Pair) -> str:
    share = matrix.shares.get(pair)
    if share is None:
        return ""
    return next(style for least, style in STYLES if share >= least)


def _notes(matrix: NodeMatrix) -> list[str]:
    """Returns which way stands for which kind of pair, and what the marks mean."""
    from byteways.answers.results.selection import PAIR_KINDS

    kinds: dict[str, list[str]] = {}
    for what, label in matrix.ways:
        kinds.setdefault(what, []).append(label)
    notes = [text for text in [_even(matrix)] if text]
    notes += [f"{PAIR_KINDS.get(what, what)}: {'; '.join(labels)}" for what, labels in kinds.items()]
    notes += matrix.faster
    if matrix.odd:
        notes.append(f"{OUTLIER_SIGN} an outlier among equal links")
    return notes
