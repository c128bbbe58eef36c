"""Which folder of the native core may include which: lower layers know nothing of those above them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[3] / "native"
#: What a layer never includes. The simulator is a library of its own, beside them. Argument blocks and
#: interfaces/device are plain data, which every layer may read.
ABOVE = {
    # Libraries of their own, which other programs load.
    "watch": {"core", "memory", "runtimes", "interfaces", "timing", "bindings"},
    "core": {"memory", "runtimes", "interfaces", "timing", "bindings"},
    "memory": {"runtimes", "interfaces", "timing", "bindings"},
    "runtimes": {"interfaces", "timing", "bindings"},
    "interfaces": {"timing", "bindings"},
    "timing": {"bindings"},
}


@pytest.mark.parametrize("layer", ABOVE)
def test_no_layer_includes_one_above_it(layer: str) -> None:
    """Catches a runtime that needs a mover to allocate, and the like."""
    files = [file for suffix in ("cpp", "hpp") for file in (NATIVE / layer).rglob(f"*.{suffix}")]
    assert files
    wrong = {
        str(file.relative_to(NATIVE)): found
        for file in files
        if (
            found := set(
                re.findall(
                    r'#include "(\w+)/(?!device/|\w+/arguments\.hpp)', file.read_text(encoding="utf-8")
                )
            )
            & ABOVE[layer]
        )
    }
    assert wrong == {}
