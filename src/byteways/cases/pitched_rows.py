"""Geometry of pitched (2D) rows, as moved by `copy-2d`, `kernel-2d` and `memcpy-2d`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from byteways.base.units import format_size
from byteways.cases.interfaces import INTERFACES

#: Default width and pitch: every second page.
DEFAULT_WIDTH_BYTES = 4096
DEFAULT_PITCH_BYTES = 8192
DEFAULT_STRIDED = "source"
#: Verification checks words, so rows begin and end on words.
ROW_WORD_BYTES = 8
#: Shortest cache line of the supported devices; the L2 lines of AMD and NVIDIA are 128 bytes.
LINE_BYTES = 64


@dataclass(frozen=True)
class PitchedRows:
    """`strided` is the pitched side: `source` packs, `destination` unpacks, `both` moves part of a matrix.
    The rows of the other side are contiguous.
    """

    width_bytes: int
    pitch_bytes: int
    strided: str
    size_bytes: int  # of the rows, without the gaps

    @property
    def count(self) -> int:
        return self.size_bytes // self.width_bytes

    @property
    def span_bytes(self) -> int:
        """Bytes from the first row to the end of the last gap, on the pitched side."""
        return self.count * self.pitch_bytes

    @property
    def lines_bytes(self) -> int:
        """Bytes of the cache lines that the rows touch."""
        return self.count * min(self.pitch_bytes, -(-self.width_bytes // LINE_BYTES) * LINE_BYTES)

    @property
    def options(self) -> dict[str, int | str]:
        """The options that the native core needs, without defaults."""
        return {
            "width_bytes": self.width_bytes,
            "pitch_bytes": self.pitch_bytes,
            "strided": self.strided,
        }

    def wrong(self) -> tuple[str, str, str] | None:
        """Returns why such rows are impossible: (key at fault, reason, valid value); None if possible."""
        width, pitch = self.width_bytes, self.pitch_bytes
        if pitch == 0:
            return "pitch_bytes", "a pitch of 0 bytes makes all rows overlap", f"at least {width}"
        if width <= 0:
            return "width_bytes", f"rows cannot be {width} bytes wide", f"at least {ROW_WORD_BYTES}"
        for key, value in (("width_bytes", width), ("pitch_bytes", pitch)):
            if value % ROW_WORD_BYTES:
                whole = (
                    f"width and pitch are multiples of {ROW_WORD_BYTES} bytes; {width} and {pitch} are not"
                )
                return key, whole, f"for example {value // ROW_WORD_BYTES * ROW_WORD_BYTES + ROW_WORD_BYTES}"
        if pitch < width:
            return "pitch_bytes", f"rows of {width} bytes overlap at a pitch of {pitch}", f"at least {width}"
        if self.size_bytes % width:
            sentence = f"{format_size(self.size_bytes)} is not a multiple of the row width, {width} bytes"
            return "size", sentence, f"a multiple of {width}"
        return None


def moves_rows(interface: str) -> bool:
    return "width_bytes" in INTERFACES[interface].takes


def rows_of_options(options: Mapping[str, int | str | bool], size_bytes: int) -> PitchedRows:
    """Returns the geometry that the options give for `size_bytes`."""
    return PitchedRows(
        int(options.get("width_bytes", DEFAULT_WIDTH_BYTES)),
        int(options.get("pitch_bytes", DEFAULT_PITCH_BYTES)),
        str(options.get("strided", DEFAULT_STRIDED)),
        size_bytes,
    )
