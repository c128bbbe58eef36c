"""Converts the data of a suite file to Suite and Sweep; checks every key and reports file, line and key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from byteways.aliases import translated
from byteways.plan import bounds
from byteways.plan.case import CACHES, OF_ALL_RANKS, PATTERNS
from byteways.plan.flow_sets import GPUS, HALVES
from byteways.plan.interfaces import APPLICATIONS, INTERFACES, counts_as_stream, goes_both_ways
from byteways.plan.memory import MEMORIES
from byteways.plan.sizes import expand_sizes
from byteways.plan.spelling import closest
from byteways.plan.suite_options import check_products, environment_of, options_of, transfers_of
from byteways.plan.suite_table import SuiteTable, kind_of_value
from byteways.plan.suite_types import LEAST_RANKED, BufferGlob, Origin, Suite, Sweep
from byteways.plan.toml_lines import key_lines
from byteways.plan.variables import runtimes

PAIRS = ("all", "near", "per-link-class", "first")
SAME_DEVICE = ("only", "never", "also")
CORE_SELECTIONS = ("any", "pairs")
ARRAY_KEYS = ("ends", "source")
GROUPS = ("all", "powers", "every")
#: Keys that do not apply to sweeps between ranks.
_NOT_BETWEEN_RANKS = (
    "executor",
    "same_device",
    "partner",
    "second_source",
    "arrays",
    "cores",
    "gpus",
    "halves",
    "transfers",
)
#: `with-RUNTIME` is for sweeps that only one runtime supports.
WHEN = ("always", "with-gpu", "without-gpu", *(f"with-{name}" for name in runtimes()))
EXECUTOR_WORDS = ("source", "destination", "both")

_SUITE_KEYS = ("name", "title", "rounds", "precision", "case_budget_s", "budget_s", "self_pairs", "sweep")
_SWEEP_KEYS = (
    *("name", "interface", "pattern", "source", "destination", "buffer", "executor", "size", "cache"),
    *(
        "options",
        "environment",
        "pairs",
        "gpus",
        "transfers",
        "halves",
        "groups",
        "same_device",
        "second_source",
        "arrays",
        "partner",
        "cores",
    ),
    "when",
    *(
        "beside_source",
        "beside_destination",
        "beside_interface",
        "beside_executor",
        "beside_size",
        "beside_options",
    ),
    *("precision", "case_budget_s", "priority"),
)
#: Patterns with one hub and GPUs at the other ends.
_FANS = ("fan-out", "fan-in", "fan-bidirectional")
#: The end of a flow that executes or responds.
_END_WORDS = ("source", "destination")
_NAME = re.compile(r"^[a-z0-9][a-z0-9-]*$")
_BUFFER_GLOB = re.compile(r"^(?P<device>[^:@]+):(?P<memory>[^:@]+)(?:@(?P<first_touch>[^:@]+))?$")
_DEVICE_GLOB = re.compile(r"^(?:[a-z]+\d+|[a-z]*[*?\[][a-z0-9*?\[\]!-]*)$")


def read_suite(data: Mapping[str, Any], *, text: str, file: str) -> Suite:
    """Parses a suite. Raises BytewaysError at the first error."""
    lines = key_lines(text)
    table = SuiteTable(data, Origin(file, lines), "suite")
    table.know_only(_SUITE_KEYS)
    name = table.text("name")
    if not _NAME.match(name):
        table.fail("name", f"'{name}' is not a valid name", "use lower-case letters, digits and hyphens")
    precision = table.number("precision", 0.01, 1e-4, 0.5)
    case_budget_s = table.number("case_budget_s", 1.0, 0.001, 3600)
    tables = data.get("sweep")
    if not isinstance(tables, list) or not tables or not all(isinstance(sweep, dict) for sweep in tables):
        brackets = "write [[sweep]], in double brackets: there may be several" if tables else None
        table.fail("sweep", "a suite needs at least one [[sweep]] table", brackets)
    sweeps: list[Sweep] = []
    for index, sweep in enumerate(tables):
        label = (
            f"sweep '{sweep['name']}'" if isinstance(sweep.get("name"), str) else f"sweep number {index + 1}"
        )
        reader = SuiteTable(sweep, Origin(file, lines, ("sweep", index)), label)
        sweeps.append(_read_sweep(reader, precision, case_budget_s))
        if sweeps[-1].name in [earlier.name for earlier in sweeps[:-1]]:
            reader.fail("name", "another sweep already has this name")
    budget_s = table.number("budget_s", 0, 1, 86400) if "budget_s" in data else None
    rounds = table.whole("rounds", LEAST_RANKED, 1, 100)
    self_pairs = data.get("self_pairs", False)
    if not isinstance(self_pairs, bool):
        table.fail("self_pairs", "self_pairs must be true or false")
    return Suite(
        name,
        table.text("title"),
        text,
        rounds,
        precision,
        case_budget_s,
        budget_s,
        tuple(sweeps),
        self_pairs,
    )


def _read_sweep(table: SuiteTable, precision: float, case_budget_s: float) -> Sweep:
    table.know_only(_SWEEP_KEYS)
    name = table.text("name")
    if not _NAME.match(name):
        table.fail("name", f"'{name}' is not a valid name", "use lower-case letters, digits and hyphens")
    interfaces = table.words("interface", "interface", INTERFACES)
    chase = INTERFACES[interfaces[0]].buffers == "one"
    patterns = table.words("pattern", "pattern", PATTERNS, "unidirectional")
    _check_ranks(table, interfaces, patterns)
    sources, destinations = _read_ends(table, interfaces, patterns)
    if "size" not in table.data:
        table.fail("size", "missing")
    sweep = Sweep(
        name=name,
        interfaces=interfaces,
        patterns=patterns,
        sources=sources,
        destinations=destinations,
        executors=_executors(table, chase),
        sizes=table.converted("size", _sizes, table.data["size"]),
        caches=_caches(table, interfaces),
        options=options_of(table, "options", interfaces),
        environment=environment_of(table),
        pairs=_pairs(table, interfaces),
        gpus=_gpus(table, patterns),
        transfers=transfers_of(table, patterns),
        halves=_halves(table, patterns),
        groups=_groups(table, patterns),
        same_device=table.word("same_device", SAME_DEVICE, "also") if "same_device" in table.data else None,
        **_read_beside(table, interfaces, patterns),
        second_sources=_second_sources(table, interfaces),
        partners=_partners(table, interfaces),
        arrays=_arrays(table, interfaces),
        cores=_cores(table, interfaces),
        when=table.word("when", WHEN, "always"),
        precision=table.number("precision", precision, 1e-4, 0.5),
        case_budget_s=table.number("case_budget_s", case_budget_s, 0.001, 3600),
        priority=table.whole("priority", 5, 0, 9),
        origin=table.origin,
    )
    bounds.within(bounds.choices(sweep), f"{table.origin.at('name')}: {table.label}")
    check_products(table, sweep)
    return sweep


def _read_ends(
    table: SuiteTable, interfaces: tuple[str, ...], patterns: tuple[str, ...]
) -> tuple[tuple[BufferGlob, ...], tuple[BufferGlob, ...]]:
    """Returns the globs of sources and destinations; the single buffer of a chase is the source."""
    walkers = [name for name in interfaces if INTERFACES[name].buffers == "one"]
    if not walkers:
        if "buffer" in table.data:
            table.fail("buffer", f"{interfaces[0]} has two ends", "write source and destination")
        return _buffers(table, "source"), _buffers(table, "destination")
    if len(walkers) != len(interfaces):
        table.fail("interface", f"{walkers[0]} has one buffer and needs its own sweep")
    both_ways = all(goes_both_ways(name) for name in walkers)
    known = ("unidirectional", "interference", *(["bidirectional"] if both_ways else []))
    if any(pattern not in known for pattern in patterns):
        named = "unidirectional or bidirectional" if both_ways else "unidirectional"
        table.fail(
            "pattern",
            f"{walkers[0]} runs {named}, or as the measured flow of interference",
            "leave the key out",
        )
    for key in ("source", "destination"):
        if key in table.data:
            table.fail(key, f"{walkers[0]} has one buffer", 'write buffer = "gpu*:device"')
    return _buffers(table, "buffer"), ()


def _read_beside(table: SuiteTable, interfaces: tuple[str, ...], patterns: tuple[str, ...]) -> dict[str, Any]:
    """Returns the fields of a sweep on background load."""
    present = [key for key in table.data if key.startswith("beside_")]
    ends = [_buffers(table, key) for key in ("beside_source", "beside_destination") if key in table.data]
    wanted = "interference" in patterns
    if wanted != (len(ends) == 2) or (present and not wanted):
        key = present[0] if present else "pattern"
        table.fail(
            key, "beside_source and beside_destination belong together and to pattern interference only"
        )
    named = "beside_interface" in table.data
    others = table.words("beside_interface", "interface", INTERFACES) if named else ()
    for other in others:
        if INTERFACES[other].alone:
            table.fail(
                "beside_interface",
                f"{other} moves no bytes, so it cannot be the load",
                "name for example copy",
            )
        if INTERFACES[other].buffers == "one":
            table.fail(
                "beside_interface",
                f"{other} has one buffer, and a load has two",
                "name for example stream-copy",
            )
    for key in ("beside_executor", "beside_size", "beside_options"):
        if key in table.data and not named:
            table.fail(key, "it needs beside_interface, which is missing")
    if wanted and not others and INTERFACES[interfaces[0]].buffers == "one":
        table.fail(
            "pattern", f"{interfaces[0]} cannot be its own background load", 'write beside_interface = "copy"'
        )
    executor = table.text("beside_executor", "source")
    if executor not in _END_WORDS:
        _check_device_glob(table, "beside_executor", executor)
    return {
        "beside_sources": ends[0] if ends else (),
        "beside_destinations": ends[1] if ends else (),
        "beside_interfaces": others,
        "beside_executor": executor,
        "beside_sizes": table.converted("beside_size", _sizes, table.data["beside_size"])
        if "beside_size" in table.data
        else (),
        "beside_options": options_of(table, "beside_options", others) if others else {},
    }


def _pairs(table: SuiteTable, interfaces: tuple[str, ...]) -> str:
    """Returns which pairs of devices or ranks are taken."""
    pairs = table.word("pairs", PAIRS, "all")
    between = INTERFACES[interfaces[0]].between_ranks
    if pairs == "first" and not between:
        table.fail("pairs", f"{interfaces[0]} is not between ranks", 'write pairs = "per-link-class"')
    if pairs == "near" and between:
        table.fail("pairs", f"{interfaces[0]} is between ranks", 'write pairs = "first"')
    return pairs


def _gpus(table: SuiteTable, patterns: tuple[str, ...]) -> tuple[str, ...]:
    if "gpus" not in table.data:
        return ()
    others = [pattern for pattern in patterns if pattern not in _FANS]
    if others:
        table.fail("gpus", f"{others[0]} is not a fan: all its devices take part", f"of {', '.join(_FANS)}")
    return table.words("gpus", "choice of GPUs", GPUS)


def _arrays(table: SuiteTable, interfaces: tuple[str, ...]) -> str:
    """Returns whose memory has the arrays of a STREAM kernel."""
    others = [name for name in interfaces if INTERFACES[name].buffers != "pair" or not counts_as_stream(name)]
    if "arrays" in table.data and others:
        table.fail("arrays", f"{others[0]} is no STREAM kernel", "leave the key out")
    return table.word("arrays", ARRAY_KEYS, "ends")


def _halves(table: SuiteTable, patterns: tuple[str, ...]) -> str:
    if "halves" in table.data and "bisection" not in patterns:
        table.fail("halves", f"{patterns[0]} has none", 'write pattern = "bisection"')
    return table.word("halves", HALVES, "worst")


def _groups(table: SuiteTable, patterns: tuple[str, ...]) -> str:
    """Returns which numbers of ranks a collective uses."""
    if "groups" in table.data and not set(patterns) & set(OF_ALL_RANKS):
        table.fail("groups", f"{patterns[0]} is no collective", "leave the key out")
    return table.word("groups", GROUPS, "all")


def _check_ranks(table: SuiteTable, interfaces: tuple[str, ...], patterns: tuple[str, ...]) -> None:
    """Checks that ranks use messages or collectives only, and that nothing else uses collectives."""
    between = [name for name in interfaces if INTERFACES[name].between_ranks]
    known = [pattern for name in between for pattern in INTERFACES[name].between_ranks]
    if between and len(between) < len(interfaces):
        table.fail("interface", f"{between[0]} runs between processes and needs its own sweep")
    for pattern in patterns:
        if not between and pattern in OF_ALL_RANKS:
            hint = 'write interface = "mpi"'
            table.fail("pattern", f"{pattern} is a collective, and {interfaces[0]} has none", hint)
        for name in between:
            if pattern not in INTERFACES[name].between_ranks:
                hint = f"of {', '.join(dict.fromkeys(known))}"
                table.fail("pattern", f"{name} has no pattern {pattern}", hint)
    computes = bool(between) and all(name in APPLICATIONS for name in between)
    for key in _NOT_BETWEEN_RANKS if between else ():
        if key in table.data and not (computes and key == "executor"):
            table.fail(key, f"{between[0]} has no such key", "leave the key out")
    if computes and any(word in EXECUTOR_WORDS for word in table.texts("executor", "gpu*")):
        table.fail("executor", "a device of each rank computes", 'write executor = "gpu*" or "cpu*"')


def _second_sources(table: SuiteTable, interfaces: tuple[str, ...]) -> tuple[BufferGlob, ...]:
    if "second_source" not in table.data:
        return ()
    if not any(INTERFACES[name].sources > 1 for name in interfaces):
        table.fail("second_source", f"{interfaces[0]} reads one array", "leave the key out")
    return _buffers(table, "second_source")


def _partners(table: SuiteTable, interfaces: tuple[str, ...]) -> tuple[str, ...]:
    if not any(INTERFACES[name].partner for name in interfaces):
        if "partner" in table.data:
            table.fail("partner", f"{interfaces[0]} has no partner", "leave the key out")
        return ()
    partners = table.texts("partner", "destination")
    for partner in partners:
        if partner not in _END_WORDS:
            _check_device_glob(table, "partner", partner)
    return partners


def _cores(table: SuiteTable, interfaces: tuple[str, ...]) -> str:
    """`pairs`: every pair of cores is a separate case."""
    cores = table.word("cores", CORE_SELECTIONS, "any")
    if cores == "pairs" and not all("partner_core" in INTERFACES[name].takes for name in interfaces):
        table.fail("cores", f"{interfaces[0]} does not run between two cores", "leave the key out")
    if cores == "pairs" and {"core", "partner_core"} & set(table.data.get("options", {})):
        table.fail("cores", "the options already choose cores", "leave the key out")
    return cores


def _buffers(table: SuiteTable, key: str) -> tuple[BufferGlob, ...]:
    globs = []
    for text in table.texts(key):
        match = _BUFFER_GLOB.match(text)
        if match is None:
            table.fail(key, f"'{text}' is not a buffer", "write device:memory or device:memory@first-touch")
        device, first_touch = (
            translated("device", name) if name else name for name in (match["device"], match["first_touch"])
        )
        for name in (device, first_touch):
            if name is not None:
                _check_device_glob(table, key, name)
        memory = match["memory"]
        if not any(fnmatchcase(known, memory) for known in MEMORIES):
            memory = table.known(key, "memory", memory, MEMORIES)
        globs.append(BufferGlob(device, memory, first_touch, text))
    return tuple(globs)


def _check_device_glob(table: SuiteTable, key: str, text: str) -> None:
    if not _DEVICE_GLOB.match(text):
        table.fail(key, f"'{text}' is not a device", "write cpu0, gpu3, gpu* or *")


def _executors(table: SuiteTable, chase: bool) -> tuple[str, ...]:
    executors = table.texts("executor", None if chase else "both")
    for executor in executors:
        if chase and executor in EXECUTOR_WORDS:
            table.fail(
                "executor",
                "source and destination do not apply with one buffer",
                "write the devices that execute it, for example gpu*",
            )
        if executor not in EXECUTOR_WORDS and not _DEVICE_GLOB.match(executor):
            table.fail(
                "executor",
                f"'{executor}' is not an executor",
                closest(executor, (*EXECUTOR_WORDS, "gpu*", "cpu0")),
            )
    return executors


def _sizes(value: Any) -> tuple[int, ...]:
    items = value if isinstance(value, list) else [value]
    for item in items:
        if isinstance(item, bool) or not isinstance(item, (str, int)):
            raise ValueError(f"{kind_of_value(item)} instead of a size such as '64KiB' or '4KiB..1GiB x4'")
    return expand_sizes(items)


def _caches(table: SuiteTable, interfaces: tuple[str, ...]) -> tuple[str, ...]:
    """A chase always stays on its working set (`warm`); only its size decides which cache holds it."""
    stays = INTERFACES[interfaces[0]].figure != "bandwidth"
    if stays and "cache" in table.data:
        problem = f"{interfaces[0]} has no cache setting: it always works on the same data"
        table.fail("cache", problem, "leave the key out")
    return table.words("cache", "cache state", CACHES, "warm" if stays else "cold")
