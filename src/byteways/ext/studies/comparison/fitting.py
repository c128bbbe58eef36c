"""Which values of a study a machine model was fitted to: agreement with those is no evidence."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from byteways.base.errors import BytewaysError
from byteways.ext.studies.comparison.figures import Published
from byteways.ext.studies.published import split
from byteways.ext.studies.published.split import FITTED, HELD_OUT
from byteways.ext.studies.published.study import Study
from byteways.ext.studies.published.values import PublishedValue
from byteways.models import load as load_model
from byteways.record.simulation_mark import is_simulated, model_of

#: How a machine model file marks a number as fitted to a source, and as taken from another model. Matched as
#: text because older models have other file formats.
_FITTED_TO = re.compile(r'"fitted:\s*([\w-]+)')
_TAKEN_FROM = re.compile(r'"assumed: that of ([\w-]+)')

#: Side of a value without any fitted or held-out published value.
NEITHER = "neither"


@dataclass(frozen=True)
class Fitting:
    """How a simulated run's machine model depends on a study."""

    study: Study
    model: str
    text: str  # the model file, as recorded in the run

    @cached_property
    def _from(self) -> tuple[str, ...]:
        """Names of the models that this one takes numbers from."""
        names = dict.fromkeys(_TAKEN_FROM.findall(self.text))
        return tuple(name for name in names if name != self.model and name in split.tables())

    @cached_property
    def _texts(self) -> list[str]:
        return [_text_of(name) for name in self._from]

    def _count(self, text: str) -> int:
        return sum(key in self.study.sources for key in _FITTED_TO.findall(text))

    @property
    def words(self) -> str:
        """'4 numbers of the model crusher-mi250x are fitted to this publication'; '' if none are."""
        if count := self._count(self.text):
            numbers = "1 number" if count == 1 else f"{count} numbers"
            return (
                f"{numbers} of the model {self.model} {'is' if count == 1 else 'are'} fitted to this "
                "publication"
            )
        names = [name for name, text in zip(self._from, self._texts, strict=True) if self._count(text)]
        if not names:
            return ""
        return (
            f"the model {self.model} has numbers of {' and '.join(names)}, which is fitted to this "
            "publication"
        )

    @property
    def known(self) -> bool:
        """Whether the fitted values are known; false for a user's own model."""
        return self.model in split.tables()

    def assumed_from(self, claim: str) -> bool:
        """Whether the model takes a number from this very claim."""
        return f"{self.study.key} {claim}" in split.assumed_from(self.model)

    def predicts(self, claim: str) -> bool:
        """Whether the claim was held out: it follows from numbers that were fitted to other values."""
        return f"{self.study.key} {claim}" in split.held_out_claims(self.model)

    def side(self, published: Sequence[Published]) -> str:
        """Returns FITTED, HELD_OUT or NEITHER for a value with these published counterparts.

        Published values of the model's own machine decide, then those of machines that it takes numbers
        from, then those of other machines, which it was not fitted to.
        """
        for names in ((self.model,), self._from):
            sides = {_side(value.value) for value in published if value.value.machine in names}
            for side in (FITTED, HELD_OUT):
                if side in sides:
                    return side
        others = [value.value for value in published if value.value.machine not in (self.model, *self._from)]
        return HELD_OUT if any(_exact(value) for value in others) else NEITHER


def fitting_of(study: Study, manifest: Mapping[str, Any]) -> Fitting | None:
    """Returns the fitting of a simulated run; None if no number of its model is fitted to the study."""
    if not is_simulated(manifest):
        return None
    text = (manifest.get("machine_model") or {}).get("text") or ""
    fitting = Fitting(study, model_of(manifest), text)
    return fitting if fitting.words else None


def _exact(value: PublishedValue) -> bool:
    return value.exactness != "approximate"


def _side(value: PublishedValue) -> str:
    """Returns the side of a value's group; approximate values are excluded."""
    if not _exact(value):
        return split.EXCLUDED
    return split.side_of(value.group, split.patterns(value.machine))


def _text_of(model: str) -> str:
    try:
        return load_model(model).text
    except BytewaysError:
        return ""
