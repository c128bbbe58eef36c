"""A machine with GPUs of two vendors: fake runtimes of both, which do nothing."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from byteways import _core
from tests.native import fake_libraries as fake

KIB = 2**10


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("two-vendors")
    return {
        "BYTEWAYS_LIBCUDA": fake.build(folder, "cuda.def"),
        "BYTEWAYS_LIBHIP": fake.build(folder, "hip.def", also=["hiprtc.def"]),
    }


@pytest.fixture
def both(libraries: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for variable, path in libraries.items():
        monkeypatch.setenv(variable, str(path))
    monkeypatch.setenv("FAKE_MEMORY", "1")
    return monkeypatch


def gpus(session: _core.Session) -> list[tuple[str, str]]:
    return [(device.name, device.runtime) for device in session.devices if device.runtime != "host"]


def test_gpus_are_numbered_over_both(both: pytest.MonkeyPatch) -> None:
    """Catches a second vendor that is not opened, or whose GPUs begin at gpu0 again."""
    both.setenv("FAKE_DEVICES", "2")
    session = _core.Session()
    assert gpus(session) == [("gpu0", "cuda"), ("gpu1", "cuda"), ("gpu2", "hip"), ("gpu3", "hip")]
    assert {"cuda-driver", "hip"} <= {report.library for report in session.libraries if report.usable}


def test_errors_name_the_gpu_of_the_session(both: pytest.MonkeyPatch) -> None:
    """Catches a runtime that names its first GPU gpu0 where it is gpu1."""
    both.setenv("FAKE_MEMORY", "0")
    session = _core.Session()
    for device in ("gpu0", "gpu1"):
        with pytest.raises(_core.OutOfMemoryError, match=rf" on {device}$"):
            session.allocate(device, "device", 4 * KIB, device)


def test_no_peer_access_between_runtimes(both: pytest.MonkeyPatch) -> None:
    """Catches a pointer of one vendor that is handed to the other's driver."""
    session = _core.Session()
    found = session.prove_peer("gpu0", "gpu1")
    assert not found.available
    assert found.reason == "gpu0 and gpu1 belong to different runtimes, cuda and hip"


def test_memory_of_one_vendor_is_not_touched_by_the_other(both: pytest.MonkeyPatch) -> None:
    """Catches managed memory of one runtime that the other's GPU is let loose on."""
    with pytest.raises(_core.UnsupportedError, match="managed memory of gpu0 comes from cuda, of which gpu1"):
        _core.Session().allocate("gpu0", "managed", 4 * KIB, "gpu1")


def test_no_engine_is_chosen_between_runtimes(both: pytest.MonkeyPatch) -> None:
    """Catches a copy engine that is asked about the other vendor's device of the same number."""
    told = _core.Session().copy_engines("gpu1", "gpu0")
    assert told.engines == [] and told.reason == "gpu1 and gpu0 belong to different runtimes, hip and cuda"


def test_gpus_that_were_found_already_are_not_counted_twice(both: pytest.MonkeyPatch) -> None:
    """Catches a library that plays HIP over CUDA, and doubles the machine."""
    both.setenv("FAKE_PCI", "0000:3B:00.0")
    assert gpus(_core.Session()) == [("gpu0", "cuda")]


def test_a_vendor_that_is_not_there_is_not_told_of_beside_another(both: pytest.MonkeyPatch) -> None:
    """Catches a machine with one vendor's GPUs that is told to lack the other's library."""
    both.setenv("BYTEWAYS_LIBHIP", "/nosuch/libamdhip64.so")
    session = _core.Session()
    assert gpus(session) == [("gpu0", "cuda")]
    assert [report.library for report in session.libraries] == ["host", "cuda-driver", "nvrtc"]


def test_sessions_live_in_threads(both: pytest.MonkeyPatch) -> None:
    """Catches state of the process that one session sets and another one finds changed."""
    start = threading.Barrier(4)

    def opened(number: int) -> tuple[list[tuple[str, str]], str, bool]:
        start.wait()
        session = _core.Session(gpus=number % 2 == 0)  # every other one has the host alone
        source, destination = (session.allocate("cpu0", "pageable", 64 * KIB, "cpu0") for _ in range(2))
        flow = _core.Flow(source, destination, "cpu0", "memcpy", 64 * KIB)
        options = _core.MeasureOptions()
        options.budget_s, options.max_samples = 0.05, 3
        verified = session.measure([flow], options).verified
        with pytest.raises(_core.UnsupportedError) as raised:
            session.allocate("cpu0", "device", 4 * KIB, "cpu0")
        return gpus(session), str(raised.value), verified

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(opened, range(4)))
    assert [len(seen) for seen, _, _ in found] == [2, 0, 2, 0]
    assert all("belongs to a GPU" in text and verified for _, text, verified in found)


def test_the_user_of_host_memory_decides_who_gives_it(both: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Catches a second vendor's GPUs that are only ever handed the first one's pinned memory."""
    both.setenv("FAKE_LOG", str(tmp_path / "log"))
    session = _core.Session()
    given_by_cuda = []
    for user in ("gpu0", "gpu1", ""):
        assert session.allocate("cpu0", "pinned", 4 * KIB, "cpu0", user=user).memory == "pinned"
        given_by_cuda.append((tmp_path / "log").read_text().count("cuMemHostAlloc"))
    assert given_by_cuda == [1, 1, 2]
