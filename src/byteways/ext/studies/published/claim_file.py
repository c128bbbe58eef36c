"""Reads claims.toml: statements of a source, quoted or in our words, and the checks that test them.

One sentence of a source is one claim with one verdict. A statement on several values becomes several checks;
an ambiguous one becomes a check of kind `any`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from byteways.base.toml_reading import Choice, Finite, Quantity, TomlPlace
from byteways.base.units import parse_size
from byteways.ext.studies.published.reference import number_of
from byteways.ext.studies.published.study import ClaimCheck, FigureUnit, PublishedClaim
from byteways.machine.facts import BYTES_UNIT, FACTS

#: One or several references to values, or a list of groups of them.
Values = str | list[str | list[str]]


class FactName(Choice):
    """The name of a fact of the machine."""

    valid = tuple(FACTS)


class CheckTable(Struct, frozen=True, kw_only=True, tag_field="kind", forbid_unknown_fields=True):
    """The keys of every check. A subclass has those of its kind."""

    note: str = ""


class BoundedCheck(CheckTable, frozen=True, kw_only=True):
    """A check of a number against bounds."""

    about: Quantity | None = None
    within: Finite | None = None
    at_least: Quantity | None = None
    at_most: Quantity | None = None
    unit: FigureUnit | None = None


class ValueCheck(BoundedCheck, frozen=True, kw_only=True, tag="value"):
    of: Values
    published: bool = False


class RatioCheck(BoundedCheck, frozen=True, kw_only=True, tag="ratio"):
    of: Values
    to: Values
    over: Literal["all", "most", "least"] | None = None


class GapCheck(BoundedCheck, frozen=True, kw_only=True, tag="gap"):
    of: Annotated[list[str | list[str]], Meta(min_length=2, max_length=2)]
    to: Annotated[list[str | list[str]], Meta(min_length=2, max_length=2)]


class SpreadCheck(CheckTable, frozen=True, kw_only=True, tag="spread"):
    of: Values
    over: Literal["place", "line", "size"]
    at_most: Finite
    unit: FigureUnit | None = None
    across: Literal["cpu", "gpu"] | None = None


class OrderCheck(CheckTable, frozen=True, kw_only=True, tag="order"):
    of: Values
    unit: FigureUnit | None = None
    margin: Finite | None = None


class ReachesCheck(CheckTable, frozen=True, kw_only=True, tag="reaches"):
    of: Values
    size: Quantity
    level: Quantity | None = None
    of_best: Finite | None = None
    factor: Annotated[float, Meta(ge=1e-9, le=1e300)] | None = None


class LinearCheck(CheckTable, frozen=True, kw_only=True, tag="linear"):
    of: Values
    at_least: Finite | None = None
    at_most: Finite | None = None


class NodeCheck(CheckTable, frozen=True, kw_only=True, tag="node"):
    fact: FactName
    about: Quantity | None = None
    within: Finite | None = None
    at_least: Quantity | None = None
    at_most: Quantity | None = None
    at: str | None = None


class RefusedCheck(CheckTable, frozen=True, kw_only=True, tag="refused"):
    of: Values
    reason: str


class AnyCheck(CheckTable, frozen=True, kw_only=True, tag="any"):
    readings: Annotated[list[dict[str, Any]], Meta(min_length=1)]


CHECK_TABLES = (
    ValueCheck
    | RatioCheck
    | GapCheck
    | SpreadCheck
    | OrderCheck
    | ReachesCheck
    | LinearCheck
    | NodeCheck
    | RefusedCheck
    | AnyCheck
)


class ClaimTable(Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of a claim; each check is read with its own place."""

    id: str
    locator: str
    check: dict[str, Any] | Annotated[list[dict[str, Any]], Meta(min_length=1)]
    quote: str = ""
    says: str = ""
    note: str = ""
    machine: str = ""
    at_odds_with: str = ""
    corrected_by: str = ""


class ClaimsFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The key of claims.toml."""

    claim: list[ClaimTable] = []


#: Markup in the texts that quotations are compared with, and its replacement.
_MARKUP = (("\\times", "×"), ("\\approx", "≈"), ("\\(", ""), ("\\)", ""), ("\\", ""))
_DROPPED = re.compile(r"[\s$`*{}]+")


def read_claims(place: TomlPlace) -> tuple[PublishedClaim, ...]:
    """Returns the claims of a file. Raises BytewaysError at the first mistake."""
    tables = place.read(ClaimsFile).claim
    return tuple(_claim(place.below("claim", index), table) for index, table in enumerate(tables))


def bare(text: str) -> str:
    """Removes white space and markup, so that different prints of a sentence compare equal."""
    for markup, instead in _MARKUP:
        text = text.replace(markup, instead)
    return _DROPPED.sub("", text)


def digest(quote: str) -> str:
    """Returns the digest of a quotation as in quotations.csv: SHA-256 of its bare text."""
    return sha256(bare(quote).encode()).hexdigest()


def wrong_claims(claims: Sequence[PublishedClaim]) -> Iterator[str]:
    """Yields errors across claims: two claims with the same name or sentence."""
    if len({claim.id for claim in claims}) != len(claims):
        yield "two claims have the same id"
    quoted = [(claim.id, bare(claim.quote)) for claim in claims if claim.quote]
    for name, quote in quoted:
        for other, longer in quoted:
            if name != other and quote in longer:
                yield f"claims {name} and {other} quote the same sentence: it needs one verdict"


def _claim(place: TomlPlace, table: ClaimTable) -> PublishedClaim:
    if bool(table.quote) == bool(table.says):
        place.fail("", "it needs either 'quote' (the source's words) or 'says' (yours)")
    own = place.below("check")
    many = isinstance(table.check, list)
    checks = tuple(_check(own.below(index)) for index in range(len(table.check))) if many else (_check(own),)
    if table.quote and any(leaf.keys.get("published") for check in checks for leaf in check.leaves()):
        problem = "the check of a quotation uses the numbers of the sentence, not 'published'"
        place.fail("check", problem)
    keys = ("quote", "says", "note", "machine", "at_odds_with", "corrected_by")
    given = {key: getattr(table, key) for key in keys}
    return PublishedClaim(table.id, table.locator, checks, **given)


def _check(place: TomlPlace) -> ClaimCheck:
    table: CheckTable = place.read(CHECK_TABLES)  # type: ignore[arg-type]
    kind = str(place.value["kind"])
    keys = {key: value for key, value in place.value.items() if key not in ("kind", "note")}
    if isinstance(table, AnyCheck):
        readings = (_check(place.below("readings", index)) for index in range(len(table.readings)))
        return ClaimCheck(kind, {}, table.note, tuple(readings))
    _check_numbers(place, table, keys)
    return ClaimCheck(kind, keys, table.note)


def _check_numbers(place: TomlPlace, table: CheckTable, keys: Mapping[str, Any]) -> None:
    """Checks numbers with units, and keys of which one is needed."""
    fact = FACTS[table.fact] if isinstance(table, NodeCheck) else None
    if fact is not None and ("at" in keys) == (fact.between is None):
        needs = "needs 'at', a place with two devices" if fact.between else "has no place: leave out 'at'"
        place.fail("fact", f"the fact '{keys['fact']}' {needs}")
    read = parse_size if fact is not None and fact.unit == BYTES_UNIT else number_of
    for name in ("about", "at_least", "at_most", "level", "size"):
        if name in keys:
            place.converted(name, parse_size if name == "size" else read, str(keys[name]))
    bounded = {"about", "at_least", "at_most"} & set(keys) or keys.get("published")
    if isinstance(table, (BoundedCheck, LinearCheck, NodeCheck)) and not bounded:
        place.fail("", "it has neither 'about' nor 'at_least' nor 'at_most'")
    if isinstance(table, ReachesCheck) and ("level" in keys) == ("of_best" in keys):
        place.fail("", "it needs either 'level' or 'of_best'")
