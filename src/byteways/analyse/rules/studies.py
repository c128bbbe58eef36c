"""Of a run that repeats a published work: what became of its claims, before everything but corrupt data."""

from __future__ import annotations

from collections.abc import Iterator

from byteways.analyse.rules.facts import Facts, Finding
from byteways.analyse.studies.outcome import outcome_of

REPEATED = 850.0


def repeated(facts: Facts) -> Iterator[Finding]:
    """How many claims hold, and which are contradicted."""
    outcome = outcome_of(facts.run)
    if outcome is None or not outcome.verdicts:
        return
    study = outcome.study
    yield Finding(f"{study.authors} {study.year}, {outcome.summary()}", outcome.contradictions(), REPEATED)
