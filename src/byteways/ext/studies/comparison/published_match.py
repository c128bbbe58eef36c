"""Which published values belong to a line at a place: how the source tells methods, buffers and devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from byteways.cases.case import Buffer
from byteways.ext.studies.published.study import Ends, StudyLine, StudyPlace
from byteways.ext.studies.published.values import PublishedValue


@dataclass(frozen=True)
class PublishedMatch:
    """How the source tells values of a line at a place."""

    metric: str | None  # None: any
    method: str
    pattern: str
    options: Mapping[str, str]
    ends: tuple[Buffer, Buffer, str]  # source, destination and executor


def published_matches(line: StudyLine, place: StudyPlace) -> list[PublishedMatch]:
    """How the source tells figures of the line at the place, by its own devices and memory."""
    devices = tuple(_source_device(device, place) for device in place.devices)
    own = line.ends[0]
    matches = []
    for keys in line.published:
        as_told = Ends(
            keys.get("source", own.source),
            keys.get("destination", own.destination),
            keys.get("executor", own.executor),
        )
        flow = as_told.flow(devices)
        ends = (flow.source, flow.destination, flow.executor)
        options = dict(word.split("=", 1) for word in keys.get("options", "").split())
        method, pattern = keys.get("method", line.interface), keys.get("pattern", line.pattern)
        matches.append(PublishedMatch(keys.get("metric"), method, pattern, options, ends))
    return matches


def is_at(
    value: PublishedValue, line: StudyLine, matches: Sequence[PublishedMatch], ambient: Sequence[str]
) -> bool:
    """Whether the source's value is one of a line that it tells so."""
    extra = {name: text for name, text in value.environment.items() if line.environment.get(name) != text}
    missing = [name for name in line.environment if name not in value.environment]
    if missing or set(extra) - set(ambient):
        return False
    own = (value.method, value.pattern, value.options, (value.source, value.destination, value.executor))
    return any(
        match.metric in (None, value.metric)
        and (match.method, match.pattern, match.options, match.ends) == own
        for match in matches
    )


def _source_device(device: str, place: StudyPlace) -> str:
    """Resolves "near a" to the CPU with that GPU's number, the source's name for an APU's CPU."""
    if not device.startswith("near "):
        return device
    anchor = place.devices["abcd".index(device.removeprefix("near "))]
    return anchor.replace("gpu", "cpu")
