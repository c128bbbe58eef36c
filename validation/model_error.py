"""How good the machine models are: what they predict beside what was published.

    python validation/model_error.py [MACHINE ...] [--summary] [--json] [--write]

Each value is measured on the simulated machine the way its source measured it (simulated_programs.py),
without noise. Aims, for held-out bandwidths of 1 MiB and more: median error at most 5 %, 90th percentile at
most 15 %. Managed memory, small sizes, times and latencies have no aim. What MPI, NCCL and RCCL do between
ranks is counted by itself, over all machines (message_figures.py). `--write` puts the figures of copies and
kernels into [fit] of the machine files. Exit status 1: an aim is missed.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import message_figures
import own_run
import published_values as published
from byteways.base.units import format_bandwidth
from byteways.cases.error_categories import ERROR_CATEGORIES, error_category
from byteways.measuring.shared.simulator import simulator_path
from byteways.models import MachineModel, load, sheet
from published_values import FITTED, HELD_OUT, PublishedValue
from simulated_programs import BETWEEN_RANKS, figure, operation_of, simulate

AIM_BYTES = 2**20
MEDIAN_AIM, P90_AIM = 0.05, 0.15
MACHINES = Path(__file__).resolve().parents[1] / "src" / "byteways" / "simulate"


@dataclass(frozen=True)
class Prediction:
    """One value with what the model makes of it, in the value's unit."""

    value: PublishedValue
    side: str
    predicted: float
    family: str  # values alike but for size and pair: source, method, kinds of memory and of way

    @property
    def error(self) -> float:
        """Predicted over published, less 1."""
        return self.predicted / self.value.value - 1

    @property
    def between_ranks(self) -> bool:
        return self.value.method in BETWEEN_RANKS

    @property
    def has_aim(self) -> bool:
        value = self.value
        if self.between_ranks and value.metric == "time":
            return True
        size = value.size_bytes or AIM_BYTES  # not stated: beyond every cache
        is_managed = value.method == "prefetch" or value.source.memory.startswith("managed")
        return value.metric == "bandwidth" and size >= AIM_BYTES and not is_managed


@dataclass(frozen=True)
class Figures:
    """Of one machine, without messages. Errors are relative, without sign; None: there is no such value."""

    machine: str
    fitted_values: int
    held_out_values: int
    with_aim: int  # held-out values that the errors are of
    median_error: float | None
    p90_error: float | None
    families: int
    family_median_error: float | None  # each family counts once, with its median
    family_p90_error: float | None
    categories: dict[str, dict[str, float]]  # of all held-out values that count, by cases/error_categories.py
    missed: tuple[str, ...]  # families whose own figures are beyond an aim

    @property
    def good(self) -> bool:
        median, p90 = self.median_error or 0.0, self.p90_error or 0.0
        return median <= MEDIAN_AIM and p90 <= P90_AIM


def predict(model: MachineModel) -> list[Prediction]:
    """The fitted and the held-out values of a machine, in the order of its file, with their predictions.

    Raises:
        SimulationError: the simulated machine failed.
    """
    fitted, held_out, _ = published.split(model.name)
    sides = [(value, FITTED) for value in [*fitted, *own_run.values(model.name)]]
    sides += [(value, HELD_OUT) for value in held_out]
    predicted = predict_values(model, [value for value, _ in sides])
    return [
        Prediction(value, side, figure_of_model, family_of(value, model))
        for (value, side), figure_of_model in zip(sides, predicted, strict=True)
    ]


def predict_values(model: MachineModel, values: Sequence[PublishedValue]) -> list[float]:
    """What the model makes of values, in their units.

    Raises:
        SimulationError: the simulated machine failed.
    """
    operations = [operation_of(value) for value in values]
    times = simulate(Path(simulator_path()), _quiet(sheet(model)), operations)
    return [figure(value, flows) for value, flows in zip(values, times, strict=True)]


def _quiet(text: str) -> str:
    return re.sub(r"^noise\t.*$", "noise\t0", text, flags=re.MULTILINE)


def family_of(value: PublishedValue, model: MachineModel) -> str:
    """Values of one family are expected to be equally well predicted."""
    settings = [f"{name}={text}" for name, text in [*value.options.items(), *value.environment.items()]]
    memories = f"{value.source.memory}>{value.destination.memory}"
    way = way_between(model, value.source.device, value.destination.device, value.executor)
    pattern = [] if value.pattern == "unidirectional" else [value.pattern]
    return " ".join([value.source_key, value.method, value.access, memories, way, *pattern, *settings])


def way_between(model: MachineModel, source: str, destination: str, executor: str) -> str:
    """`local`, `host`, the kind and width of a direct link, `switch`, or `routed`."""
    ends = {source, destination, executor}
    if len(ends) == 1:
        return "local"
    if any(end.startswith("cpu") for end in ends):
        return "host"
    neighbours: dict[str, set[str]] = defaultdict(set)
    for index in range(model.count("links")):
        for pair in model.texts(f"links.{index}.pairs"):
            if set(pair.split("-")) == ends:
                return f"{model.text_of(f'links.{index}.kind')} x{model.whole(f'links.{index}.width')}"
            for a, b in (pair.split("-"), pair.split("-")[::-1]):
                neighbours[a].add(b)
    shared = set.intersection(*(neighbours[end] for end in ends))
    return "switch" if any(not name.startswith(("gpu", "cpu")) for name in shared) else "routed"


def figures_of(machine: str, predictions: Sequence[Prediction]) -> Figures:
    """Counts and errors of one machine's copies and kernels."""
    everything = predictions
    predictions = [one for one in predictions if not one.between_ranks]
    held_out = [one for one in predictions if one.side == HELD_OUT]
    aimed = [one for one in held_out if one.has_aim]
    families = by_family(aimed)
    medians = [statistics.median(errors) for errors in families.values()]
    errors = [abs(one.error) for one in aimed]
    missed = [
        name
        for name, found in families.items()
        if statistics.median(found) > MEDIAN_AIM or percentile_90(found) > P90_AIM
    ]
    return Figures(
        machine,
        sum(one.side == FITTED for one in predictions),
        len(held_out),
        len(aimed),
        statistics.median(errors) if errors else None,
        percentile_90(errors) if errors else None,
        len(families),
        statistics.median(medians) if medians else None,
        percentile_90(medians) if medians else None,
        by_category(everything),
        tuple(missed),
    )


def by_category(predictions: Sequence[Prediction]) -> dict[str, dict[str, float]]:
    """Errors of held-out values by category, as [fit.categories] of a machine file has them.

    Bandwidths of 1 MiB and more, and times and latencies of any size.
    """
    errors: dict[str, list[float]] = defaultdict(list)
    for one in predictions:
        if one.side == HELD_OUT and (one.has_aim or one.value.metric != "bandwidth"):
            errors[error_category(one.value.method, one.value.executor)].append(abs(one.error))
    return {
        name: {
            "values": len(errors[name]),
            "median_error": round(statistics.median(errors[name]), 4),
            "p90_error": round(percentile_90(errors[name]), 4),
        }
        for name in ERROR_CATEGORIES
        if name in errors
    }


def by_family(predictions: Sequence[Prediction]) -> dict[str, list[float]]:
    """Errors without sign, by family, in the order of the values."""
    families: dict[str, list[float]] = defaultdict(list)
    for one in predictions:
        families[one.family].append(abs(one.error))
    return dict(families)


def percentile_90(errors: Sequence[float]) -> float:
    """By linear interpolation between the values."""
    return statistics.quantiles(errors, n=10, method="inclusive")[-1] if len(errors) > 1 else errors[0]


# --- what is printed and written


def print_values(machine: str, predictions: Sequence[Prediction]) -> None:
    print(f"\n{machine}")
    print(f"{'error':>8}  {'predicted':>14} {'published':>14}  {'side':8}  aim  value")
    for one in predictions:
        predicted, value = _text(one, one.predicted), _text(one, one.value.value)
        aim = "yes" if one.side == HELD_OUT and one.has_aim else "-"
        print(
            f"{100 * one.error:+7.1f}%  {predicted:>14} {value:>14}  {one.side:8}  {aim:3}  {one.value.key}"
        )


def _text(one: Prediction, number: float) -> str:
    return format_bandwidth(number) if one.value.metric == "bandwidth" else f"{number:.1f} ns"


def print_families(machine: str, predictions: Sequence[Prediction], held_out_only: bool) -> None:
    """Median and highest error of each family, for those with an aim and for the others."""
    for side, has_aim, title in (
        (HELD_OUT, True, "held out, with an aim"),
        (HELD_OUT, False, "held out, without an aim"),
        (FITTED, None, "fitted"),
    ):
        chosen = [one for one in predictions if one.side == side and has_aim in (None, one.has_aim)]
        if not chosen or (held_out_only and side == FITTED):
            continue
        print(f"\n{machine}: {title}\n{'median':>8}{'highest':>9}{'values':>8}  family")
        for family, errors in by_family(chosen).items():
            print(
                f"{100 * statistics.median(errors):7.1f}%{100 * max(errors):8.1f}%{len(errors):8}  {family}"
            )


def print_summary(results: Sequence[Figures]) -> None:
    print(f"\n{'':16}{'values':>19}  {'by value':>26}  {'by family':>22}")
    heads = f"{'fitted':>8}{'held out':>11}  {'with aim':>8}{'median':>9}{'90 %':>9}"
    print(f"{'machine':16}{heads}  {'count':>5}{'median':>9}{'90 %':>8}  aim")
    for one in results:
        verdict = "none" if one.median_error is None else "met" if one.good else "MISSED"
        print(
            f"{one.machine:16}{one.fitted_values:8}{one.held_out_values:11}  {one.with_aim:8}"
            f"{_percent(one.median_error):>9}{_percent(one.p90_error):>9}  {one.families:5}"
            f"{_percent(one.family_median_error):>9}{_percent(one.family_p90_error):>8}  {verdict}"
        )
    print(f"\naims: median {_percent(MEDIAN_AIM)}, 90th percentile {_percent(P90_AIM)} by value")
    for one in results:
        for family in one.missed:
            print(f"beyond an aim by itself: {one.machine}: {family}")


def _percent(error: float | None) -> str:
    return "-" if error is None else f"{100 * error:.1f} %"


def fit_table(one: Figures) -> str:
    """The [fit] table of a machine file: held-out values that have an aim, errors in four decimals."""
    lines = [f"fitted_values = {one.fitted_values}", f"held_out_values = {one.with_aim}"]
    if one.median_error is not None and one.p90_error is not None:
        lines += [f"median_error = {one.median_error:.4f}", f"p90_error = {one.p90_error:.4f}"]
    for name, found in one.categories.items():
        errors = ", ".join(f"{key} = {value}" for key, value in found.items())
        lines.append(f'categories."{name}" = {{ {errors} }}')
    return "\n".join(["[fit]", *lines, ""])


def write_fit(one: Figures) -> None:
    """Replaces [fit] in the file of the machine, or puts it before [sources]."""
    path = MACHINES / f"{one.machine}.toml"
    text = re.sub(r"^\[fit\]\n(?:\w.*\n)*\n?", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    path.write_text(text.replace("[sources]\n", f"{fit_table(one)}\n[sources]\n"), encoding="utf-8")


def as_json(
    results: Sequence[tuple[Figures, Sequence[Prediction]]], messages: Sequence[message_figures.Messages]
) -> list[dict[str, Any]]:
    between = {one.machine: asdict(one) for one in messages}
    return [
        {
            **{name: getattr(found, name) for name in Figures.__dataclass_fields__},
            "good": found.good,
            "messages": between.get(found.machine),
            "values": [
                {
                    "key": one.value.key,
                    "side": one.side,
                    "family": one.family,
                    "has_aim": one.has_aim,
                    "published": one.value.value,
                    "predicted": one.predicted,
                    "error": one.error,
                }
                for one in predictions
            ],
        }
        for found, predictions in results
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("machine", nargs="*", help="names of models; default: all with published values")
    parser.add_argument("--summary", action="store_true", help="held-out families only, no single values")
    parser.add_argument("--json", action="store_true", help="all values and figures as JSON")
    parser.add_argument("--write", action="store_true", help="put the figures into [fit] of the files")
    chosen = parser.parse_args()
    results = []
    for name in chosen.machine or published.machines():
        predictions = predict(load(name))
        results.append((figures_of(name, predictions), predictions))
    messages = message_figures.of_machines([(load(found.machine), seen) for found, seen in results])
    if chosen.write:
        for found, _ in results:
            write_fit(found)
    if chosen.json:
        print(json.dumps(as_json(results, messages), indent=1))
    else:
        for found, predictions in results:
            if not chosen.summary:
                print_values(found.machine, predictions)
            print_families(found.machine, predictions, held_out_only=chosen.summary)
        print_summary([found for found, _ in results])
        message_figures.print_table(messages)
    return 0 if all(found.good for found, _ in results) and message_figures.good(messages) else 1


if __name__ == "__main__":
    sys.exit(main())
