"""What a case without a result blames for that, as fields; its `reason` says it in words."""

from __future__ import annotations

import msgspec


class FailureBlame(msgspec.Struct, frozen=True, omit_defaults=True):
    """Absent fields are unknown."""

    device: str | None = None  # on which a call of a driver failed
