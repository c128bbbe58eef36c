"""What a run says first if the machine has GPUs that no runtime opened (machine/unusable_gpus.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: PCI addresses named in the sentence; the manifest has all.
NAMED_GPUS = 4


def verdict_on_gpus(manifest: Mapping[str, Any]) -> str:
    """Returns the GPUs that could not be used and why, in one line; '' if all were, or none were wanted."""
    return "; ".join(_sentence(one) for one in manifest.get("unusable_gpus") or ())


def _sentence(one: Mapping[str, Any]) -> str:
    addresses = one["pci_addresses"]
    gpus = (
        f"1 {one['vendor']} GPU is" if len(addresses) == 1 else f"{len(addresses)} {one['vendor']} GPUs are"
    )
    named = ", ".join(addresses[:NAMED_GPUS])
    more = f" and {len(addresses) - NAMED_GPUS} more" if len(addresses) > NAMED_GPUS else ""
    reason = f"{one['library']}: {one['reason']}" if one["reason"] else "no runtime lists them"
    return f"NOT MEASURED: {gpus} in this machine and unusable ({named}{more}): {reason}"
