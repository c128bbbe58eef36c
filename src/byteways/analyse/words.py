"""How a case is called wherever one is named."""

from __future__ import annotations

from byteways.plan.interfaces import INTERFACES
from byteways.results.record import Record


def describe(record: Record) -> str:
    """One case in words: `copy unidirectional gpu0:device > gpu1:device, read`."""
    if INTERFACES[record.interface].buffers == "one":
        return f"{record.interface} by {record.executor} through {record.source}"
    if INTERFACES[record.interface].partner:
        cores = [f"core {record.options[key]}" for key in ("core", "partner_core") if key in record.options]
        return f"{record.interface} {' and '.join([record.path, *cores])} over {_words(record)}"
    if record.pattern == "unidirectional":
        second = record.flows[0].get("second_source") if record.flows else None
        sources = f"{record.source} and {second}" if second else record.source
        by = f" by {record.executor}" * (record.access == "remote")
        return f"{record.interface} {sources} > {record.destination}, {record.access}{by}"
    return f"{record.interface} {record.pattern} {record.path}, {record.access}"


def _words(record: Record) -> str:
    """The buffers of both sides, once where they are of one kind."""
    return " and ".join(dict.fromkeys((record.source, record.destination)))
