"""Path of the simulator's library, which is built with the native core and installed beside it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

SIMULATOR_LIBRARY = "libbyteways_sim.so"


def native_folder() -> Path:
    """Returns the folder of the native core and the libraries built with it.

    Raises:
        ImportError: The native core is missing.
    """
    found = importlib.util.find_spec("byteways._core")
    if found is None or found.origin is None:
        raise ImportError("byteways' native module is not installed")
    return Path(found.origin).parent


def simulator_path() -> str:
    """Returns the path, whether the file exists or not: the native core reports errors.

    Raises:
        ImportError: The native core is missing.
    """
    return str(native_folder() / SIMULATOR_LIBRARY)
