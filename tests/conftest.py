"""What holds for every test: a clean environment, temporary caches, no silent skip, GPU tests apart."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import re
import shutil
import tempfile
from collections.abc import Generator, Iterator
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
#: MPICH's, Open MPI's and UCX's shared memory, and what MPICH's launcher tells its ranks.
LEFT_BY_LIBRARIES = (
    *(f"dev/shm/{name}*" for name in ("mpich_shm_", "sm_segment.", "vader_segment.", "ucx_shm_posix_")),
    "tmp/hydra_hwloc_xmlfile_*",
)


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
    if not hasattr(config, "workerinput"):  # those of `pytest -n 2` inherit it
        _keep_together(config)
    cache = tempfile.mkdtemp(prefix="byteways-test-cache-")
    config.add_cleanup(lambda: shutil.rmtree(cache, ignore_errors=True))
    os.environ["BYTEWAYS_CACHE"] = cache
    os.environ["XDG_CACHE_HOME"] = cache
    config.stash[_allowed] = allowed_skips(ALLOWED_SKIPS.read_text(encoding="utf-8"))
    if runs_tests(config) and __package__:  # test_setup.py copies this file to a folder without the others
        from tests.native.simulated import start_fork_server  # after the variables above are gone

        config.add_cleanup(start_fork_server())


def _keep_together(config: pytest.Config) -> None:
    """Has all that tests write lie in one new folder, which a session without failures removes."""
    if "TMPDIR" not in os.environ and fits_in_memory():
        tempfile.tempdir = IN_MEMORY
    remove_ended(Path(tempfile.gettempdir()))
    folder = tempfile.mkdtemp(prefix=f"bw-{os.getpid()}-")  # short: libraries make sockets in it
    before = set(_of_libraries())
    os.environ["TMPDIR"] = os.environ["PYTEST_DEBUG_TEMPROOT"] = tempfile.tempdir = folder
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        os.environ[name] = f"{folder}/{name.lower()}"

    def clean() -> None:
        remove_unused(set(_of_libraries()) - before)
        for path in Path(folder).iterdir():
            if not path.name.startswith("pytest-of-") or not config.stash.get(_failed, False):
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()
        with contextlib.suppress(OSError):  # a failed test's folder is in it
            os.rmdir(folder)  # noqa: PTH106

    config.add_cleanup(clean)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    session.config.stash[_failed] = exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)


def remove_ended(place: Path) -> None:
    """Removes the folders of sessions that have ended in failures, but that of the last."""
    own = (path for path in place.glob("bw-*-*") if path.stat().st_uid == os.getuid())
    ended = [path for path in own if not Path("/proc", path.name.split("-")[1]).exists()]
    for path in sorted(ended, key=lambda path: path.stat().st_mtime_ns)[:-1]:
        shutil.rmtree(path, ignore_errors=True)


def _of_libraries() -> Iterator[Path]:
    """Yields this user's files of MPI and UCX: they name the place, and killed ranks leave them."""
    for pattern in LEFT_BY_LIBRARIES:
        for path in Path("/").glob(pattern):
            with contextlib.suppress(OSError):
                if path.stat().st_uid == os.getuid():
                    yield path


def remove_unused(paths: set[Path]) -> None:
    """Removes files that no process has open or mapped: another session of this user may run."""
    used = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            maps = (process / "maps").read_text(encoding="utf-8", errors="replace")
            used |= {path for path in paths if str(path) in maps}
            for link in [*(process / "fd").iterdir()]:
                with contextlib.suppress(OSError):  # closed meanwhile
                    used |= {link.readlink()} & paths
    for path in paths - used:
        path.unlink(missing_ok=True)


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
_failed = pytest.StashKey[bool]()


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
