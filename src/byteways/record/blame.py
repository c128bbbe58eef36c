"""What a case without a result blames for that, as fields; its `reason` says it in words."""

from __future__ import annotations

import msgspec


class FailureBlame(msgspec.Struct, frozen=True, omit_defaults=True):
    """Absent fields are unknown."""

    device: str | None = None  # on which a call of a driver failed
    rank: int | None = None  # of the case, that failed or for which the others waited
    host: str | None = None  # on which a process failed
