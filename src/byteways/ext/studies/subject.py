"""A run that reproduces a publication: its values compared with the published ones, and claim verdicts.

Studies are loaded for such runs only: they are a tenth of what `show` would import.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from byteways.answers.claims.finding import Finding, notice
from byteways.answers.claims.importance import Priority
from byteways.answers.results.index import Index
from byteways.answers.results.summary import RecordedRun
from byteways.questions.display.topic import Topic

if TYPE_CHECKING:
    from byteways.ext.studies.comparison.outcome import StudyOutcome


def topic(index: Index) -> Topic | None:
    """Returns the topic of a `byteways reproduce` run; None for other runs."""
    outcome = _outcome(index)
    if outcome is None:
        return None
    from byteways.ext.studies.comparison.topic import topic_of

    return topic_of(outcome)


def repeated(run: RecordedRun) -> str:
    """Returns the summary of work and claims for the first screen; '' for other runs."""
    outcome = _outcome(run)
    if outcome is None:
        return ""
    study = outcome.study
    return f"Repeats {study.authors}, “{study.title}” ({study.year}). {outcome.summary()}."


def claims_repeated(index: Index) -> Iterator[Finding]:
    """Reports how many claims hold, and which are contradicted."""
    outcome = _outcome(index)
    if outcome is None or not outcome.verdicts:
        return
    study = outcome.study
    title = f"{study.authors} {study.year}, {outcome.summary()}"
    yield notice(title, outcome.contradictions(), Priority.REPEATED_STUDY)


def _outcome(run: RecordedRun) -> StudyOutcome | None:
    """Returns the outcome for the study in the run's manifest; None if there is none or it is unavailable."""
    if not run.manifest.get("study"):
        return None
    from byteways.ext.studies.comparison.outcome import outcome_of

    return outcome_of(run)
