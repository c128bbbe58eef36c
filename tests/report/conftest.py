"""Fixtures of the tests in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from byteways.report import write_report
from tests.report import sample_run
from tests.report.browser import Browser


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(sample_run.h200x4().write(tmp_path_factory.mktemp("gpu")))


@pytest.fixture(scope="module")
def shared() -> Iterator[Browser]:
    with Browser() as browser:
        yield browser


@pytest.fixture
def browser(shared: Browser, report: Path) -> Browser:
    """The browser with the report freshly opened."""
    shared.open(report)
    return shared
