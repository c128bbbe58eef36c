"""Learns what is normal from runs of healthy machines."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

from byteways.answers.results.index import Index
from byteways.answers.results.summary import UNRANKED, RecordedRun, Result
from byteways.base.errors import BytewaysError
from byteways.verdicts.checks.machines import host_of, links_of, same_machine, uuids_of
from byteways.verdicts.checks.normal import VERSION, Normal, NormalSetting, ReferenceMachine, Sample
from byteways.verdicts.two_runs.comparison import gpus
from byteways.verdicts.two_runs.setting import family_of, setting_of, since

#: A result of a setting, with the index of its machine and the suite of its run.
_Found = tuple[Result, int, str]


def learned(runs: Sequence[tuple[RecordedRun, str]], *, least_rounds: int = 3) -> Normal:
    """Returns what is normal by these runs.

    Several runs of a machine are one machine: their results have one value, the median. Results of methods
    that later changes made incomparable are left out.

    Args:
        runs: Runs with what they are called.
        least_rounds: Of a result that counts. A result of one round contributes to what machines vary by, but
            a setting needs three rounds on one machine, or two machines.

    Raises:
        BytewaysError: Runs are partly simulated, or have no result that counts.
    """
    indices = [(Index.of(run), name) for run, name in runs]
    if len({run.simulated for run, _ in indices}) > 1:
        kinds = ", ".join(f"{name}: {'simulated' if run.simulated else 'measured'}" for run, name in indices)
        raise BytewaysError("simulated and measured runs are not learned together", cause=kinds)
    machines: list[ReferenceMachine] = []
    found: dict[str, list[_Found]] = defaultdict(list)
    for run, name in indices:
        place = _place(machines, run, name)
        suite = str(run.manifest["suite"].get("name"))
        for cell in run.cells:
            key = setting_of(run, cell.record)
            usable = cell.rounds >= least_rounds and cell.record.method_version >= since(cell.record)
            if key is not None and usable and not {*UNRANKED} & {*cell.warning_ids}:
                found[key].append((cell, place, suite))
    settings = {key: one for key, some in found.items() if (one := _setting(some)) is not None}
    if not settings:
        names = ", ".join(name for _, name in indices)
        cause = f"they need {least_rounds} rounds and a comparable method"
        raise BytewaysError(f"{names}: no result to learn from", cause=cause, hint="byteways run quick")
    return Normal(VERSION, tuple(machines), settings)


def _place(machines: list[ReferenceMachine], run: Index, name: str) -> int:
    """Returns the index of the run's machine, which is added if it is new."""
    for place, one in enumerate(machines):
        if same_machine(one.uuids, one.name, run):
            machines[place] = replace(one, source=f"{one.source}, {name}")
            return place
    models = {**gpus(run.topology)}
    links = {**links_of(run.topology)}
    machines.append(
        ReferenceMachine(host_of(run), name, uuids_of(run), run.simulated, gpus=models, links=links)
    )
    return len(machines) - 1


def _setting(found: Sequence[_Found]) -> NormalSetting | None:
    """Returns a setting; None if one machine alone has it, in fewer than three rounds."""
    record = found[0][0].record
    alike = [
        one
        for one in found
        if (one[0].record.counts, one[0].record.timed_by) == (record.counts, record.timed_by)
    ]
    samples = []
    for place in dict.fromkeys(place for _, place, _ in alike):
        values = [cell.value for cell, where, _ in alike if where == place]
        rounds = min(cell.rounds for cell, where, _ in alike if where == place)
        samples.append(Sample(place, median(values), min(values), max(values), len(values), rounds))
    if len(samples) == 1 and samples[0].rounds < 3:
        return None
    return NormalSetting(family_of(record), record.counts, record.timed_by, _suites(alike), tuple(samples))


def _suites(found: Sequence[_Found]) -> Mapping[str, int]:
    """Returns the least number of different cases of a machine, by suite."""
    cases = {(suite, place, cell.record.case_id) for cell, place, suite in found}
    numbers = Counter((suite, place) for suite, place, _ in cases)
    least: dict[str, int] = {}
    for (suite, _), number in sorted(numbers.items()):
        least[suite] = min(number, least.get(suite, number))
    return least
