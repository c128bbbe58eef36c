"""The words for what became of a claim: the one place that has them."""

from __future__ import annotations

HOLDS = "holds"
CLOSE = "too close to call"  # a bound lies within the intervals of the figures
FAILS_HERE = "does not hold here"  # on hardware like the source's own
NOT_REPRODUCED = "the model does not reproduce this"  # on a model of such hardware
DIFFERS = "differs on this hardware"  # on any other, real or simulated
UNTESTED = "cannot be tested here"
BUILT_IN = "built in"
VERDICTS = (HOLDS, CLOSE, FAILS_HERE, NOT_REPRODUCED, DIFFERS, UNTESTED, BUILT_IN)
#: Verdicts of figures that contradict a claim.
CONTRADICTED = (FAILS_HERE, NOT_REPRODUCED, DIFFERS)
#: Of a check that figures contradict, before it is known whose hardware they are of.
FAILS = "contradicted"

#: In a sentence after a number of claims: of one, of several.
COUNTED = {
    HOLDS: ("holds", "hold"),
    CLOSE: (CLOSE, CLOSE),
    FAILS_HERE: ("does not hold here", "do not hold here"),
    NOT_REPRODUCED: ("is not reproduced by the model", "are not reproduced by the model"),
    DIFFERS: ("differs on this hardware", "differ on this hardware"),
    UNTESTED: (UNTESTED, UNTESTED),
    BUILT_IN: ("is built into the model", "are built into the model"),
}
