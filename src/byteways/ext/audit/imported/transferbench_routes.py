"""What a transfer of TransferBench is: `G0 -> G000:004 -> G1`, sources, executor with its subexecutors,
destinations.

Letters of memories: C pinned host memory, B its fine-grained kind, U plain, P pinned near a GPU, G memory
of a GPU, F its fine-grained kind, M managed, N none. Executors: C cores, G a kernel, D a copy engine,
others NICs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from byteways.ext.audit.imported.value import Operation

_SIDE = r"\(?[A-Z][A-Z0-9]*\)?"
_ROUTE = re.compile(
    rf"(?P<sources>{_SIDE}) -> (?P<kind>[A-Z]+)(?P<number>\d{{1,6}})(?:[.][*\d]+)?(?::(?P<parts>\d{{1,6}}))?"
    rf" -> (?P<destinations>{_SIDE})$"
)
_MEMORY = re.compile(r"(?:R\d+)?(?P<kind>[A-Z])(?P<number>\d{0,6})")
_MEMORIES = {
    "C": ("cpu", "pinned"),
    "B": ("cpu", "pinned"),
    "U": ("cpu", "pageable"),
    "G": ("gpu", "device"),
    "F": ("gpu", "device-fine"),
    "M": ("gpu", "managed"),
}
#: Executors by the letters of different versions: device, interface, option that counts its parts.
_EXECUTORS = {
    **dict.fromkeys(("C", "CPU"), ("cpu", "memcpy-mt", "threads")),
    **dict.fromkeys(("G", "GPU"), ("gpu", "kernel", "blocks")),
    **dict.fromkeys(("D", "DMA"), ("gpu", "copy", "")),
}


@dataclass(frozen=True)
class TransferRoute:
    """A transfer, and what of it byteways has no case for."""

    operation: Operation
    differences: tuple[str, ...]


def route_of(text: str) -> TransferRoute | None:
    """Returns what a route is; None: the text is none."""
    found = _ROUTE.match(text)
    if found is None:
        return None
    sources, destinations = _buffers(found["sources"]), _buffers(found["destinations"])
    device, interface, counted = _EXECUTORS.get(found["kind"], ("", "", ""))
    if not sources or not destinations:  # a kernel that only stores or only loads
        interface = "store" if not sources else "load"
    single = len(sources) <= 1 and len(destinations) <= 1 and bool(sources or destinations)
    ends = [*(sources[:1] or destinations[:1]), *(destinations[:1] or sources[:1]), "", ""]
    operation = Operation(
        interface if device else "",
        "unidirectional",
        ends[0],
        ends[1],
        executor=f"{device}{int(found['number'])}" if device else "?",
        options={counted: int(found["parts"])} if counted and found["parts"] else {},
    )
    differences = () if single and device else ("no-case",)
    return TransferRoute(operation, differences)


def _buffers(text: str) -> list[str]:
    """Returns the buffers of a side, in byteways' words; none of null memory."""
    found = [match for match in _MEMORY.finditer(text.strip("()")) if match["kind"] != "N"]
    return [_buffer(match["kind"], match["number"]) for match in found]


def _buffer(kind: str, number: str) -> str:
    if kind == "P":
        return "?:pinned"
    if kind not in _MEMORIES or not number:
        return "?:?"
    device, memory = _MEMORIES[kind]
    return f"{device}{int(number)}:{memory}"
