"""Sets of transfers that run concurrently because somebody lists them: `gpu0>gpu1,gpu1>gpu0`. Pure."""

from __future__ import annotations

import re

#: (source, destination) of one transfer, by device.
Transfer = tuple[str, str]
TransferSet = tuple[Transfer, ...]

_TRANSFER = re.compile(r"^(?P<source>[a-z]+\d+)>(?P<destination>[a-z]+\d+)$")
EXAMPLE = "gpu0>gpu1,gpu1>gpu0"


def parse_transfers(text: str) -> TransferSet:
    """Parses a set of transfers.

    Raises:
        ValueError: Something in it is no transfer, or there twice; or it has fewer than two.
    """
    found: dict[Transfer, None] = {}
    for item in text.split(","):
        match = _TRANSFER.match(item.strip())
        if match is None:
            raise ValueError(f"'{item.strip()}' is not a transfer; write for example {EXAMPLE}")
        transfer = (match["source"], match["destination"])
        if transfer in found:
            raise ValueError(f"'{item.strip()}' is there twice")
        found[transfer] = None
    if len(found) < 2:
        raise ValueError(f"'{text}' is one transfer: nothing runs concurrently")
    return tuple(found)


def written(transfers: TransferSet) -> str:
    """Returns the text of a set."""
    return ",".join(f"{source}>{destination}" for source, destination in transfers)
