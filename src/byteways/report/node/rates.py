"""What each link reached by the rule of best/representative.py, and whether something is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from byteways.answers.best.representative import representatives
from byteways.answers.claims.finding import Finding
from byteways.answers.claims.phrases import percent, supported
from byteways.answers.claims.wording import OUTLIER_LINK
from byteways.answers.results.index import Index
from byteways.answers.results.summary import Result
from byteways.base.units import format_bandwidth, format_size
from byteways.machine.model import Link, Topology
from byteways.machine.routes import nodes_of, route
from byteways.questions.bottlenecks.culprits import joined
from byteways.record.simulation_mark import MEASURED, Voice

#: Records with one of these states mean that something is wrong with a path.
WRONG_STATUSES = ("failed", "corrupt", "lost", "timeout")


@dataclass(frozen=True)
class LinkRate:
    """A link with the fastest of the pairs over it, each with the result that stands for it.

    `best` is None without such a pair. `suspect` says what is wrong with the link; '' if nothing is.
    """

    link: Link
    best: Result | None
    directions: tuple[tuple[str, Result], ...]  # "gpu0 > nvswitch", the fastest pair
    suspect: str
    voice: Voice = MEASURED

    @property
    def fraction(self) -> float | None:
        """Of the nominal peak per direction; None if either is unknown."""
        peak = self.link.peak_bytes_per_s
        return self.best.value / peak if self.best and peak else None

    @property
    def details(self) -> str:
        """Every fact on the link, one a line."""
        link = self.link
        peak = format_bandwidth(link.peak_bytes_per_s) if link.peak_bytes_per_s else "unknown"
        lines = [f"{link.a} – {link.b}: {link.link_class}", f"nominal peak {peak} per direction"]
        for direction, cell in self.directions:
            share = f" ({percent(cell.value / link.peak_bytes_per_s)})" if link.peak_bytes_per_s else ""
            at = format_size(cell.size_bytes)
            lines.append(f"{direction}: {gb_per_s(cell)} GB/s{share}, {cell.variant.name} at {at}")
        if not self.directions:
            lines.append(f"no unidirectional transfer over it was {self.voice.measured}")
        return "\n".join([*lines, *([self.suspect] if self.suspect else [])])


def gb_per_s(cell: Result) -> str:
    """'396', with the digits that the interval supports."""
    return supported(cell.value / 1e9, cell.low / 1e9, cell.high / 1e9)


def link_rates(index: Index, findings: Sequence[Finding]) -> list[LinkRate]:
    """Returns every link of the topology with its rate, in the topology's order.

    Args:
        index: The run.
        findings: Its findings: outliers among equal links are marked.
    """
    chosen = index.once(representatives)
    fastest: dict[tuple[Link, str], Result] = {}
    for ends, cell in (chosen.cells if chosen else {}).items():
        for link, direction in _crossed(index.topology, *ends):
            before = fastest.get((link, direction))
            if before is None or cell.value > before.value:
                fastest[link, direction] = cell
    suspects = _suspects(index, findings)
    return [_rate(link, fastest, suspects.get(link, ""), index.voice) for link in index.topology.links]


def _rate(link: Link, fastest: Mapping[tuple[Link, str], Result], suspect: str, voice: Voice) -> LinkRate:
    directions = tuple(
        (direction, fastest[link, direction])
        for direction in (f"{link.a} > {link.b}", f"{link.b} > {link.a}")
        if (link, direction) in fastest
    )
    best = max((cell for _, cell in directions), key=lambda cell: cell.value, default=None)
    return LinkRate(link, best, directions, suspect, voice)


def _crossed(topology: Topology, source: str, destination: str) -> Iterable[tuple[Link, str]]:
    """Yields the links of a path, each with its direction."""
    names = topology.names()
    if source not in names or destination not in names:  # a device of another host
        return
    way = route(topology, source, destination)
    nodes = nodes_of(source, way)
    for link, start, end in zip(way, nodes, nodes[1:], strict=False):
        yield link, f"{start} > {end}"


def _suspects(index: Index, findings: Sequence[Finding]) -> dict[Link, str]:
    """Returns what is wrong with a link: a finding names it, or half of its paths are outliers or failed.

    Only the paths of the link alone count where there are any: others may be slow because of another link.
    """
    named = {
        link: OUTLIER_LINK for link in index.topology.links if joined(link.a, link.b) in _named(findings)
    }
    odd = {} if named else dict.fromkeys(_outliers(findings), OUTLIER_LINK)
    failed: dict[str, str] = {}
    tried: dict[str, tuple[str, str]] = {}
    for record in index.records:
        source, _, destination = record.path.partition(">")
        if record.pattern != "unidirectional" or not destination or source == destination:
            continue
        tried[record.path] = source, destination
        if record.status in WRONG_STATUSES:
            failed.setdefault(
                record.path,
                f"transfers over it ended as {record.status}: {index.voice.quote(record.reason or '')}",
            )
    over: dict[Link, list[str]] = {}
    alone: dict[Link, list[str]] = {}
    for path, ends in tried.items():
        crossed = [link for link, _ in _crossed(index.topology, *ends)]
        for link in crossed:
            over.setdefault(link, []).append(path)
        if len(crossed) == 1:
            alone.setdefault(crossed[0], []).append(path)
    reasons = {**odd, **failed}
    suspects = dict(named)
    for link, paths in {**over, **alone}.items():
        wrong = [path for path in paths if path in reasons]
        if wrong and 2 * len(wrong) >= len(paths):
            suspects[link] = reasons[wrong[0]]
    return suspects


def _named(findings: Sequence[Finding]) -> set[str]:
    """Returns the links that findings name as the cause of slow pairs, in either direction."""
    names = {str(name) for one in findings for name in (one.data.get("culprit"), *one.data.get("alike", ()))}
    return {joined(*name.split(">")) if ">" in name else name for name in names}


def _outliers(findings: Sequence[Finding]) -> list[str]:
    claims = (claim for finding in findings for claim in finding.claims)
    return [path for claim in claims if claim.kind == "odd" and claim.trails for path in claim.first.paths]
