"""The content of the page as plain data built from a run; the template only places it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from byteways.answers.best.best_interfaces import best_map
from byteways.answers.best.headline import Gap, Lead, headline
from byteways.answers.best.ranking import Ranking
from byteways.answers.best.title import results
from byteways.answers.best.wording_rankings import tied_interfaces
from byteways.answers.claims.finding import Finding
from byteways.answers.claims.phrases import rate
from byteways.answers.results.index import Index
from byteways.answers.results.machine_names import machine
from byteways.answers.results.progress import notices
from byteways.answers.results.summary import RecordedRun, Result
from byteways.base.units import bandwidth_number, format_size
from byteways.ext.studies.subject import repeated
from byteways.questions.display.chart import Chart
from byteways.questions.display.numbers import moment
from byteways.questions.display.topic import Topic
from byteways.questions.findings import findings
from byteways.questions.tables import tables
from byteways.questions.topics import topics
from byteways.record.busy_machine import verdict_of
from byteways.record.simulation_mark import mark_of, subject
from byteways.report.about import devices, facts, method
from byteways.report.evidence import Evidence, cases_of, evidence, places
from byteways.report.explore import Explorer, explorer
from byteways.report.node.drawing import NodeDrawing, draw
from byteways.report.node.hosts import with_hosts
from byteways.report.node.rates import link_rates
from byteways.report.views import best_way


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
        study=repeated(run),
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
