"""Which published values the machine models are fitted to and which were held out: model_split.toml.

A whole group is on one side: values of one source that share method, executor, access, buffers, pattern,
options and environment, whatever their size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import Any

from byteways.plan.toml_files import read_toml

NAME = "model_split.toml"
FITTED, HELD_OUT, EXCLUDED = "fitted", "held_out", "excluded"
#: Of a machine, `key id` of claims that a number of its model was taken from.
CLAIMS = "assumed_from"


@cache
def tables() -> Mapping[str, Mapping[str, Any]]:
    """The file, by machine."""
    text = (resources.files("byteways.studies") / NAME).read_text(encoding="utf-8")
    return read_toml(text, file=NAME)


def patterns(machine: str) -> list[tuple[str, str]]:
    """(side, shell-style pattern of groups) of a machine; nothing of one that has no split."""
    table = tables().get(machine, {})
    chosen = [(side, pattern) for side in (FITTED, HELD_OUT) for pattern in table.get(side, ())]
    return chosen + [(EXCLUDED, name) for entry in table.get(EXCLUDED, []) for name in entry["groups"]]


def side_of(group: str, of: Sequence[tuple[str, str]]) -> str:
    """The first side whose pattern the group matches, else `excluded`."""
    return next((side for side, pattern in of if fnmatchcase(group, pattern)), EXCLUDED)


def assumed_from(machine: str) -> tuple[str, ...]:
    """`key id` of the claims that a number of the model was taken from."""
    return tuple(tables().get(machine, {}).get(CLAIMS, ()))
