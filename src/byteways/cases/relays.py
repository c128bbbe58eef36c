"""The paths of a `route` transfer: which GPUs relay a part, and in what pieces.

Pure, and the only place that decides this: plan, peaks and worker call it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from byteways.cases.case import Case, Flow

#: Default bytes per piece and pieces in flight per relay: they saturated four PCIe links of an H200 machine
#: (docs/reference/peers.md).
DEFAULT_PIECE_BYTES = 4 * 2**20
DEFAULT_DEPTH = 2
#: Maximum copies enqueued in one stream before any starts: the gate holds them all, and the queue depth is
#: limited (native/runtimes, queue_depth); two copies per piece.
MOST_PIECES_IN_A_STREAM = 240


@dataclass(frozen=True)
class Paths:
    """How one flow is split; `relays` in the order in which they receive their parts."""

    relays: tuple[str, ...]
    piece_bytes: int
    depth: int

    @property
    def staging_bytes(self) -> int:
        """Bytes of staging memory on each relay."""
        return self.piece_bytes * self.depth


def paths_of(case: Case, flow: Flow, gpus: Sequence[str]) -> Paths:
    """Returns how a flow of interface `route` is split on a machine with these GPUs.

    Option `via` names the relays. `relays` is their number: the GPUs that follow the transfer's end (its
    destination, if both ends are GPUs) in the machine's order, cyclically. Default: all other GPUs.

    Raises:
        ValueError: The machine lacks these relays; the message says why.
    """
    options = case.options_of(flow)
    ends = [end.device for end in (flow.destination, flow.source) if end.device in gpus]
    others = _after(ends[0], gpus, ends) if ends else []
    relays = tuple(others)
    via, number = options.get("via"), options.get("relays")
    if wrong := via_mistake(options):
        raise ValueError(wrong)
    if via is not None:
        relays = _named(str(via), gpus, ends)
    elif number is not None:
        if int(number) > len(others):
            count = "no GPU" if not others else f"{len(others)} GPU{'s' if len(others) > 1 else ''}"
            raise ValueError(f"{number} relays requested, but {count} can relay {flow.path}")
        relays = relays[: int(number)]
    return Paths(
        relays, int(options.get("piece_bytes", DEFAULT_PIECE_BYTES)), int(options.get("depth", DEFAULT_DEPTH))
    )


def paths_there(case: Case, flow: Flow, gpus: Sequence[str]) -> Paths:
    """Returns the same, without relays if the machine lacks them: legality refuses such a case."""
    try:
        return paths_of(case, flow, gpus)
    except ValueError:
        return Paths((), DEFAULT_PIECE_BYTES, DEFAULT_DEPTH)


def _after(end: str, gpus: Sequence[str], ends: Sequence[str]) -> list[str]:
    at = list(gpus).index(end)
    return [gpu for gpu in (*gpus[at + 1 :], *gpus[:at]) if gpu not in ends]


def _named(via: str, gpus: Sequence[str], ends: Sequence[str]) -> tuple[str, ...]:
    relays = tuple(via.split(","))
    for relay in relays:
        if relay in ends:
            raise ValueError(f"{relay} is an end of the transfer, so it cannot be a relay")
        if relay not in gpus:
            raise ValueError(f"there is no {relay} here")
    return relays


def via_mistake(options: Mapping[str, int | str | bool]) -> str | None:
    """Returns why these relays are invalid on any machine; None if valid."""
    via = options.get("via")
    if via is None:
        return None
    if "relays" in options:
        return "use either via, which names the relays, or relays, which counts them"
    relays = str(via).split(",")
    return f"via = '{via}' names a relay twice" if len(set(relays)) != len(relays) else None


def pieces_in_a_stream(paths: Paths, size_bytes: int) -> int:
    """Returns the number of pieces in each stream of a relay, for equal parts."""
    part = -(-size_bytes // (len(paths.relays) + 1))
    return -(-part // paths.piece_bytes // paths.depth) if paths.relays else 0
