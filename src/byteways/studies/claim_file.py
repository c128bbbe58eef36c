"""Reads claims.toml: what a source says, in its words or in ours, and the checks that test it.

One sentence of a source is one claim, so that it has one verdict: what it says of several figures are several
checks of that claim, and what may be read in several ways is a check of the kind `any`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from byteways.plan.words import closest
from byteways.studies.study import Check, Claim

Keys = tuple[tuple[str, ...], tuple[str, ...]]
#: Keys of a claim and of the kinds of checks, those that must be there first.
_CLAIM: Keys = (("id", "locator", "check"), ("quote", "says", "note", "machine"))
_BOUNDS = ("about", "within", "at_least", "at_most", "unit")
_CHECK: Mapping[str, Keys] = {
    "value": (("of",), (*_BOUNDS, "published")),
    "ratio": (("of", "to"), (*_BOUNDS, "over")),
    "spread": (("of", "over", "at_most"), ("unit", "across")),
    "order": (("of",), ("unit", "margin")),
    "reaches": (("of", "size"), ("level", "of_best", "factor")),
    "any": (("readings",), ()),
}
#: Markup of the texts that quotations are checked against, and what stands for it.
_MARKUP = (("\\times", "×"), ("\\approx", "≈"), ("\\(", ""), ("\\)", ""), ("\\", ""))
_DROPPED = re.compile(r"[\s$`*{}]+")


def read_claims(data: Mapping[str, Any]) -> tuple[Claim, ...]:
    """The claims of a file.

    Raises:
        KeyError, TypeError, ValueError: It is not what it must be.
    """
    return tuple(_claim(entry) for entry in data.get("claim", []))


def check_keys(what: str, entry: Mapping[str, Any], keys: Keys) -> None:
    """Raises ValueError when a key is missing or one that nothing reads."""
    required, optional = keys
    known = (*required, *optional)
    if unknown := [name for name in entry if name not in known]:
        raise ValueError(f"{what} has the unknown key '{unknown[0]}': {closest(unknown[0], known)}")
    if missing := [name for name in required if name not in entry]:
        raise ValueError(f"{what} has no '{missing[0]}'")


def bare(text: str) -> str:
    """Without white space and markup: what two prints of one sentence have in common."""
    for markup, instead in _MARKUP:
        text = text.replace(markup, instead)
    return _DROPPED.sub("", text)


def digest(quote: str) -> str:
    """Of a quotation, as quotations.csv has it: SHA-256 of its bare text."""
    return sha256(bare(quote).encode()).hexdigest()


def wrong_claims(claims: Sequence[Claim]) -> Iterator[str]:
    """What no single claim shows: one name or one sentence of two claims."""
    if len({claim.id for claim in claims}) != len(claims):
        yield "two claims have one id"
    quoted = [(claim.id, bare(claim.quote)) for claim in claims if claim.quote]
    for name, quote in quoted:
        for other, longer in quoted:
            if name != other and quote in longer:
                yield f"claims {name} and {other} quote one sentence: it takes one verdict"


def _claim(entry: Mapping[str, Any]) -> Claim:
    name = entry.get("id", "?")
    check_keys(f"claim '{name}'", entry, _CLAIM)
    if ("quote" in entry) == ("says" in entry):
        raise ValueError(f"claim '{name}' takes either 'quote', the source's words, or 'says', yours")
    told = entry["check"] if isinstance(entry["check"], list) else [entry["check"]]
    if not told:
        raise ValueError(f"claim '{name}' has no check")
    checks = tuple(_check(name, one) for one in told)
    given = {key: str(entry[key]) for key in _CLAIM[1] if key in entry}
    return Claim(str(entry["id"]), str(entry["locator"]), checks, **given)


def _check(claim: str, entry: Mapping[str, Any]) -> Check:
    keys = dict(entry)
    kind, note = keys.pop("kind", ""), str(keys.pop("note", ""))
    if kind not in _CHECK:
        raise ValueError(f"claim '{claim}' has the check '{kind}': {closest(kind, _CHECK)}")
    check_keys(f"the check of claim '{claim}'", keys, _CHECK[kind])
    if kind != "any":
        return Check(kind, keys, note)
    return Check(kind, {}, note, tuple(_check(claim, one) for one in keys["readings"]))
