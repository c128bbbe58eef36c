"""Agents of rocprofiler: which of them are GPUs of a machine, by the numbers that its outputs use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_NUMBER = re.compile(r"(?:([A-Z][A-Za-z]+)[ -]?)?(\d{1,6})$")


class Agents:
    """Agents of a machine, in the order of their nodes: GPUs are numbered among themselves."""

    def __init__(self, rows: Iterable[Mapping[str, object]] = ()) -> None:
        """Takes rows with `type` (CPU or GPU), `node` and `logical`; none: nothing is known."""
        numbered = sorted(
            (row for row in rows if isinstance(row.get("node"), int)),
            key=lambda row: row["node"],  # type: ignore[arg-type, return-value]
        )
        gpus = [row for row in numbered if row.get("type") == "GPU"]
        self._gpu_of_node = {row["node"]: index for index, row in enumerate(gpus)}
        self._devices: dict[str, tuple[str | None]] = {}  # by identifiers as they are written
        self._gpu_of_logical = {row.get("logical"): index for index, row in enumerate(gpus)}

    def device(self, text: str) -> str | None:
        """Returns the device of an agent's identifier; None if it is no GPU, or it is not certain which.

        `Agent 4` counts all agents, without gaps or by option as the driver's nodes do; `GPU 0` counts GPUs.
        """
        known = self._devices.get(text)
        if known is None:
            known = self._devices[text] = (self._device(text),)
        return known[0]

    def _device(self, text: str) -> str | None:
        found = _NUMBER.match(text.strip())
        if found is None or found[1] == "CPU":
            return None
        number = int(found[2])
        if found[1] == "GPU":
            return f"gpu{number}"
        candidates = {self._gpu_of_logical.get(number), self._gpu_of_node.get(number)} - {None}
        return f"gpu{candidates.pop()}" if len(candidates) == 1 else None
