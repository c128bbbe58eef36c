"""Words and numbers of sentences without comparison: rates, shares, spans, interfaces.

Numbers show only digits that their interval supports.
"""

from __future__ import annotations

from math import ceil, log10
from statistics import median

from byteways.answers.claims.claim import Operand, operand
from byteways.answers.results.summary import Part, Result, ResultGroup
from byteways.base.units import three_digits

#: Results over paths that differ by more than this fraction are shown as a range.
SPREAD = 0.03
#: Greater factors are shown as "over 100".
GREATEST_FACTOR = 100.0
#: Significant digits of a figure, however wide its interval: 55.1 is not 60.
LEAST_DIGITS = 2
#: Significant digits of a rate, and of a difference or factor.
RATE_DIGITS, DIFFERENCE_DIGITS = 3, 2


def gb(bytes_per_s: float) -> str:
    """'394', '55.4', '2094': GB/s with three digits."""
    return three_digits(bytes_per_s / 1e9)


def percent(fraction: float) -> str:
    """'88 %', '0.6 %'."""
    return f"{percent_number(fraction)} %"


def percent_number(fraction: float) -> str:
    """'88', '0.6'."""
    value = 100 * fraction
    return f"{value:.0f}" if abs(value) >= 9.95 else f"{value:.2g}"


def supported(value: float, low: float, high: float, digits: int = RATE_DIGITS) -> str:
    """Formats a number with digits down to a tenth of its interval's half-width: two digits at least, and at
    most `digits`.
    """
    half = max(high - value, value - low) / 10
    place = ceil(log10(half)) if half > 0 else -9
    leading = ceil(log10(abs(value))) if value else 0
    place = min(max(place, min(leading - digits, 0)), leading - LEAST_DIGITS)
    rounded = round(value / 10.0**place) * 10.0**place
    text = f"{rounded:.{max(-place, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def rate(result: Result | ResultGroup | Operand) -> str:
    """'394' in GB/s, or '197 to 395' if the paths differ."""
    one = result if isinstance(result, Operand) else operand(result)
    if differ(one):
        return f"{gb(one.least)} to {gb(one.most)}"
    return supported(one.value / 1e9, one.low / 1e9, one.high / 1e9)


def time_said(time_ns: Part) -> str:
    """'824 ns', '1.45 µs', '13.3 ms', with the digits that the interval supports."""
    scale, unit = _scale(time_ns.value)
    return f"{supported(time_ns.value / scale, time_ns.low / scale, time_ns.high / scale)} {unit}"


def _scale(time_ns: float) -> tuple[float, str]:
    limits = ((1e3, 1.0, "ns"), (1e6, 1e3, "µs"), (float("inf"), 1e6, "ms"))
    return next((scale, unit) for limit, scale, unit in limits if time_ns < limit)


#: Below this size a transfer is a matter of time: launch overhead dominates, and a rate says little.
TIME_FIRST_BELOW_BYTES = 64 * 2**10


def times_of(group: ResultGroup) -> list[Part]:
    """Returns the time of one operation in ns on each path, with the interval of its rate; [] if unknown."""
    times = [(cell, cell.time_ns) for cell in group.cells]
    return [
        Part(time_ns, time_ns * cell.value / cell.high, time_ns * cell.value / cell.low)
        for cell, time_ns in times
        if time_ns is not None and cell.low > 0
    ]


def time_of_one(group: ResultGroup) -> str:
    """'2.51 µs', or '2.4 to 3.1 µs' if the paths differ; '' if the times are not recorded."""
    times = times_of(group)
    if not times:
        return ""
    least, most = (choose(one.value for one in times) for choose in (min, max))
    if most > (1 + SPREAD) * least:
        scale, unit = _scale(most)
        return f"{three_digits(least / scale)} to {three_digits(most / scale)} {unit}"
    middle = (
        median(values) for values in zip(*((one.value, one.low, one.high) for one in times), strict=True)
    )
    return time_said(Part(*middle))


def speed(group: ResultGroup) -> str:
    """'396 GB/s'; of a small transfer its time first: '2.51 µs (1.63 GB/s)'."""
    small = group.cells[0].size_bytes < TIME_FIRST_BELOW_BYTES
    time = time_of_one(group) if small else ""
    return f"{time} ({rate(group)} GB/s)" if time else f"{rate(group)} GB/s"


def differ(result: Result | ResultGroup | Operand) -> bool:
    """Whether its paths differ so much that a range stands for them: no path need have the median."""
    one = result if isinstance(result, Operand) else operand(result)
    return one.most > (1 + SPREAD) * one.least


def of_peak(result: Result | ResultGroup) -> str:
    """' (88 % of 450)'; empty if the peak is unknown or differs between paths, or the paths differ."""
    if not result.peak or differ(result):
        return ""
    return f" ({percent(result.value / result.peak)} of {gb(result.peak)})"


def span(result: Result | ResultGroup) -> str:
    """'393–395', the repeatability interval in GB/s."""
    low, high = gb(result.low), gb(result.high)
    return low if low == high else f"{low}–{high}"


def with_span(result: Result | ResultGroup) -> str:
    """'13.7 (5.4–13.9)', in GB/s."""
    value, around = rate(result), span(result)
    return value if value == around or differ(result) else f"{value} ({around})"


def marked(title: str, *results: Result | ResultGroup) -> str:
    """Appends data warnings to the sentence: '… (noisy)', '… (noisy: 2 of 12 results)'."""
    cells = [
        cell
        for result in results
        for cell in (result.cells if isinstance(result, ResultGroup) else (result,))
    ]
    parts = []
    doubts = [cell.doubts for cell in cells]
    for word in dict.fromkeys(word for words in doubts for word in words):
        carry = sum(word in words for words in doubts)
        parts.append(f"{word}: {carry} of {len(cells)} results" if 3 * carry < len(cells) else word)
    return f"{title} ({', '.join(parts)})" if parts else title


def sentence(words: str) -> str:
    """Capitalises the first letter, and leaves all others unchanged."""
    return f"{words[:1].upper()}{words[1:]}"
