"""The keys of `--only`, and the values that a case has for each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from byteways.base.units import format_size
from byteways.cases.case import CACHES, PATTERNS, Case
from byteways.cases.interfaces import INTERFACES, OPTIONS
from byteways.cases.memory import MEMORIES
from byteways.cases.options import Option

#: The values of a case requested by the named sweep.
ValuesOf = Callable[[Case, str], tuple[str, ...]]

#: Any environment variable is a key: a suite may set what it likes.
VARIABLE = re.compile(r"[A-Z][A-Z0-9]*_[A-Za-z0-9_]+")


def _buffers(case: Case, side: str) -> tuple[str, ...]:
    """Returns `gpu0:device` and `gpu0` for every flow's source or destination."""
    ends = dict.fromkeys(getattr(flow, side) for flow in case.flows)
    return tuple(dict.fromkeys(name for end in ends for name in (str(end), end.device)))


def _memories(case: Case) -> tuple[str, ...]:
    ends = (end for flow in case.flows for end in (flow.source, flow.destination))
    return tuple(dict.fromkeys(end.memory for end in ends))


def _of_option(option: Option) -> ValuesOf:
    """Returns the values of an option: what a case leaves out has its default, if that is fixed."""

    def values(case: Case, sweep: str) -> tuple[str, ...]:
        if option.name not in INTERFACES[case.interface].takes:
            return ()
        value = case.options.get(option.name, option.left_out)
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return (text,) if text else ()

    return values


def _of_variable(name: str) -> ValuesOf:
    return lambda case, sweep: (case.environment[name],) if name in case.environment else ()


#: Keys of every case.
CASE_FIELDS: Mapping[str, ValuesOf] = {
    "interface": lambda case, sweep: (case.interface,),
    "pattern": lambda case, sweep: (case.pattern,),
    "path": lambda case, sweep: (case.path,),
    "source": lambda case, sweep: _buffers(case, "source"),
    "destination": lambda case, sweep: _buffers(case, "destination"),
    "executor": lambda case, sweep: case.executors,
    "access": lambda case, sweep: (case.access,),
    "memory": lambda case, sweep: _memories(case),
    "size": lambda case, sweep: (format_size(case.size_bytes).replace(" ", ""),),
    "cache": lambda case, sweep: (case.cache,),
    "sweep": lambda case, sweep: (sweep,),
    "category": lambda case, sweep: (case.category, case.category.replace(" ", "-")),
}

#: All keys but environment variables; one value of a case must match.
KEYS: Mapping[str, ValuesOf] = {
    **CASE_FIELDS,
    **{name: _of_option(OPTIONS[name]) for name in sorted(OPTIONS)},
}

#: Keys with a fixed set of words: anything else that is not a glob is a mistake.
WORDS: Mapping[str, Sequence[str]] = {
    "interface": tuple(INTERFACES),
    "pattern": PATTERNS,
    "memory": MEMORIES,
    "access": ("read", "write", "local", "remote"),
    "cache": CACHES,
    **{name: option.words for name, option in OPTIONS.items() if option.words and not option.numbers},
    **{name: ("true", "false") for name, option in OPTIONS.items() if option.is_truth},
}


def is_key(key: str) -> bool:
    """Whether cases can be selected by it."""
    return key in KEYS or VARIABLE.fullmatch(key) is not None


def values_of(key: str) -> ValuesOf:
    """Returns what a key that is_key() is compared with."""
    return KEYS[key] if key in KEYS else _of_variable(key)
