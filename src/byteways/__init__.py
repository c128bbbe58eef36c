"""byteways benchmarks every data path in a GPU node and recommends the fastest interface for each.

Importing this package touches no GPU and loads no native code. The library (library.py) is loaded when first
used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from byteways.copying.copies import copy_ as copy_
    from byteways.copying.copies import copy_blocks as copy_blocks
    from byteways.copying.copies import swap_blocks_batch as swap_blocks_batch
    from byteways.copying.fast import fast_copies as fast_copies
    from byteways.copying.native_library import CopyError as CopyError
    from byteways.copying.plans import OpenPlan as OpenPlan
    from byteways.copying.plans import PlanWarning as PlanWarning
    from byteways.copying.plans import open_plan as open_plan
    from byteways.errors import BytewaysError as BytewaysError
    from byteways.library import Run as Run
    from byteways.library import RunWarning as RunWarning
    from byteways.library import compare as compare
    from byteways.library import load as load
    from byteways.library import measure as measure

#: The only place with the version; pyproject.toml reads it here.
__version__ = "0.3.0"

#: Where the public names are defined.
_PLACES = {
    "BytewaysError": "byteways.errors",
    **dict.fromkeys(("copy_", "copy_blocks", "swap_blocks_batch"), "byteways.copying.copies"),
    "fast_copies": "byteways.copying.fast",
    "CopyError": "byteways.copying.native_library",
    **dict.fromkeys(("OpenPlan", "PlanWarning", "open_plan"), "byteways.copying.plans"),
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
