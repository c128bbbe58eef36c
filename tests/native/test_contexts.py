"""Primary contexts of the CUDA driver: which are created, and which one a device gets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from byteways import _core
from tests.native import fake_libraries as fake


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Three GPUs of a driver that notes what happens to its contexts."""
    monkeypatch.setenv("BYTEWAYS_LIBCUDA", str(fake.build(tmp_path, "cuda.def")))
    monkeypatch.setenv("BYTEWAYS_LIBNVRTC", str(fake.build(tmp_path, "nvrtc.def")))
    monkeypatch.setenv("BYTEWAYS_LIBHIP", "/nosuch/libamdhip64.so")
    monkeypatch.setenv("FAKE_DEVICES", "3")
    monkeypatch.setenv("FAKE_MEMORY", "1")
    monkeypatch.setenv("FAKE_CONTEXTS", str(tmp_path / "contexts"))
    (tmp_path / "contexts").touch()
    yield tmp_path / "contexts"


def happened(log: Path) -> set[str]:
    found = {" ".join(line.split()[:2]) for line in log.read_text().splitlines()}
    log.write_text("")
    return found


def test_a_device_in_use_has_a_context(log: Path) -> None:
    """Catches contexts on GPUs of other ranks, where each takes hundreds of MiB and part of a second."""
    session = _core.Session()
    assert happened(log) == set()
    session.allocate("gpu1", "pinned", 4096, "gpu1")
    assert happened(log) == {"retain 1", "enter 1"}
    session.allocate("gpu2", "pinned", 4096, "gpu2")
    assert happened(log) == {"retain 2", "enter 2"}


def test_a_failure_does_not_move_contexts(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a GPU that gets the context of another one after an error, and an error that stays for ever."""
    session = _core.Session()
    monkeypatch.setenv("FAKE_RETAIN", "2")
    for name in ("gpu0", "gpu1"):
        with pytest.raises(_core.Error):
            session.allocate(name, "pinned", 4096, name)
    assert happened(log) == {"retain 0", "retain 1"}
    monkeypatch.delenv("FAKE_RETAIN")
    for number in (1, 0, 2):
        session.allocate(f"gpu{number}", "pinned", 4096, f"gpu{number}")
        assert happened(log) == {f"retain {number}", f"enter {number}"}
