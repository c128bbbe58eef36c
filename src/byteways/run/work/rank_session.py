"""Opens the runtimes of a rank's machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from byteways.run.shared.library_paths import library_directories
from byteways.settings import gpus_wanted, kernel_cache

if TYPE_CHECKING:
    from byteways._core import Session


def open_session(simulator: str = "", machine: str = "") -> Session:
    """Opens every runtime of this machine, or of the simulated one that sheet `machine` describes."""
    from byteways import _core

    return _core.Session(
        library_directories=library_directories(),
        kernel_cache=str(kernel_cache() or ""),
        gpus=gpus_wanted(),
        simulator=simulator,
        machine=machine,
    )
