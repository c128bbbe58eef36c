"""The values of a suite's keys: words, buffers, executors and sizes, as they are written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from byteways.base.aliases import translated
from byteways.base.spelling import closest
from byteways.base.toml_reading import (
    Choice,
    Several,
    TextList,
    TomlValueError,
    WordList,
    kind_of_value,
    known_word,
)
from byteways.cases.case import CACHES, PATTERNS
from byteways.cases.interfaces import INTERFACES
from byteways.cases.memory import MEMORIES
from byteways.cases.sizes import expand_sizes
from byteways.cases.transfer_sets import TransferSet, parse_transfers
from byteways.plan.flow_sets import GPUS
from byteways.plan.variables import runtimes

EXECUTOR_WORDS = ("source", "destination", "both")
_BUFFER_GLOB = re.compile(r"^(?P<device>[^:@]+):(?P<memory>[^:@]+)(?:@(?P<first_touch>[^:@]+))?$")
_DEVICE_GLOB = re.compile(r"^(?:[a-z]+\d+|[a-z]*[*?\[][a-z0-9*?\[\]!-]*)$")


@dataclass(frozen=True)
class BufferGlob:
    """A pattern for buffers, `gpu*:device` or `cpu*:pageable@gpu*`; any part may be a glob."""

    device: str
    memory: str
    first_touch: str | None
    text: str


class When(Choice):
    """On which machines; `with-RUNTIME` is for sweeps that only one runtime supports."""

    valid = ("always", "with-gpu", "without-gpu", *(f"with-{name}" for name in runtimes()))


class InterfaceWords(WordList):
    kind, valid = "interface", tuple(INTERFACES)


class PatternWords(WordList):
    kind, valid = "pattern", PATTERNS


class CacheWords(WordList):
    kind, valid = "cache state", CACHES


class GpuWords(WordList):
    """Which GPUs take part in a fan; none: all."""

    kind, valid = "choice of GPUs", GPUS


class Buffers(Several[BufferGlob]):
    """Globs of buffers."""

    @classmethod
    def one(cls, text: str) -> BufferGlob:
        match = _BUFFER_GLOB.match(text)
        if match is None:
            hint = "write device:memory or device:memory@first-touch"
            raise TomlValueError(f"'{text}' is not a buffer", hint)
        device, first_touch = (
            device_glob(translated("device", name)) if name else None
            for name in (match["device"], match["first_touch"])
        )
        memory = match["memory"]
        if not any(fnmatchcase(known, memory) for known in MEMORIES):
            memory = known_word("memory", memory, MEMORIES)
        return BufferGlob(str(device), memory, first_touch, text)


class EndGlobs(TextList):
    """`source`, `destination` or globs of devices."""

    @classmethod
    def one(cls, text: str) -> str:
        return text if text in EXECUTOR_WORDS[:2] else device_glob(text)


class End(Choice):
    """`source`, `destination` or a glob of devices."""

    @classmethod
    def checked(cls, text: str) -> str:
        return EndGlobs.one(text)


class Executors(TextList):
    """`source`, `destination`, `both` or globs of devices."""

    @classmethod
    def one(cls, text: str) -> str:
        if text not in EXECUTOR_WORDS and not _DEVICE_GLOB.match(text):
            hint = closest(text, (*EXECUTOR_WORDS, "gpu*", "cpu0"))
            raise TomlValueError(f"'{text}' is not an executor", hint)
        return text


class OptionAxis(tuple[int | str | bool, ...]):
    """The values of an option."""

    @classmethod
    def from_toml(cls, value: Any) -> OptionAxis:
        items = value if isinstance(value, list) else [value]
        if not items:
            raise TomlValueError("the list is empty")
        for item in items:
            if not isinstance(item, (str, int, float)):
                raise TomlValueError(f"{kind_of_value(item)} instead of a value")
        return cls(dict.fromkeys(items))


class TransferSets(Several[TransferSet]):
    """Sets of transfers of pattern `transfers`."""

    @classmethod
    def one(cls, text: str) -> TransferSet:
        return parse_transfers(text)


class Sizes(tuple[int, ...]):
    """Sizes in bytes."""

    @classmethod
    def from_toml(cls, value: Any) -> Sizes:
        items = value if isinstance(value, list) else [value]
        for item in items:
            if isinstance(item, bool) or not isinstance(item, (str, int)):
                form = "a size such as '64KiB' or '4KiB..1GiB x4'"
                raise TomlValueError(f"{kind_of_value(item)} instead of {form}")
        return cls(expand_sizes(items))


def device_glob(text: str) -> str:
    """Returns a glob of device names. Raises TomlValueError if it is none."""
    if not _DEVICE_GLOB.match(text):
        raise TomlValueError(f"'{text}' is not a device", "write cpu0, gpu3, gpu* or *")
    return text
