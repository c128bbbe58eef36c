"""Options and variables of a sweep; checks that every value has at least one valid combination."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from byteways.base.spelling import closest
from byteways.base.toml_reading import TomlPlace, kind_of_value
from byteways.cases.block_layout import SIZES_HINT, counted_sizes
from byteways.cases.interfaces import INTERFACES, OPTIONS
from byteways.plan.legality.request import Mistake, Request, mistake
from byteways.plan.suite_types import Sweep, SweepOptions
from byteways.plan.variables import refusal, refusal_hint

_GPU_NAMES = re.compile(r"^gpu\d+(,gpu\d+)*$")
_NUMBERS = re.compile(r"^\d+(,\d+)+$")


def check_options(place: TomlPlace, options: SweepOptions, interfaces: Sequence[str]) -> None:
    """Checks that every interface takes the options of a table, with values of their kinds."""
    for key, values in options.items():
        for interface in interfaces:
            if key not in INTERFACES[interface].takes:
                known = ", ".join(INTERFACES[interface].takes)
                place.fail(key, f"{interface} has no such option", f"options of {interface}: {known}")
        for value in values if interfaces else ():
            _check_option(place, key, value)


def _check_option(place: TomlPlace, key: str, value: Any) -> None:
    option = OPTIONS[key]
    if option.is_truth:
        if not isinstance(value, bool):
            place.fail(key, f"{kind_of_value(value)} instead of true or false")
    elif option.words:
        if option.numbers and isinstance(value, str) and _NUMBERS.match(value):
            return
        if value not in option.words:
            hint = closest(str(value), option.words)
            place.fail(key, f"{kind_of_value(value)} instead of a valid word", hint)
    elif option.names_gpus:
        if not isinstance(value, str) or not _GPU_NAMES.match(value):
            place.fail(key, f"{kind_of_value(value)} instead of GPU names", 'write "gpu1,gpu2"')
    elif option.counts_sizes:
        if not isinstance(value, str):
            place.fail(key, f"{kind_of_value(value)} instead of counts of sizes", SIZES_HINT)
        try:
            counted_sizes(value)
        except ValueError as error:
            place.fail(key, f"{error}, nor a file beside the suite", SIZES_HINT)
    elif isinstance(value, bool) or not isinstance(value, int):
        place.fail(key, f"{kind_of_value(value)} instead of a positive integer")


def check_environment(place: TomlPlace, variables: Mapping[str, Sequence[str]]) -> None:
    """Checks that a file may set these variables to these values."""
    for name, values in variables.items():
        for value in values:
            if wrong := refusal(name, value):
                place.fail(name, wrong, refusal_hint(name, value))


def check_products(place: TomlPlace, sweep: Sweep) -> None:
    """Rejects a value that makes all its cases impossible on any machine: a typing error.

    Impossible combinations of otherwise useful values are a normal part of a product, and are skipped.
    """
    _check_product(place, "", sweep.interfaces, sweep.patterns, sweep.caches, sweep.sizes, sweep.options)
    if sweep.beside_interfaces:
        sizes = sweep.beside_sizes or sweep.sizes
        patterns = ("interference",)
        _check_product(
            place, "beside_", sweep.beside_interfaces, patterns, ("cold",), sizes, sweep.beside_options
        )


def _check_product(
    place: TomlPlace,
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
        where = place if wrong.key == "size" else place.below(f"{prefix}options")
        key = f"{prefix}size" if wrong.key == "size" and f"{prefix}size" in place.value else wrong.key
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
