"""What tests of several files here share."""

from __future__ import annotations

import pytest

from byteways import _core


@pytest.fixture(scope="module")
def host_session() -> _core.Session:
    """Of this machine's CPUs. Its first measurement warms the cores up for 50 ms, so that tests share it."""
    return _core.Session(gpus=False)
