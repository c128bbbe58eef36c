"""The latency hierarchy at a glance: every memory that an executor reaches, nearest first."""

from __future__ import annotations

from byteways.analyse.results_index import Index
from byteways.analyse.subjects.latency import levels_of_cpu, levels_of_gpus
from byteways.analyse.summary import Group
from byteways.report.charts import Chart
from byteways.report.views.bars import Bar, Bars, of_dots
from byteways.units import short_time

CAPTION = (
    "What to see: the factor from each level to the next, which is a distance on this axis. One dependent "
    "load along a random cycle; the whisker is the repeatability interval."
)


def charts(index: Index) -> list[Chart]:
    """Returns the chart of GPUs and of one NUMA domain; none with fewer than two levels."""
    gpus = [(f"GPU: {name}", group) for name, group in levels_of_gpus(index)]
    executor, of_cpu = levels_of_cpu(index)
    cpu = [(f"{executor}: {name}", group) for name, group in of_cpu]
    rows = gpus + cpu
    if len(rows) < 2:
        return []
    series = []
    if gpus:
        series.append(Bars("by a GPU", (*(_dot(group) for _, group in gpus), *(None for _ in cpu))))
    if cpu:
        series.append(Bars(f"by {executor}", (*(None for _ in gpus), *(_dot(group) for _, group in cpu))))
    return [of_dots("Latency hierarchy", CAPTION, "ns per load", [name for name, _ in rows], series)]


def _dot(group: Group) -> Bar:
    told = short_time(group.value)
    details = f"{told} ({short_time(group.low)}–{short_time(group.high)}), median of {len(group.cells)}"
    return Bar(group.value, group.low, group.high, told, details)
