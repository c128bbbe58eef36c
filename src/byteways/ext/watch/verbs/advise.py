"""`byteways advise`: thresholds for scattered blocks from a run, as a table or as constants of programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from byteways.base.errors import BytewaysError, ExitStatus
from byteways.base.json_text import json_text
from byteways.base.spelling import closest
from byteways.cli.runs import opened_run
from byteways.console.terminal import echo

if TYPE_CHECKING:
    from byteways.answers.best.block_advice import BlockAdvice
    from byteways.answers.results.index import Index
    from byteways.questions.subjects.block_slowdowns import BlockSlowdown

ADVICE_FORMATS = ("table", "vllm", "json")


def advise(
    run: Annotated[Path, typer.Argument(help="A folder that `byteways run blocks` made.", metavar="RUN")],
    as_format: Annotated[
        str,
        typer.Option(
            "--format", help="'table', 'vllm': its constants in Python, or 'json'.", metavar="FORMAT"
        ),
    ] = "table",
) -> int:
    """Write from which number and size of scattered blocks on a kernel is worth it, for other programs."""
    from byteways.answers.best.block_advice import block_advice
    from byteways.answers.results.index import Index

    if as_format not in ADVICE_FORMATS:
        raise BytewaysError(f"unknown --format '{as_format}'", hint=closest(as_format, ADVICE_FORMATS))
    index = Index.of(opened_run(run))
    found = block_advice(index)
    if not found:
        raise BytewaysError(
            f"{run} has no scattered blocks by a kernel beside the vendor's calls, in 3 rounds or more",
            hint="byteways run blocks",
        )
    _print(index, found, as_format, run)
    return ExitStatus.GOOD


def _print(index: Index, found: Sequence[BlockAdvice], as_format: str, run: Path) -> None:
    from byteways.answers.best.wording_blocks import vllm_lines
    from byteways.questions.subjects.block_slowdowns import block_slowdowns, slowdown_text
    from byteways.record.simulation_mark import is_simulated, mark_of

    mark, beside = mark_of(index.manifest), block_slowdowns(index)
    if as_format == "json":
        outcome = {
            "simulated": is_simulated(index.manifest),
            "mark": mark or None,
            "devices": _models(index),
            "advice": [one.to_json() for one in found],
            "compute_beside": [one.to_json() for one in beside],
        }
        echo(json_text(outcome, indent=1))
    elif as_format == "vllm":
        about = f"{', '.join(_models(index))}; {run}"
        for line in vllm_lines(found, about, mark):
            echo(line)
        if beside:
            echo(f"\n# {slowdown_text(beside)}")
    else:
        _print_table(found, beside, mark)


def _models(index: Index) -> list[str]:
    """Returns the models of the GPUs, each once."""
    devices = [index.topology.device(name) for name in index.topology.names("gpu")]
    return list(dict.fromkeys(device.model for device in devices))


def _print_table(found: Sequence[BlockAdvice], beside: Sequence[BlockSlowdown], mark: str) -> None:
    from byteways.answers.best.wording_blocks import costs, in_short, limit_said, where
    from byteways.base.units import format_size
    from byteways.console.layout import show
    from byteways.questions.display.table import Table
    from byteways.questions.subjects.block_slowdowns import slowdown_table

    rows = tuple(
        (
            where(one.of),
            one.of.calls,
            limit_said(one),
            f"{one.least_blocks:,}",
            costs(one),
        )
        for one in found
    )
    headings = ("between", "kernel-blocks beside", "blocks of", "if at least", "what it costs")
    blocks = [Table("use the kernel for", headings, rows, (2, 3))]
    for one in found:
        cells = tuple(
            (f"{each.count:,}", in_short(each), format_size(round(each.equal_at)) if each.equal_at else "")
            for each in one.of.counts
        )
        columns = ("blocks", "its lead ends between", "equal at")
        blocks.append(Table(where(one.of), columns, cells, (0, 1, 2)))
    if beside:
        blocks.append(slowdown_table(beside))
    show(blocks, mark)
