"""The content of the page as plain data built from a run; the template only places it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from byteways.answers.best.best_interfaces import best_map
from byteways.answers.best.headline import Gap, Lead, headline
from byteways.answers.best.ranking import Ranking
from byteways.answers.best.title import results
from byteways.answers.best.wording_rankings import tied_interfaces
from byteways.answers.claims.claim import Operand
from byteways.answers.claims.finding import Finding
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.phrases import rate
from byteways.answers.results.index import Index
from byteways.answers.results.machine_names import gpus, machine
from byteways.answers.results.model_error import categories_of, model_error
from byteways.answers.results.progress import notices, progress
from byteways.answers.results.summary import RecordedRun, Result
from byteways.base.units import bandwidth_number, format_size
from byteways.extensions import hook
from byteways.machine.model import compute_units_name
from byteways.questions.display.chart import Chart
from byteways.questions.display.numbers import moment
from byteways.questions.display.topic import Topic
from byteways.questions.findings import findings
from byteways.questions.tables import tables
from byteways.questions.topics import topics
from byteways.record.busy_machine import verdict_of
from byteways.record.simulation_mark import is_simulated, mark_of, subject, voice_of
from byteways.report.explore import Explorer, explorer, question
from byteways.report.node.drawing import NodeDrawing, draw
from byteways.report.node.hosts import with_hosts
from byteways.report.node.rates import link_rates
from byteways.report.views import best_way
from byteways.verdicts.two_runs.environments import carriers

# Where on the page the results behind a finding are: the link that each of the first findings carries.

#: How a link names the part of the page.
PAGE_PART_NAMES = {
    "patterns": "Patterns",
    "first-touch": "First touch",
    "latency": "Latency",
    "warnings": "Warnings",
    "not-measured": "What is missing",
    "findings": "All findings",
    "data": "All records",
}


@dataclass(frozen=True)
class Evidence:
    """A finding with the place that shows its results, and the paths that it is about.

    `anchor` is the id of a section, or the selection of Any path that shows the first of the results.
    """

    title: str
    detail: str
    anchor: str
    words: str
    paths: tuple[str, ...]


@dataclass(frozen=True)
class PageLink:
    """What a link leads to, and what it says."""

    anchor: str
    words: str


def places(
    parts: Mapping[str, Topic], cells: Iterable[Result], wanted: Collection[str]
) -> dict[str, PageLink]:
    """Returns where the page shows each of the wanted cases, by case id."""
    asked = ((cell.record, question(cell)) for cell in cells if cell.record.case_id in wanted)
    shown = {record.case_id: PageLink(anchor, record.path) for record, anchor in asked if anchor}
    for anchor in ("first-touch", "latency"):
        shown.update(_of_part(anchor, parts))
    return _of_part("patterns", parts) | shown  # the map has both directions at once, too


def _of_part(anchor: str, parts: Mapping[str, Topic]) -> dict[str, PageLink]:
    link = PageLink(anchor, PAGE_PART_NAMES[anchor])
    tables = parts[anchor].tables if anchor in parts else ()
    return {cell.record.case_id: link for table in tables for cell in table.members()}


def evidence(findings: Iterable[Finding], shown: Mapping[str, PageLink]) -> list[Evidence]:
    """Returns findings with the place of their results.

    Args:
        findings: Those of the first screen.
        shown: The place of each case (`places`).
    """
    return [_evidence(finding, shown) for finding in findings]


def cases_of(finding: Finding) -> list[str]:
    """Returns the ids of the cases behind a finding, those of its results first."""
    return [case for operand in _operands(finding) for case in operand.case_ids]


def _operands(finding: Finding) -> list[Operand]:
    return [*finding.results, *(side for claim in finding.claims for side in (claim.first, claim.second))]


def _evidence(finding: Finding, shown: Mapping[str, PageLink]) -> Evidence:
    operands, ids = _operands(finding), cases_of(finding)
    other = "data" if ids else "warnings" if finding.priority == Priority.WARNINGS else "findings"
    place = next((shown[case] for case in ids if case in shown), PageLink(other, PAGE_PART_NAMES[other]))
    paths = tuple(dict.fromkeys(path for operand in operands[:2] for path in operand.paths))
    return Evidence(finding.title, finding.detail, place.anchor, place.words, paths)


# Facts about a run for the page: headline data, devices, and method.


def facts(run: RecordedRun) -> tuple[tuple[str, str], ...]:
    """Returns names and values for the head of the page: what was run, when, on what."""
    manifest = run.manifest
    suite, host = manifest.get("suite") or {}, manifest.get("host") or {}
    print_of = manifest.get("fingerprint") or {}
    domains = Counter(device.model for device in run.topology.devices if device.kind == "cpu")
    wall = manifest.get("wall_s")
    values = {
        "GPUs": ", ".join(gpus(run.topology)) or "none",
        "CPUs": ", ".join(f"{_domains(count)}{model}" for model, count in domains.items()),
        **_model_facts(run),
        "Suite": f"{suite.get('name')}: {suite.get('title')}",
        "When": moment(str(manifest.get("started_at") or "")),
        "Took": f"{wall:.1f} s" if isinstance(wall, (int, float)) else "",
        "Records": progress(run),
        "Driver": str(print_of.get("driver") or ""),
        "Between ranks": ", ".join(carriers(manifest, run.records)),
        "Simulated on"
        if is_simulated(manifest)
        else "System": f"{host.get('os')}, kernel {host.get('kernel')}",
        "Host loops": str(print_of.get("host_loops") or ""),
        "byteways": f"{manifest.get('byteways_version')}, method {manifest.get('method_version')}",
    }
    return tuple((name, value) for name, value in values.items() if value)


def _model_facts(run: RecordedRun) -> dict[str, str]:
    """Returns the facts on a machine model: name, sources, accuracy; empty for a measured run."""
    manifest, model = run.manifest, run.manifest.get("machine_model") or {}
    if not is_simulated(manifest) or not model:
        return {}
    sources = "; ".join(source["title"] for source in (model.get("sources") or {}).values())
    return {
        "Model": f"{model.get('name')}: {model.get('title')}",
        "Model error": model_error(model.get("fit"), categories_of(run.records)),
        "Sources": sources,
        "Faults": ", ".join(model.get("faults") or ()),
        "Seed of the noise": str(model.get("seed", "")),
    }


def _domains(count: int) -> str:
    return f"{count} NUMA domain{'s' if count > 1 else ''}, "


def devices(run: RecordedRun) -> tuple[tuple[str, ...], ...]:
    """Rows of the table of devices: name, model, memory, compute, identity."""
    rows = []
    for device in run.topology.devices:
        if device.kind == "cpu":
            compute = f"{len(device.cores)} cores" if device.cores else ""
            caches = [cache for cache in device.caches if cache.kind != "instruction"]
            identity = ", ".join(f"L{cache.level} {format_size(cache.size_bytes)}" for cache in caches)
        else:
            compute = (
                f"{device.multiprocessors} {compute_units_name(device)}" if device.multiprocessors else ""
            )
            identity = ", ".join(part for part in (device.pci_address, device.uuid) if part)
        memory = format_size(device.memory_bytes) if device.memory_bytes else ""
        rows.append((device.name, device.model, memory, compute, device.architecture or "", identity))
    return tuple(rows)


def method(run: RecordedRun, results: Sequence[Result]) -> tuple[tuple[str, str], ...]:
    """Returns how the results on this page were measured, counted over the records."""
    measured = [record for cell in results for record in cell.records]

    def tally(name: str) -> str:
        counts = Counter(map(attrgetter(name), measured))
        del counts[None]
        return ", ".join(f"{value} ({count})" for value, count in counts.most_common())

    def yes(name: str) -> str:
        return f"{sum(map(bool, map(attrgetter(name), measured)))} of {len(measured)}"

    samples = sum(record.time_ns.n for record in measured if record.time_ns)
    taken = f"{len(measured)} {voice_of(run.manifest).measurements}"
    rows = {
        "Timed by": tally("timed_by"),
        "Behind the gate": yes("gated") if measured else "",
        "Fixed cost removed by slope": yes("slope") if measured else "",
        "Verified": f"{yes('verified')}; checked: {tally('verification')}" if measured else "",
        "Engines": tally("engine"),
        "Samples": f"{samples} over {taken} of {len(results)} cases" if measured else "",
    }
    return tuple((name, value) for name, value in rows.items() if value)


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
    """A cell of the recommendation table: best interface, its value, and its lead."""

    interface: str
    figure: str  # with the size, if it differs from the column's
    margin: str
    leads: bool  # whether the lead over the next best is significant
    details: str


@dataclass(frozen=True)
class Page:
    """Everything the template places."""

    title: str  # machine and results
    about: str  # suite, machine, time
    mark: str  # shown above every section of a simulated run; '' if measured
    study: str  # for a run of a study: summary of its claims; otherwise ''
    verdict: str  # on GPUs that could not be used; otherwise ''
    notices: tuple[str, ...]  # problems with the data: incomplete run, damaged lines
    facts: tuple[tuple[str, str], ...]
    lead_sizes: tuple[str, ...]
    leads: tuple[tuple[str, tuple[PageLead | str, ...]], ...]  # by kind of pair, one entry per size
    findings: tuple[Finding, ...]
    evidence: tuple[Evidence, ...]  # the first findings, with where their results are
    drawing: NodeDrawing | None
    explorer: Explorer | None
    devices: tuple[tuple[str, ...], ...]
    topology_notes: tuple[str, ...]
    parts: Mapping[str, Topic]  # by anchor
    best_sizes: tuple[str, ...]
    best: tuple[tuple[str, tuple[PageBest | None, ...]], ...]
    topics: tuple[Topic, ...]
    best_charts: tuple[Chart, ...]
    method: tuple[tuple[str, str], ...]
    manifest: Mapping[str, Any]

    @property
    def simulated(self) -> bool:
        return bool(self.mark)


#: Findings beside the picture of the node.
FIRST_FINDINGS = 3


def from_run(whole: RecordedRun, beside: RecordedRun | None = None) -> Page:
    """Returns the page of a run; `beside`: of the same study on another machine, drawn with it."""
    run = Index.of(whole)
    run.beside = beside
    manifest, cells = run.manifest, run.cells
    parts = tables(run).parts
    best, first = best_map(run), headline(run)
    found_out = findings(run)
    return Page(
        title=_title(run),
        about=_about(run),
        mark=mark_of(manifest),
        study=hook("study summary")(run) if run.manifest.get("study") else "",
        verdict=verdict_of(manifest, whole.records),
        notices=notices(whole),
        facts=facts(run),
        lead_sizes=first.size_names if first else (),
        leads=tuple((label, tuple(map(_lead, leads, first.sizes))) for label, leads in first.rows)
        if first
        else (),
        findings=tuple(found_out),
        evidence=_first_evidence(found_out[:FIRST_FINDINGS], parts, cells),
        drawing=with_hosts(draw(run.topology, link_rates(run, found_out)), run)
        if run.topology.devices
        else None,
        explorer=explorer(run),
        devices=devices(run),
        topology_notes=run.topology.notes,
        parts=parts,
        best_sizes=tuple(format_size(size) for size in best.sizes) if best else (),
        best=tuple((label, tuple(map(_best, row))) for label, row in best.rows) if best else (),
        topics=tuple(topics(run)),
        best_charts=tuple(best_way.charts(run)),
        method=method(run, cells),
        manifest=manifest,
    )


def _first_evidence(
    first: Sequence[Finding], parts: Mapping[str, Topic], cells: Sequence[Result]
) -> tuple[Evidence, ...]:
    wanted = {case for finding in first for case in cases_of(finding)}
    return tuple(evidence(first, places(parts, cells, wanted)))


def _title(run: Index) -> str:
    """Returns the machine and what it reaches, or which suite ran on it."""
    suite = run.manifest.get("suite") or {}
    return f"{machine(run.topology)}: {results(run) or suite.get('name') or 'run'}"


def _about(run: Index) -> str:
    suite = run.manifest.get("suite") or {}
    text = (
        f"{suite.get('name', 'run')} on {subject(run.manifest)}",
        moment(str(run.manifest.get("started_at") or "")),
    )
    return ", ".join(part for part in text if part)


def _best(entry: Ranking | None) -> PageBest | None:
    if entry is None:
        return None
    details = f"{entry.variant.name}\nmedian of {len(entry.group.cells)} path(s)"
    return PageBest(
        entry.variant.interface,
        replace(entry.variant, cache="cold").settings,  # the row shows the cache state
        rate(entry.group),
        ", ".join(tied_interfaces(entry)),
        details,
    )


def _lead(lead: Lead | Gap, wanted: int) -> PageLead | str:
    """Returns an entry of the recommendation table, or why there is none."""
    if isinstance(lead, Gap):
        return lead.reason
    cells_ = lead.group.cells
    low, high = bandwidth_number(lead.group.low), bandwidth_number(lead.group.high)
    over = f"median of {len(cells_)} paths" if len(cells_) > 1 else cells_[0].record.path
    beside = (lead.margin, lead.by_default, lead.many, lead.doubts)
    return PageLead(
        lead.name,
        f"{lead.figure} {lead.size_said(wanted)}".strip(),
        ", ".join(part for part in beside if part),
        not lead.ties,
        f"{lead.method}\n{over}, {format_size(lead.size_bytes)}\nrepeatability interval {low} to {high} GB/s",
    )
