"""byteways benchmarks every data path in a GPU node and recommends the fastest interface for each.

Importing this package touches no GPU and loads no native code. The library (library.py) is loaded when first
used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from byteways.errors import BytewaysError as BytewaysError
    from byteways.library import Run as Run
    from byteways.library import RunWarning as RunWarning
    from byteways.library import compare as compare
    from byteways.library import load as load
    from byteways.library import measure as measure

#: The only place with the version; pyproject.toml reads it here.
__version__ = "0.2.0.dev0"

#: Where the public names are defined.
_PLACES = {
    "BytewaysError": "byteways.errors",
    **dict.fromkeys(("Run", "RunWarning", "compare", "load", "measure"), "byteways.library"),
}

__all__ = ["BytewaysError", "Run", "RunWarning", "__version__", "compare", "load", "measure"]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'byteways' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})
