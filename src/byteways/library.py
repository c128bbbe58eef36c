"""byteways as a Python library: `import byteways` gives what is public here, loaded when first used.

run = byteways.load("my-run")
print(run.best("gpu0", "gpu1", "1MiB"))
run.frame().filter(polars.col("interface") == "copy")
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from byteways.answers.best.answers import Answer, answers
from byteways.answers.best.block_answers import block_answers
from byteways.answers.best.load import LoadAnswer, load_answer
from byteways.answers.best.no_answer import NoAnswer
from byteways.answers.best.placement import Placement
from byteways.answers.results.index import Index
from byteways.answers.results.progress import notices, opened, progress
from byteways.base.errors import BytewaysError
from byteways.cases.question import PROCESS, question
from byteways.machine.model import Topology
from byteways.plan.load_question import load_question
from byteways.record.record import Record
from byteways.record.simulation_mark import is_simulated, mark_of, subject
from byteways.record.unusable_gpus import verdict_on_gpus

if TYPE_CHECKING:
    import polars

    from byteways.answers.claims.claim import Claim
    from byteways.answers.claims.finding import Finding
    from byteways.measuring.conduct.interruption import Interruption
    from byteways.measuring.conduct.measure_from_python import Display
    from byteways.verdicts.checks.check import Check
    from byteways.verdicts.two_runs.comparison import Comparison

#: How many findings a notebook shows of a run.
_FINDINGS_SHOWN = 3


class RunWarning(UserWarning):
    """A run that is incomplete, misses GPUs of its machine, or has lines that cannot be read."""


class Run:
    """A run: its records, its machine, and what follows from them. Nothing is measured again.

    Args:
        path: The folder that `byteways run` made.

    Raises:
        BytewaysError: The folder is not a run, its manifest is damaged, or its records are missing.
    """

    def __init__(self, path: str | Path) -> None:
        self._folder = opened(Path(path))
        for notice in filter(None, (verdict_on_gpus(self.manifest), *notices(self._folder))):
            warnings.warn(f"{path}: {notice}", RunWarning, stacklevel=3)

    @property
    def path(self) -> Path:
        return self._folder.path

    @property
    def manifest(self) -> Mapping[str, Any]:
        """`run.json`: versions, machine, suite, options (docs/reference/record-format.md)."""
        return self._folder.manifest

    @property
    def topology(self) -> Topology:
        """Devices with UUID and PCI address, links and their nominal peaks."""
        return self._folder.topology

    @property
    def records(self) -> Sequence[Record]:
        """Every readable record, in the order of measurement."""
        return self._folder.records

    @property
    def simulated(self) -> bool:
        return is_simulated(self.manifest)

    def frame(self, *, samples: bool = False) -> polars.DataFrame:
        """Returns one row per record and round, with the columns of `byteways export`.

        Base units are in the column names. The columns are the same for every run, with `run_id`, `host`
        and the devices' UUIDs, so that frames of several runs can be concatenated. `.to_pandas()` needs
        pandas and pyarrow.

        Args:
            samples: Fill column `samples_ns` with every sample.

        Raises:
            BytewaysError: Polars is not installed, or the samples cannot be read.
        """
        from byteways.answers.results.summary import shown
        from byteways.record.frame import frame

        records = [shown(record) for record in self.records]
        return frame(self.manifest, records, self._folder.samples if samples else None)

    def best(
        self,
        source: str,
        destination: str,
        size: str | int,
        *,
        within: str = PROCESS,
        memory: str | None = None,
        pattern: str = "unidirectional",
    ) -> Answer:
        """Returns the best way for a size between devices of one kind and link class.

        Args:
            source: A device, a glob, `host`, a UUID or a PCI address.
            destination: The same.
            size: Bytes, or a text such as '1MiB'; '1024x16KiB' for scattered blocks.
            within: `process` or `ranks`.
            memory: A memory kind or a glob that either end must have; None: any.
            pattern: A pattern of transfers.

        Raises:
            BytewaysError: The devices are unknown, nothing was measured between them at this size, it cannot
                be ranked, or they are connected by links of several classes: see answers().
        """
        found = self.answers(source, destination, size, within=within, memory=memory, pattern=pattern)
        if len(found) > 1:
            raise BytewaysError(
                f"{source} and {destination} are connected in {len(found)} different ways",
                cause=", ".join(one.between for one in found),
                hint="run.answers(…) has an answer for each",
            )
        (only,) = found
        if not isinstance(only, Answer):
            raise BytewaysError(f"no answer {only}", hint="measure again with 3 rounds or more")
        return only

    def answers(
        self,
        source: str,
        destination: str,
        size: str | int,
        *,
        within: str = PROCESS,
        memory: str | None = None,
        pattern: str = "unidirectional",
    ) -> list[Answer | NoAnswer | Placement]:
        """Returns the best method for each kind of pair and link class; the arguments are those of best().

        Where these name several NUMA domains (`cpu*`), the last ones compare the domains.

        Raises:
            BytewaysError: The devices are unknown, or nothing was measured between them at this size.
        """
        asked = question(source, destination, size, within=within, memory=memory, pattern=pattern)
        if asked.blocks:
            return [*block_answers(self._index, asked, str(self.path))]
        return answers(self._index, asked, str(self.path))

    def load_time(self, size: str | int, gpu: str) -> LoadAnswer:
        """Returns how long so many bytes take into a GPU, from allocation on, like `byteways best --load`.

        Raises:
            BytewaysError: The GPU is unknown or too small, or no part of a load was measured.
        """
        return load_answer(self._index, load_question(gpu, str(size)), str(self.path))

    def check(
        self,
        against: Run | str | Path = "normal",
        *,
        tolerance: float | None = None,
        at_least: float | None = None,
        least_effect: float | None = None,
        strict: bool = False,
        allow_missing: bool = False,
        mixed: bool = False,
    ) -> Check:
        """Judges each case of the run like `byteways check`, and the run as a whole.

        Args:
            against: "normal": what such machines give; "peak"; another run or its folder; a TOML file of
                limits; or a file that `byteways check --learn` wrote.
            tolerance: Least relative difference from a run or from normal results that is FAIL or HIGH; None:
                0.05.
            at_least: Against the peak: part of it that a path must reach; None: 0.7.
            least_effect: Loss that a case must have been able to find to PASS; None: 0.2.
            strict: Whether a case that is NOT DECIDED fails.
            allow_missing: Whether cases that the run had no time for, or lost, may be missing.
            mixed: Whether a simulated run may be judged by measured results, or the reverse.

        Raises:
            BytewaysError: The reference cannot be read or does not suit the run, an option does not suit the
                reference, or the run has no results.
        """
        from byteways.verdicts.checks.check import CheckQuestion, checked

        named = str(against.path if isinstance(against, Run) else against)
        asked = CheckQuestion.of(
            *(named, tolerance, at_least),
            least_effect=least_effect,
            strict=strict,
            allow_missing=allow_missing,
            mixed=mixed,
        )
        if asked.kind == "run" and not isinstance(against, Run):
            against = Run(against)
        reference = against._index if isinstance(against, Run) else None
        return checked(self._index, str(self.path), asked, reference)

    @cached_property
    def findings(self) -> list[Finding]:
        """The findings of the report, the most important first."""
        from byteways.questions.findings import findings

        return findings(self._index)

    @property
    def claims(self) -> list[Claim]:
        """Every comparison behind the findings, in their order."""
        return [claim for finding in self.findings for claim in finding.claims]

    @cached_property
    def _index(self) -> Index:
        return Index(self._folder)

    def __repr__(self) -> str:
        mark = mark_of(self.manifest)
        return f"<byteways run {self._title}: {self._state}{f'; {mark}' if mark else ''}>"

    @property
    def _title(self) -> str:
        return f"{self.manifest['suite'].get('name')} on {subject(self.manifest)}"

    @property
    def _state(self) -> str:
        return progress(self._folder)

    def _repr_html_(self) -> str:
        """What a notebook shows: state, recommended interfaces, the main findings."""
        from html import escape

        from byteways.answers.best.headline import headline, rows_of_text

        parts = [f"<h4>{escape(self._title)}</h4><p>{escape(self._state)}</p>"]
        if mark := mark_of(self.manifest):
            parts.insert(0, f"<p><strong>{escape(mark)}</strong></p>")
        if first := headline(self._index):
            rows = [("between", *first.size_names), *rows_of_text(first)]
            cells = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
            parts.append("<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>")
        told = (escape(finding.title) for finding in self.findings[:_FINDINGS_SHOWN])
        parts.append("<ol>" + "".join(f"<li>{title}</li>" for title in told) + "</ol>")
        return "".join(parts)


def load(path: str | Path) -> Run:
    """Opens a run folder; an incomplete or damaged run is reported as a RunWarning.

    Raises:
        BytewaysError: The folder is not a run, its manifest is damaged, or its records are missing.
    """
    return Run(path)


def compare(
    first: Run | str | Path,
    second: Run | str | Path,
    *,
    mixed: bool = False,
    least_effect: float | None = None,
) -> Comparison:
    """Compares two runs case by case, the largest differences first; all claims hold simultaneously.

    Only equal definitions are compared: the same case, method version, timer and count.

    Args:
        first: The reference: a run, or its folder.
        second: The run compared with it.
        mixed: Whether a simulated run may stand beside a measured one.
        least_effect: Loss that a comparison must be able to find, or it is not decided; None: 0.2.

    Raises:
        BytewaysError: A folder is no run, both are the same run, they have no case in common, or one is
            simulated and the other measured.
    """
    from byteways.verdicts.two_runs.comparison import compare_runs
    from byteways.verdicts.two_runs.paired_cases import DEFAULT_LEAST_EFFECT
    from byteways.verdicts.two_runs.wording_comparison import part_of

    least = DEFAULT_LEAST_EFFECT if least_effect is None else part_of("--least-effect", least_effect)
    runs = [one if isinstance(one, Run) else Run(one) for one in (first, second)]
    indices, names = [run._index for run in runs], [str(run.path) for run in runs]
    (found,) = compare_runs(indices, names, mixed=mixed, least_effect=least)
    return found


def measure(
    suite: str = "quick",
    *,
    out: str | Path | None = None,
    only: Sequence[str] = (),
    size: str | None = None,
    budget_s: float | None = None,
    rounds: int | None = None,
    machine: str | None = None,
    seed: int | None = None,
    progress: bool = True,
) -> Run:
    """Measures a suite on this machine, or simulates it, and returns the run. The arguments are those of
    `byteways run`.

    Args:
        suite: Name of a suite, or a TOML file.
        out: The new run folder; None: `byteways-<suite>-<host>-<time>` in the current directory.
        only: Filters such as 'interface=copy,path=gpu0>gpu*'; alternatives.
        size: Sizes such as '64KiB..1GiB'.
        budget_s: Time limit in seconds; None: the suite's own.
        rounds: Rounds with fresh buffers; with fewer than three nothing is ranked.
        machine: Machine model to simulate; None: this machine.
        seed: Seed of the simulated machine's noise; None: the model's.
        progress: Show a progress bar on a terminal or in a notebook, and lines on stderr elsewhere.

    Raises:
        BytewaysError: An argument is invalid, the machine cannot be probed, or nothing can be measured.
        KeyboardInterrupt: The measurement was interrupted; what was measured is in the folder.
    """
    from byteways.answers.best.open_comparisons import open_cases
    from byteways.cli.run_options import options_of
    from byteways.cli.run_task import default_folder
    from byteways.measuring.conduct.conductor import Interrupted
    from byteways.measuring.conduct.interruption import Interruption
    from byteways.measuring.conduct.measure_from_python import measure_from_python
    from byteways.measuring.conduct.simulation import simulation_of
    from byteways.plan.suite import load as load_suite

    chosen, simulation = load_suite(suite), simulation_of(machine, None, seed)
    options = options_of(only, size, budget_s, rounds)
    folder = Path(out) if out is not None else default_folder(chosen, simulation)
    interruption = Interruption()
    # Python allows signal handlers in the main thread only.
    in_main = threading.current_thread() is threading.main_thread()
    guard: AbstractContextManager[object] = interruption if in_main else nullcontext()
    command_line = ["byteways.measure", suite]
    with guard:
        try:
            measure_from_python(
                *(chosen, options, folder, command_line, _display(progress), interruption),
                simulation=simulation,
                open_cases=open_cases,
            )
        except Interrupted as stopped:
            raise KeyboardInterrupt(f"interrupted by {stopped}; byteways.load('{folder}')") from None
    return Run(folder)


def _display(shown: bool) -> Callable[[int, Interruption], AbstractContextManager[Display]]:
    from byteways.cli.progress import Progress, stderr_screen
    from byteways.console.screens import Notebook, in_notebook
    from byteways.measuring.conduct.measure_from_python import Quiet

    if not shown:
        return lambda cases, interruption: Quiet(interruption)
    screen = Notebook() if in_notebook() else stderr_screen()
    return lambda cases, interruption: Progress(cases, interruption, screen)
