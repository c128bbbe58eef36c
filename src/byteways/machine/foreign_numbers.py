"""Numbers of topologies that other programs wrote: read only within bounds that no machine passes.

Python computes with whole numbers of any length and turns none above 1e308 into a fraction; a link of
999,999,999,999 lanes would be shown as one.
"""

from __future__ import annotations

from byteways.base.quantities import QUANTITIES

#: Names of devices have four digits at most.
MOST_DEVICE = 9999
#: Devices of a kind on one host. Every two of them are looked at, so that more would take minutes.
MOST_DEVICES = 1024
#: Parallel links between two nodes: real bundles have up to 18.
MOST_BUNDLE = 1024
#: Logical CPUs of a host: Linux supports 8,192 (CONFIG_NR_CPUS).
MOST_LOGICAL_CPUS = 1 << 16
#: Of a link or a memory.
MOST_MEGABYTES_PER_S = int(QUANTITIES["bandwidth"].most / 1e6)


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


def check_count(count: int, what: str) -> None:
    """Raises ValueError if a file has more devices of a kind than any host."""
    if count > MOST_DEVICES:
        raise ValueError(f"it has {count} {what}, more than {MOST_DEVICES}")


def cores_of_mask(mask: str) -> tuple[int, ...]:
    """Parses a hexadecimal mask in words of 32 bits, highest first: `00000001,00000003` is (0, 1, 32)."""
    if len(mask) > MOST_LOGICAL_CPUS // 2:
        raise ValueError("a core mask is longer than that of any machine")
    try:
        bits = int("".join(word.removeprefix("0x").zfill(8) for word in mask.split(",")) or "0", 16)
    except ValueError as error:
        raise ValueError(f"'{mask[:80]}' is not a core mask") from error
    return tuple(index for index in range(bits.bit_length()) if bits >> index & 1)
