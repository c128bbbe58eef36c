"""What NCCL or RCCL chose for a collective, read from its own log."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

from byteways.base.text import Sentence

#: Patterns by the names that the log has for them. The library carries out others by messages.
LOGGED = {
    "allreduce": "AllReduce",
    "allgather": "AllGather",
    "reduce-scatter": "ReduceScatter",
    "broadcast": "Broadcast",
    "reduce": "Reduce",
    "alltoall": "AlltoAll",
    "gather": "Gather",
    "scatter": "Scatter",
}
#: Variables that make the library write the log.
LOG_SETTINGS = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "TUNING"}
LOG_VARIABLE = "NCCL_DEBUG_FILE"
#: Lines of rank 0: with names and, in newer versions, channels; before, with the numbers NCCL_ALGO_… and
#: NCCL_PROTO_… of nccl_common.h, which have the order of these names.
_NAMED = re.compile(
    r"(?P<function>\w+): \d+ Bytes -> Algo (?P<algorithm>\w+) proto (?P<protocol>\w+)"
    r"(?: channel\{Lo\.\.Hi\}=\{(?P<low>\d+)\.\.(?P<high>\d+)\})?"
)
_NUMBERED = re.compile(r"\d+ Bytes -> Algo (?P<algorithm>\d+) proto (?P<protocol>\d+) time")
_ALGORITHMS = ("Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT")
_PROTOCOLS = ("LL", "LL128", "Simple")
#: Why an operation has no line.
BY_MESSAGES = "the library has no line for it: it is made of messages"


@dataclass(frozen=True)
class LibraryChoice:
    """Algorithm and protocol as the library names them; None with the reason."""

    algorithm: str | None = None
    protocol: str | None = None
    channels: int | None = None
    source: str | None = None
    reason: Sentence | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def choice_of(log: str, pattern: str, source: str) -> LibraryChoice:
    """Returns the last choice for a collective in the text of a log.

    Args:
        log: What the library wrote while it carried out that collective alone.
        source: Where the text is from.
    """
    named = [match for match in _NAMED.finditer(log) if match["function"] == LOGGED.get(pattern)]
    if named:
        last = named[-1]
        channels = None if last["high"] is None else int(last["high"]) - int(last["low"]) + 1
        known = {name.lower(): name for name in (*_ALGORITHMS, *_PROTOCOLS)}
        algorithm, protocol = (
            known.get(word.replace("_", "").lower(), word) for word in (last["algorithm"], last["protocol"])
        )
        return LibraryChoice(algorithm, protocol, channels, source)
    numbered = [match for line in log.splitlines() if (match := _NUMBERED.search(line))]
    if numbered:
        algorithm_at, protocol_at = int(numbered[-1]["algorithm"]), int(numbered[-1]["protocol"])
        if algorithm_at < len(_ALGORITHMS) and protocol_at < len(_PROTOCOLS):
            return LibraryChoice(_ALGORITHMS[algorithm_at], _PROTOCOLS[protocol_at], None, source)
    if pattern in ("alltoall", "gather", "scatter"):
        return LibraryChoice(reason=BY_MESSAGES)
    return LibraryChoice(reason=f"no line on it in {source}")
