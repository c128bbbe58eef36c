"""Reads claims.toml: statements of a source, quoted or in our words, and the checks that test them.

One sentence of a source is one claim with one verdict. A statement on several values becomes several checks;
an ambiguous one becomes a check of kind `any`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from byteways.plan.spelling import closest
from byteways.studies.reference import number_of
from byteways.studies.shapes import (
    ANY_NUMBER,
    FLAG,
    LIST_OF_TABLES,
    NUMBER_WITH_UNIT,
    STRING,
    TABLE_OR_TABLES,
    VALUE_OR_VALUES,
    Keys,
)
from byteways.studies.study import FIGURE_UNITS, ClaimCheck, PublishedClaim
from byteways.topology.facts import BYTES_UNIT, FACTS
from byteways.units import parse_size

#: Keys of a claim, and of each kind of check.
_CLAIM = Keys(
    {"id": STRING, "locator": STRING, "check": TABLE_OR_TABLES},
    dict.fromkeys(("quote", "says", "note", "machine"), STRING),
)
_BOUNDS = {
    "about": NUMBER_WITH_UNIT,
    "within": ANY_NUMBER,
    "at_least": NUMBER_WITH_UNIT,
    "at_most": NUMBER_WITH_UNIT,
    "unit": STRING,
}
_CHECK: Mapping[str, Keys] = {
    "value": Keys({"of": VALUE_OR_VALUES}, {**_BOUNDS, "published": FLAG}),
    "ratio": Keys({"of": VALUE_OR_VALUES, "to": VALUE_OR_VALUES}, {**_BOUNDS, "over": STRING}),
    "gap": Keys({"of": VALUE_OR_VALUES, "to": VALUE_OR_VALUES}, _BOUNDS),
    "spread": Keys(
        {"of": VALUE_OR_VALUES, "over": STRING, "at_most": ANY_NUMBER}, {"unit": STRING, "across": STRING}
    ),
    "order": Keys({"of": VALUE_OR_VALUES}, {"unit": STRING, "margin": ANY_NUMBER}),
    "reaches": Keys(
        {"of": VALUE_OR_VALUES, "size": NUMBER_WITH_UNIT},
        {"level": NUMBER_WITH_UNIT, "of_best": ANY_NUMBER, "factor": ANY_NUMBER},
    ),
    "linear": Keys({"of": VALUE_OR_VALUES}, {"at_least": ANY_NUMBER, "at_most": ANY_NUMBER}),
    "node": Keys(
        {"fact": STRING},
        {
            **dict.fromkeys(("about", "at_least", "at_most"), NUMBER_WITH_UNIT),
            "within": ANY_NUMBER,
            "at": STRING,
        },
    ),
    "refused": Keys({"of": VALUE_OR_VALUES, "reason": STRING}, {}),
    "any": Keys({"readings": LIST_OF_TABLES}, {}),
}
#: Valid words of keys that take a fixed set.
_WORDS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("ratio", "over"): ("all", "most", "least"),
    ("spread", "over"): ("place", "line", "size"),
    ("spread", "across"): ("cpu", "gpu"),
}
#: Markup in the texts that quotations are compared with, and its replacement.
_MARKUP = (("\\times", "×"), ("\\approx", "≈"), ("\\(", ""), ("\\)", ""), ("\\", ""))
_DROPPED = re.compile(r"[\s$`*{}]+")


def read_claims(data: Mapping[str, Any]) -> tuple[PublishedClaim, ...]:
    """Parses the claims of a file.

    Raises:
        KeyError, TypeError, ValueError: The data are invalid.
    """
    Keys({}, {"claim": LIST_OF_TABLES}).check("it", data)
    return tuple(_claim(entry) for entry in data.get("claim", []))


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


def _claim(entry: Mapping[str, Any]) -> PublishedClaim:
    name = entry.get("id", "?") if isinstance(entry, Mapping) else "?"
    _CLAIM.check(f"claim '{name}'", entry)
    if ("quote" in entry) == ("says" in entry):
        raise ValueError(f"claim '{name}' needs either 'quote' (the source's words) or 'says' (yours)")
    told = entry["check"] if isinstance(entry["check"], list) else [entry["check"]]
    if not told:
        raise ValueError(f"claim '{name}' has no check")
    checks = tuple(_check(name, one) for one in told)
    if "quote" in entry and any(leaf.keys.get("published") for check in checks for leaf in check.leaves()):
        raise ValueError(
            f"claim '{name}' quotes: its check uses the numbers of the sentence, not 'published'"
        )
    given = {key: entry[key] for key in _CLAIM.optional if key in entry}
    return PublishedClaim(entry["id"], entry["locator"], checks, **given)


def _check(claim: str, entry: Mapping[str, Any]) -> ClaimCheck:
    keys = dict(entry)
    kind, note = str(keys.pop("kind", "")), str(keys.pop("note", ""))
    if kind not in _CHECK:
        raise ValueError(f"claim '{claim}' has the check '{kind}': {closest(kind, _CHECK)}")
    what = f"the check of claim '{claim}'"
    _CHECK[kind].check(what, keys)
    _check_values(what, kind, keys)
    if kind != "any":
        return ClaimCheck(kind, keys, note)
    readings = tuple(_check(claim, one) for one in keys["readings"])
    if not readings:
        raise ValueError(f"{what} has no readings")
    return ClaimCheck(kind, {}, note, readings)


def _check_values(what: str, kind: str, keys: Mapping[str, Any]) -> None:
    """Raises ValueError for invalid words and numbers of a check."""
    in_bytes = kind == "node" and _checked_fact(what, keys) == BYTES_UNIT
    for name, value in keys.items():
        words = FIGURE_UNITS if name == "unit" else _WORDS.get((kind, name))
        if words and value not in words:
            raise ValueError(f"{what} has {name} = '{value}': {closest(value, words)}")
        if name in ("about", "at_least", "at_most", "level"):
            (parse_size if in_bytes else number_of)(str(value))
        if name == "size":
            parse_size(str(value))
    bounded = {"about", "at_least", "at_most"} & set(keys) or keys.get("published")
    if kind in ("value", "ratio", "linear", "node", "gap") and not bounded:
        raise ValueError(f"{what} has neither 'about' nor 'at_least' nor 'at_most'")
    if kind == "gap" and not all(
        isinstance(keys[name], list) and len(keys[name]) == 2 for name in ("of", "to")
    ):
        raise ValueError(f"{what} has gaps between other than two values: 'of' and 'to' take two each")
    if kind == "reaches" and ("level" in keys) == ("of_best" in keys):
        raise ValueError(f"{what} needs either 'level' or 'of_best'")
    if kind == "reaches" and not keys.get("factor", 1) > 0:
        raise ValueError(f"{what} has a factor that is not positive")


def _checked_fact(what: str, keys: Mapping[str, Any]) -> str:
    """Returns the unit of a check's fact. Raises ValueError if it is unknown or lacks its place."""
    name = str(keys["fact"])
    if name not in FACTS:
        raise ValueError(f"{what} has fact = '{name}': {closest(name, FACTS)}")
    fact = FACTS[name]
    if ("at" in keys) == (fact.between is None):
        needs = "needs 'at', a place with two devices" if fact.between else "has no place: leave out 'at'"
        raise ValueError(f"{what}: the fact '{name}' {needs}")
    return fact.unit
