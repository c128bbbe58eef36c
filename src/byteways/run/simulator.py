"""Where the simulator's library lies: beside the native core, which it is built with."""

from __future__ import annotations

import importlib.util
from pathlib import Path

NAME = "libbyteways_sim.so"


def native_folder() -> Path:
    """The folder of the native core, where what is built with it lies.

    Raises:
        ImportError: There is no native core.
    """
    found = importlib.util.find_spec("byteways._core")
    if found is None or found.origin is None:
        raise ImportError("byteways' native module is not installed")
    return Path(found.origin).parent


def simulator_path() -> str:
    """The file, whether it is there or not: the native core says what is wrong with it.

    Raises:
        ImportError: There is no native core.
    """
    return str(native_folder() / NAME)
