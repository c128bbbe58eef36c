"""What holds for every test: a clean environment, temporary caches, no silent skip, GPU tests apart."""

from __future__ import annotations

import ctypes
import gc
import os
import re
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from byteways.__main__ import COLLECT_AFTER

#: As `byteways` itself: the tests of a worker keep millions of objects, in which there is little garbage.
gc.set_threshold(COLLECT_AFTER)

#: No test rests on real time: an example may take long on a busy machine. Each run draws other examples.
settings.register_profile("busy", deadline=None, max_examples=50)
settings.load_profile("busy")

ALLOWED_SKIPS = Path(__file__).with_name("allowed_skips.txt")

#: Settings of whoever runs the tests must not change their outcome. Rich and Typer read the terminal ones,
#: make hands its own down to tests that run make.
LEAKS = re.compile(
    r"BYTEWAYS_.*|NCCL_(?!NVLS_ENABLE).*|HSA_.*|CUDA_LAUNCH_BLOCKING|NO_COLOR|FORCE_COLOR|PY_COLORS|CLICOLOR.*"
    r"|GITHUB_ACTIONS|COLUMNS|LINES|TERMINAL_WIDTH|MAKE.*|MFLAGS"
)
#: Which GPUs a GPU test may use is the tester's to say; every other test is to see none of it.
GPU_CHOICE = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")
#: A run waits for the disk after every record; in memory nothing does. The tests need a part of these bytes.
IN_MEMORY, IN_MEMORY_BYTES = "/dev/shm", 4 << 30


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--strict-skips",
        action="store_true",
        default=bool(os.environ.get("CI")),
        help=f"fail when a test is skipped that {ALLOWED_SKIPS.name} does not list (default where CI is set)",
    )


def gpus_wanted(config: pytest.Config) -> bool:
    """Whether GPU tests were asked for: the expressions of pyproject.toml and the Makefile exclude them."""
    return "not gpu" not in config.getoption("markexpr")


def fits_in_memory() -> bool:
    """Whether temporary folders may lie in memory: its file system has room, and runs programs."""
    try:
        found = os.statvfs(IN_MEMORY)
    except OSError:
        return False
    runs = not found.f_flag & os.ST_NOEXEC
    return runs and os.access(IN_MEMORY, os.W_OK) and found.f_bavail * found.f_frsize >= IN_MEMORY_BYTES


def pytest_configure(config: pytest.Config) -> None:
    """Cleans this process's environment before any test module is imported; child processes inherit it."""
    for name in [name for name in os.environ if LEAKS.fullmatch(name)]:
        del os.environ[name]
    if not gpus_wanted(config):
        for name in GPU_CHOICE:
            os.environ.pop(name, None)
    if "TMPDIR" not in os.environ and fits_in_memory():
        os.environ["TMPDIR"] = os.environ["PYTEST_DEBUG_TEMPROOT"] = tempfile.tempdir = IN_MEMORY
    cache = tempfile.mkdtemp(prefix="byteways-test-cache-")
    config.add_cleanup(lambda: shutil.rmtree(cache, ignore_errors=True))
    os.environ["BYTEWAYS_CACHE"] = cache
    os.environ["XDG_CACHE_HOME"] = cache
    config.stash[_allowed] = allowed_skips(ALLOWED_SKIPS.read_text(encoding="utf-8"))
    if runs_tests(config) and __package__:  # test_setup.py copies this file to a folder without the others
        from tests.native.simulated import start_fork_server  # after the variables above are gone

        config.add_cleanup(start_fork_server())


def runs_tests(config: pytest.Config) -> bool:
    """Whether tests run in this process: that of `pytest -n 2` starts others for them."""
    return hasattr(config, "workerinput") or not getattr(config.option, "numprocesses", None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """GPU tests that were asked for (`-m gpu`) on a machine without a driver are skipped with that reason."""
    on_gpu = [item for item in items if item.get_closest_marker("gpu")]
    if on_gpu and gpus_wanted(config):
        try:
            ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            for item in on_gpu:
                item.add_marker(pytest.mark.skip(reason=f"no NVIDIA driver here: {error}"))


def pytest_collection_finish() -> None:
    """Takes what was collected out of garbage collection, which would visit it each time and find nothing."""
    gc.collect()
    gc.freeze()


_allowed = pytest.StashKey[dict[str, str]]()


def allowed_skips(text: str) -> dict[str, str]:
    """Node ids (without parameters) and reasons of a list such as allowed_skips.txt.

    Raises:
        ValueError: A line has no reason.
    """
    allowed = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        node, _, reason = line.partition(": ")
        if not reason.strip():
            raise ValueError(f"line {number} names no reason: '{line}'")
        allowed[node] = reason.strip()
    return allowed


def fail_unlisted_skip(report: Any, config: pytest.Config) -> None:
    """Turns a skip (not an expected failure) that is not on the list into a failure that says so."""
    if not config.getoption("strict_skips") or report.outcome != "skipped" or hasattr(report, "wasxfail"):
        return
    if report.nodeid.split("[")[0] in config.stash[_allowed]:
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    report.outcome = "failed"
    report.longrepr = f"{report.nodeid} was skipped, and {ALLOWED_SKIPS.name} does not list it.\n{reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    fail_unlisted_skip(report, item.config)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    fail_unlisted_skip(report, collector.config)
    return report
