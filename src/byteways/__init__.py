"""byteways benchmarks every data path in a GPU node and recommends the fastest interface for each.

Importing this package touches no GPU and loads no native code. The library (library.py) is loaded when first
used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from byteways.base.errors import BytewaysError as BytewaysError
    from byteways.ext.copy.copies import copy_ as copy_
    from byteways.ext.copy.copies import copy_blocks as copy_blocks
    from byteways.ext.copy.copies import swap_blocks_batch as swap_blocks_batch
    from byteways.ext.copy.fast import fast_copies as fast_copies
    from byteways.ext.copy.native_library import CopyError as CopyError
    from byteways.ext.copy.plans import OpenPlan as OpenPlan
    from byteways.ext.copy.plans import PlanWarning as PlanWarning
    from byteways.ext.copy.plans import open_plan as open_plan
    from byteways.library import Run as Run
    from byteways.library import RunWarning as RunWarning
    from byteways.library import compare as compare
    from byteways.library import load as load
    from byteways.library import measure as measure

#: The only place with the version; pyproject.toml reads it here.
__version__ = "0.3.0"

#: Where the public names are defined.
_PLACES = {
    "BytewaysError": "byteways.base.errors",
    **dict.fromkeys(("copy_", "copy_blocks", "swap_blocks_batch"), "byteways.ext.copy.copies"),
    "fast_copies": "byteways.ext.copy.fast",
    "CopyError": "byteways.ext.copy.native_library",
    **dict.fromkeys(("OpenPlan", "PlanWarning", "open_plan"), "byteways.ext.copy.plans"),
    **dict.fromkeys(("Run", "RunWarning", "compare", "load", "measure"), "byteways.library"),
}

__all__ = [
    *("BytewaysError", "CopyError", "OpenPlan", "PlanWarning", "Run", "RunWarning", "__version__"),
    *("compare", "copy_", "copy_blocks", "fast_copies", "load", "measure", "open_plan", "swap_blocks_batch"),
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'byteways' has no attribute '{name}'")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(_PLACES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})
