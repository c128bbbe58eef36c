"""How good a machine model is, in the categories that a run has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from byteways.cases.error_categories import ERROR_CATEGORIES, error_category
from byteways.record.record import Record

NOT_CHECKED = "not checked against published values"


def categories_of(records: Iterable[Record]) -> tuple[str, ...]:
    """Returns the categories of the measured records, in the order of ERROR_CATEGORIES."""
    found = {
        error_category(record.interface, record.executor) for record in records if record.status == "measured"
    }
    return tuple(name for name in ERROR_CATEGORIES if name in found)


def model_error(fit: Mapping[str, Any] | None, categories: Iterable[str]) -> str:
    """Returns the error of a model in each of these categories, or that nobody has checked it there.

    Args:
        fit: Of the model, as the manifest has it; models of earlier versions have no categories.
        categories: Some of ERROR_CATEGORIES.
    """
    known = (fit or {}).get("categories") or {}
    checked = [name for name in categories if name in known]
    open_ = [name for name in categories if name not in known]
    parts = [f"{name}: {_error(known[name])}" for name in checked]
    if open_:
        parts.append(f"{', '.join(open_)}: {NOT_CHECKED}")
    return "; ".join(parts)


def _error(one: Mapping[str, Any]) -> str:
    count = one["values"]
    values = "1 published value" if count == 1 else f"{count} published values"
    return (
        f"median error {100 * one['median_error']:.1f} %, 90th percentile {100 * one['p90_error']:.1f} %, "
        f"on {values} that the model was not fitted to"
    )
