"""The types of what stands in study.toml and claims.toml, checked before anything is made of it.

reading.py says which keys there are and what they mean together; this file only keeps a number from standing
where a text belongs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from byteways.decoding import converted


class _Place(TypedDict, total=False):
    devices: list[str]
    meaning: str
    rank: int
    model: str
    order: str


class _Line(TypedDict, total=False):
    says: str
    interface: str
    executor: str
    source: str | list[str]
    destination: str | list[str]
    buffer: str | list[str]
    second_source: str
    pattern: str
    cache: str
    environment: dict[str, str]
    options: dict[str, int | str | bool]
    together: bool
    count: str
    submits: bool
    published: list[dict[str, Any]]
    each: dict[str, list[int | str | bool]]
    note: str


class _Figure(TypedDict, total=False):
    id: str
    title: str
    locator: str
    kind: str
    lines: list[str]
    unit: str
    places: list[str]
    size: int | str
    note: str


class _Study(TypedDict, total=False):
    title: str
    authors: str
    year: int
    address: str
    about: str
    sources: list[str]
    models: list[str]
    statistic: str
    timing: str
    places: dict[str, _Place]
    lines: dict[str, _Line]
    figures: list[_Figure]
    ambient: list[str]
    defects: list[str]
    differences: list[str]
    grid: list[str]
    hosts: list[str]


class _Claim(TypedDict, total=False):
    id: str
    says: str
    locator: str
    check: dict[str, Any]
    note: str


class _Claims(TypedDict, total=False):
    claim: list[_Claim]


class _Check(TypedDict, total=False):
    kind: str
    of: str | list[Any]
    to: str | list[Any]
    unit: str


def check_study(data: Mapping[str, Any]) -> None:
    """Raises ValueError where a value of study.toml is of another type than it must be."""
    converted(data, _Study)


def check_claims(data: Mapping[str, Any]) -> None:
    """Raises ValueError where a value of claims.toml is of another type than it must be."""
    for number, claim in enumerate(converted(data, _Claims).get("claim", []), start=1):
        try:
            converted(claim.get("check", {}), _Check)
        except ValueError as error:
            raise ValueError(f"check of claim {number}: {error}") from error
