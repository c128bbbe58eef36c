"""How good the machine models are between ranks: messages and collectives of MPI, NCCL and RCCL.

Aims, for the held-out values of all machines together: of bandwidths of 1 MiB and more, median error at most
10 %, 90th percentile at most 25 %; of times of one operation, of any size, median error at most 10 %, 90th
percentile at most 35 %. A model may have at most a quarter as many numbers fitted to such values as there are
fitted values.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from byteways.models import MachineModel
from published_values import FITTED, HELD_OUT

if TYPE_CHECKING:
    from model_error import Prediction

BANDWIDTH_MEDIAN_AIM, BANDWIDTH_P90_AIM = 0.10, 0.25
TIME_MEDIAN_AIM, TIME_P90_AIM = 0.10, 0.35
#: Of fitted values for each fitted number.
VALUES_FOR_A_NUMBER = 4
#: Programs between ranks, as sources of fitted numbers name them.
_PROGRAMS = ("osu_", "all_reduce_perf")


@dataclass(frozen=True)
class Messages:
    """Of one machine, or of all. Errors are relative, without sign; None: there is no such value."""

    machine: str
    numbers: int  # of the model that were fitted to values between ranks
    fitted_values: int
    bandwidths: int  # held out, from 1 MiB
    bandwidth_median: float | None
    bandwidth_p90: float | None
    times: int  # held out
    time_median: float | None
    time_p90: float | None


def of_machines(results: Sequence[tuple[MachineModel, Sequence[Prediction]]]) -> list[Messages]:
    """Figures of each machine with values between ranks, then of all together; empty without any."""
    found = [
        _figures(model.name, numbers_of(model), [one for one in predictions if one.between_ranks])
        for model, predictions in results
        if any(one.between_ranks for one in predictions)
    ]
    everything = [one for _, predictions in results for one in predictions if one.between_ranks]
    return [*found, _figures("all", sum(one.numbers for one in found), everything)] if found else []


def numbers_of(model: MachineModel) -> int:
    """How many numbers of a model were fitted to values between ranks."""
    return sum(
        fact.fitted and any(program in fact.source for program in _PROGRAMS) for fact in model.facts.values()
    )


def _figures(machine: str, numbers: int, predictions: Sequence[Prediction]) -> Messages:
    aimed = [one for one in predictions if one.side == HELD_OUT and one.has_aim]
    bandwidths = [abs(one.error) for one in aimed if one.value.metric == "bandwidth"]
    times = [abs(one.error) for one in aimed if one.value.metric != "bandwidth"]
    return Messages(
        machine,
        numbers,
        sum(one.side == FITTED for one in predictions),
        len(bandwidths),
        statistics.median(bandwidths) if bandwidths else None,
        _percentile_90(bandwidths),
        len(times),
        statistics.median(times) if times else None,
        _percentile_90(times),
    )


def _percentile_90(errors: Sequence[float]) -> float | None:
    return statistics.quantiles(errors, n=10, method="inclusive")[-1] if len(errors) > 1 else None


def missed(found: Sequence[Messages]) -> list[str]:
    """Fields whose aims all machines together do not reach."""
    aims = {
        "bandwidth_median": BANDWIDTH_MEDIAN_AIM,
        "bandwidth_p90": BANDWIDTH_P90_AIM,
        "time_median": TIME_MEDIAN_AIM,
        "time_p90": TIME_P90_AIM,
    }
    every = found[-1:]
    return [name for name, aim in aims.items() for one in every if (getattr(one, name) or 0) > aim]


def good(found: Sequence[Messages]) -> bool:
    """Whether all machines together reach the aims."""
    return not missed(found)


def print_table(found: Sequence[Messages]) -> None:
    if not found:
        return
    print(f"\n{'between ranks':16}{'fitted':>17}  {'held-out bandwidths':>25}  {'held-out times':>24}")
    print(
        f"{'machine':16}{'numbers':>8}{'values':>9}  {'count':>7}{'median':>9}{'90 %':>9}"
        f"  {'count':>6}{'median':>9}{'90 %':>9}"
    )
    for one in found:
        print(
            f"{one.machine:16}{one.numbers:8}{one.fitted_values:9}  {one.bandwidths:7}"
            f"{_percent(one.bandwidth_median):>9}{_percent(one.bandwidth_p90):>9}  {one.times:6}"
            f"{_percent(one.time_median):>9}{_percent(one.time_p90):>9}"
        )
    verdict = f"MISSED: {', '.join(missed(found))}" if missed(found) else "met"
    print(
        f"\naims over all: bandwidths of 1 MiB and more median {_percent(BANDWIDTH_MEDIAN_AIM)}, "
        f"90th percentile {_percent(BANDWIDTH_P90_AIM)}; times median {_percent(TIME_MEDIAN_AIM)}, "
        f"90th percentile {_percent(TIME_P90_AIM)}: {verdict}"
    )


def _percent(error: float | None) -> str:
    return "-" if error is None else f"{100 * error:.1f} %"
