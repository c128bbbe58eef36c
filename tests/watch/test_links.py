"""Counters of links beside what a program copies: of its GPUs, and nothing where there is no counter."""

from __future__ import annotations

import json
from pathlib import Path

from byteways.ext.watch.advice.operations import links_table
from byteways.ext.watch.folder import LinkBytes
from byteways.ext.watch.verbs.watched_command import link_bytes
from byteways.machine.link_counters import LinkReading
from tests.cli.called import byteways
from tests.native import fake_libraries as fake
from tests.watch.test_cuda import run


def test_counters_of_the_gpus_that_are_used(tmp_path: Path) -> None:
    """Catches GPUs that the program did not use, a zero for no counter, and times of another clock."""
    (tmp_path / "nvml").mkdir()
    library = fake.build(tmp_path / "nvml", "nvml.def")
    words = ("copies", "3", "sleep", "1500")
    done, found = run(tmp_path, *words, FAKE_CUPTI_VERSION="28", BYTEWAYS_LIBNVML=str(library))
    assert done.returncode == 0
    nvlink, pcie = found.manifest.links
    # The driver of the test has one GPU, whose counters stand still; it has none of what is received.
    assert (nvlink.device, nvlink.link, nvlink.sent_bytes, nvlink.received_bytes) == (
        "gpu0",
        "nvlink",
        0,
        None,
    )
    assert (pcie.device, pcie.link, pcie.sent_bytes, pcie.received_bytes) == ("gpu0", "pcie", 0, None)
    assert 0 <= nvlink.from_ns < nvlink.to_ns and nvlink.to_ns > 1_500_000_000
    shown = json.loads(byteways(tmp_path, "watch", "--read", "W", "--json").stdout)
    assert shown["manifest"]["links"][0]["received_bytes"] is None
    table = links_table(found)
    assert table is not None and [row[0] for row in table.rows] == ["gpu0", "gpu0"]


def test_without_gpus_there_are_no_counters(tmp_path: Path) -> None:
    """Catches counters of GPUs that a program of the host alone did not use."""
    (tmp_path / "nvml").mkdir()
    library = fake.build(tmp_path / "nvml", "nvml.def")
    _, found = run(tmp_path, FAKE_CUPTI_VERSION="28", BYTEWAYS_LIBNVML=str(library))
    assert found.manifest.links == [] and links_table(found) is None


def test_counters_that_begin_anew() -> None:
    """Catches a negative number of bytes, after a driver was loaded again."""
    before = LinkReading(1_000, {("gpu0", "nvlink"): (10, 90), ("gpu1", "nvlink"): (1, 1)})
    after = LinkReading(5_000, {("gpu0", "nvlink"): (25, 4), ("gpu1", "nvlink"): (2, 2)})
    assert link_bytes(before, after, {"gpu0"}, 500) == [LinkBytes("gpu0", "nvlink", 15, None, 500, 4_500)]
