"""Numbers of a sentence, and what of claims and records it may have them from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean, median
from typing import Any

from statements.records import Case, RunData

#: A number with its unit. Not part of a name (gpu0, sm_90), of a setting (blocks=8) or of a link (×16, 5.0).
_NUMBER = re.compile(
    r"(?<![\w.=×\-–>/])(?P<text>\d+(?:\.\d+)?)(?![\w=]|\.\d)"
    r"(?:\s(?P<unit>GB/s|KiB|MiB|GiB|TiB|%|times|×(?!\s?\d)|ns|µs|ms|s|J|W)(?!\w))?"
)
#: What a source says, which its study checks.
_QUOTATION = re.compile(r"“[^”]*”")
#: The name of a class of links, whose numbers are no results.
_LINK_CLASS = re.compile(r"\((?:routed|PCIe|NVLink|xGMI)[^()]*\)")
#: Rates that a record has beside its figure.
_BESIDE = ("load_bytes_per_s", "peak_bytes_per_s")
#: Half a unit in the last place, and what rounding twice adds.
_HALF = 0.51


@dataclass(frozen=True)
class Number:
    """A number of a sentence."""

    text: str
    unit: str
    before: str  # the sentence up to it
    after: str = ""  # the sentence behind it and its unit

    @property
    def value(self) -> float:
        return float(self.text)

    @property
    def place(self) -> float:
        """One in the last digit; zeros at the end of a whole number may be rounding."""
        whole, _, decimals = self.text.partition(".")
        if decimals:
            return 10.0 ** -len(decimals)
        return 10.0 ** (len(whole) - len(whole.rstrip("0"))) if whole.strip("0") else 1.0

    @property
    def digits(self) -> int:
        return len(self.text.replace(".", "").strip("0"))

    def is_one_of(self, values: Sequence[float], scale: float = 1.0) -> bool:
        return any(abs(self.value - value / scale) <= _HALF * self.place for value in values)


def numbers(sentence: str) -> list[Number]:
    sentence = _QUOTATION.sub("", sentence)
    sentence = _LINK_CLASS.sub(lambda found: " " * len(found[0]), sentence)
    return [
        Number(found["text"], found["unit"] or "", sentence[: found.start()], sentence[found.end() :])
        for found in _NUMBER.finditer(sentence)
    ]


def _of(case: Case, name: str) -> list[float]:
    return [one[name] for one in case.measured if one.get(name) is not None]


@dataclass(frozen=True)
class Quoted:
    """What a finding rests on."""

    run: RunData
    claims: Sequence[Mapping[str, Any]]
    operands: Sequence[Mapping[str, Any]]
    cases: Sequence[Case]
    more: bool = False  # a detail may tell of other cases of the run, and more of each

    @classmethod
    def of(cls, run: RunData, finding: Mapping[str, Any]) -> Quoted:
        claims = finding.get("claims") or []
        operands = [
            *(finding.get("results") or []),
            *(claim[side] for claim in claims for side in ("first", "second")),
        ]
        ids = dict.fromkeys(one for operand in operands for one in operand["case_ids"])
        return cls(run, claims, operands, [run.cases[one] for one in ids if one in run.cases])

    def with_all(self) -> Quoted:
        """For what stands beside the sentence."""
        return replace(self, more=True)

    def figures(self) -> list[float]:
        told = [one[name] for one in self.operands for name in ("value", "least", "most", "low", "high")]
        told += [case.value for case in self.cases if case.values]
        return told + list(self._others()) if self.more else told

    def _others(self) -> Iterator[float]:
        """Rates that the records have beside their figure, and the figures of other cases."""
        for case in self.cases:
            for record in case.measured:
                yield from _directions(record)
                yield from (
                    rate for rate in (record.get("other_count") or {}).values() if isinstance(rate, float)
                )
                yield from (record[name] for name in _BESIDE if record.get(name))
        yield from (case.value for case in self.run.cases.values() if case.values)

    def loads(self) -> list[float]:
        """What those that disturb a case moved in the rounds that its median is from."""
        told = []
        for case in self.cases:
            rounds = sorted(
                zip(case.values, (one.get("load_bytes_per_s") for one in case.measured), strict=True)
            )
            middle = [load for _, load in rounds[(len(rounds) - 1) // 2 : len(rounds) // 2 + 1]]
            told += [mean(middle)] if all(middle) else []
        return told

    def sizes(self) -> set[int]:
        """Of transfers, and of rows and pieces."""
        told = {case.record["size_bytes"] for case in self.cases}
        options = [case.record["options"] for case in self.cases]
        if self.more:  # from which on it pays off, until where it does not
            ways = {case.record["interface"] for case in self.cases}
            told |= {
                case.record["size_bytes"]
                for case in self.run.cases.values()
                if case.record["interface"] in ways
            }
        return told | {value for one in options for name, value in one.items() if name.endswith("_bytes")}

    def times(self) -> list[float]:
        """Latencies and halves of round trips, and what one operation takes, in ns."""
        told = [value for value in self.figures() if value < 1e9]
        taken = [
            [one["time_ns"]["median"] for one in case.measured if one.get("time_ns")] for case in self.cases
        ]
        names = ("submit_ns", "host_ns") if self.more else ()
        told += [median(some) for case in self.cases for name in names if (some := _of(case, name))]
        return [*told, *(value / 2 for value in told), *(median(one) for one in taken if one)]

    def parts(self, number: Number) -> list[float]:
        """Percentages that a sentence may tell in this place: of a peak, a lead, a loss, of what is kept."""
        if found := re.match(r" of (\d+(?:\.\d+)?)\b(?! paths)", number.after):
            whole = Number(found[1], "", "")
            peaks = {case.peak for case in self.cases if case.peak and whole.is_one_of([case.peak], 1e9)}
            return [100 * value / peak for value in self.figures() for peak in peaks]
        routed = [
            part for case in self.cases for one in case.measured for part in (one.get("parts") or {}).values()
        ]
        if self.more and routed and re.search(r">[cg]pu\d+ $", number.before):
            return [100 * part for part in routed]
        ratios = [claim[name] for claim in self.claims for name in ("effect", "low", "high")]
        sides = ((claim["first"]["value"], claim["second"]["value"]) for claim in self.claims)
        ratios += [one / other for one, other in sides if other]
        ratios = [ratio for ratio in (*ratios, *self._by_path()) if ratio > 0]
        ratios = [max(ratio, 1 / ratio) for ratio in ratios]
        if re.match(r" (?:faster|more|longer|over)\b", number.after):
            return [100 * (ratio - 1) for ratio in ratios]
        if re.match(r" (?:slower|less)\b", number.after):
            return [100 * (1 - 1 / ratio) for ratio in ratios]
        return [100 * part for ratio in ratios for part in (ratio - 1, 1 - 1 / ratio, 1 / ratio)]

    def _by_path(self) -> list[float]:
        found = []
        for claim in self.claims:
            sides = [
                {self.run.cases[one].record["path"]: self.run.cases[one] for one in claim[side]["case_ids"]}
                for side in ("first", "second")
                if all(one in self.run.cases for one in claim[side]["case_ids"])
            ]
            if len(sides) == 2:
                common = sides[0].keys() & sides[1].keys()
                found += [
                    sides[0][path].value / sides[1][path].value for path in common if sides[1][path].values
                ]
        return found


def _directions(record: Mapping[str, Any]) -> Iterator[float]:
    """As they are recorded, and as shares of the sum: before method 7 they did not add up to it."""
    rates = list((record.get("directions") or {}).values())
    yield from rates
    if record.get("counts") == "sum-of-directions" and sum(rates):
        yield from (record["bandwidth_bytes_per_s"] * rate / sum(rates) for rate in rates)
