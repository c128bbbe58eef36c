"""Cases with a NUMA domain that has memory but no cores (CXL, HBM beside DDR)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from byteways.machine.model import Capabilities, Topology
from byteways.plan.limits import limit
from byteways.plan.ranks import layout
from tests.unit.planning import MEMCPY, plan, suite, two_domains


def machine() -> tuple[Topology, Capabilities]:
    """Two NUMA domains, of which `cpu1` has memory only."""
    topology, capabilities = two_domains
    devices = (
        replace(topology.device("cpu0"), last_level_cache_bytes=1),
        replace(topology.device("cpu1"), last_level_cache_bytes=1, cores=(), executed_by="cpu0"),
        *(one for one in topology.devices if one.kind == "gpu"),
    )
    limited = replace(topology, devices=devices, host_memory_limit_bytes_per_s=1e9)
    return limited, capabilities


def test_its_transfers_are_executed_by_the_nearest_cores() -> None:
    """Catches a memory expander that is no end of transfers, or one that executes them."""
    cases = plan(suite(MEMCPY), *machine())
    assert {case.case.path for case in cases} >= {"cpu0>cpu1", "cpu1>cpu0", "cpu1>cpu1"}
    assert {flow.executor for case in cases for flow in case.case.flows} == {"cpu0"}
    assert {case.reason for case in cases} == {None}


def test_a_glob_of_executors_leaves_it_out_and_its_name_is_refused() -> None:
    """Catches a case that binds threads to no core, and one that vanishes although it was asked for."""
    every = plan(suite(f'{MEMCPY}\nexecutor = "cpu*"'), *machine())
    assert {case.case.flows[0].executor for case in every} == {"cpu0"}
    named = plan(suite(f'{MEMCPY}\nexecutor = "cpu1"'), *machine())
    assert {case.reason for case in named} == {"cpu1 has memory but no cores: cpu0 executes for it"}


def test_ranks_and_core_pairs_are_on_cores() -> None:
    """Catches a rank without cores, and a search for core pairs in a domain that has none."""
    topology, capabilities = machine()
    without_gpus = replace(topology, devices=tuple(one for one in topology.devices if one.kind == "cpu"))
    assert {rank.cpu for rank in layout(replace(without_gpus, links=()), 4)} == {"cpu0"}
    pairs = (
        'interface = "ping-pong"\ncores = "pairs"\nsource = "cpu*:pageable"\ndestination = "cpu*:pageable"\n'
        'executor = "source"\npartner = "destination"\nsize = "8B"'
    )
    for case in plan(suite(pairs), topology, capabilities):
        assert case.case.flows[0].executor == case.case.flows[0].partner == "cpu0"


def test_the_limit_of_the_hosts_modules_is_not_that_of_the_expander() -> None:
    """Catches results of an expander that are voided by the rate of other memory."""
    topology, capabilities = machine()
    by_path = {case.case.path: case.case for case in plan(suite(MEMCPY), topology, capabilities)}
    touched = {"source": 1e9, "destination": 1e9}
    assert limit(topology, by_path["cpu0>cpu0"], touched).bytes_per_s == pytest.approx(0.5e9)
    assert limit(topology, by_path["cpu1>cpu1"], touched).bytes_per_s is None
