"""`byteways best`: which method is best for a size from here to there, from a run or measured now."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from byteways.base.errors import BytewaysError, ExitStatus
from byteways.base.units import parse_size
from byteways.cases.kv_cache import BLOCK_TOKENS, CONTEXT_TOKENS
from byteways.cli.best_questions import (
    Blocks,
    BlockTokens,
    ElementBytes,
    HeadSize,
    KvHeads,
    Latent,
    Layers,
    Load,
    Model,
    TensorParallel,
    Tokens,
    asked_of_blocks,
    asked_of_load,
    cache_of,
)
from byteways.cli.runs import opened_run
from byteways.cli.usage import BEST
from byteways.console.terminal import say

if TYPE_CHECKING:
    from byteways.cases.case import PlannedCase
    from byteways.cases.kv_cache import CacheBlocks
    from byteways.cases.question import Question
    from byteways.measuring.conduct.simulation import Simulation
    from byteways.measuring.conduct.time_limit import TimeLimit
    from byteways.record.run_folder import RunFolder

#: The setting by which workers leave all GPUs alone.
GPUS_SETTING = "BYTEWAYS_GPUS"
#: What an answer needs after measuring.
_TO_ANSWER = (
    "byteways.answers.best.answers",
    "byteways.answers.best.block_answers",
    "byteways.cli.best_printing",
)
_END = "a device, a glob (gpu*), 'host', a UUID or a PCI address."


def best(
    source: Annotated[
        str,
        typer.Argument(
            help=f"Source: {_END} Or a collective, without DST: best allreduce 64KiB. With "
            "--load the GPU alone: best --load 60GiB gpu0.",
            metavar="SRC",
        ),
    ],
    destination: Annotated[
        str | None,
        typer.Argument(help="Destination, in the same forms.", metavar="DST", show_default=False),
    ] = None,
    size: Annotated[
        str | None,
        typer.Argument(help="Size of one transfer: '1MiB'.", metavar="SIZE", show_default=False),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Argument(
            help="A folder that `byteways run` made. [default: measure now, in at most 10 s]", metavar="RUN"
        ),
    ] = None,
    within: Annotated[
        str, typer.Option("--within", help="'process', or 'ranks': from one process to another.")
    ] = "process",
    memory: Annotated[
        str | None, typer.Option("--memory", help="Memory that an end must have: 'pinned', 'device*'.")
    ] = None,
    pattern: Annotated[
        str, typer.Option("--pattern", help="'bidirectional', 'fan-out' or another of `list patterns`.")
    ] = "unidirectional",
    load: Load = None,
    blocks: Blocks = None,
    model: Model = None,
    tp: TensorParallel = 1,
    block_tokens: BlockTokens = BLOCK_TOKENS,
    tokens: Tokens = CONTEXT_TOKENS,
    layers: Layers = None,
    kv_heads: KvHeads = None,
    head_size: HeadSize = None,
    latent: Latent = None,
    element_bytes: ElementBytes = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the answer with its claims as JSON.")
    ] = False,
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine",
            help="Without RUN: simulate this machine, a name from `list machines` or a TOML file.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Without RUN: keep the run in this new folder.")
    ] = None,
) -> int:
    """Say which method is best for a size between two devices: from a run, or measured now."""
    from byteways.cases.question import collective_named, question

    cache = cache_of(
        *(model, tp, block_tokens, tokens),
        layers=layers,
        kv_heads=kv_heads,
        head_size=head_size,
        latent=latent,
        element_bytes=element_bytes,
    )
    where = within, memory, pattern
    if load is not None:
        if blocks is not None or cache is not None:
            raise BytewaysError(
                "--load is for one piece of data, not for blocks", hint="leave out one of them"
            )
        words: tuple[str, ...] = ("--load", load, source)
        asked, run = asked_of_load(source, load, destination, size, *where)
        return _answered(asked, words, run, machine, out, as_json)
    if destination is None:
        raise BytewaysError("missing argument 'DST'", hint=BEST)
    if blocks is not None or cache is not None:
        asked, run = asked_of_blocks((source, destination), blocks, cache, size, run, *where)
        words = source, destination, "--blocks", asked.blocks.written if asked.blocks else ""
        return _answered(asked, words, run, machine, out, as_json, cache)
    if collective := collective_named(source):
        words = (source, destination)
        _check_size_of_collective(words, size)
        asked = question("", "", destination, memory=memory, pattern=collective)
        run = run if size is None else Path(size)
    else:
        given = _given(source, destination, size, run)
        words = source, destination, given
        asked = question(source, destination, given, within=within, memory=memory, pattern=pattern)
    return _answered(asked, words, run, machine, out, as_json)


def _answered(
    asked: Question,
    words: Sequence[str],
    run: Path | None,
    machine: str | None,
    out: Path | None,
    as_json: bool,
    cache: CacheBlocks | None = None,
) -> int:
    """Answers from a run, or measures now."""
    from byteways.answers.best.block_answers import all_answers
    from byteways.cli.best_printing import print_answers

    if run is None:
        return _now(asked, machine, out, as_json, cache)
    for name, value in (("--machine", machine), ("--out", out)):
        if value is not None:
            raise BytewaysError(f"{name} is for a measurement; {run} has its results already")
    _check_no_machine(run, words)
    folder = opened_run(run)
    print_answers(folder, all_answers(folder, asked, str(run)), as_json, None, cache=cache)
    return ExitStatus.GOOD


def _check_no_machine(run: Path, words: Sequence[str]) -> None:
    """Raises BytewaysError if a machine model is named as the run."""
    if run.exists():
        return
    from byteways.models import names

    if str(run) in names():
        hint = f"byteways best {shlex.join(words)} --machine {run}"
        raise BytewaysError(f"{run} is a machine model, not a run", hint=hint)


def _given(source: str, destination: str, size: str | None, run: Path | None) -> str:
    """Returns the size. Raises BytewaysError if it is missing, or the words are in another order."""
    from byteways.cases.question import check_ends, meant_collective

    if size is None and _is_size(destination) and (meant := meant_collective(source)):
        raise BytewaysError(f"'{source}' is neither a device nor a collective", hint=meant)
    check_ends(source, destination)
    if size is None:
        raise BytewaysError("missing argument 'SIZE'", hint=BEST)
    _check_order(source, destination, size, run)
    return size


def _check_size_of_collective(words: Sequence[str], run: str | None) -> None:
    """Raises BytewaysError if what follows a collective is not its size."""
    if not _is_size(words[1]):
        size = run if run and _is_size(run) else "64KiB"
        hint = f"the size follows the collective: byteways best {words[0]} {size}"
        raise BytewaysError(f"'{words[1]}' is not a size", hint=hint)


def _check_order(source: str, destination: str, size: str, run: Path | None) -> None:
    """Raises BytewaysError with the right order if the third word is a run, or another one is the size."""
    if _is_size(size):
        return
    words = [*source.split(">"), *destination.split(">"), size, *([str(run)] if run else [])]
    runs = [word for word in words if (Path(word) / "run.json").is_file()]
    sizes = [word for word in words if _is_size(word)]
    ends = [word for word in words if word not in (*runs, *sizes)]
    if not sizes and size not in runs:
        return
    what = f"'{size}' is {'a run, ' if size in runs else ''}not a size"
    if len(ends) < 2:
        hint = "name both ends: byteways best gpu0 gpu1 1MiB"
    else:
        ordered = [*ends[:2], *(sizes or ["1MiB"])[:1], *runs[:1]]
        hint = f"devices, then the size, then the run: byteways best {shlex.join(ordered)}"
    raise BytewaysError(what, hint=hint)


def _is_size(word: str) -> bool:
    try:
        return parse_size(word) > 0
    except ValueError:
        return False


def _now(
    asked: Question, machine: str | None, out: Path | None, as_json: bool, cache: CacheBlocks | None
) -> int:
    """Measures the question and answers it, on a real machine within the question's limit."""
    from byteways.base.private_folder import private_folder
    from byteways.cases.question import host_alone
    from byteways.measuring.conduct.conductor import Interrupted
    from byteways.measuring.conduct.simulation import simulation_of
    from byteways.measuring.conduct.time_limit import TimeLimit
    from byteways.plan.budget import BudgetError
    from byteways.record.simulation_mark import voice

    began = time.monotonic()
    simulation = simulation_of(machine, None)
    # A simulated answer must not depend on the speed of this machine.
    limit = TimeLimit(None if simulation else asked.answer_within_s, began)
    with private_folder() as own:
        try:
            with _gpus_wanted(simulation is not None or not host_alone(asked)):
                folder, planned = _measured(asked, simulation, out or own / "best", limit)
        except Interrupted as stopped:
            if limit.over:
                raise _no_time(
                    asked.answer_within_s, "the devices of this machine were still being opened"
                ) from stopped
            say(f"interrupted by {stopped}")
            return ExitStatus.INTERRUPTED
        except BudgetError as error:
            raise _no_time(asked.answer_within_s, f"{error.cause}, as estimated") from error
        from byteways.answers.best.answers import left_out
        from byteways.answers.best.block_answers import all_answers
        from byteways.cli.best_printing import print_answers

        took_s = time.monotonic() - began
        kept = f" into {out}" if out else ""
        say(f"{voice(simulation is not None).measured} now{kept}, in {took_s:.1f} s")
        missing = left_out(folder, planned)
        if missing:
            say(f"left out for lack of time: {', '.join(missing)}")
        print_answers(folder, all_answers(folder, asked), as_json, round(took_s, 1), missing, cache)
    return ExitStatus.GOOD


@contextmanager
def _gpus_wanted(wanted: bool) -> Iterator[None]:
    """Keeps workers from opening GPUs that a question does not need: opening four takes most of its time."""
    before = os.environ.get(GPUS_SETTING)
    if not wanted:
        os.environ[GPUS_SETTING] = "0"
    try:
        yield
    finally:
        if not wanted:
            del os.environ[GPUS_SETTING]
            if before is not None:
                os.environ[GPUS_SETTING] = before


def _no_time(limit_s: float, cause: str) -> BytewaysError:
    hint = "measure without that limit: byteways run quick"
    return BytewaysError(f"no answer within {limit_s:g} s", cause=cause, hint=hint)


def _measured(
    asked: Question, simulation: Simulation | None, folder: Path, limit: TimeLimit
) -> tuple[RunFolder, Sequence[PlannedCase]]:
    """Measures until all is measured or the time is over; returns the run and its plan.

    Raises:
        Interrupted: By a signal, or the time was over before anything was planned.
    """
    from byteways.cli.measure_now import measure_now
    from byteways.cli.preloading import importing
    from byteways.plan.question_suite import suite_of

    with limit:
        tick = importing(limit.check, *_TO_ANSWER)
        return measure_now(partial(suite_of, asked), simulation, folder, limit, tick)
