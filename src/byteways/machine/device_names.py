"""Finds devices by the names that users write: `gpu0`, `gpu*`, `host`, UUIDs and PCI addresses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from fnmatch import fnmatchcase
from string import ascii_letters, digits

from byteways.base.aliases import called
from byteways.base.errors import BytewaysError
from byteways.machine.model import Device, Topology

#: A UUID (or its beginning, as CUDA_VISIBLE_DEVICES takes it), or a PCI address with or without its domain.
IDENTIFIER = re.compile(
    r"GPU-[0-9a-f][0-9a-f-]{3,}|(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.IGNORECASE
)
_GLOB = frozenset("*?[")


def devices_named(topology: Topology, word: str) -> tuple[str, ...]:
    """Returns the names of the devices that a word stands for, in the order of the topology.

    Args:
        topology: The machine.
        word: A device name (also `0` or `cuda:0` for `gpu0`), a glob over names, `host` (all NUMA domains), a
            UUID or its beginning, or a PCI address with or without its domain.

    Raises:
        BytewaysError: No device has this name, or an identifier is that of several.
    """
    word = word.strip()
    if IDENTIFIER.fullmatch(word):
        return (identified(topology, word),)
    name = called("device", word) or word
    names = topology.names()
    if found := tuple(known for known in names if fnmatchcase(known, name)):
        return found
    what = f"no device matches '{word}'" if set(word) & _GLOB else f"unknown device '{word}'"
    raise BytewaysError(what, hint=_meant(word, names) + _known(topology))


def identified(topology: Topology, word: str) -> str:
    """Returns the name of the device with this UUID or PCI address.

    Raises:
        BytewaysError: There is none, or there are several.
    """
    found = [device.name for device in topology.devices if _is(device, word.lower())]
    if len(found) == 1:
        return found[0]
    if not found:
        raise BytewaysError(f"unknown device '{word}'", hint=_known(topology))
    raise BytewaysError(
        f"'{word}' is ambiguous",
        cause=f"it fits {', '.join(found[:-1])} and {found[-1]}",
        hint="write the whole identifier, or a device name",
    )


def with_names(topology: Topology, text: str) -> str:
    """Replaces UUIDs and PCI addresses in a filter's value with device names. Raises BytewaysError."""
    return IDENTIFIER.sub(lambda found: identified(topology, found[0]), text)


def _is(device: Device, word: str) -> bool:
    if word.startswith("gpu-"):
        return (device.uuid or "").lower().startswith(word)
    address = _without_padding((device.pci_address or "").lower())
    wanted = _without_padding(word)
    return bool(address) and (address == wanted or address.endswith(f":{wanted}"))


def _without_padding(address: str) -> str:
    """`0000:17:00.0` for `00000000:17:00.0`, as NVML writes it."""
    domain, colon, rest = address.partition(":")
    return f"{domain[-4:]}{colon}{rest}" if len(domain) > 4 else address


def _meant(word: str, names: Iterable[str]) -> str:
    """`did you mean 'gpu0'? ` for `gup0`; '' for a number that no device has, and for other words."""
    if called("device", word) or word.rstrip(digits) in ("cpu", "gpu"):
        return ""
    number = word.lstrip(ascii_letters)
    same_number = [name for name in names if number and name.endswith(number)]
    near = get_close_matches(word.casefold(), same_number, n=1, cutoff=0.5)
    return f"did you mean '{near[0]}'? " if near else ""


def _known(topology: Topology) -> str:
    """The devices with their PCI addresses: at most the first eight, since nodes may have many."""
    shown = topology.devices[:8]
    told = (f"{one.name} ({one.pci_address})" if one.pci_address else one.name for one in shown)
    more = ", …" if len(topology.devices) > len(shown) else ""
    return f"devices: {', '.join(told)}{more}; also 'host' and globs such as 'gpu*'"
