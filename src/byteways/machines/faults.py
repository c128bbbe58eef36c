"""Faults on command: the words after --fault, checked against the model before anything runs.

The simulator reads the same words (native/simulator): this file only refuses what it could not play.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NoReturn

from byteways.errors import BytewaysError
from byteways.machines.model import MachineModel
from byteways.plan.words import closest

#: Kind -> how it is written, and what happens.
GRAMMAR = {
    "corrupt": ("corrupt:gpu0>gpu1:word=7", "every operation on this way writes word 7 wrong"),
    "hang": ("hang:gpu0>gpu1", "operations on this way never end"),
    "skip": ("skip:gpu0>gpu1", "operations on this way end without moving anything"),
    "lapse": ("lapse:gpu0>gpu1:after=40", "after so many operations on this way, one moves nothing"),
    "no-memory": (
        "no-memory:gpu3[:above=1073741824]",
        "allocations there fail, or those of more bytes in all",
    ),
    "lost": ("lost:gpu2[:after=40]", "the device is gone after so many operations"),
    "stall": ("stall:gpu0:after=40", "after so many operations, one takes the host a second to submit"),
    "early-return": ("early-return:cpu0>gpu0", "copies of pageable memory return when they are staged"),
    "slow": ("slow:gpu0-gpu1:0.5", "the link gives this part of its rate"),
    "down": ("down:gpu0-gpu1", "the link is not there"),
    "false-peer": ("false-peer:gpu0>gpu1", "access is granted, and writes do not arrive"),
    "serialise": ("serialise:gpu0", "operations of its streams run one after another"),
    "throttle": ("throttle:gpu0:0.7", "its clocks, and with them kernels in its own memory, at this part"),
}
_AGENT = r"(?:cpu|gpu)\d+"


def check_faults(model: MachineModel, faults: Sequence[str]) -> None:
    """Raises BytewaysError when one is none, or names what this machine does not have."""
    for fault in faults:
        kind, _, rest = fault.partition(":")
        if kind not in GRAMMAR:
            raise BytewaysError(f"--fault {fault}: there is no fault '{kind}'", hint=closest(kind, GRAMMAR))
        if not _FORMS[kind](rest):
            _refuse(fault, kind, "it is not written like one")
        for agent in re.findall(_AGENT, rest):
            if agent not in model.devices:
                hint = closest(agent, model.devices)
                raise BytewaysError(f"--fault {fault}: {model.name} has no agent {agent}", hint=hint)
        if kind in ("corrupt", "hang", "skip", "lapse", "early-return", "false-peer"):
            source, destination = re.findall(_AGENT, rest)[:2]
            if kind == "false-peer" and source == destination:
                _refuse(fault, kind, "an agent is no peer of its own")
        if kind in ("slow", "down"):
            _check_link(model, fault, kind, frozenset(rest.split(":")[0].split("-")))


def _refuse(fault: str, kind: str, why: str) -> NoReturn:
    raise BytewaysError(f"--fault {fault}: {why}", hint=f"write {GRAMMAR[kind][0]}")


def _check_link(model: MachineModel, fault: str, kind: str, ends: frozenset[str]) -> None:
    pairs = [pair for index in range(model.count("links")) for pair in model.texts(f"links.{index}.pairs")]
    if ends not in {frozenset(pair.split("-")) for pair in pairs}:
        hint = f"links of {model.name}: {', '.join(pairs)}"
        raise BytewaysError(f"--fault {fault}: {model.name} has no such link", hint=hint)


def _like(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda rest: compiled.fullmatch(rest) is not None


def _with_part(pattern: str) -> Callable[[str], bool]:
    """`pattern:0.5`, a part above 0 and up to 1."""
    compiled = re.compile(rf"(?:{pattern}):(\d+(?:\.\d+)?)")

    def fits(rest: str) -> bool:
        found = compiled.fullmatch(rest)
        return found is not None and 0 < float(found[1]) <= 1

    return fits


_WAY, _LINK = rf"{_AGENT}>{_AGENT}", rf"{_AGENT}-(?:{_AGENT}|nvswitch)"
_FORMS: dict[str, Callable[[str], bool]] = {
    "corrupt": _like(rf"{_WAY}:word=\d+"),
    "hang": _like(_WAY),
    "skip": _like(_WAY),
    "no-memory": _like(rf"{_AGENT}(?::above=\d+)?"),
    "lost": _like(r"gpu\d+(?::after=\d+)?"),
    "lapse": _like(rf"{_WAY}:after=\d+"),
    "stall": _like(r"gpu\d+:after=\d+"),
    "early-return": _like(r"cpu\d+>gpu\d+"),
    "slow": _with_part(_LINK),
    "down": _like(_LINK),
    "false-peer": _like(r"gpu\d+>gpu\d+"),
    "serialise": _like(r"gpu\d+"),
    "throttle": _with_part(r"gpu\d+"),
}
