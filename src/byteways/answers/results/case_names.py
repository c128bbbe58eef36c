"""Names of cases in messages and tables."""

from __future__ import annotations

from byteways.answers.results.variants import interface_name, issued_by
from byteways.cases.case import OF_ALL_RANKS
from byteways.cases.interfaces import INTERFACES
from byteways.record.record import Record


def describe(record: Record) -> str:
    """Describes a case: `copy gpu0:device > gpu1:device issued by gpu0`."""
    interface = interface_name(record.interface, (record.evidence and record.evidence.library) or "")
    if INTERFACES[record.interface].buffers == "one":
        return f"{interface} by {record.executor} through {record.source}"
    if INTERFACES[record.interface].partner:
        cores = [f"core {record.options[key]}" for key in ("core", "partner_core") if key in record.options]
        return f"{interface} {' and '.join([record.path, *cores])} over {_words(record)}"
    if record.pattern == "unidirectional":
        second = record.flows[0].get("second_source") if record.flows else None
        sources = f"{record.source} and {second}" if second else record.source
        issued = f" issued by {record.executor}" if _has_choice(record) else ""
        return f"{interface} {sources} > {record.destination}{issued}"
    if record.pattern in OF_ALL_RANKS:  # these paths begin with the pattern
        name = "" if record.interface == record.pattern else f"{interface} "
        return f"{name}{group_of(record)}"
    issued = f" {issued_by(record.access)}" if _has_choice(record) else ""
    return f"{interface} {record.pattern} {record.path}{issued}"


def _has_choice(record: Record) -> bool:
    """Whether several devices could issue it: between ranks both ends take part."""
    return record.access != "local" and not INTERFACES[record.interface].between


def group_of(record: Record) -> str:
    """Describes a collective and its ranks: `allreduce of 0-3/cpu0`."""
    pattern, _, members = record.path.partition(":")
    return f"{pattern} of {members}"


def _words(record: Record) -> str:
    """Describes the buffers of both sides, once if they are of one kind."""
    return " and ".join(dict.fromkeys((record.source, record.destination)))
