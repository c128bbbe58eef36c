"""Expansion of sweeps: which flows, pairs and executors a table of a suite stands for."""

from __future__ import annotations

import pytest

from byteways.base.errors import BytewaysError
from byteways.cases.case import Case
from byteways.machine.model import Topology
from byteways.machine.routes import link_class
from byteways.plan.suite import parse
from byteways.plan.sweep import Expansion, expand
from tests.unit import machines

TWO_CORES: Topology = machines.two_cores()[0]
H200X4: Topology = machines.h200x4()[0]
TWO_DOMAINS: Topology = machines.gpus(4, domains=2)[0]


def expansion(lines: str, topology: Topology = H200X4) -> Expansion:
    text = f'name = "mine"\ntitle = "Mine"\n[[sweep]]\nname = "s"\nsize = "1MiB"\n{lines}'
    sweep = parse(text, file="my.toml").sweeps[0]
    return expand(sweep, topology, lambda a, b: link_class(topology, a, b))


def cases(lines: str, topology: Topology = H200X4) -> tuple[Case, ...]:
    return expansion(lines, topology).cases


def ends(source: str, destination: str, interface: str = "copy") -> str:
    return f'interface = "{interface}"\nsource = "{source}"\ndestination = "{destination}"\n'


GPUS = ends("gpu*:device", "gpu*:device")


def by_executor(found: tuple[Case, ...]) -> list[str]:
    return [f"{case.path} {'+'.join(flow.executor for flow in case.flows)}" for case in found]


@pytest.mark.parametrize(
    ("executor", "expected"),
    [
        ('"source"', ["gpu0>gpu1 gpu0"]),
        ('"destination"', ["gpu0>gpu1 gpu1"]),
        ('["destination", "gpu1", "gpu[23]"]', ["gpu0>gpu1 gpu1", "gpu0>gpu1 gpu2", "gpu0>gpu1 gpu3"]),
        ('"both"', ["gpu0>gpu1 gpu0", "gpu0>gpu1 gpu1"]),
    ],
)
def test_executors(executor: str, expected: list[str]) -> None:
    """Catches the wrong end executing, and one executor counted twice."""
    assert by_executor(cases(f"{ends('gpu0:device', 'gpu1:device')}executor = {executor}")) == expected


def test_numbers_of_blocks() -> None:
    """Catches sizes of another number of blocks, and a number beside a size."""
    text = 'name = "mine"\ntitle = "Mine"\n[[sweep]]\nname = "s"\ncount = [16, 64]\n'
    text += ends("cpu0:pinned", "gpu0:device", "kernel-blocks")
    sweep = parse(f"{text}options = {{ block_bytes = [1024, 4096] }}", file="my.toml").sweeps[0]
    found = expand(sweep, H200X4, lambda a, b: link_class(H200X4, a, b)).cases
    planned = {(case.options["block_bytes"], case.size_bytes) for case in found}
    assert planned == {(1024, 16384), (1024, 65536), (4096, 65536), (4096, 262144)}
    usual = expand(parse(text, file="my.toml").sweeps[0], H200X4, lambda a, b: link_class(H200X4, a, b))
    assert {case.size_bytes for case in usual.cases} == {16 * 16384, 64 * 16384}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (ends("cpu0:pinned", "gpu0:device") + "count = 16", "copy copies no blocks"),
        (
            ends("cpu0:pinned", "gpu0:device", "kernel-blocks") + 'count = 16\nsize = "1MiB"',
            "size and count both",
        ),
        (
            ends("cpu0:pinned", "gpu0:device", "kernel-blocks")
            + 'count = 16\noptions = { block_sizes = "3x4KiB,1x16KiB" }',
            "block_sizes says how many",
        ),
    ],
)
def test_numbers_of_blocks_that_are_refused(lines: str, said: str) -> None:
    """Catches a number of blocks that is ignored."""
    with pytest.raises(BytewaysError, match=said):
        parse(f'name = "mine"\ntitle = "Mine"\n[[sweep]]\nname = "s"\n{lines}', file="my.toml")


def test_a_fan_of_one_is_none() -> None:
    """Catches a fan-out to a single GPU, which is unidirectional under another name, and silence about it."""
    found = expansion(ends("gpu0:device", "gpu1:device") + 'pattern = "fan-out"')
    assert found.cases == ()
    assert "no buffer pair matches" in found.notes[0]


def test_fans_do_not_mix_memories() -> None:
    """Catches one case over two kinds of memory, whose figure would belong to neither."""
    found = cases(
        'interface = "copy"\nsource = "cpu0:pinned"\ndestination = ["gpu*:device", "gpu*:managed"]\n'
        'pattern = "fan-out"'
    )
    assert [{flow.destination.memory for flow in case.flows} for case in found] == [{"device"}, {"managed"}]


def test_one_pair_of_each_link_class() -> None:
    """Catches every pair being measured where one stands for all, or classes that are merged."""
    assert by_executor(cases(f'{GPUS}pairs = "per-link-class"')) == [
        "gpu0>gpu0 gpu0",
        "gpu0>gpu1 gpu0",
        "gpu0>gpu1 gpu1",
    ]
    host = ends("cpu*:pinned", "gpu*:device") + 'pairs = "per-link-class"'
    assert [case.path for case in cases(host)] == ["cpu0>gpu0"]
    assert [case.path for case in cases(host, TWO_DOMAINS)] == ["cpu0>gpu0", "cpu0>gpu2"]  # near and far


def test_near_without_a_known_domain_is_the_first() -> None:
    """Catches a GPU of unknown home having no host memory at all, as in virtual machines."""
    from dataclasses import replace

    homeless = replace(
        TWO_DOMAINS, devices=tuple(replace(device, numa_domain=-1) for device in TWO_DOMAINS.devices)
    )
    assert homeless.nearest_cpu("gpu3") == "cpu0"
    with_near = cases(ends("cpu*:pinned", "gpu*:device") + 'pairs = "near"', homeless)
    assert {case.flows[0].source.device for case in with_near} == {"cpu0"}


CHASE = 'interface = "pointer-chase"\nexecutor = "gpu*"\n'


@pytest.mark.parametrize(
    ("lines", "key", "device"),
    [
        (ends("gpu7:device", "gpu*:device"), "source", "gpu7"),
        (ends("gpu*:device", "gpu9:device"), "destination", "gpu9"),
        (ends("cpu0:pageable@gpu8", "gpu0:device"), "source", "gpu8"),
        (GPUS + 'executor = "cpu5"', "executor", "cpu5"),
        (CHASE.replace("gpu*", "gpu6") + 'buffer = "gpu*:device"', "executor", "gpu6"),
    ],
)
def test_an_device_named_outright_must_exist(lines: str, key: str, device: str) -> None:
    """Catches a mistyped device that silently measures nothing."""
    with pytest.raises(BytewaysError, match=f"this machine has no device '{device}'") as caught:
        cases(lines)
    assert caught.value.what.startswith("my.toml:")
    assert f"key '{key}'" in caught.value.what
    assert "gpu0" in (caught.value.hint or "")


def test_a_glob_that_matches_nothing_is_a_note() -> None:
    """Catches a sweep that is empty here without a word."""
    found = expansion(GPUS, TWO_CORES)
    assert found.cases == ()
    assert found.notes[0] == "sweep 's': no device here matches 'gpu*' of source 'gpu*:device'"
    assert expansion(ends("cpu*:pageable@gpu*", "cpu*:pageable", "memcpy"), TWO_CORES).notes
    executors = expansion(ends("cpu*:pageable", "cpu*:pageable", "memcpy") + 'executor = "gpu*"', TWO_CORES)
    assert "no device here matches its executor gpu*" in executors.notes[0]


def test_when_is_no_cause_for_a_note() -> None:
    """Catches a note for what the suite itself leaves out, and a sweep in the wrong kind of machine."""
    assert expansion(f'{GPUS}when = "without-gpu"') == Expansion((), ())
    assert expansion(f'{GPUS}when = "with-gpu"').cases
    assert expansion(f'{GPUS}when = "with-hip"') == Expansion((), ())
    host = ends("cpu*:pageable", "cpu*:pageable", "memcpy")
    assert expansion(f'{host}when = "with-gpu"', TWO_CORES) == Expansion((), ())
    assert expansion(f'{host}when = "without-gpu"', TWO_CORES).cases


ONE = 'interface = "load"\nbuffer = "gpu*:device"\npattern = "bidirectional"\n'


def test_two_devices_reach_each_other_s_buffer() -> None:
    """Catches a buffer that its own device accesses, a pair that comes twice, and a path of one device."""
    found = cases(ONE + 'executor = "gpu*"')
    assert len(found) == 6
    assert {case.path for case in found} >= {"gpu0<>gpu1", "gpu2<>gpu3"}
    for case in found:
        first, second = case.flows
        assert first.source == first.destination and second.source == second.destination
        assert (first.executor, second.executor) == (second.source.device, first.source.device)
        assert first.executor != second.executor
    assert [case.path for case in cases(ONE + 'executor = "gpu*"\npairs = "per-link-class"')] == [
        "gpu0<>gpu1"
    ]


def test_both_devices_must_be_named_to_reach_each_other_s_buffer() -> None:
    """Catches an executor that the sweep leaves out, and runs all the same."""
    assert cases(ONE + 'executor = "gpu0"') == ()
