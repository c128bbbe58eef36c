"""Numbers of topologies that other programs wrote: read only within bounds that no machine passes.

Python computes with whole numbers of any length and turns none above 1e308 into a fraction; a link of
999,999,999,999 lanes would be shown as one.
"""

from __future__ import annotations

#: Names of devices have four digits at most.
MOST_DEVICE = 9999
#: Parallel links between two nodes: real bundles have up to 18.
MOST_BUNDLE = 1024
#: Logical CPUs of a host: Linux supports 8,192 (CONFIG_NR_CPUS).
MOST_LOGICAL_CPUS = 1 << 16
#: Of a link or a memory.
MOST_BYTES_PER_S = 1e15
MOST_MEGABYTES_PER_S = 10**9


def whole(text: str, what: str, least: int, most: int) -> int:
    """Returns a whole number of a file.

    Args:
        text: Decimal digits.
        what: What it is, for the message.
        least: Least value.
        most: Greatest value.

    Raises:
        ValueError: It is none, or out of bounds.
    """
    plain = text.strip()
    if not (plain.isascii() and plain.isdigit()) or len(plain) > len(str(most)) + 8:
        raise ValueError(f"{what} '{plain[:40]}' is not a whole number from {least} to {most}")
    if not least <= int(plain) <= most:
        raise ValueError(f"{what} {int(plain)} is not from {least} to {most}")
    return int(plain)
