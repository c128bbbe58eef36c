"""What is on the page, as plain data built from a run; the template only places it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from byteways.analyse import curves
from byteways.analyse.best import BestEntry
from byteways.analyse.findings import Finding, findings
from byteways.analyse.headline import Lead, headline
from byteways.analyse.progress import damage, progress, shortfall
from byteways.analyse.relays import route_tables
from byteways.analyse.summary import Cell, Run, cells, shown
from byteways.analyse.tables import Grid, Reason, WarningGroup, describe, tables
from byteways.analyse.topic import Table
from byteways.analyse.topics import topics
from byteways.analyse.topics.study import repeated
from byteways.report import charts
from byteways.report.charts import Chart
from byteways.report.drawing import Drawing, draw
from byteways.report.numbers import UNITS, bandwidth_number, moment, number, peaks_of, percent_number
from byteways.results.exporters.csv_format import COLUMNS
from byteways.results.record import Record
from byteways.results.simulated import is_simulated, mark_of, subject, worded
from byteways.units import format_size

#: Share of the largest figure of a table below which a cell is not shaded at all.
FAINTEST = 8
#: In place of a percentage where the peak is unknown.
NO_PEAK = "–"


@dataclass(frozen=True)
class PageCell:
    """A figure in a table: both numbers, its shade in percent, and what the tooltip says."""

    absolute: str
    percent: str
    shade: int
    details: str
    warned: bool


@dataclass(frozen=True)
class PageGrid:
    title: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[PageCell | None, ...]], ...]
    unit: str
    note: str

    @property
    def has_peaks(self) -> bool:
        """Whether there is anything to show in percent of a peak."""
        return any(cell is not None and cell.percent != NO_PEAK for _, row in self.rows for cell in row)


@dataclass(frozen=True)
class PagePattern:
    pattern: str
    interface: str
    access: str
    path: str
    size: str
    total: PageCell
    directions: str
    whole: str


@dataclass(frozen=True)
class PageBest:
    """A cell of the best-interface map."""

    interface: str
    rest: str  # access, memory, options
    absolute: str
    ties: str
    details: str


@dataclass(frozen=True)
class PageLead:
    """A cell of the first table: the best interface, its figure, by how much it leads."""

    interface: str
    figure: str  # with the size, where that is not the column's
    margin: str
    told: bool  # whether the next best can be told from it
    details: str


@dataclass(frozen=True)
class PageTopic:
    """A topic with its plots drawn; `first_chart` is the index of the first among those of the page."""

    anchor: str
    title: str
    lead: str
    tables: tuple[Table, ...]
    charts: tuple[Chart, ...]
    first_chart: int


@dataclass(frozen=True)
class Page:
    """Everything the template places."""

    title: str
    mark: str  # above every section of a simulated run; '' when it was measured
    study: str  # of a run that repeats a published work, what became of its claims; else ''
    notices: tuple[str, ...]  # what is missing: the run is not complete, lines are damaged
    facts: tuple[tuple[str, str], ...]
    lead_sizes: tuple[str, ...]
    leads: tuple[tuple[str, tuple[PageLead | None, ...]], ...]  # kind of pair, an entry a size
    findings: tuple[Finding, ...]
    drawing: Drawing | None
    agents: tuple[tuple[str, ...], ...]
    topology_notes: tuple[str, ...]
    matrices: tuple[PageGrid, ...]
    host: tuple[PageGrid, ...]
    curves: tuple[Chart, ...]
    best_sizes: tuple[str, ...]
    best: tuple[tuple[str, tuple[PageBest | None, ...]], ...]
    first_touch: tuple[PageGrid, ...]
    scaling: tuple[Chart, ...]
    patterns: tuple[PagePattern, ...]
    topics: tuple[PageTopic, ...]
    latency: tuple[PageGrid, ...]
    latency_chart: Chart | None
    routes: tuple[PageGrid, ...]
    warnings: tuple[WarningGroup, ...]
    not_measured: tuple[Reason, ...]
    method: tuple[tuple[str, str], ...]
    manifest: Mapping[str, Any]
    records: tuple[dict[str, Any], ...]  # without samples
    columns: Mapping[str, Sequence[str | int]]

    @property
    def simulated(self) -> bool:
        return bool(self.mark)

    @property
    def charts(self) -> tuple[Chart, ...]:
        """In the order of the page; the index is what the template refers to."""
        of_topics = tuple(chart for topic in self.topics for chart in topic.charts)
        latency = (self.latency_chart,) if self.latency_chart else ()
        return self.curves + self.scaling + of_topics + latency


#: Fields of a page that are data: what they say is not put into other words.
_DATA = ("mark", "drawing", "manifest", "records", "columns")


def from_run(run: Run) -> Page:
    """The page of a run."""
    page = _page(run)
    if not page.simulated:
        return page
    texts = {item.name: _worded(getattr(page, item.name)) for item in fields(page) if item.name not in _DATA}
    return replace(page, **texts)


def _worded(value: Any) -> Any:
    """All texts of a part of a simulated run's page, without a claim that anything was measured."""
    if isinstance(value, str):
        return worded(value, True)
    if isinstance(value, tuple):
        return tuple(_worded(item) for item in value)
    if is_dataclass(value) and not isinstance(value, (type, Chart)):
        return replace(value, **{item.name: _worded(getattr(value, item.name)) for item in fields(value)})
    if isinstance(value, Chart):
        return Chart(worded(value.title, True), worded(value.caption, True), value.figure)
    return value


def _page(run: Run) -> Page:
    manifest, found = run.manifest, cells(run.records)
    all_tables = tables(run.records)
    walked = curves.over_working_set(found, run.topology)
    over_size = tuple(charts.over_size(family) for family in curves.over_size(found, run.topology))
    over_flows = tuple(charts.over_flows(*entry) for entry in curves.over_flows(found).items())
    best, first = all_tables.best, headline(run)
    suite = manifest.get("suite") or {}
    matrices = [*all_tables.matrices, *([all_tables.inside] if all_tables.inside else [])]
    return Page(
        title=f"{suite.get('name', 'run')} on {subject(manifest)}",
        mark=mark_of(manifest),
        study=repeated(run),
        notices=tuple(notice for notice in (shortfall(run), damage(run)) if notice),
        facts=_facts(run),
        lead_sizes=first.size_names if first else (),
        leads=tuple((label, tuple(map(_lead, leads, first.sizes))) for label, leads in first.rows)
        if first
        else (),
        findings=tuple(findings(run)),
        drawing=draw(run.topology) if run.topology.agents else None,
        agents=_agents(run),
        topology_notes=run.topology.notes,
        matrices=tuple(page_grid(grid) for grid in matrices),
        host=tuple(page_grid(grid) for grid in all_tables.host),
        curves=over_size,
        best_sizes=tuple(format_size(size) for size in best.sizes) if best else (),
        best=tuple((label, tuple(map(_best, row))) for label, row in best.rows) if best else (),
        first_touch=tuple(page_grid(grid) for grid in all_tables.first_touch),
        scaling=over_flows,
        patterns=tuple(
            PagePattern(
                row.cell.record.pattern,
                row.cell.record.interface,
                row.cell.record.access,
                row.cell.record.path,
                format_size(row.cell.record.size_bytes),
                page_cell(row.cell, "bandwidth", row.cell.peak or row.cell.value),
                ", ".join(f"{path} {bandwidth_number(rate)}" for path, rate in row.directions),
                bandwidth_number(row.whole) if row.whole else "",
            )
            for row in all_tables.patterns
        ),
        topics=_topics(run, found, len(over_size) + len(over_flows)),
        latency=tuple(page_grid(grid) for grid in all_tables.latency),
        latency_chart=charts.over_working_set(*walked) if walked else None,
        routes=tuple(page_grid(grid) for grid in route_tables(found)),
        warnings=tuple(all_tables.warnings),
        not_measured=tuple(all_tables.not_measured),
        method=_method(run, found),
        manifest=manifest,
        records=tuple(_line(shown(record), manifest) for record in run.records),
        columns=COLUMNS,
    )


def _topics(run: Run, found: Sequence[Cell], first: int) -> tuple[PageTopic, ...]:
    """The topics of a run; `first` is the index of their first chart."""
    pages: list[PageTopic] = []
    for topic in topics(run, found):
        drawn = tuple(charts.of_plot(plot) for plot in topic.plots)
        pages.append(PageTopic(topic.anchor, topic.title, topic.lead, topic.tables, drawn, first))
        first += len(drawn)
    return tuple(pages)


def _line(record: Record, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A record as it can be downloaded: without samples, with the mark of a simulated run."""
    line = {name: value for name, value in record.to_json().items() if name != "samples_ns"}
    return {**line, "simulated": is_simulated(manifest)}


def page_grid(grid: Grid) -> PageGrid:
    """A grid with its figures written out; a cell inside one agent is not shaded beside those over links."""
    over_links = [cell for cell in grid.members() if cell.source.agent != cell.destination.agent]
    shaded = over_links if over_links and grid.quantity == "bandwidth" else grid.members()
    greatest = max((cell.value for cell in shaded), default=1.0)
    chosen = {cell.record.case_id for cell in shaded}
    notes = [note for note in (peaks_of(grid) if grid.quantity == "bandwidth" else "", grid.note) if note]
    return PageGrid(
        grid.heading(),
        grid.corner,
        grid.columns,
        tuple(
            (
                row.label,
                tuple(
                    page_cell(cell, grid.quantity, greatest if cell.record.case_id in chosen else None)
                    if cell
                    else None
                    for cell in row.cells
                ),
            )
            for row in grid.rows
        ),
        UNITS[grid.quantity],
        ". ".join(notes),
    )


def page_cell(cell: Cell, quantity: str, greatest: float | None) -> PageCell:
    """A figure with its shade relative to `greatest` (None: unshaded)."""
    shade = 0
    if greatest:
        shade = round(100 * min(cell.value / greatest, 1.0))
    fraction = cell.fraction if quantity == "bandwidth" else None
    return PageCell(
        number(cell.value, quantity),
        percent_number(fraction) if fraction is not None else NO_PEAK,
        shade if shade >= FAINTEST else 0,
        _details(cell, quantity),
        bool(cell.warning_ids),
    )


def _details(cell: Cell, quantity: str) -> str:
    """What stands behind a figure, one fact a line."""
    record, unit = cell.record, UNITS[quantity]
    lines = [describe(record)]
    low, high = number(cell.low, quantity), number(cell.high, quantity)
    many = len(cell.records)
    spread = "span of" if many > 1 else "95 % interval,"
    rounds = f"{many} replicates, " if many > 1 else ""
    lines.append(f"{spread} {rounds}{low} to {high} {unit}, n = {cell.samples}")
    lines.append(f"executor {record.executor}, {format_size(record.size_bytes)}, cache {record.cache}")
    if record.engine:
        lines.append(f"engine {record.engine}: {record.engine_evidence or 'no evidence recorded'}")
    if record.timed_by:
        lines.append(f"timed by {record.timed_by}{', gated' if record.gated else ''}, batch {record.batch}")
    if record.peak_source:
        lines.append(f"peak: {record.peak_source}")
    if record.parts:
        parts = (f"{path} {percent_number(part)}" for path, part in record.parts.items())
        lines.append(f"parts: {', '.join(parts)}")
    if cell.warning_ids:
        lines.append(f"warnings: {', '.join(cell.warning_ids)}")
    return "\n".join(lines)


def _best(entry: BestEntry | None) -> PageBest | None:
    if entry is None:
        return None
    ties = list(
        dict.fromkeys(tie.interface for tie in entry.ties if tie.interface != entry.variant.interface)
    )
    details = f"{entry.variant.label()}\nmedian of {len(entry.group.cells)} path(s)"
    return PageBest(
        entry.variant.interface,
        replace(entry.variant, cache="cold").label().partition(", ")[2],  # the row says whether it is warm
        bandwidth_number(entry.group.value),
        ", ".join(ties),
        details,
    )


def _lead(lead: Lead | None, wanted: int) -> PageLead | None:
    if lead is None:
        return None
    cells_ = lead.group.cells
    low, high = bandwidth_number(lead.group.low), bandwidth_number(lead.group.high)
    over = f"median of {len(cells_)} paths" if len(cells_) > 1 else cells_[0].record.path
    rounds = " and of all replicates" if len(cells_[0].records) > 1 else ""
    return PageLead(
        lead.variant.interface,
        f"{lead.figure} {lead.size_said(wanted)}".strip(),
        lead.margin,
        not lead.ties,
        f"{lead.variant.label()}\n{over}, {format_size(lead.size_bytes)}\n"
        f"interval{rounds} {low} to {high} GB/s",
    )


def _facts(run: Run) -> tuple[tuple[str, str], ...]:
    manifest = run.manifest
    suite, host = manifest.get("suite") or {}, manifest.get("host") or {}
    print_of = manifest.get("fingerprint") or {}
    models = Counter(agent.model for agent in run.topology.agents if agent.kind == "gpu")
    domains = Counter(agent.model for agent in run.topology.agents if agent.kind == "cpu")
    wall = manifest.get("wall_s")
    facts = {
        "GPUs": ", ".join(f"{count} × {model}" for model, count in models.items()) or "none",
        "CPUs": ", ".join(f"{_domains(count)}{model}" for model, count in domains.items()),
        **_model_facts(manifest),
        "Suite": f"{suite.get('name')}: {suite.get('title')}",
        "When": moment(str(manifest.get("started_at") or "")),
        "Took": f"{wall:.1f} s" if isinstance(wall, (int, float)) else "",
        "Records": progress(run),
        "Driver": str(print_of.get("driver") or ""),
        "Simulated on"
        if is_simulated(manifest)
        else "System": f"{host.get('os')}, kernel {host.get('kernel')}",
        "byteways": f"{manifest.get('byteways_version')}, method {manifest.get('method_version')}",
    }
    return tuple((name, value) for name, value in facts.items() if value)


def _model_facts(manifest: Mapping[str, Any]) -> dict[str, str]:
    """What was played, where its numbers come from and how good they are; nothing of a measured run."""
    model = manifest.get("machine_model") or {}
    if not is_simulated(manifest) or not model:
        return {}
    fit = model.get("fit") or {}
    good = "not yet checked against published values"
    if fit.get("median_error") is not None:
        good = (
            f"median error {100 * fit['median_error']:.1f} % on {fit['held_out_values']} published values "
            f"that it was not fitted to ({fit['fitted_values']} others it was)"
        )
    sources = "; ".join(source["title"] for source in (model.get("sources") or {}).values())
    return {
        "Model": f"{model.get('name')}: {model.get('title')}",
        "How good": good,
        "Sources": sources,
        "Faults": ", ".join(model.get("faults") or ()),
    }


def _domains(count: int) -> str:
    return f"{count} NUMA domain{'s' if count > 1 else ''}, "


def _agents(run: Run) -> tuple[tuple[str, ...], ...]:
    """Rows of the table of agents: name, model, memory, compute, identity."""
    rows = []
    for agent in run.topology.agents:
        if agent.kind == "cpu":
            compute = f"{len(agent.cores)} cores" if agent.cores else ""
            caches = [cache for cache in agent.caches if cache.kind != "instruction"]
            identity = ", ".join(f"L{cache.level} {format_size(cache.size_bytes)}" for cache in caches)
        else:
            compute = f"{agent.multiprocessors} multiprocessors" if agent.multiprocessors else ""
            identity = ", ".join(part for part in (agent.pci_address, agent.uuid) if part)
        memory = format_size(agent.memory_bytes) if agent.memory_bytes else ""
        rows.append((agent.name, agent.model, memory, compute, agent.architecture or "", identity))
    return tuple(rows)


def _method(run: Run, found: Sequence[Cell]) -> tuple[tuple[str, str], ...]:
    """How the figures on this page came about, counted over its records."""
    measured = [record for cell in found for record in cell.records]

    def tally(name: str) -> str:
        counts = Counter(
            str(getattr(record, name)) for record in measured if getattr(record, name) is not None
        )
        return ", ".join(f"{value} ({count})" for value, count in counts.most_common())

    def yes(name: str) -> str:
        return f"{sum(bool(getattr(record, name)) for record in measured)} of {len(measured)}"

    samples = sum(record.time_ns.n for record in measured if record.time_ns)
    rows = {
        "Timed by": tally("timed_by"),
        "Behind the gate": yes("gated") if measured else "",
        "Fixed cost removed by slope": yes("slope") if measured else "",
        "Verified": f"{yes('verified')}; checked: {tally('verification')}" if measured else "",
        "Engines": tally("engine"),
        "Samples": f"{samples} over {len(measured)} measurements of {len(found)} cases" if measured else "",
    }
    return tuple((name, value) for name, value in rows.items() if value)
