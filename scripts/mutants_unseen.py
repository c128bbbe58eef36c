"""Changes of the sources that no test can tell, or that nobody makes."""

from __future__ import annotations

import re

#: Line and column.
Place = tuple[int, int]
#: What a test cannot tell, or nobody would mistake: text of the line, and what becomes of it.
UNSEEN = (
    ("frozen=True", "frozen=False"),  # a class that may be changed: the type checker refuses the change
    ("total=False", "total=True"),  # fields of a dictionary that types alone know of
    ("strict=True", "strict=False"),  # a check that lengths are equal, as they are
)
#: A unit as a power of ten, of a million or more: off by one it changes no digit that is told.
_UNIT = re.compile(r"\b1e([6-9]|1\d)\b")
#: How long to wait for what takes no such time, in ten seconds or more: its last digit changes nothing.
_PATIENCE = re.compile(r"^(\w+_)?(LIMIT|TIMEOUT|DEADLINE)_S = \d\d+(\.0)?(  #.*)?$")
#: A comparison with a word, and with the order of words, which no program of ours asks for.
_EQUALS_WORD = re.compile(r"[!=]= (?=[\"'])")
_ORDERS_WORD = re.compile(r"[<>]=? (?=[\"'])")


def is_unseen(before: str, start: Place, operator: str, after: str) -> bool:
    """Whether no test could tell the change, or it is one that nobody makes."""
    line, changed = before.splitlines()[start[0] - 1], after.splitlines()[start[0] - 1]
    if line == "if TYPE_CHECKING:" or ("@cache" in line and "Decorator" in operator):
        return True  # imports that only the type checker wants; the same is computed again
    if any(old in line and line.replace(old, new) == changed for old, new in UNSEEN):
        return True
    if "sys.version_info" in line:  # the other half runs on other versions of Python
        return True
    if _PATIENCE.match(line) and _PATIENCE.match(changed):
        return True
    if len(_UNIT.findall(changed)) < len(_UNIT.findall(line)):
        return True
    fewer = len(_EQUALS_WORD.findall(changed)) < len(_EQUALS_WORD.findall(line))
    return fewer and len(_ORDERS_WORD.findall(changed)) > len(_ORDERS_WORD.findall(line))
