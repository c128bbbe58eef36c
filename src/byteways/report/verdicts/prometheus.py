"""Prometheus text format, for the textfile collector of the node exporter (version 0.0.4 of the format).

A verdict is a value, not a label, so that a case has one series whatever its verdict. A dashboard of these
series is docs/guides/grafana.json.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from byteways.base.units import format_size
from byteways.verdicts.checks.verdict import MISSING, VERDICT_CODES, CheckedCases, Judged

_Samples = Iterable[tuple[dict[str, str], float]]
#: Series of a result, whether it is a rate, and its base units in a unit of the series.
_FIGURES = (
    ("bandwidth_gigabytes_per_second", True, 1e9),
    ("time_microseconds", False, 1e3),
)
_Reading = Callable[[Judged], float | None]
_CODES = ", ".join(f"{code} {word}" for word, code in VERDICT_CODES.items())


def prometheus(check: CheckedCases) -> str:
    """Returns the metrics of a check, with `against` on each, and `simulated` where a run was."""
    common = {"against": check.against, **({"simulated": "true"} if check.marks else {})}
    families = [
        (
            "passed",
            "Whether the check passed: 1, or 0 if it failed or no case was judged.",
            [(common, float(not check.failed and check.judged > 0))],
        ),
        ("verdict", f"Verdict on the run: {_CODES}.", [(common, float(VERDICT_CODES[check.verdict]))]),
        (
            "cases",
            "Number of cases by verdict.",
            [({**common, "verdict": _word(word)}, float(n)) for word, n in check.counts.items()],
        ),
        (
            "missing_parts",
            "Number of GPUs, links and limits that are MISSING.",
            [(common, float(sum(one.verdict == MISSING and one.labels is None for one in check.cases)))],
        ),
        *_of_cases(check.cases, common),
        *_together(check.together, common),
    ]
    if check.finished_at:
        seconds = check.finished_at.timestamp()
        families.append(
            ("run_timestamp_seconds", "When the run ended, in seconds since 1970.", [(common, seconds)])
        )
    return "".join(line for family in families for line in _family(*family))


def _of_cases(cases: Iterable[Judged], common: dict[str, str]) -> Iterator[tuple[str, str, _Samples]]:
    labelled = [({**common, **_labels(one)}, one) for one in cases if one.labels is not None]

    def family(name: str, text: str, read: _Reading) -> tuple[str, str, _Samples]:
        found = ((labels, read(one)) for labels, one in labelled)
        return name, text, [(labels, value) for labels, value in found if value is not None]

    def figure(is_rate: bool, unit: float, value: _Reading) -> _Reading:
        def read(one: Judged) -> float | None:
            own = value(one) if one.figure and (one.figure == "bandwidth") == is_rate else None
            return None if own is None else own / unit

        return read

    yield family(
        "case_verdict",
        f"Verdict on a case: {_CODES}.",
        lambda one: float(VERDICT_CODES[one.verdict]),
    )
    yield family(
        "speed_ratio",
        "Speed of a case relative to the expected value (for times, the inverse ratio).",
        lambda one: one.speed,
    )
    yield family(
        "least_change_ratio",
        "Least loss of speed that the check would have found in a case, as a part of 1.",
        lambda one: one.least_change,
    )
    for name, is_rate, unit in _FIGURES:
        kind = "bandwidth" if is_rate else "time"
        yield family(name, f"The {kind} of a case.", figure(is_rate, unit, lambda one: one.value))
        yield family(
            f"expected_{name}",
            f"The {kind} that is expected of a case.",
            figure(is_rate, unit, lambda one: one.expected),
        )


def _together(pooled: Iterable[Judged], common: dict[str, str]) -> Iterator[tuple[str, str, _Samples]]:
    named = [({**common, "cases": one.labels.method if one.labels else ""}, one) for one in pooled]
    verdicts = [(labels, float(VERDICT_CODES[one.verdict])) for labels, one in named]
    speeds = [(labels, one.speed) for labels, one in named if one.speed is not None]
    yield "together_verdict", f"Verdict on cases together: {_CODES}.", verdicts
    yield "together_speed_ratio", "Speed of cases together relative to the reference.", speeds


def _family(name: str, help_text: str, samples: _Samples) -> Iterator[str]:
    name = f"byteways_check_{name}"
    yield f"# HELP {name} {help_text}\n"
    yield f"# TYPE {name} gauge\n"
    for labels, value in samples:
        told = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        yield f"{name}{{{told}}} {value!r}\n"


def _labels(one: Judged) -> dict[str, str]:
    assert one.labels is not None
    size = format_size(one.labels.size_bytes).replace(" ", "")
    return {
        "source": one.labels.source,
        "destination": one.labels.destination,
        "method": one.labels.method,
        "size": size,
        "pattern": one.labels.pattern,
        "case_id": one.case_id,
    }


def _word(verdict: str) -> str:
    return verdict.lower().replace(" ", "_")


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
