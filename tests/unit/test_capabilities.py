"""The worker's answer to `probe`, with a session that is made up."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import cast

from byteways.run.capabilities import _peers


class Error(RuntimeError):
    """Stands for byteways._core.Error."""


def test_a_gpu_that_fails_while_peers_are_proved_costs_its_own_pairs_only() -> None:
    """Would catch one sick GPU that keeps a whole machine from being probed."""

    def prove_peer(executor: str, owner: str, memory: str = "device") -> SimpleNamespace:
        if "gpu1" in (executor, owner):
            raise Error("hipMalloc: hipErrorOutOfMemory (out of memory) on gpu1")
        return SimpleNamespace(available=True, reason="")

    core = cast(ModuleType, SimpleNamespace(Error=Error))
    session = SimpleNamespace(prove_peer=prove_peer)
    found = _peers(core, session, ["gpu0", "gpu1", "gpu2"])  # type: ignore[arg-type]
    assert found["gpu0"]["gpu2"] == {"available": True, "reason": ""}
    assert found["gpu2"]["gpu1"]["available"] is False
    assert "out of memory" in found["gpu1"]["gpu0"]["reason"]
