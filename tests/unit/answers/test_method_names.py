"""Names of methods for people: one function, from which tables, charts, sentences and labels take them."""

from __future__ import annotations

from collections import defaultdict

import pytest

from byteways.answers.results.index import Index
from byteways.answers.results.variants import Variant, interface_name
from byteways.cases.interfaces import INTERFACES
from byteways.cases.option_set import OptionSet, OptionValue
from byteways.record.run_folder import RunFolder
from scripts.unpack_examples import recorded


@pytest.mark.parametrize("run", ["h200x4-rounds/full", "h100x2-ranks/particles", "h200x2/managed"])
def test_methods_of_one_question_have_names_of_their_own(run: str) -> None:
    """Would catch a sentence that compares a method with itself, and a curve drawn through two methods."""
    names: dict[tuple[object, ...], set[Variant]] = defaultdict(set)
    for cell in Index.of(RunFolder(recorded(run))).cells:
        record = cell.record
        where = record.path, record.pattern, record.executor, record.size_bytes
        names[(*where, cell.variant.name)].add(cell.variant)
    assert {where: found for where, found in names.items() if len(found) > 1} == {}


def method(
    interface: str = "copy",
    access: str = "write",
    ends: str = "device device",
    cache: str = "cold",
    library: str = "",
    **options: OptionValue,
) -> str:
    source, destination = ends.split()
    return Variant(interface, access, source, destination, cache, OptionSet(options), library=library).name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (method(), "copy issued by the source"),
        (method(ends="pinned device", access="read"), "copy with pinned memory"),
        (
            method(ends="pinned device", access="remote"),
            "copy issued by a third device with pinned memory",
        ),
        (
            method("kernel", "read", "managed device", blocks=8, cache="warm"),
            "kernel issued by the destination with managed > device memory (blocks=8, warm)",
        ),
        (method("xccl", library="RCCL"), "RCCL"),
        (
            method("pointer-chase", "remote", "pinned pinned", cache="warm"),
            "pointer-chase by another device with pinned memory (warm)",
        ),
        (method("xccl-ping-pong", ends="managed device"), "NCCL/RCCL ping-pong with managed > device memory"),
        (method("mpi", "remote", "pageable pageable"), "MPI with pageable memory"),
    ],
)
def test_names(name: str, expected: str) -> None:
    """Would catch a third device that issues a copy and is not named, and a library under our code for it."""
    assert name == expected


def test_no_interface_is_shown_by_its_code_for_a_library() -> None:
    """Would catch `xccl` in a label: it is NCCL or RCCL."""
    assert [name for name in INTERFACES if "xccl" in interface_name(name)] == []
