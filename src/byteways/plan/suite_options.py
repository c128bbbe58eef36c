"""Options and variables of a sweep; checks that every value has at least one valid combination."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from byteways.plan.interfaces import INTERFACES, OPTIONS
from byteways.plan.legality.request import Mistake, Request, mistake
from byteways.plan.spelling import closest
from byteways.plan.suite_table import SuiteTable, kind_of_value
from byteways.plan.suite_types import Sweep
from byteways.plan.transfer_sets import EXAMPLE, TransferSet, parse_transfers

_GPU_NAMES = re.compile(r"^gpu\d+(,gpu\d+)*$")
_NUMBERS = re.compile(r"^\d+(,\d+)+$")
_VARIABLE = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")

#: Option values by name, as in a sweep.
SweepOptions = Mapping[str, tuple[int | str | bool, ...]]


def options_of(
    table: SuiteTable, name: str, interfaces: tuple[str, ...]
) -> dict[str, tuple[int | str | bool, ...]]:
    data = table.data.get(name, {})
    if not isinstance(data, dict):
        table.fail(name, f"{kind_of_value(data)} instead of a table such as {{ blocks = [8, 16] }}")
    reader = table.below(name, data)
    options: dict[str, tuple[int | str | bool, ...]] = {}
    for key, value in data.items():
        for interface in interfaces:
            if key not in INTERFACES[interface].takes:
                known = ", ".join(INTERFACES[interface].takes)
                reader.fail(key, f"{interface} has no such option", f"options of {interface}: {known}")
        items = value if isinstance(value, list) else [value]
        if not items:
            reader.fail(key, "the list is empty")
        for item in items:
            _check_option(reader, key, item)
        options[key] = tuple(dict.fromkeys(items))
    return options


def _check_option(table: SuiteTable, key: str, value: Any) -> None:
    option = OPTIONS[key]
    if option.is_truth:
        if not isinstance(value, bool):
            table.fail(key, f"{kind_of_value(value)} instead of true or false")
    elif option.words:
        if option.numbers and isinstance(value, str) and _NUMBERS.match(value):
            return
        if value not in option.words:
            table.fail(
                key, f"{kind_of_value(value)} instead of a valid word", closest(str(value), option.words)
            )
    elif option.names_gpus:
        if not isinstance(value, str) or not _GPU_NAMES.match(value):
            table.fail(key, f"{kind_of_value(value)} instead of GPU names", 'write "gpu1,gpu2"')
    elif isinstance(value, bool) or not isinstance(value, int):
        table.fail(key, f"{kind_of_value(value)} instead of a positive integer")


def environment_of(table: SuiteTable) -> dict[str, tuple[str, ...]]:
    data = table.data.get("environment", {})
    if not isinstance(data, dict):
        table.fail(
            "environment",
            f'{kind_of_value(data)} instead of a table such as {{ HSA_ENABLE_SDMA = "0" }}',
        )
    reader = table.below("environment", data)
    for key in data:
        if not _VARIABLE.match(key):
            reader.fail(key, "not a valid name of an environment variable")
    return {key: reader.texts(key) for key in data}


def check_products(table: SuiteTable, sweep: Sweep) -> None:
    """Rejects a value that makes all its cases impossible on any machine: a typing error.

    Impossible combinations of otherwise useful values are a normal part of a product, and are skipped.
    """
    _check_product(table, "", sweep.interfaces, sweep.patterns, sweep.caches, sweep.sizes, sweep.options)
    if sweep.beside_interfaces:
        sizes = sweep.beside_sizes or sweep.sizes
        patterns = ("interference",)
        _check_product(
            table, "beside_", sweep.beside_interfaces, patterns, ("cold",), sizes, sweep.beside_options
        )


def _check_product(
    table: SuiteTable,
    prefix: str,
    interfaces: Sequence[str],
    patterns: Sequence[str],
    caches: Sequence[str],
    sizes: Sequence[int],
    options: SweepOptions,
) -> None:
    """`prefix` is the prefix of these axes' keys."""
    good: set[tuple[str, object]] = set()
    bad: dict[tuple[str, object], Mistake] = {}
    for request in _requests(interfaces, patterns, caches, sizes, options):
        values = {
            ("interface", request.interface),
            ("pattern", request.pattern),
            ("cache", request.cache),
            ("size", request.size_bytes),
            *request.options.items(),
        }
        if wrong := mistake(request):
            for value in values:
                bad.setdefault(value, wrong)
        else:
            good |= values
    for value, wrong in bad.items():
        if value in good:
            continue
        where = table if wrong.key == "size" else table.below(f"{prefix}options", options)
        key = f"{prefix}size" if wrong.key == "size" and f"{prefix}size" in table.data else wrong.key
        where.fail(key, wrong.reason, wrong.hint)


def _requests(
    interfaces: Sequence[str],
    patterns: Sequence[str],
    caches: Sequence[str],
    sizes: Sequence[int],
    options: SweepOptions,
) -> Iterator[Request]:
    named = [[(name, value) for value in values] for name, values in options.items()]
    for interface, pattern, cache, size in itertools.product(interfaces, patterns, caches, sizes):
        for chosen in itertools.product(*named):
            yield Request(interface, pattern, cache, size, dict(chosen))


def transfers_of(table: SuiteTable, patterns: tuple[str, ...]) -> tuple[TransferSet, ...]:
    """Reads the sets of transfers of pattern `transfers`; other patterns have none."""
    if ("transfers" in table.data) != ("transfers" in patterns):
        key = "transfers" if "transfers" in table.data else "pattern"
        hint = f'pattern = "transfers" and transfers = "{EXAMPLE}"'
        table.fail(key, "the key transfers and the pattern transfers belong together", hint)
    if "transfers" not in table.data:
        return ()
    texts = table.texts("transfers")
    return tuple(table.converted("transfers", parse_transfers, text) for text in texts)
