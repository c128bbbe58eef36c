"""The suite that measures a question (question.py), for `byteways best` without a run. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from types import MappingProxyType

from byteways.base.aliases import called
from byteways.base.errors import BytewaysError
from byteways.base.units import format_size
from byteways.cases.block_layout import MOST_BLOCKS_MOVED
from byteways.cases.block_list import BlockList, MixedBlocks
from byteways.cases.interfaces import INTERFACES
from byteways.cases.memory import MEMORIES, OWNERS, is_managed
from byteways.cases.option_set import OptionSet
from byteways.cases.options import AS_CALLED, BLOCK_BYTES, BLOCK_SIZES
from byteways.cases.question import GLOB, RANKS, Question, is_host
from byteways.machine.device_names import IDENTIFIER, devices_named
from byteways.machine.model import Topology
from byteways.plan.budget import FIRST_PRIORITY
from byteways.plan.built_suite import NamedSweep, SuiteKeys, built_suite
from byteways.plan.load_question import gpu_of, sweeps_of_load
from byteways.plan.suite_types import Suite

#: Seconds of an answer that are no measuring. Estimates are conservative; the limit ends what takes longer.
RESERVED_S = 1.0
#: Seconds of samples for each method, in all its rounds: at most, and as a part of the time for the answer.
LEAST_CASE_S, MOST_CASE_S, CASE_PART = 0.001, 0.3, 0.015
#: Priority of a sweep that no setting alters, where settings are measured, too: what one may alter is first.
UNALTERED = 7
#: Most bytes of scattered blocks that are measured: further ones take as long each.
MOST_BLOCK_BYTES = 2**29


def suite_of(asked: Question, topology: Topology) -> Suite:
    """Returns the suite that measures a question: every way by default, and the settings that matter most.

    Raises:
        BytewaysError: A device is unknown or ambiguous, or stands for devices of both kinds.
    """
    return built_suite(_head(asked), _sweeps(asked, topology), file="best")


def suite_of_questions(
    questions: Iterable[Question],
    topology: Topology,
    head: SuiteKeys,
    file: str,
    settings: Sequence[Mapping[str, str]] = (),
    may_alter: Callable[[Iterable[str], str], bool] = lambda variables, interface: True,
    own_options: Mapping[Question, Collection[OptionSet]] = MappingProxyType({}),
) -> Suite:
    """Returns the suite that measures several questions: sizes are in one sweep if nothing else differs.

    An interface measures the sizes that are multiples of what it moves. Messages have warm caches: a program
    has just written what it sends.

    Args:
        questions: The most important first.
        topology: The machine.
        head: The suite's own keys.
        file: What messages call the suite.
        settings: Variables with which all that they may alter is measured, too, and before the rest.
        may_alter: Whether variables may alter what an interface takes.
        own_options: With which calls of MPI are measured, too.

    Raises:
        BytewaysError: As of suite_of().
    """
    merged: dict[str, tuple[str, dict[str, object], list[object]]] = {}
    for asked in questions:
        for name, keys in _with_options(_sweeps(asked, topology), own_options.get(asked, ())):
            able = _able(keys["interface"], asked.size_bytes)
            if not able:
                continue
            rest = {**{key: value for key, value in keys.items() if key != "size"}, "interface": able}
            if asked.within == RANKS:
                rest["cache"] = "warm"
            _, _, sizes = merged.setdefault(json.dumps([name, rest]), (name, rest, []))
            if keys["size"] not in sizes:
                sizes.append(keys["size"])

    def alters(setting: Mapping[str, str], rest: Mapping[str, object]) -> bool:
        return any(may_alter(setting, interface) for interface in _names(rest["interface"]))

    def ranked(rest: Mapping[str, object]) -> Mapping[str, object]:
        if not settings:
            return rest
        own, altered = rest.get("priority", UNALTERED), any(alters(setting, rest) for setting in settings)
        assert isinstance(own, int)
        return {**rest, "priority": FIRST_PRIORITY if altered else min(own, UNALTERED)}

    sweeps = (
        (f"{name}-{number}{f'-{place}' * bool(place)}", _under(setting, {**ranked(rest), "size": sizes}))
        for number, (name, rest, sizes) in enumerate(merged.values())
        for place, setting in enumerate([{}, *settings])
        if not setting or alters(setting, rest)
    )
    return built_suite(head, sweeps, file=file)


def _with_options(sweeps: Iterable[NamedSweep], own_options: Collection[OptionSet]) -> Iterator[NamedSweep]:
    """Yields sweeps, and those of MPI with options of the program's own calls, too."""
    for name, keys in sweeps:
        yield name, keys
        for options in sorted(own_options) if keys["interface"] == ["mpi"] else ():
            named = "-".join(f"{option}-{value}" for option, value in options.items())
            yield f"{name}-{named.replace('_', '-')}", {**keys, "options": {**options}}


def _under(setting: Mapping[str, str], keys: Mapping[str, object]) -> dict[str, object]:
    """Returns the keys of a sweep that is measured with these variables, too."""
    if not setting:
        return {**keys}
    own = keys.get("environment", {})
    assert isinstance(own, dict)
    return {**keys, "environment": {**own, **setting}}


def _able(interfaces: object, size_bytes: int) -> list[str]:
    """Returns the interfaces of a sweep that move such a size."""
    return [name for name in _names(interfaces) if size_bytes % INTERFACES[name].granularity_bytes == 0]


def _names(interfaces: object) -> list[str]:
    names = [interfaces] if isinstance(interfaces, str) else interfaces
    assert isinstance(names, list)
    return names


def _head(asked: Question) -> SuiteKeys:
    case_s = max(LEAST_CASE_S, min(MOST_CASE_S, CASE_PART * asked.answer_within_s))
    title = f"Fastest method for {asked.blocks or format_size(asked.size_bytes)} {asked.between}"
    budget_s = max(asked.answer_within_s - RESERVED_S, RESERVED_S)
    own = {"name": "best", "title": title, "rounds": 3, "precision": 0.01}
    return {**own, "budget_s": budget_s, "case_budget_s": case_s}


def _collective(asked: Question, topology: Topology) -> Iterator[NamedSweep]:
    """Yields the sweeps of a collective of all ranks: on GPUs, else in host memory."""
    kind = "gpu" if topology.names("gpu") else "cpu"
    words = (asked.source or f"{kind}*", asked.destination or f"{kind}*")
    globs = [_glob(word, topology) for word in words]
    ends = [_buffers(asked, glob, with_gpu=True)[:1] for glob in globs]
    if kind == "cpu":
        ends = [[f"{glob}:{asked.memory or 'pageable'}"] for glob in globs]
    for interface in ("xccl", "mpi") if kind == "gpu" else ("mpi",):
        yield _sweep(interface, asked, ends, interface=[interface], cache="warm", priority=8)


def _load(asked: Question, topology: Topology) -> Iterator[NamedSweep]:
    """Yields the sweeps of the parts of a load, and of all of it."""
    yield from sweeps_of_load(asked.size_bytes, topology, gpu_of(asked, topology))


def _blocks(asked: Question, topology: Topology) -> Iterator[NamedSweep]:
    """Yields the sweeps of all methods for scattered blocks, with their calls in the time."""
    blocks = asked.blocks
    assert blocks is not None
    source, destination = (_glob(word, topology) for word in (asked.source, asked.destination))
    with_gpu = "gpu" in (source[:3], destination[:3])
    ends = [_buffers(asked, glob, with_gpu)[: None if asked.memory else 1] for glob in (source, destination)]
    needed = BLOCK_SIZES if isinstance(blocks, MixedBlocks) else BLOCK_BYTES
    able = [
        name
        for name, row in INTERFACES.items()
        if needed.name in row.takes and with_gpu == ("gpu" in row.kernels)
    ]
    if not able:
        hint = f"ask for one size: {replace(asked, blocks=BlockList(1024, BLOCK_BYTES.usual)).command()}"
        raise BytewaysError(
            "CPUs copy blocks of one size", cause=f"{blocks.written} lists several", hint=hint
        )
    options: dict[str, object] = {needed.name: blocks.option, **AS_CALLED}
    shared: dict[str, object] = {"pairs": _pairs(asked)} if asked.pattern == "unidirectional" else {}
    if isinstance(blocks, BlockList):
        most = min(blocks.count, MOST_BLOCK_BYTES // blocks.block_bytes or 1, MOST_BLOCKS_MOVED)
        asked = replace(asked, size_bytes=most * blocks.block_bytes)
    for name in able:
        yield _sweep(name, asked, ends, interface=[name], options=options, priority=9, **shared)
        if INTERFACES[name].batched:
            more = {**options, "submit": ["batch", "graph"]}
            yield _sweep(
                f"{name}-together", asked, ends, interface=[name], options=more, priority=8, **shared
            )


def _sweeps(asked: Question, topology: Topology) -> Iterator[NamedSweep]:
    if asked.load:
        yield from _load(asked, topology)
        return
    if asked.blocks:
        yield from _blocks(asked, topology)
        return
    if asked.is_collective:
        yield from _collective(asked, topology)
        return
    source, destination = (_glob(word, topology) for word in (asked.source, asked.destination))
    kinds = source[:3], destination[:3]
    ends = [_buffers(asked, glob, "gpu" in kinds) for glob in (source, destination)]
    if asked.within == RANKS:
        ends = [end[:1] for end in ends] if asked.memory is None else ends
        one = {"pairs": "per-link-class", "priority": 8}
        yield _sweep("mpi", asked, ends, interface=["mpi"], **one)
        if kinds == ("gpu", "gpu"):
            yield _sweep("xccl", asked, ends, interface=["xccl"], **one)
        return
    if "gpu" not in kinds:
        interfaces = ["memcpy", "memcpy-mt", "memcpy-stream"]
        for memory in dict.fromkeys(end.partition(":")[2] for end in (*ends[0], *ends[1])):
            same = [[f"{glob}:{memory}"] for glob in (source, destination)]
            yield _sweep(memory, asked, same, interface=interfaces, priority=9, executor=["both"])
        return
    alone = asked.pattern == "unidirectional"
    shared = {"pairs": _pairs(asked)} if alone else {}
    both = {"executor": ["both"]} if asked.pattern in ("unidirectional", "bidirectional") else {}
    interfaces = ["copy", "kernel", "kernel-bulk"] if alone else ["copy", "kernel"]
    if alone and asked.memory is not None:
        yield from _prefetches(asked, source, destination, shared)
    yield _sweep("ways", asked, ends, interface=interfaces, priority=9, **both, **shared)
    copies: dict[str, object] = {"interface": ["copy"], **shared}
    if alone:
        yield _sweep("batches", asked, ends, priority=6, options={"submit": "batch"}, **copies)
    variables = ("HSA_ENABLE_SDMA", *(["HSA_ENABLE_PEER_SDMA"] if kinds == ("gpu", "gpu") else []))
    for variable in variables:
        name = variable.lower().replace("_", "-")
        yield _sweep(name, asked, ends, priority=7, when="with-hip", environment={variable: "0"}, **copies)


def _prefetches(
    asked: Question, source: str, destination: str, shared: Mapping[str, object]
) -> Iterator[NamedSweep]:
    """Yields the sweeps of prefetches, where the memory asked for migrates."""
    for memory in (one for one in MEMORIES if is_managed(one) and fnmatchcase(one, asked.memory or "")):
        ends = [[f"{glob}:{memory}"] for glob in (source, destination)]
        yield _sweep(f"prefetch-{memory}", asked, ends, interface=["prefetch"], priority=9, **shared)


def _pairs(asked: Question) -> str:
    """Returns which pairs are measured of several: with host memory the nearest, else one of each class."""
    if is_host(asked.source) or is_host(asked.destination):
        return "near"
    if any("cpu" in word and set(word) & GLOB for word in (asked.source, asked.destination)):
        return "all"  # the question compares NUMA domains
    return "per-link-class" if set(asked.source + asked.destination) & GLOB else "all"


def _glob(word: str, topology: Topology) -> str:
    """Returns a device name or glob of byteways for the user's word."""
    names = devices_named(topology, word)
    if IDENTIFIER.fullmatch(word.strip()):
        return names[0]
    if len({name.rstrip("0123456789") for name in names}) > 1:
        raise BytewaysError(f"'{word}' matches both CPUs and GPUs", hint="write 'host' or 'gpu*'")
    return called("device", word.strip()) or word.strip()


def _buffers(asked: Question, glob: str, with_gpu: bool) -> list[str]:
    """Returns the buffers of one end: the memory asked for where this end may have it, else the usual one."""
    kind = glob[:3]
    if asked.memory is not None:
        able = [one for one in MEMORIES if kind in OWNERS[one] and fnmatchcase(one, asked.memory)]
        if able:
            return [f"{glob}:{memory}" for memory in able]
    usual = ("device",) if kind == "gpu" else ("pinned", "pageable") if with_gpu else ("pageable", "hugepage")
    return [f"{glob}:{memory}" for memory in usual]


def _sweep(name: str, asked: Question, ends: Sequence[Sequence[str]], **keys: object) -> NamedSweep:
    """Returns a sweep; keys without a value are left out."""
    return name, {
        "pattern": asked.pattern,
        "source": [*ends[0]],
        "destination": [*ends[1]],
        "size": asked.size_bytes,
        **{key: value for key, value in keys.items() if value is not None},
    }
