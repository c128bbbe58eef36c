"""What is known of how a result came about, as fields; `engine_evidence` of a record says it in words."""

from __future__ import annotations

import msgspec


class Fallback(msgspec.Struct, frozen=True):
    """A transport that carried messages otherwise than asked."""

    asked: str
    used: str
    reason: str


class EvidenceFields(msgspec.Struct, frozen=True, omit_defaults=True):
    """Absent fields do not apply to the case."""

    window: int | None = None  # messages in flight between two ranks
    library: str | None = None  # "NCCL", "RCCL"
    library_version: str | None = None
    fallback: Fallback | None = None
    #: Of UCX to the other rank: "cma/memory"; None: the library does not say.
    transports: tuple[str, ...] | None = None
    transports_unknown: str | None = None  # why: "old-library", UCX before 1.14
    own_caches: bool | None = None  # loads that a cache of the executor's own may have served, not the owner
    call: str | None = None  # "ncclAlltoAll", or "ncclSend and ncclRecv" where the library lacks that
