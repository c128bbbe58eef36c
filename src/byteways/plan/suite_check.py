"""Rules of a suite file on several keys; suite_types.py has the keys and the kinds of their values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from byteways.base.toml_reading import TomlPlace
from byteways.cases.block_layout import counted_sizes, moves_blocks
from byteways.cases.case import OF_ALL_RANKS
from byteways.cases.interfaces import APPLICATIONS, INTERFACES, counts_as_stream, goes_both_ways
from byteways.cases.options import BLOCK_BYTES, BLOCK_SIZES
from byteways.cases.transfer_sets import EXAMPLE
from byteways.plan import bounds
from byteways.plan.suite_options import check_environment, check_options, check_products
from byteways.plan.suite_types import NEAR, Suite, SuiteFile, Sweep, SweepTable
from byteways.plan.suite_values import EXECUTOR_WORDS, CacheWords, Sizes

#: Keys that do not apply to sweeps between ranks.
_NOT_BETWEEN_RANKS = (
    *(
        "executor",
        "same_device",
        "partner",
        "second_source",
        "arrays",
        "cores",
        "gpus",
        "halves",
        "transfers",
    ),
)
#: Patterns with one hub and GPUs at the other ends.
_FANS = ("fan-out", "fan-in", "fan-bidirectional")
_NAME = re.compile(r"^[a-z0-9][a-z0-9-]*$")


def read_suite(data: Mapping[str, Any], *, text: str, file: str, foreign: bool) -> Suite:
    """Parses a suite.

    Args:
        data: Its keys.
        text: Them as a file has them.
        file: What messages call it.
        foreign: Whether it comes from a file, which may not set every variable.

    Raises:
        BytewaysError: At the first error.
    """
    place = TomlPlace.of(data, text, file, "suite")
    suite = place.read(SuiteFile)
    _check_name(place, suite.name)
    if not suite.title.strip():
        place.fail("title", "an empty string")
    sweeps: list[Sweep] = []
    for own in place.tables("sweep", "a suite needs at least one [[sweep]] table"):
        table = own.read(SweepTable)
        sweeps.append(_sweep(own, table, suite))
        if foreign:
            check_environment(own.below("environment"), table.environment)
        if sweeps[-1].name in [earlier.name for earlier in sweeps[:-1]]:
            own.fail("name", "another sweep already has this name")
    given = {name: getattr(suite, name) for name in SuiteFile.__struct_fields__ if name != "sweep"}
    return Suite(
        **{**given, "rounds": _whole(place, "rounds", suite.rounds)}, text=text, sweeps=tuple(sweeps)
    )


def _check_name(place: TomlPlace, name: str) -> None:
    if not _NAME.match(name):
        place.fail("name", f"'{name}' is not a valid name", "use lower-case letters, digits and hyphens")


def _whole(place: TomlPlace, key: str, value: float) -> int:
    """Returns 3 for 3.0."""
    if value != int(value):
        place.fail(key, f"{value:g} is not an integer")
    return int(value)


def _sweep(place: TomlPlace, table: SweepTable, suite: SuiteFile) -> Sweep:
    """Returns the sweep with the defaults of suite and interface. Raises BytewaysError for a broken rule."""
    _check_name(place, table.name)
    for check in _RULES:
        check(place, table)
    walks = _is_chase(table)
    stays = INTERFACES[table.interfaces[0]].figure != "bandwidth"
    takes_partner = any(INTERFACES[name].partner for name in table.interfaces)
    decided = {
        "sources": table.buffers if walks else table.sources,
        "sizes": Sizes(_sizes_of_blocks(table)) or table.sizes,
        "caches": CacheWords(("warm",)) if stays else table.caches,
        "partners": table.partners if takes_partner else (),
        "precision": suite.precision if table.precision is None else table.precision,
        "case_budget_s": suite.case_budget_s if table.case_budget_s is None else table.case_budget_s,
        "priority": _whole(place, "priority", table.priority),
    }
    given = {name: getattr(table, name) for name in SweepTable.__struct_fields__}
    sweep = Sweep(**{**given, **decided}, origin=place)
    bounds.within(bounds.choices(sweep), f"{place.at('name')}: {place.label}")
    check_products(place, sweep)
    return sweep


def _sizes_of_blocks(table: SweepTable) -> list[int]:
    """Returns the bytes of all blocks for each number and size of blocks, ascending, or those that
    block_sizes lists; empty if the sweep has sizes.
    """
    if not table.sizes and not table.counts:
        listed = [counted_sizes(str(one)) for one in table.options.get(BLOCK_SIZES.name, ())]
        return sorted({sum(count * size for count, size in sizes) for sizes in listed})
    blocks = table.options.get(BLOCK_BYTES.name, (BLOCK_BYTES.usual,))
    return sorted({count * int(size) for count in table.counts for size in blocks if isinstance(size, int)})


def _check_size(place: TomlPlace, table: SweepTable) -> None:
    """Checks that a sweep has sizes, or numbers of blocks."""
    if "count" not in place.value:
        if not table.sizes and BLOCK_SIZES.name not in table.options:
            place.fail("size", "missing")
        return
    if "size" in place.value:
        place.fail("count", "size and count both say how much is copied", "leave one of them out")
    if BLOCK_SIZES.name in table.options:
        hint = "write size, a multiple of what these blocks have together"
        place.fail("count", "block_sizes says how many blocks there are", hint)
    other = next((name for name in table.interfaces if not moves_blocks(name)), None)
    if other is not None:
        place.fail("count", f"{other} copies no blocks", "write size")


def _is_chase(table: SweepTable) -> bool:
    return INTERFACES[table.interfaces[0]].buffers == "one"


def _check_ranks(place: TomlPlace, table: SweepTable) -> None:
    """Checks that ranks use messages or collectives only, and that nothing else uses collectives."""
    interfaces = table.interfaces
    between = [name for name in interfaces if INTERFACES[name].between_ranks]
    known = [pattern for name in between for pattern in INTERFACES[name].between_ranks]
    if between and len(between) < len(interfaces):
        place.fail("interface", f"{between[0]} runs between processes and needs its own sweep")
    for pattern in table.patterns:
        if not between and pattern in OF_ALL_RANKS:
            hint = 'write interface = "mpi"'
            place.fail("pattern", f"{pattern} is a collective, and {interfaces[0]} has none", hint)
        for name in between:
            if pattern not in INTERFACES[name].between_ranks:
                hint = f"of {', '.join(dict.fromkeys(known))}"
                place.fail("pattern", f"{name} has no pattern {pattern}", hint)
    computes = bool(between) and all(name in APPLICATIONS for name in between)
    for key in _NOT_BETWEEN_RANKS if between else ():
        if key in place.value and not (computes and key == "executor"):
            place.fail(key, f"{between[0]} has no such key", "leave the key out")
    if computes and "executor" in place.value and set(table.executors) & set(EXECUTOR_WORDS):
        place.fail("executor", "a device of each rank computes", 'write executor = "gpu*" or "cpu*"')


def _check_ends(place: TomlPlace, table: SweepTable) -> None:
    """Checks that a sweep has source and destination, or the one buffer of a chase."""
    walkers = [name for name in table.interfaces if INTERFACES[name].buffers == "one"]
    ends = ("source", "destination")
    if walkers and len(walkers) != len(table.interfaces):
        place.fail("interface", f"{walkers[0]} has one buffer and needs its own sweep")
    if not walkers and "buffer" in place.value:
        place.fail("buffer", f"{table.interfaces[0]} has two ends", "write source and destination")
    both_ways = all(goes_both_ways(name) for name in walkers)
    known = ("unidirectional", "interference", *(["bidirectional"] if both_ways else []))
    if walkers and any(pattern not in known for pattern in table.patterns):
        named = "unidirectional or bidirectional" if both_ways else "unidirectional"
        problem = f"{walkers[0]} runs {named}, or as the measured flow of interference"
        place.fail("pattern", problem, "leave the key out")
    for key in ends if walkers else ():
        if key in place.value:
            place.fail(key, f"{walkers[0]} has one buffer", 'write buffer = "gpu*:device"')
    for key in ("buffer", "executor") if walkers else ends:
        if key not in place.value:
            place.fail(key, "missing")
    if walkers and set(table.executors) & set(EXECUTOR_WORDS):
        place.fail(
            "executor",
            "source and destination do not apply with one buffer",
            "write the devices that execute it, for example gpu*",
        )


def _check_beside(place: TomlPlace, table: SweepTable) -> None:
    """Checks the keys of a background load."""
    present = [key for key in place.value if key.startswith("beside_")]
    wanted = "interference" in table.patterns
    ends = {"beside_source", "beside_destination"}
    if wanted != ends.issubset(present) or (present and not wanted):
        key = present[0] if present else "pattern"
        place.fail(
            key, "beside_source and beside_destination belong together and to pattern interference only"
        )
    for other in table.beside_interfaces:
        if INTERFACES[other].alone:
            problem = f"{other} moves no bytes, so it cannot be the load"
            place.fail("beside_interface", problem, "name for example copy")
        if INTERFACES[other].buffers == "one":
            problem = f"{other} has one buffer, and a load has two"
            place.fail("beside_interface", problem, "name for example stream-copy")
    for key in ("beside_executor", "beside_size", "beside_options"):
        if key in present and not table.beside_interfaces:
            place.fail(key, "it needs beside_interface, which is missing")
    if wanted and not table.beside_interfaces and _is_chase(table):
        problem = f"{table.interfaces[0]} cannot be its own background load"
        place.fail("pattern", problem, 'write beside_interface = "copy"')


def _check_keys(place: TomlPlace, table: SweepTable) -> None:
    """Checks keys that only some interfaces or patterns have."""
    first, rows = table.interfaces[0], [INTERFACES[name] for name in table.interfaces]
    pattern, fans = table.patterns[0], ", ".join(_FANS)
    pairs = [name for name in table.interfaces if INTERFACES[name].buffers == "pair"]
    no_stream = [name for name in table.interfaces if name not in pairs or not counts_as_stream(name)]
    no_fan = [name for name in table.patterns if name not in _FANS]
    stays, collective = rows[0].figure != "bandwidth", set(table.patterns) & set(OF_ALL_RANKS)
    adds, has_partner = any(row.sources > 1 for row in rows), any(row.partner for row in rows)
    leave_out = "leave the key out"
    rules = (
        ("cache", not stays, f"{first} has no cache setting: it always works on the same data", leave_out),
        ("gpus", not no_fan, f"{''.join(no_fan[:1])} is not a fan: all its devices take part", f"of {fans}"),
        ("halves", "bisection" in table.patterns, f"{pattern} has none", 'write pattern = "bisection"'),
        ("groups", collective, f"{pattern} is no collective", leave_out),
        ("second_source", adds, f"{first} reads one array", leave_out),
        ("arrays", not no_stream, f"{''.join(no_stream[:1])} is no STREAM kernel", leave_out),
        ("partner", has_partner, f"{first} has no partner", leave_out),
    )
    for key, takes, problem, hint in rules:
        if not takes and key in place.value:
            place.fail(key, problem, hint)


def _check_selection(place: TomlPlace, table: SweepTable) -> None:
    """Checks words that only some interfaces or patterns take."""
    first = table.interfaces[0]
    between = INTERFACES[first].between_ranks
    if table.pairs == "first" and not between:
        place.fail("pairs", f"{first} is not between ranks", 'write pairs = "per-link-class"')
    if table.pairs in NEAR and between:
        place.fail("pairs", f"{first} is between ranks", 'write pairs = "first"')
    if ("transfers" in place.value) != ("transfers" in table.patterns):
        key = "transfers" if "transfers" in place.value else "pattern"
        hint = f'pattern = "transfers" and transfers = "{EXAMPLE}"'
        place.fail(key, "the key transfers and the pattern transfers belong together", hint)
    if table.cores == "pairs":
        if not all("partner_core" in INTERFACES[name].takes for name in table.interfaces):
            place.fail("cores", f"{first} does not run between two cores", "leave the key out")
        if {"core", "partner_core"} & set(table.options):
            place.fail("cores", "the options already choose cores", "leave the key out")


def _check_axes(place: TomlPlace, table: SweepTable) -> None:
    """Checks options and variables, of the load as well."""
    check_options(place.below("options"), table.options, table.interfaces)
    check_options(place.below("beside_options"), table.beside_options, table.beside_interfaces)


#: In the order in which a reader of the file looks for mistakes.
_RULES = (_check_size, _check_ranks, _check_ends, _check_axes, _check_beside, _check_keys, _check_selection)
