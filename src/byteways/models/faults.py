"""Injected faults: checks the arguments of --fault against the model before anything runs.

The simulator parses the same texts (native/simulator): this file only rejects what it cannot simulate.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import permutations
from typing import NoReturn

from byteways.base.errors import BytewaysError
from byteways.base.spelling import closest
from byteways.models.model import MachineModel

#: Kind -> syntax and effect.
GRAMMAR = {
    "corrupt": ("corrupt:gpu0>gpu1:word=7", "every operation on this path corrupts word 7"),
    "hang": ("hang:gpu0>gpu1", "operations on this path never complete"),
    "skip": ("skip:gpu0>gpu1", "operations on this path complete without moving data"),
    "lapse": ("lapse:gpu0>gpu1:after=40", "after N operations on this path, one moves no data"),
    "overrun": ("overrun:gpu0>gpu1", "every operation on this path also writes the word behind its own"),
    "no-memory": ("no-memory:gpu3[:above=1073741824]", "allocations there fail, or those beyond a total"),
    "no-kernels": ("no-kernels:gpu1", "its driver loads no kernels"),
    "lost": ("lost:gpu2[:after=40]", "the device is lost after N operations"),
    "stall": ("stall:gpu0:after=40", "after N operations, one submission blocks the host for a second"),
    "early-return": ("early-return:cpu0>gpu0", "copies of pageable memory return once staged"),
    "slow": ("slow:gpu0-gpu1:0.5", "the link delivers this fraction of its rate, above 0 and up to 1"),
    "down": ("down:gpu0-gpu1", "the link is down"),
    "link-fails": ("link-fails:gpu0-gpu1:after=40", "the link fails after N transfers of a case"),
    "false-peer": ("false-peer:gpu0>gpu1", "access is granted, but writes do not arrive"),
    "serialise": ("serialise:gpu0", "operations of its streams are serialised"),
    "throttle": (
        "throttle:gpu0:0.7",
        "its clocks, and kernels in its own memory, run at this fraction, above 0 and up to 1",
    ),
    "rank-throws": ("rank-throws:2:call=5", "the fifth MPI call of rank 2 in a case returns an error"),
    "rank-never-enters": ("rank-never-enters:2", "rank 2 enters no MPI call that communicates"),
    "rank-dies": ("rank-dies:2:call=5", "from its fifth MPI call in a case on, rank 2 is dead"),
    "rank-late": ("rank-late:2:ns=40000", "rank 2 returns from each MPI call 40 µs late"),
}
#: Faults that leave nothing for others of the same devices, link or rank to act on.
_LEAVES_NOTHING_FOR = {
    "hang": ("skip", "corrupt", "lapse"),
    "skip": ("corrupt", "lapse"),
    "down": ("slow", "link-fails"),
    "lost": ("no-memory", "no-kernels", "stall", "serialise", "throttle"),
    "rank-never-enters": ("rank-throws", "rank-dies", "rank-late"),
}
_DEVICE = r"(?:cpu|gpu)\d+"


def check_faults(model: MachineModel, faults: Sequence[str]) -> None:
    """Raises BytewaysError if a fault is invalid, or names something that this machine lacks."""
    for fault in faults:
        kind, _, rest = fault.partition(":")
        if kind not in GRAMMAR:
            raise BytewaysError(f"--fault {fault}: unknown fault '{kind}'", hint=closest(kind, GRAMMAR))
        if not _FORMS[kind](rest):
            _refuse(fault, kind, "malformed fault")
        for device in re.findall(_DEVICE, rest):
            if device not in model.devices:
                hint = closest(device, model.devices)
                raise BytewaysError(f"--fault {fault}: {model.name} has no device {device}", hint=hint)
        if kind in ("corrupt", "hang", "skip", "lapse", "overrun", "early-return", "false-peer"):
            source, destination = re.findall(_DEVICE, rest)[:2]
            if kind == "false-peer" and source == destination:
                _refuse(fault, kind, "a device is not its own peer")
        if kind in ("slow", "down", "link-fails"):
            _check_link(model, fault, kind, frozenset(rest.split(":")[0].split("-")))
    for first, other in permutations(faults, 2):
        _check_together(first, other)


def check_rank_faults(faults: Sequence[str], ranks: int) -> None:
    """Raises BytewaysError if a fault is of a rank that the run does not have.

    Args:
        faults: Checked by check_faults().
        ranks: Number of ranks; 0 if no case has ranks.
    """
    for fault in faults:
        kind, _, rest = fault.partition(":")
        if not kind.startswith("rank-"):
            continue
        rank = int(rest.partition(":")[0])
        if ranks == 0:
            raise BytewaysError(
                f"--fault {fault}: no case of this run has ranks",
                hint="choose a suite whose cases have them: byteways run mpi",
            )
        if rank >= ranks:
            raise BytewaysError(
                f"--fault {fault}: this run has no rank {rank}",
                cause=f"it has {ranks} ranks, 0 to {ranks - 1}",
                hint=f"name one of these, or start more: --ranks {rank + 1}",
            )


def _check_together(first: str, other: str) -> None:
    """Raises BytewaysError if two faults of one place cannot both act."""
    kind, place = _place_of(first)
    other_kind, other_place = _place_of(other)
    if place != other_place:
        return
    at_once = kind != "lost" or ":after=" not in first
    if kind == other_kind or (at_once and other_kind in _LEAVES_NOTHING_FOR.get(kind, ())):
        raise BytewaysError(
            f"--fault {first} and --fault {other} cannot both act", hint="leave one of them out"
        )


def _place_of(fault: str) -> tuple[str, object]:
    """Returns kind, and the devices, link or rank: the ends of a link have no order."""
    kind, _, rest = fault.partition(":")
    place = rest.partition(":")[0]
    return kind, frozenset(place.split("-")) if kind in ("slow", "down", "link-fails") else place


def _refuse(fault: str, kind: str, why: str) -> NoReturn:
    form, effect = GRAMMAR[kind]
    raise BytewaysError(f"--fault {fault}: {why}", hint=f"write {form}: {effect}")


def _check_link(model: MachineModel, fault: str, kind: str, ends: frozenset[str]) -> None:
    pairs = [pair for index in range(model.count("links")) for pair in model.texts(f"links.{index}.pairs")]
    if ends not in {frozenset(pair.split("-")) for pair in pairs}:
        hint = f"links of {model.name}: {', '.join(pairs)}"
        raise BytewaysError(f"--fault {fault}: {model.name} has no such link", hint=hint)


def _like(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda rest: compiled.fullmatch(rest) is not None


def _with_part(pattern: str) -> Callable[[str], bool]:
    """Matches `pattern:0.5`, a factor above 0 and up to 1."""
    compiled = re.compile(rf"(?:{pattern}):(\d+(?:\.\d+)?)")

    def fits(rest: str) -> bool:
        found = compiled.fullmatch(rest)
        return found is not None and 0 < float(found[1]) <= 1

    return fits


_WAY, _LINK = rf"{_DEVICE}>{_DEVICE}", rf"{_DEVICE}-(?:{_DEVICE}|nvswitch)"
_FORMS: dict[str, Callable[[str], bool]] = {
    "corrupt": _like(rf"{_WAY}:word=\d+"),
    "hang": _like(_WAY),
    "skip": _like(_WAY),
    "no-memory": _like(rf"{_DEVICE}(?::above=\d+)?"),
    "no-kernels": _like(r"gpu\d+"),
    "lost": _like(r"gpu\d+(?::after=\d+)?"),
    "lapse": _like(rf"{_WAY}:after=\d+"),
    "overrun": _like(_WAY),
    "stall": _like(r"gpu\d+:after=\d+"),
    "early-return": _like(r"cpu\d+>gpu\d+"),
    "slow": _with_part(_LINK),
    "down": _like(_LINK),
    "link-fails": _like(rf"(?:{_LINK}):after=\d+"),
    "false-peer": _like(r"gpu\d+>gpu\d+"),
    "serialise": _like(r"gpu\d+"),
    "throttle": _with_part(r"gpu\d+"),
    "rank-throws": _like(r"\d+:call=[1-9]\d*"),
    "rank-never-enters": _like(r"\d+"),
    "rank-dies": _like(r"\d+:call=[1-9]\d*"),
    "rank-late": _like(r"\d+:ns=\d+"),
}
