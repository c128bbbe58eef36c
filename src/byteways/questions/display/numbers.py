"""Number formats in tables: without unit, which is in the heading."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone
from math import ceil, log10

from byteways.answers.results.summary import Result
from byteways.base.units import bandwidth_number, format_bandwidth

METRIC_UNITS = {"bandwidth": "GB/s", "latency": "ns"}


def latency_number(time_ns: float) -> str:
    """'1171', '828.4', '21.02', '1.203', in nanoseconds."""
    digits = 0 if time_ns >= 1000 else 1 if time_ns >= 100 else 2 if time_ns >= 10 else 3
    return f"{time_ns:.{digits}f}"


def moment(iso: str) -> str:
    """Formats an ISO 8601 time as '2026-11-21 06:52 UTC'; invalid text is returned unchanged."""
    try:
        # Python 3.10 cannot parse a trailing Z.
        time = datetime.fromisoformat(iso.replace("Z", "+00:00"))
    except ValueError:
        return iso
    if time.tzinfo is None:
        return f"{time:%Y-%m-%d %H:%M}"
    return f"{time.astimezone(timezone.utc):%Y-%m-%d %H:%M} UTC"


def number(value: float, quantity: str) -> str:
    return latency_number(value) if quantity == "latency" else bandwidth_number(value)


def cell_number(cell: Result, quantity: str) -> str:
    """Formats a cell's result with the digits that its interval supports (to a tenth of the half-width)."""
    text = number(cell.value, quantity)
    unit = 1e9 if quantity == "bandwidth" else 1.0
    half = max(cell.high - cell.value, cell.value - cell.low) / unit / 10
    place = ceil(log10(half)) if half > 0 else -9
    decimals = len(text.partition(".")[2])
    if -place >= decimals:
        return text
    rounded = round(cell.value / unit / 10.0**place) * 10.0**place
    return f"{rounded:.{max(-place, 0)}f}" if rounded else text


def percent_number(fraction: float) -> str:
    """'87.6 %'."""
    return f"{100 * fraction:.1f} %"


def peaks_of(cells: Iterable[Result]) -> str:
    """'87–88 % of 450.0 GB/s', '75–88 % of peaks from 63.0 to 450.0 GB/s'; '' without known peaks."""
    known = [cell for cell in cells if cell.fraction is not None and _crosses(cell)]
    if not known:
        return ""
    fractions = sorted(100 * (cell.fraction or 0) for cell in known)
    peaks = sorted({cell.peak or 0 for cell in known})
    low, high = (f"{each:.0f}" if each >= 1 else f"{each:.1g}" for each in (fractions[0], fractions[-1]))
    share = f"{low} %" if low == high else f"{low}–{high} %"
    if len(peaks) == 1:
        return f"{share} of {format_bandwidth(peaks[0])}"
    return f"{share} of peaks from {bandwidth_number(peaks[0])} to {format_bandwidth(peaks[-1])}"


def _crosses(cell: Result) -> bool:
    """Whether the cell crosses links: copies within a device must not set the scale for these."""
    return cell.source.device != cell.destination.device
