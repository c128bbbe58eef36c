"""Outputs of other programs: one row a format, recognised by content, one reader a file."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from byteways.imported import nvbandwidth, nvbandwidth_json
from byteways.imported.lines import Line
from byteways.imported.reader import DocumentReader, TextReader


@dataclass(frozen=True)
class TextFormat:
    """A table in text, which may be one of several in a log."""

    name: str
    says: str  # for messages
    made_by: str  # a command that writes such an output
    begins: re.Pattern[str]  # matches, from its beginning, the first line of such an output alone
    reader: Callable[[Line], TextReader]  # gets that line, too


@dataclass(frozen=True)
class DocumentFormat:
    """A document of JSON, or lines of such documents; text of launchers may come before it."""

    name: str
    says: str
    made_by: str
    keys: frozenset[str]  # of its outermost object, which together only such a document has
    reader: DocumentReader


#: In order of precedence; the beginnings exclude each other.
TEXT_FORMATS: tuple[TextFormat, ...] = (
    TextFormat(
        nvbandwidth.NAME,
        "text of nvbandwidth",
        "nvbandwidth",
        nvbandwidth.BEGINS,
        nvbandwidth.NvbandwidthReader,
    ),
)
DOCUMENT_FORMATS: tuple[DocumentFormat, ...] = (
    DocumentFormat(
        nvbandwidth_json.NAME,
        "JSON of nvbandwidth",
        "nvbandwidth -j",
        nvbandwidth_json.KEYS,
        nvbandwidth_json.read_nvbandwidth_json,
    ),
)
