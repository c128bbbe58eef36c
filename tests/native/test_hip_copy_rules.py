"""How HIP picks what carries a copy out: the rules of ROCm's sources, by version and environment."""

from __future__ import annotations

import pytest

from byteways import _core

KIB, MIB = 2**10, 2**20
HIP_5_2, HIP_6_2, HIP_6_4, HIP_7_2 = 50221153, 60240092, 60443482, 70200000
HOST = -1


@pytest.mark.parametrize(
    ("ends", "size", "engine"),
    [
        ((0, 0), 64 * MIB, "kernel"),
        ((0, 1), MIB, "kernel"),
        ((0, 1), MIB + 8, "copy-engine"),
        ((HOST, 0), 8, "copy-engine"),
        ((0, HOST), 64 * MIB, "copy-engine"),
        ((HOST, HOST), 64 * MIB, ""),
    ],
)
def test_defaults_of_6_2(ends: tuple[int, int], size: int, engine: str) -> None:
    """Catches a threshold that is off by one, and a direction that is taken for another."""
    found, rule = _core.copy_rule("hip", HIP_6_2, {}, *ends, size)
    assert found == engine
    assert rule.startswith("HIP 6.2: ") if engine else rule == ""


@pytest.mark.parametrize(
    ("environment", "ends", "size", "engine"),
    [
        ({"HSA_ENABLE_SDMA": "0"}, (HOST, 0), 64 * MIB, "kernel"),
        ({"HSA_ENABLE_SDMA": "0"}, (0, 1), 64 * MIB, "kernel"),
        ({"HSA_ENABLE_SDMA": "1"}, (0, 1), 64 * MIB, "copy-engine"),
        ({"HSA_ENABLE_PEER_SDMA": "0"}, (0, 1), 64 * MIB, "kernel"),
        ({"HSA_ENABLE_PEER_SDMA": "0"}, (HOST, 0), 64 * MIB, "copy-engine"),
        ({"ROC_P2P_SDMA_SIZE": "64"}, (0, 1), 64 * KIB, "kernel"),
        ({"ROC_P2P_SDMA_SIZE": "64"}, (0, 1), 64 * KIB + 8, "copy-engine"),
        ({"ROC_P2P_SDMA_SIZE": "0", "GPU_FORCE_BLIT_COPY_SIZE": "16"}, (0, 1), 16 * KIB, "kernel"),
        ({"ROC_P2P_SDMA_SIZE": "0", "GPU_FORCE_BLIT_COPY_SIZE": "16"}, (0, 1), 16 * KIB + 8, "copy-engine"),
        ({"GPU_FORCE_BLIT_COPY_SIZE": "4"}, (0, HOST), 4 * KIB, "kernel"),
        ({"GPU_FORCE_BLIT_COPY_SIZE": "4"}, (0, HOST), 8 * KIB, "copy-engine"),
    ],
)
def test_environment(environment: dict[str, str], ends: tuple[int, int], size: int, engine: str) -> None:
    """Catches a setting of ROCm's that changes the engine and not the rule."""
    assert _core.copy_rule("hip", HIP_6_2, environment, *ends, size)[0] == engine


def test_small_host_copies_by_version() -> None:
    """Catches a default of one year applied to another: it went from 0 to 16 KiB at a time not known."""
    engines = {
        version: [_core.copy_rule("hip", version, {}, HOST, 0, size)[0] for size in (16 * KIB, 16 * KIB + 8)]
        for version in (HIP_6_2, HIP_6_4, HIP_7_2)
    }
    assert engines == {
        HIP_6_2: ["copy-engine", "copy-engine"],
        HIP_6_4: ["", "copy-engine"],
        HIP_7_2: ["kernel", "copy-engine"],
    }
    chosen = {"GPU_FORCE_BLIT_COPY_SIZE": "16"}
    assert _core.copy_rule("hip", HIP_6_4, chosen, HOST, 0, 16 * KIB)[0] == "kernel"


def test_plain_memory_is_staged() -> None:
    """Catches a staged copy called a copy engine's."""
    assert _core.copy_rule("hip", HIP_6_2, {}, HOST, 0, 64 * MIB, plain=True)[0] == "staged"


@pytest.mark.parametrize("size", [8, 16 * KIB, MIB, 64 * MIB])
def test_memory_of_another_process_goes_to_engines(size: int) -> None:
    """Catches the limit of short copies applied to memory for which ROCm has no path of kernels."""
    for version in (HIP_6_2, HIP_7_2):
        for ends in ((0, 1), (1, 0)):
            assert _core.copy_rule("hip", version, {}, *ends, size, opened=True)[0] == "copy-engine"
        assert _core.copy_rule("hip", version, {}, 0, 0, size, opened=True) == ("", "")
    for variable in ("HSA_ENABLE_SDMA", "HSA_ENABLE_PEER_SDMA"):
        assert _core.copy_rule("hip", HIP_6_2, {variable: "0"}, 0, 1, size, opened=True)[0] == "kernel"
    assert _core.copy_rule("hip", HIP_5_2, {}, 0, 1, size, opened=True) == ("", "")


def test_versions_that_were_not_read_have_no_rule() -> None:
    """Catches a copy rule for a runtime version whose sources were not read."""
    assert _core.copy_rule("hip", HIP_5_2, {}, 0, 1, 64 * MIB) == ("", "")
