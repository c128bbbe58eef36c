"""What studies say of their sources: quotations as they were checked, and numbers that are in them."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from importlib import resources

import pytest

from byteways.ext.studies.published import names
from byteways.ext.studies.published.claim_file import bare, digest
from byteways.ext.studies.published.reading import load
from byteways.ext.studies.published.study import PublishedClaim
from byteways.record.simulation_mark import SIMULATED

STUDIES = names()
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def checked() -> dict[str, set[str]]:
    """Digests of the quotations that were found in the sources, by study."""
    text = (resources.files("byteways.ext.studies.published") / "quotations.csv").read_text(encoding="utf-8")
    found: dict[str, set[str]] = {}
    for row in csv.DictReader(text.splitlines()):
        found.setdefault(row["study"], set()).add(row["sha256"])
    return found


@pytest.mark.parametrize("key", STUDIES)
def test_every_quotation_was_found_in_its_source(key: str) -> None:
    """Would catch a quotation that is shortened, mended or made up: scripts/check_quotations.py has to find
    it in the source's text anew. Would also catch a list with quotations that are gone."""
    quoted = {digest(claim.quote) for claim in load(key).claims if claim.quote}
    assert quoted == checked().get(key, set())


def test_a_digest_is_of_words_and_not_of_their_print() -> None:
    """Would catch a digest that every line break changes, and one that a changed word does not."""
    assert digest("up to  1630×\n(47×)") == digest(r"up to 1630 $\times$ (47 $\times$)")
    assert digest(r"around \(2^{26}\) Byte") == digest("around 2^26 Byte")
    assert digest("below 100 ns") != digest("below 200 ns")
    assert bare("`a` *b*") == "ab"


@pytest.mark.parametrize("key", STUDIES)
def test_quotations_are_whole_sentences(key: str) -> None:
    """Would catch half a sentence whose other half is contradicted."""
    for claim in load(key).claims:
        if claim.quote:
            assert claim.quote[0].isupper() and claim.quote.endswith("."), claim.id


#: Numbers as sentences write them.
WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight")


def numbers_of(claim: PublishedClaim) -> Iterator[tuple[str, bool]]:
    """Numbers that a check names, and whether something says why they are not those of the sentence."""
    for check in claim.leaves():
        for name in ("about", "level"):
            if name in check.keys:
                yield NUMBER.findall(str(check.keys[name]))[0], False
        for name in ("at_least", "at_most", "of_best"):
            if name in check.keys and name + str(check.keys[name]) != "at_least1":
                yield NUMBER.findall(str(check.keys[name]))[0], bool(check.note or claim.note)


@pytest.mark.parametrize("key", STUDIES)
def test_what_a_check_wants_is_what_the_sentence_says(key: str) -> None:
    """Would catch 1.34 TB/s in a quotation beside a check of 1.399: a number of a check is in the sentence or
    in the note that says how it comes from it."""
    for claim in load(key).claims:
        said = f"{claim.quote} {claim.says} {claim.note}"
        # TB/s are GB/s in a check, and a range has a middle.
        told = {float(number) for number in NUMBER.findall(said)}
        told |= {1000 * number for number in told}
        told |= {number for number, word in enumerate(WORDS, 1) if re.search(rf"\b{word}\b", said.lower())}
        ranges = re.findall(r"(\d+)-(\d+)", said)
        told |= {(float(low) + float(high)) / 2 for low, high in ranges}
        for number, explained in numbers_of(claim):
            assert explained or float(number) in told, (claim.id, number)


def test_a_quotation_keeps_its_words_in_a_simulated_run() -> None:
    """Would catch 'the simulated latency is below 100 ns' in the mouth of those who measured it."""
    (claim,) = [one for one in load("schieffer2025").claims if one.id == "small-memcpy"]
    assert "measured latency" in claim.text
    assert SIMULATED.quote(f"{claim.text}: 3 were measured") == f"{claim.text}: 3 were simulated"


def test_quotation_marks_are_for_quotations_alone() -> None:
    """Would catch a heading of ours that passes for the source's words, and marks that end a quotation."""
    for claim in (claim for key in STUDIES for claim in load(key).claims):
        assert bool(claim.quote) == claim.text.startswith("“") == claim.text.endswith("”")
        assert claim.text.count("“") == claim.text.count("”") == bool(claim.quote)
