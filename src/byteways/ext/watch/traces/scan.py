"""Reads a trace of any format that is known."""

from __future__ import annotations

from pathlib import Path

from byteways.base.errors import BytewaysError
from byteways.base.system_errors import unusable
from byteways.ext.watch.traces.collecting import TraceRead
from byteways.ext.watch.traces.content import head_of
from byteways.ext.watch.traces.formats import TRACE_FORMATS
from byteways.machine.foreign_text import FormatError


def watched_of_trace(path: Path) -> TraceRead:
    """Reads what a program moved from a trace of another profiler.

    Returns:
        What was watched, and what could not be read of it.

    Raises:
        BytewaysError: The file cannot be read, has no format that is known, or is damaged as a whole.
    """
    try:
        head = head_of(path)
        known = next((each for each in TRACE_FORMATS if each.recognises(head)), None)
        if known is not None:
            return known.reader(path)
    except OSError as error:
        raise unusable(f"cannot read {path}", error, "check the path, or name another trace") from error
    except FormatError as error:
        place = f"{path}:{error.line}" if error.line else str(path)
        raise BytewaysError(
            f"cannot read {place}", cause=str(error), hint=error.hint or traces_hint()
        ) from error
    raise BytewaysError(f"{path} is no trace that byteways reads", cause=_unknown(head), hint=traces_hint())


def traces_hint() -> str:
    """Returns which traces are read, and how they are made."""
    return "byteways reads " + ", ".join(f"{known.says} ({known.made_by})" for known in TRACE_FORMATS)


def _unknown(head: bytes) -> str:
    """Returns what a content is that no format recognises."""
    if not head.strip():
        return "it is empty"
    if b"\0" in head:
        return "it is binary: the own format of a profiler must be exported first"
    return "its content has none of the formats that are known"
