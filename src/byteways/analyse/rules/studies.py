"""Of a run that repeats a published work: what became of its claims, before everything but corrupt data."""

from __future__ import annotations

from collections.abc import Iterator

from byteways.analyse.rules.facts import Facts, Finding
from byteways.analyse.studies.claims import FAILS
from byteways.analyse.studies.outcome import outcome_of

REPEATED = 850.0
#: Claims that are named; the table has all.
NAMED = 3


def repeated(facts: Facts) -> Iterator[Finding]:
    """How many claims hold, and which do not."""
    outcome = outcome_of(facts.run)
    if outcome is None or not outcome.verdicts:
        return
    failed = [one for one in outcome.verdicts if one.verdict == FAILS]
    told = [f"“{one.claim.says}”" for one in failed[:NAMED]]  # the table has the figures
    more = f" (and {len(failed) - NAMED} more)" if len(failed) > NAMED else ""
    detail = f"Does not hold: {'; '.join(told)}{more}." if told else "None of its claims is contradicted."
    study = outcome.study
    yield Finding(f"{study.authors} {study.year}, {outcome.summary()}", detail, REPEATED)
