"""The verdicts on a claim; no other module spells them out."""

from __future__ import annotations

HOLDS = "holds"
CLOSE = "too close to call"  # a bound lies within the intervals of the values
FAILS_HERE = "does not hold here"  # on the source's kind of GPU
NOT_REPRODUCED = "the model does not reproduce this"  # on the machine model of that system
DIFFERS = "differs on this hardware"  # on any other, real …
DIFFERS_IN_MODEL = "differs in the model"  # … or simulated
SELF_CONTRADICTED = "the source contradicts itself"  # the values agree with another place of it
CORRECTED = "the hardware's documents differ"  # the values agree with those of the maker
UNTESTED = "cannot be tested here"
BUILT_IN = "built in"
ASSUMED_BY_MODEL = "assumed by the model"  # it holds for values of a model that no published value supports
CLAIM_VERDICTS = (
    *(HOLDS, CLOSE, FAILS_HERE, NOT_REPRODUCED, DIFFERS, DIFFERS_IN_MODEL, SELF_CONTRADICTED),
    *(CORRECTED, UNTESTED, BUILT_IN, ASSUMED_BY_MODEL),
)
#: Verdicts of claims that the values contradict.
CONTRADICTED = (FAILS_HERE, NOT_REPRODUCED, DIFFERS, DIFFERS_IN_MODEL)
#: State of a contradicted check, before the hardware is compared.
FAILS = "contradicted"

#: Verb phrases after a number of claims: singular, plural.
VERDICT_PHRASES = {
    HOLDS: ("holds", "hold"),
    CLOSE: (CLOSE, CLOSE),
    FAILS_HERE: ("does not hold here", "do not hold here"),
    NOT_REPRODUCED: ("is not reproduced by the model", "are not reproduced by the model"),
    DIFFERS: ("differs on this hardware", "differ on this hardware"),
    DIFFERS_IN_MODEL: ("differs in the model", "differ in the model"),
    SELF_CONTRADICTED: ("contradicts another place of the source", "contradict other places of the source"),
    CORRECTED: ("contradicts the hardware's documents", "contradict the hardware's documents"),
    UNTESTED: (UNTESTED, UNTESTED),
    BUILT_IN: ("is built into the model", "are built into the model"),
    ASSUMED_BY_MODEL: ("is an assumption of the model", "are assumptions of the model"),
}

#: How a page shows a verdict: its kind (good, bad or open), and a sign beside its words.
SHOWN = {
    HOLDS: ("good", "✓"),
    CLOSE: ("open", "≈"),
    **dict.fromkeys(CONTRADICTED, ("bad", "✗")),
    **dict.fromkeys((SELF_CONTRADICTED, CORRECTED), ("open", "!")),
    UNTESTED: ("open", "?"),
    BUILT_IN: ("open", "="),
    ASSUMED_BY_MODEL: ("open", "="),
}
