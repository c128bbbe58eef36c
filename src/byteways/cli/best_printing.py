"""Prints the answers of `byteways best`: a line each, tables of loads and of block copies, or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from byteways.answers.best.answers import Answer
from byteways.answers.best.block_answers import candidate_rows
from byteways.answers.best.load import LoadAnswer
from byteways.answers.best.no_answer import NoAnswer
from byteways.answers.best.placement import Placement
from byteways.answers.best.wording_load import load_lines, load_table, load_title
from byteways.base.json_text import json_text
from byteways.console.layout import Lines, show
from byteways.console.terminal import echo, say
from byteways.questions.display.table import Table
from byteways.record.simulation_mark import is_simulated, mark_of

if TYPE_CHECKING:
    from byteways.cases.kv_cache import CacheBlocks
    from byteways.record.run_folder import RunFolder


def print_answers(
    folder: RunFolder,
    found: Sequence[Answer | NoAnswer | Placement | LoadAnswer],
    as_json: bool,
    measured_s: float | None,
    left_out: Sequence[str] = (),
    cache: CacheBlocks | None = None,
) -> None:
    """Prints the answers; a simulated run is marked above. Hints go to standard error.

    Args:
        folder: The run.
        found: What it answers.
        as_json: Whether to print JSON.
        measured_s: Seconds that the measurement took; None: the run existed.
        left_out: What was planned and not measured.
        cache: The model's cache whose blocks were asked for.
    """
    if as_json:
        outcome = {
            "simulated": is_simulated(folder.manifest),
            "mark": mark_of(folder.manifest) or None,
            "measured_now_s": measured_s,
            "left_out": [*left_out],
            **({"cache": str(cache)} if cache else {}),
            "answers": [one.to_json() for one in found],
        }
        echo(json_text(outcome, indent=1))
        return
    if mark := mark_of(folder.manifest):
        echo(mark)
    if cache:
        echo(str(cache))
    for one in found:
        if isinstance(one, LoadAnswer):
            _print_load(one)
        else:
            echo(str(one))
        if isinstance(one, Answer) and one.question.blocks:
            _print_candidates(one)
    if measured_s is None:
        hints = (one.hint for one in found if isinstance(one, NoAnswer | LoadAnswer))
        for hint in dict.fromkeys(filter(None, hints)):
            say(f"hint: {hint}")


def _print_load(answer: LoadAnswer) -> None:
    """Prints the parts of a load as a table, and what follows from them."""
    headings, rows = load_table(answer)
    table = Table(load_title(answer), headings, rows, tuple(range(1, len(headings))))
    show([table, Lines("answer", tuple(load_lines(answer)))])


def _print_candidates(answer: Answer) -> None:
    """Prints all methods of a block copy beside the best."""
    rows = tuple(
        (row.method, row.time, row.rate, row.call, row.beside) for row in candidate_rows(answer.ranking)
    )
    headings = ("method", "time", "rate", "time of its call", "compared to best")
    show([Table(f"methods, {answer.between}", headings, rows, (1, 2, 3))])
