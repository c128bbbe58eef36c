"""A plugin of pytest for mutants.py: which lines every test runs, in its own process and in its children.

    python -m pytest -p mutants_coverage … with MUTANTS_FOLDER set

Children find the test's name in MUTANTS_TEST, which the coverage configuration takes as their context.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

import coverage

FOLDER = Path(os.environ["MUTANTS_FOLDER"])


class Recorder:
    """Switches the context of coverage with the test, and notes how long tests that pass take."""

    def __init__(self) -> None:
        os.environ["MUTANTS_TEST"] = ""
        # After that of the interpreter's start, if any: one process is measured once.
        if (started := coverage.Coverage.current()) is not None:
            started.stop()
        self.coverage = coverage.Coverage(
            config_file=str(FOLDER / "coveragerc"), data_suffix=True, context=""
        )
        self.coverage.start()
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    def switch(self, name: str) -> None:
        os.environ["MUTANTS_TEST"] = name
        self.coverage.switch_context(name)

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, Any]:
        """What a file computes while it is imported is seen by all of its tests."""
        if isinstance(collector, pytest.Module):
            self.switch(collector.nodeid)
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self.switch(item.nodeid)
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.outcome != "passed":
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        self.coverage.save()
        passed = {name: seconds for name, seconds in self.seconds.items() if name not in self.failed}
        (FOLDER / f"seconds-{os.getpid()}.json").write_text(json.dumps(passed), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    # Of a parallel run the processes that run tests are measured, not the one that distributes them.
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        config.pluginmanager.register(Recorder())
