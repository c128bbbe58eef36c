"""Of a run that repeats a published work: what became of its claims, before everything but corrupt data."""

from __future__ import annotations

from collections.abc import Iterator

from byteways.analyse.rules.facts import Facts, Finding
from byteways.analyse.studies.outcome import outcome_of
from byteways.analyse.studies.verdicts import CONTRADICTED

REPEATED = 850.0
#: Claims that are named; the table has all.
NAMED = 3


def repeated(facts: Facts) -> Iterator[Finding]:
    """How many claims hold, and which are contradicted."""
    outcome = outcome_of(facts.run)
    if outcome is None or not outcome.verdicts:
        return
    told = []
    for verdict in CONTRADICTED:
        texts = [
            one.claim.text for one in outcome.verdicts if one.verdict == verdict
        ]  # the table has figures
        if texts:
            more = f" (and {len(texts) - NAMED} more)" if len(texts) > NAMED else ""
            told.append(f"{verdict.capitalize()}: {'; '.join(texts[:NAMED])}{more}.")
    detail = " ".join(told) or "None of its claims is contradicted."
    study = outcome.study
    yield Finding(f"{study.authors} {study.year}, {outcome.summary()}", detail, REPEATED)
