"""What has been taken is given back where a later call fails: a driver that fails at one of its calls."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from byteways import _core
from byteways.measuring.shared.library_paths import library_directories
from tests.native import fake_libraries as fake

MIB = 2**20


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fake.build(tmp_path_factory.mktemp("fake"), "cuda.def")


@pytest.fixture
def failing(driver: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Failing:
    monkeypatch.setenv("BYTEWAYS_LIBCUDA", str(driver))
    monkeypatch.setenv("FAKE_POOLS", "1")
    monkeypatch.setenv("FAKE_MEMORY", "1")
    return Failing(tmp_path / "calls", monkeypatch)


class Failing:
    """A session on a driver that does nothing, and which of its calls fails from now on."""

    def __init__(self, calls: Path, environment: pytest.MonkeyPatch) -> None:
        self._calls, self._environment = calls, environment
        self.session = _core.Session(library_directories=library_directories())

    def begin(self, symbol: str) -> None:
        """Fails at every call of `symbol`."""
        self._calls.write_text("")
        self._environment.setenv("FAKE_CALLS", str(self._calls))
        self._environment.setenv("FAKE_FAIL", symbol)

    def calls(self) -> Counter[str]:
        return Counter(self._calls.read_text().split())


def test_memory_of_a_pool_goes_back_where_waiting_for_it_fails(failing: Failing) -> None:
    """Catches a memory leak: the allocation was made in a queue that then reported an error."""
    failing.begin("cuStreamSynchronize")
    with pytest.raises(_core.Error, match="cuStreamSynchronize"):
        failing.session.allocate("gpu0", "pool", MIB, "gpu0")
    called = failing.calls()
    assert called["cuMemAllocFromPoolAsync"] == called["cuMemFreeAsync"] == 1


def test_mapped_memory_is_unmapped_where_opening_it_fails(failing: Failing) -> None:
    """Catches addresses and physical memory that stay reserved when access is refused."""
    failing.begin("cuMemSetAccess")
    with pytest.raises(_core.Error, match="cuMemSetAccess"):
        failing.session.allocate("gpu0", "vmm", MIB, "gpu0")
    called = failing.calls()
    assert called["cuMemUnmap"] == called["cuMemAddressFree"] == called["cuMemRelease"] == 1


def test_advice_ends_with_the_mover_that_could_not_be_made(failing: Failing) -> None:
    """Catches pages that later cases find nailed to where an earlier one wanted them."""
    source = failing.session.allocate("cpu0", "managed", MIB, "gpu0")
    destination = failing.session.allocate("gpu0", "managed", MIB, "gpu0")
    flow = _core.Flow(source, destination, "gpu0", "kernel", MIB, migration="off")
    failing.begin("cuStreamSynchronize")  # what waits for the pages to be where the case wants them
    with pytest.raises(_core.Error, match="cuStreamSynchronize"):
        failing.session.measure([flow], _core.MeasureOptions())
    # Of the source: kept and given free, each by its preferred location and by who reaches it.
    assert failing.calls()["cuMemAdvise_v2"] == 4


def test_queues_are_waited_for_before_their_memory_goes(failing: Failing) -> None:
    """Catches copies that are still under way, after an error, when their buffers are freed."""
    ends = [failing.session.allocate("gpu0", "device", MIB, "gpu0") for _ in range(2)]
    flow = _core.Flow(*ends, "gpu0", "copy", MIB)
    failing.begin("cuStreamSynchronize")
    with pytest.raises(_core.Error, match="cuStreamSynchronize"):
        failing.session.measure([flow], _core.MeasureOptions())
    # The one that failed, of the service stream, and the one of the flow's own queue.
    assert failing.calls()["cuStreamSynchronize"] == 2
