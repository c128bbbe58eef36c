"""What the tests on real GPUs share: both sides of a GPU, and a session of either."""

from __future__ import annotations

import pytest

from byteways import _core
from tests.gpu import sides
from tests.gpu.sides import Side, gpus


@pytest.fixture(scope="session")
def made() -> dict[str, Side]:
    """The sides that were made so far: the façade takes seconds to build."""
    return {}


@pytest.fixture(scope="module", params=sides.RUNTIMES)
def side(
    request: pytest.FixtureRequest, made: dict[str, Side], tmp_path_factory: pytest.TempPathFactory
) -> Side:
    if request.param not in made:
        made[request.param] = sides.make(request.param, tmp_path_factory.mktemp("facade"))
    return made[request.param]


@pytest.fixture(scope="module")
def session(side: Side, tmp_path_factory: pytest.TempPathFactory) -> _core.Session:
    return side.open(tmp_path_factory.mktemp(f"kernels-{side.runtime}"))


@pytest.fixture
def pair(session: _core.Session) -> tuple[str, str]:
    """Two GPUs with peer access."""
    names = [device.name for device in gpus(session)]
    for first in names:
        for second in names:
            if first != second and session.prove_peer(first, second).available:
                return first, second
    pytest.skip("two GPUs with peer access are needed")
