"""Prometheus text format, for the textfile collector of the node exporter (version 0.0.4 of the format)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from byteways.explain.checks.verdict import CheckedCases, Judged

_Samples = Iterable[tuple[dict[str, str], float]]


def prometheus(check: CheckedCases) -> str:
    """Returns the metrics of a check, with `against` on each, and `simulated` where a run was."""
    common = {"against": check.against, **({"simulated": "true"} if check.marks else {})}
    families: list[tuple[str, str, _Samples]] = [
        (
            "passed",
            "Whether the check passed: 1, or 0 if a case is LOW or MISSING or none was judged.",
            [(common, float(not check.failed and check.judged > 0))],
        ),
        (
            "cases",
            "Number of cases by verdict.",
            [({**common, "verdict": word.lower()}, float(n)) for word, n in check.counts.items()],
        ),
        (
            "speed_ratio",
            "Speed of a case relative to what is expected; of times the inverse ratio.",
            [({**common, **_labels(one)}, one.speed) for one in check.cases if one.speed is not None],
        ),
        (
            "failing",
            "Cases that are LOW or MISSING.",
            [({**common, **_labels(one)}, 1.0) for one in check.failing],
        ),
    ]
    if check.finished_at:
        seconds = check.finished_at.timestamp()
        families.append(
            ("run_timestamp_seconds", "When the run ended, in seconds since 1970.", [(common, seconds)])
        )
    return "".join(line for family in families for line in _family(*family))


def _family(name: str, help_text: str, samples: _Samples) -> Iterator[str]:
    name = f"byteways_check_{name}"
    yield f"# HELP {name} {help_text}\n"
    yield f"# TYPE {name} gauge\n"
    for labels, value in samples:
        told = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        yield f"{name}{{{told}}} {value!r}\n"


def _labels(one: Judged) -> dict[str, str]:
    return {"case": one.case, "case_id": one.case_id, "verdict": one.verdict.lower()}


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
