"""Checks that a well-typed record is also plausible: names exist and values are in range.

A run folder may come from anywhere. A record that passes can be shown, compared and exported; others are
ignored, counted and named.
"""

from __future__ import annotations

from collections.abc import Collection
from operator import attrgetter

from byteways.base.quantities import QUANTITIES, mistake_in_quantity
from byteways.cases.block_layout import lists_sizes
from byteways.cases.case import CACHES, PATTERNS, Case
from byteways.cases.interfaces import INTERFACES, OPTIONS, metric_of
from byteways.cases.memory import MEMORIES
from byteways.record.record import DEFINITION_FIELDS, STATUSES, Record
from byteways.record.record_parts import wrong_part

_ACCESSES = ("read", "write", "local", "remote")
_RATE, _TIME = QUANTITIES["bandwidth-sum"], QUANTITIES["time"]
RATES, TIMES_NS = (_RATE.least, _RATE.most), (_TIME.least, _TIME.most)
#: Statuses whose values are used.
_WITH_FIGURES = ("measured",)


#: Valid values of figures.
_FIGURES = {
    "bandwidth_bytes_per_s": RATES,
    "latency_ns": TIMES_NS,
    "peak_bytes_per_s": RATES,
    "limit_bytes_per_s": RATES,
}
#: Rates by path.
_BY_PATH = ("directions", "end_to_end_bytes_per_s")
_figures, _by_path = attrgetter(*_FIGURES), attrgetter(*_BY_PATH)

#: What a record says of its case: equal in every round.
_definition = attrgetter(*DEFINITION_FIELDS)


class Checker:
    """Checks the records of one run. The definition of a case is checked once: its rounds repeat it.

    Args:
        devices: Of the run's machine; None: unknown.
    """

    def __init__(self, devices: Collection[str] | None = None) -> None:
        self._devices = None if devices is None else frozenset(devices)
        self._first: dict[str, Record] = {}

    def wrong(self, record: Record) -> str:
        """Returns what is implausible; empty if nothing is."""
        first = self._first.get(record.case_id)
        if first is None or _definition(first) != _definition(record):
            if reason := _about_case(record, self._devices):
                return reason
            self._first[record.case_id] = record
        return wrong_outcome(record)


def wrong_outcome(record: Record) -> str:
    """Returns what is implausible in the outcome of a plausible case; empty if nothing is."""
    return _about_outcome(record) or wrong_part(record)


def wrong(record: Record) -> str:
    """Returns what is implausible; empty if nothing is."""
    return Checker().wrong(record)


def _about_case(record: Record, here: Collection[str] | None) -> str:
    """Returns what is wrong with the definition of a case; `here`: the devices of its machine, if known."""
    for what, value, known in (
        ("interface", record.interface, INTERFACES),
        ("pattern", record.pattern, PATTERNS),
        ("cache", record.cache, CACHES),
        ("access", record.access, _ACCESSES),
    ):
        if value not in known:
            return f"{what} '{value}' is unknown"
    if wrong := mistake_in_quantity(record.size_bytes, "bytes"):
        return f"size_bytes {wrong}"
    try:
        case = Case.from_json(record.definition)
        devices = case.devices
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return f"flows: {error}"
    if not case.flows or not all(isinstance(name, str) for name in devices):
        return "flows are none"
    for flow in case.flows:
        if case.interface_of(flow) not in INTERFACES:
            return f"interface '{case.interface_of(flow)}' of a flow is unknown"
        if not all(buffer.memory in MEMORIES for buffer in flow.buffers):
            return f"memory of '{flow.source}' or '{flow.destination}' is unknown"
        if type(case.size_of(flow)) is not int or case.size_of(flow) < 0:
            return "the size of a flow is not positive"
        for option, chosen in (*case.options.items(), *case.options_of(flow).items()):
            if not _fits(option, chosen):
                return f"option {option} cannot be {chosen!r:.40}"
    told = (case.category, case.path, ",".join(case.executors), case.access)
    if told != (record.category, record.path, record.executor, record.access):
        return "category, path, executor or access are not those of its flows"
    if (record.source, record.destination) != (str(case.flows[0].source), str(case.flows[0].destination)):
        return "source or destination are not those of its first flow"
    absent = "" if here is None else next((name for name in devices if name not in here), "")
    return f"the topology has no {absent}" if absent else ""


def _fits(name: str, value: object) -> bool:
    """Whether an option may have this value; unknown options may have any scalar."""
    option = OPTIONS.get(name)
    if option is None:
        return isinstance(value, (int, str))
    if option.is_truth:
        return isinstance(value, bool)
    if option.counts_sizes:
        return isinstance(value, str) and lists_sizes(value)
    return type(value) is int if option.span else isinstance(value, str)


def _about_outcome(record: Record) -> str:
    if record.status not in STATUSES:
        return f"status '{record.status}' is unknown"
    if not 0 <= record.round < 2**31:
        return "round is out of range"
    if record.status in _WITH_FIGURES:
        if record.time_ns is None and record.imported is None:  # another program prints one number
            return "it was measured and has no time"
        figure = (
            record.bandwidth_bytes_per_s if metric_of(record.interface) == "bandwidth" else record.latency_ns
        )
        if figure is None:
            return "it was measured and has no result"
    elif not record.reason:
        return f"it is {record.status} without a reason"
    for value, (name, (low, high)) in zip(_figures(record), _FIGURES.items(), strict=True):
        if value is not None and not low <= value <= high:
            return f"{name} of {value:g} is not a valid value"
    low, high = RATES
    for rates, name in zip(_by_path(record), _BY_PATH, strict=True):
        for path, rate in rates.items() if rates else ():
            if rate and not low <= rate <= high:  # 0: a flow did not finish within the window
                return f"{name} of {path} of {rate:g} is not a valid value"
    times = record.time_ns
    if times is not None:
        low, high = TIMES_NS
        # A single sample may be almost 0: it is the difference of two batches, one of which was disturbed.
        ordered = 0 < times.min <= times.median <= times.max <= high
        if not (ordered and times.median >= low and times.n > 0):
            return "time_ns is not a summary of times"
    return ""
