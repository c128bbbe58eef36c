"""Messages and collectives between ranks: bus bandwidths of records, and every figure of their tables.

Factors are those of nccl-tests (doc/PERFORMANCE.md), by pattern and number of ranks n.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any

from statements.outcome import Statement, check, near
from statements.quoted import Number
from statements.records import Case, RunData

#: Bus bandwidth over size over time.
FACTORS: Mapping[str, Callable[[int], float]] = {
    "allreduce": lambda n: 2 * (n - 1) / n,
    "allgather": lambda n: (n - 1) / n,
    "reduce-scatter": lambda n: (n - 1) / n,
    "alltoall": lambda n: (n - 1) / n,
    "gather": lambda n: (n - 1) / n,
    "scatter": lambda n: (n - 1) / n,
    "broadcast": lambda n: 1.0,
    "reduce": lambda n: 1.0,
}
_UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
#: Columns of the table of messages: whether they tell of round trips, and of which pattern.
_MESSAGES = {
    "latency, µs": (True, "unidirectional"),
    "unidirectional, GB/s": (False, "unidirectional"),
    "bidirectional, GB/s": (False, "bidirectional"),
}
_TRIP = "-ping-pong"
#: Calls of one rank, which have tables of their own; the time of a window of one is their latency.
_ONE_SIDED = {
    "mpi-put": "MPI put",
    "mpi-get": "MPI get",
    "ucx-put": "UCX put",
    "ucx-get": "UCX get",
    "xccl-put": "NCCL/RCCL put",
}
_DIRECT = "direct"
#: Title of a table of several libraries: its end, and what it says of each launch mode.
_BY_LIBRARY = ": time by library, µs"
_LAUNCHES = {"one process each": "process", "one thread each": "thread", "one thread for all": "single"}
_SUBMITS = {"as a graph": "graph", "a batch by one launch": "persistent"}
#: Options that such a title has in words.
_IN_WORDS = ("timing", "launch", "submit", "in_place")
#: Sizes in one row differ by less than this part, and half of the next is no neighbour of it.
_NEAR_SIZE = 0.05
_TIMINGS = ("pipelined", "isolated", "osu")
#: Patterns whose size in tables of OSU's timing is that of one rank's block.
_BLOCKS = ("allgather", "alltoall", "gather", "scatter")
#: Ends of the titles of tables over the ranks' own times.
_OF_RANKS: Mapping[str, Callable[[Iterable[float]], float]] = {
    "min over ranks, µs": min,
    "max over ranks, µs": max,
}
#: How the evidence of a library begins that is not MPI.
_EVIDENCE = re.compile(r"(\w+) [\d.]+: ")


def library_of(record: Mapping[str, Any]) -> str:
    """What titles of tables begin with."""
    if record["interface"] in _ONE_SIDED:
        return _ONE_SIDED[record["interface"]]
    if record["interface"].startswith("mpi"):
        return "MPI"
    if record["interface"] == _DIRECT:
        return _DIRECT
    told = _EVIDENCE.match(record.get("engine_evidence") or "")
    return told[1] if told else "NCCL or RCCL"


def ranks_of(record: Mapping[str, Any]) -> int:
    """Ranks that take part: those named in all buffers."""
    named = [end for flow in record["flows"] for end in (flow["source"], flow["destination"])]
    named += [end for flow in record["flows"] for pair in flow.get("others") or () for end in pair]
    return len({end.partition("/")[0] for end in named})


def bus_statements(record: Mapping[str, Any], name: str) -> Iterator[Statement]:
    """That bus and algorithm bandwidth are those of the time, by pattern and number of ranks."""
    if record.get("counts") == "sum-of-pairs":
        yield from _sum_of_pairs(record, name)
    if record.get("counts") != "bus":
        return
    algorithm = record["size_bytes"] / record["time_ns"]["median"] * 1e9
    told = record.get("other_count") or {}
    holds = told.get("counts") == "algorithm" and near(told.get("bytes_per_s"), algorithm)
    yield check("records", f"{name}: algorithm bandwidth", holds, f"size over time is {algorithm:.7g}")
    bus = algorithm * FACTORS[record["pattern"]](ranks_of(record))
    holds = near(record["bandwidth_bytes_per_s"], bus)
    yield check("records", f"{name}: bus bandwidth", holds, f"by its definition {bus:.7g}")


def rank_table_statements(run: RunData, data: Mapping[str, Any]) -> Iterator[Statement]:
    """Every figure in the tables of messages and collectives."""
    for topic in data.get("topics") or ():
        for table in topic["tables"]:
            if topic["anchor"] == "messages":
                yield from _message_table(run, table)
            elif topic["anchor"] != "collectives" or table["headings"][0] != "size":
                continue
            elif table["title"].endswith(_BY_LIBRARY):
                yield from _library_table(run, table)
            elif not table["title"].endswith("choice of the library"):
                yield from _collective_table(run, table)


def _message_table(run: RunData, table: Mapping[str, Any]) -> Iterator[Statement]:
    library, path, *_ = table["title"].split(", ")
    asked = re.search(r"window of (\d+)$", table["title"])
    settings = _settings_in(table["title"])
    timed = any(one.startswith("timing=") for one in settings)  # else a column or a note tells it
    apart = ("window",) if timed else ("window", "timing")
    for row in table["rows"]:
        for heading, text in zip(table["headings"], row, strict=True):
            if heading not in _MESSAGES or not text:
                continue
            is_time, pattern = _MESSAGES[heading]
            trip = is_time and library not in _ONE_SIDED.values()
            window = asked[1] if asked and not trip else None
            cases = [
                case
                for case in run.cases.values()
                if library_of(case.record) == library
                and case.record["interface"].endswith(_TRIP) == trip
                and case.record["pattern"] == pattern
                and (">" not in path or case.record["path"].replace("<>", ">") == path)
                and case.record["options"].get("window") == (int(window) if window else None)
                and _named(case, apart) == settings
                and _fits(case, table["title"], row[0])
            ]
            said = f"{table['title']}: {row[0]}, {heading}"
            groups: dict[object, list[Case]] = {}  # a table of many paths has their median
            for case in cases:
                groups.setdefault(run.classes(case), []).append(case)
            if is_time and not trip:
                yield _figure(list(groups.values()), text, 1e3, said, _time_of_rate_ns)
                continue
            scale = 2e3 if trip else 1e9
            yield _figure(list(groups.values()), text, scale, said, lambda case: case.value)


def _collective_table(run: RunData, table: Mapping[str, Any]) -> Iterator[Statement]:
    title = table["title"]
    library, ranks, *_ = title.split(", ")
    timing = next(one for one in _TIMINGS if f", {one}" in title)
    is_time = title.endswith("µs")
    extreme = next((choose for end, choose in _OF_RANKS.items() if title.endswith(end)), None)
    for row in table["rows"]:
        for pattern, text in zip(table["headings"][1:], row[1:], strict=True):
            if not text:
                continue
            cases = [
                case
                for case in run.cases.values()
                if library_of(case.record) == library
                and case.record["pattern"] == pattern
                and case.record["path"] == f"{pattern}:{ranks}"
                and case.record["options"].get("timing", "pipelined") == timing
                and _named(case, ("timing",)) == _settings_in(title)
                and _fits(case, title, row[0])
            ]
            of: Callable[[Case], float] = _time_ns if is_time else lambda case: case.value
            if extreme is not None:
                of = partial(_of_ranks, extreme)
            said = f"{title}: {row[0]}, {pattern}"
            yield _figure([cases] if cases else [], text, 1e3 if is_time else 1e9, said, of)


def _named(case: Case, apart: Sequence[str]) -> set[str]:
    """Settings of a case as titles and headings name them: `blocks=8`."""
    record = case.record
    options = {name: value for name, value in record["options"].items() if name not in apart}
    return {f"{name}={value}" for name, value in (*options.items(), *record["environment"].items())}


def _settings_in(title: str) -> set[str]:
    return {word.rstrip(",") for word in re.findall(r"\S+=[^\s:]+", title)}


def _library_table(run: RunData, table: Mapping[str, Any]) -> Iterator[Statement]:
    """Every time of a table of several libraries, and that what leads takes least."""
    title = table["title"]
    pattern, ranks = re.match(r"(\S+) of (\d+) ranks", title).groups()  # type: ignore[union-attr]
    words = title.removesuffix(_BY_LIBRARY).split(", ")
    mode = {
        "timing": next(one for one in _TIMINGS if one in words),
        "launch": next(mode for told, mode in _LAUNCHES.items() if told in words),
        "submit": next((mode for told, mode in _SUBMITS.items() if told in words), "calls"),
        "in_place": "yes" if "in place" in words else "no",
    }
    defaults = {"timing": "pipelined", "launch": "process", "submit": "calls", "in_place": "no"}
    ways = table["headings"][1:-2]
    for row in table["rows"]:
        for way, text in zip(ways, row[1:-2], strict=True):
            if not text:
                continue
            library, *settings = way.split(" ")
            cases = [
                case
                for case in run.cases.values()
                if library_of(case.record) == library
                and case.record["pattern"] == pattern
                and ranks_of(case.record) == int(ranks)
                and {**defaults, **case.record["options"]}.items() >= mode.items()
                and _named(case, _IN_WORDS) == set(settings)
                and _fits(case, title, row[0])
            ]
            said = f"{title}: {row[0]}, {way}"
            yield _figure([cases] if cases else [], text, 1e3, said, _time_ns)
        if leader := row[-2]:
            times = {way: float(text.rstrip("*")) for way, text in zip(ways, row[1:-2], strict=True) if text}
            least = [way for way in times if times[way] == min(times.values())]  # as they are rounded
            fits = leader in {name for way in least for name in (way, way.split(" ")[0])}
            yield check("rank tables", f"{title}: {row[0]}", fits, f"least: {', '.join(least)}")


def _fits(case: Case, title: str, size: str) -> bool:
    """Whether a case with figures is of this size, and its memory and settings are those of the table."""
    record = case.record
    value, unit = size.split(" ")
    ends = dict.fromkeys(record[end].partition(":")[2].partition("@")[0] for end in ("source", "destination"))
    timing = record["options"].get("timing", "pipelined")
    size_bytes = record["size_bytes"]
    if timing == "osu" and record["pattern"] in _BLOCKS:
        size_bytes //= ranks_of(record)
    latency = record["interface"].endswith(_TRIP)  # stands beside bandwidths of any cache and window
    return (
        bool(case.values)
        and abs(size_bytes / _UNITS[unit] / float(value) - 1) <= _NEAR_SIZE
        and (timing == "osu") == ("osu" in title)
        and all(memory in title for memory in ends)
        and (latency or (record["cache"] == "warm") == ("warm" in title))
        and all(f"{name}={told}" in title for name, told in record["environment"].items())
    )


def _time_ns(case: Case) -> float:
    return float(median(one["time_ns"]["median"] for one in case.measured))


def _time_of_rate_ns(case: Case) -> float:
    return float(case.record["size_bytes"] / case.value * 1e9)


def _of_ranks(choose: Callable[[Iterable[float]], float], case: Case) -> float:
    """Over rounds the median of the least or the largest mean time of a rank."""
    rounds = [[rank["time_ns"] for rank in one["ranks"]] for one in case.measured]
    return float(median(map(choose, rounds)))


def _figure(
    groups: Sequence[Sequence[Case]], text: str, scale: float, said: str, of: Callable[[Case], float]
) -> Statement:
    """Whether a figure is the median of a group to its last digit, and marked as the cases of it are."""
    number = Number(text.rstrip("*"), "", "")
    told = [(median(map(of, cases)), any(case.warnings for case in cases)) for cases in groups]
    holds = any(number.is_one_of([value], scale) and warned == text.endswith("*") for value, warned in told)
    return check("rank tables", said, holds, f"{text}, rounds give {[value / scale for value, _ in told]}")


def _sum_of_pairs(record: Mapping[str, Any], name: str) -> Iterator[Statement]:
    """That the bandwidth of pairs is that of one, times half as many as ranks."""
    one = record["size_bytes"] / record["time_ns"]["median"] * 1e9
    told = record.get("other_count") or {}
    holds = told.get("counts") == "per-pair" and near(told.get("bytes_per_s"), one)
    yield check("records", f"{name}: bandwidth of a pair", holds, f"size over time is {one:.7g}")
    total = one * (ranks_of(record) // 2)
    holds = near(record["bandwidth_bytes_per_s"], total)
    yield check("records", f"{name}: bandwidth of all pairs", holds, f"of so many pairs {total:.7g}")
