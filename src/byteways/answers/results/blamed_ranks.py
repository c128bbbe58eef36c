"""Which ranks keep others waiting or failed, and which devices failed, by what records say: late begins, and
the field `blame`.

All ranks take part in every case, so that what slow or failed cases have in common cannot tell them apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from byteways.cases.case import Case
from byteways.record.record import Record
from byteways.record.simulation_mark import is_simulated
from byteways.record.stragglers import Straggler, stragglers

#: Before the name of a device on which a call of a driver failed, among what a case involves.
ERRORS_ON = "errors on "


def stragglers_of(record: Record) -> list[Straggler]:
    """Returns the ranks that keep the others waiting in a result."""
    if not record.ranks or record.time_ns is None:
        return []
    if not any(warning.id == "straggler" for warning in record.warnings):
        return []
    return stragglers(record.ranks, (record.batch or 1) * record.time_ns.median)


def ranks_blamed(record: Record) -> tuple[int, ...]:
    """Returns the ranks that a record blames: stragglers, or those at fault where it has no result."""
    if record.status == "measured":
        return tuple(straggler.rank for straggler in stragglers_of(record))
    rank = record.blame.rank if record.blame else None
    return () if rank is None else (rank,)


def blamed_in(manifest: Mapping[str, Any], records: Iterable[Record]) -> dict[str, frozenset[str]]:
    """Returns for each case the ranks that it blames (blamed_names()), and `errors on gpu2` where calls of a
    driver failed.
    """
    records = tuple(records)
    names = blamed_names(manifest, records)
    for record in records:
        device = record.blame.device if record.blame else None
        if device:
            names[record.case_id] = names.get(record.case_id, frozenset()) | {ERRORS_ON + device}
    return names


def device_of(record: Record, rank: int) -> str:
    """Returns the device of a rank in a case; '' if it has none there."""
    return Case.from_json(record.definition).devices_of_ranks.get(rank, "")


def blamed_names(manifest: Mapping[str, Any], records: Iterable[Record]) -> dict[str, frozenset[str]]:
    """Returns for each case the ranks that it blames in any round: `rank 1 (gpu1 on node7)`, `host node7`.

    The device is the rank's GPU, or without any its NUMA domain, if it is the same in all cases; the host of
    a simulated machine has no name.
    """
    records = tuple(records)
    blamed = [(record, rank) for record in records for rank in ranks_blamed(record)]
    known = _devices(blamed)
    host = "" if is_simulated(manifest) else str((manifest.get("host") or {}).get("name") or "")
    by_case: dict[str, set[str]] = {}
    for record, rank in blamed:
        hosts = Case.from_json(record.definition).hosts_of_ranks
        place = " on ".join(filter(None, (known[rank], host)))
        if rank >= len(hosts):
            name = f"rank {rank}{f' ({place})' if place else ''}"
        elif hosts.count(hosts[rank]) == 1:
            name = f"host {hosts[rank]}"
        else:
            name = f"rank {rank} (host {hosts[rank]})"
        by_case.setdefault(record.case_id, set()).add(name)
    for record in records:
        blame = record.blame
        if blame and blame.rank is None and blame.host in Case.from_json(record.definition).hosts:
            by_case.setdefault(record.case_id, set()).add(f"host {blame.host}")
    return {case: frozenset(names) for case, names in by_case.items()}


def _devices(blamed: Iterable[tuple[Record, int]]) -> dict[int, str]:
    """Returns the device of each rank; '' if it differs between cases."""
    devices: dict[int, set[str]] = {}
    for record, rank in blamed:
        devices.setdefault(rank, set()).add(device_of(record, rank))
    return {rank: _only(names - {""}) for rank, names in devices.items()}


def _only(names: set[str]) -> str:
    chosen = {name for name in names if name.startswith("gpu")} or names
    return next(iter(chosen)) if len(chosen) == 1 else ""
