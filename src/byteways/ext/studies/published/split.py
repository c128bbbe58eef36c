"""Which published values the machine models were fitted to and which were held out: model_split.toml.

Whole groups are split: values of one source with the same method, executor, access, buffers, pattern,
options and environment, of any size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import Any

from byteways.base.toml_files import read_toml

SPLIT_FILE = "model_split.toml"
FITTED, HELD_OUT, EXCLUDED = "fitted", "held_out", "excluded"
#: Key of a machine's claims (`key id`) from which a number of its model was taken.
CLAIMS = "assumed_from"
#: Key of claims (`key id`) that the fitted numbers of a model predict: none was chosen with them in view.
PREDICTED = "held_out_claims"


@cache
def tables() -> Mapping[str, Mapping[str, Any]]:
    """Returns the file's tables by machine."""
    text = (resources.files("byteways.ext.studies.published") / SPLIT_FILE).read_text(encoding="utf-8")
    return read_toml(text, file=SPLIT_FILE)


def patterns(machine: str) -> list[tuple[str, str]]:
    """Returns (side, shell-style pattern of groups) of a machine; empty if it has no split."""
    table = tables().get(machine, {})
    chosen = [(side, pattern) for side in (FITTED, HELD_OUT) for pattern in table.get(side, ())]
    return chosen + [(EXCLUDED, name) for entry in table.get(EXCLUDED, []) for name in entry["groups"]]


def side_of(group: str, of: Sequence[tuple[str, str]]) -> str:
    """Returns the side of the first pattern that matches the group, otherwise `excluded`."""
    return next((side for side, pattern in of if fnmatchcase(group, pattern)), EXCLUDED)


def held_out_claims(machine: str) -> tuple[str, ...]:
    """Returns `key id` of the claims that were held out: the model's numbers were fitted to other values."""
    return tuple(tables().get(machine, {}).get(PREDICTED, ()))


def assumed_from(machine: str) -> tuple[str, ...]:
    """Returns `key id` of the claims from which a number of the model was taken."""
    return tuple(tables().get(machine, {}).get(CLAIMS, ()))
