"""Both sides of one NVIDIA GPU: byteways' CUDA runtime, and its HIP runtime over the façade."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from byteways import _core
from byteways.measuring.shared.library_paths import library_directories
from tests.native import fake_libraries

RUNTIMES = ("cuda", "hip")
MIB = 2**20
HANG_S = 60.0  # far above what any case of a test takes, far below a test timeout


@dataclass(frozen=True)
class Side:
    """One of the two, and what of the environment makes a session open it."""

    runtime: str
    environment: Mapping[str, str]

    def open(self, cache: Path) -> _core.Session:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self.environment.items():
                patch.setenv(name, value)
            return _core.Session(library_directories=library_directories(), kernel_cache=str(cache))


def make(runtime: str, folder: Path) -> Side:
    """The side of `runtime`; builds the façade in `folder` for HIP."""
    if runtime == "cuda":
        return Side(runtime, {})
    found = [path for each in library_directories() for path in sorted(Path(each).glob("libnvrtc.so.*"))]
    assert found, "the façade needs NVRTC (pip install 'byteways[cuda]')"
    return Side(
        runtime,
        {
            "BYTEWAYS_LIBCUDA": "/nosuch/libcuda.so",
            "BYTEWAYS_LIBHIP": str(fake_libraries.build_facade(folder)),
            "FACADE_LIBNVRTC": str(found[0]),
        },
    )


def gpus(session: _core.Session) -> list[_core.Device]:
    """The session's GPUs, all of one runtime."""
    return [device for device in session.devices if device.name.startswith("gpu")]


def has_bulk_copies(session: _core.Session) -> bool:
    """Whether kernel-bulk runs: never on the HIP side, whichever library implements that."""
    return session.offers_kernel("gpu0", "copy_bulk").available


def quick(**settings: object) -> _core.MeasureOptions:
    """Options of a case that is there to be right."""
    options = _core.MeasureOptions()
    options.budget_s = 0.05
    options.max_samples = 20
    for name, value in settings.items():
        setattr(options, name, value)
    return options


def buffer(session: _core.Session, device: str, memory: str, size: int = 4 * MIB) -> _core.Buffer:
    return session.allocate(device, memory, size, device)


def warnings(measured: _core.Measurement) -> set[str]:
    return {warning.id for warning in measured.warnings}
