"""hipRTC inside the HIP runtime or beside it: what it is asked for, and when it must not be asked at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from byteways import _core
from tests.native import fake_libraries as fake
from tests.native.runtime_compiler import SOURCES


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fake-hiprtc")


@pytest.fixture(scope="module")
def bare_hip(folder: Path) -> Path:
    return fake.build(folder, "hip.def")


@pytest.fixture(scope="module")
def hiprtc(folder: Path) -> Path:
    return fake.build(folder, "hiprtc.def")


@pytest.fixture
def use_hip(bare_hip: Path, hiprtc: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("BYTEWAYS_LIBCUDA", "/nosuch/libcuda.so")
    monkeypatch.setenv("BYTEWAYS_LIBHIP", str(bare_hip))
    monkeypatch.setenv("BYTEWAYS_LIBHIPRTC", str(hiprtc))
    return monkeypatch


def report(**options: object) -> _core.LibraryReport:
    found = _core.Session(**options).libraries  # type: ignore[arg-type]
    return next(report for report in found if report.library == "hiprtc")


def test_inside_the_runtime(folder: Path, use_hip: pytest.MonkeyPatch) -> None:
    """Catches the library of another release taken where the runtime brings the compiler along."""
    whole = fake.build(folder, "hip.def", also=["hiprtc.def"])
    use_hip.setenv("BYTEWAYS_LIBHIP", str(whole))
    use_hip.delenv("BYTEWAYS_LIBHIPRTC")
    found = report()
    assert found.usable
    assert (found.path, found.found_by, found.version) == (str(whole), "HIP runtime", "6.2")


def test_a_library_of_its_own(use_hip: pytest.MonkeyPatch, hiprtc: Path, tmp_path: Path) -> None:
    """Catches newer ROCm, where the runtime has no compiler inside, taken for one without any."""
    found = report()
    assert found.usable and (found.path, found.found_by) == (str(hiprtc), "BYTEWAYS_LIBHIPRTC")
    use_hip.delenv("BYTEWAYS_LIBHIPRTC")
    (tmp_path / "libhiprtc.so.6.2.60204").write_bytes(hiprtc.read_bytes())
    (tmp_path / "libhiprtc.so.6").symlink_to("libhiprtc.so.6.2.60204")
    found = report(library_directories=[str(tmp_path)])
    assert found.searched[0] == "libhiprtc.so.6", "the runtime's own major version comes first"
    if found.found_by != "dynamic linker":
        assert (found.path, found.version) == (str(tmp_path / "libhiprtc.so.6"), "6.2.60204")


def test_without_hiprtc_kernels_have_a_reason(use_hip: pytest.MonkeyPatch) -> None:
    """Catches kernels that vanish without a reason, and copies that vanish with them."""
    use_hip.setenv("BYTEWAYS_LIBHIPRTC", "/nosuch/libhiprtc.so")
    session = _core.Session()
    offered = session.offers_kernel("gpu0", "copy")
    assert not offered.available and "kernels need hipRTC" in offered.reason
    assert session.offers("gpu0", "device").available


def test_without_a_runtime_it_is_not_looked_for(use_hip: pytest.MonkeyPatch) -> None:
    """Catches the cost of loading a compiler on machines that have no use for it."""
    use_hip.setenv("BYTEWAYS_LIBHIP", "/nosuch/libamdhip64.so")
    found = report()
    assert not found.usable and found.searched == [] and "no HIP runtime" in found.reason


def test_options_and_cache(use_hip: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Catches code for the architecture without its features, which the runtime refuses to load, and a cache
    that gives out what was compiled with other options.
    """
    image, cache = tmp_path / "image", tmp_path / "cache"
    use_hip.setenv("FAKE_IMAGE", str(image))
    assert _core.Session(kernel_cache=str(cache)).offers_kernel("gpu0", "gate").available
    assert image.read_text() == "--offload-arch=gfx90a:sramecc+:xnack- -O3 -std=c++17 "
    (kept,) = cache.iterdir()
    assert kept.name.startswith("interfaces.service.gate-gfx90a:sramecc+:xnack--hiprtc-6.2-O3-std=c++17-")


def kept_by(cache: Path) -> list[Path]:
    """Files of the cache after a session has compiled one kernel, or found it there."""
    _core.Session(kernel_cache=str(cache)).offers_kernel("gpu0", "gate")
    return sorted(cache.iterdir())


def test_cache_is_nobody_elses(use_hip: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Catches code of another user: a folder or file that others may write is not used, and not written."""
    cache = tmp_path / "a" / "cache"
    (kept,) = kept_by(cache)
    assert (cache.stat().st_mode & 0o777, kept.stat().st_mode & 0o777) == (0o700, 0o600)
    kept.unlink()
    cache.chmod(0o777)
    assert kept_by(cache) == []
    cache.chmod(0o700)
    if os.geteuid() == 0:
        os.chown(cache, 12345, -1)
        assert kept_by(cache) == []


@pytest.mark.parametrize("spoil", ["content", "mode", "link", "name", "fifo"])
def test_file_of_the_cache_that_is_not_ours(use_hip: pytest.MonkeyPatch, tmp_path: Path, spoil: str) -> None:
    """Catches an image that was changed, is a link, or is another kernel's under this name being loaded."""
    cache, image, elsewhere = tmp_path / "cache", tmp_path / "image", tmp_path / "elsewhere"
    (kept,) = kept_by(cache)
    good = kept.read_bytes()
    if spoil == "content":
        kept.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    elif spoil == "mode":
        kept.chmod(0o622)
    elif spoil == "name":
        kept.write_bytes(good.replace(b"gate-", b"copy-", 1))
    else:
        kept.unlink()
        if spoil == "fifo":
            os.mkfifo(kept)
        else:
            elsewhere.write_bytes(good)
            kept.symlink_to(elsewhere)
    use_hip.setenv("FAKE_IMAGE", str(image))  # what is compiled is told there
    assert kept_by(cache) == [kept]
    assert image.exists()
    assert kept.is_file() and not kept.is_symlink() and kept.read_bytes()[:16] == good[:16]
    assert spoil != "link" or elsewhere.read_bytes() == good


def test_refused_source_has_the_log(use_hip: pytest.MonkeyPatch) -> None:
    """Catches a compiler's log that is thrown away."""
    use_hip.setenv("FAKE_REFUSE", "1")
    offered = _core.Session().offers_kernel("gpu0", "copy")
    assert "no such target" in offered.reason and "kernel_copy/kernel.cu for gfx90a" in offered.reason


def test_refused_image_has_the_vendors_words(use_hip: pytest.MonkeyPatch) -> None:
    """Catches a code object that does not load being called a missing kernel."""
    use_hip.setenv("FAKE_LOAD", "209")
    offered = _core.Session().offers_kernel("gpu0", "copy")
    assert "refuses what hiprtc-6.2-O3-std=c++17 compiled" in offered.reason
    assert "as the vendor words it" in offered.reason


def test_bulk_copies_are_not_amds(use_hip: pytest.MonkeyPatch) -> None:
    """Catches a kernel that is empty there, launched all the same."""
    offered = _core.Session().offers_kernel("gpu0", "copy_bulk")
    assert not offered.available and "no bulk-copy instructions" in offered.reason


def test_an_old_compiler_is_not_asked_in_a_worker(use_hip: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Catches the abort of hipRTC 5 taking the worker with it; what a child compiled before is used."""
    use_hip.setenv("FAKE_VERSION", "50221153")
    use_hip.setenv("FAKE_ARCHITECTURE", "gfx942:sramecc+:xnack-")
    cache = str(tmp_path / "cache")
    offered = _core.Session(kernel_cache=cache).offers_kernel("gpu0", "copy")
    assert not offered.available
    assert "hipRTC 5.2 may end the process" in offered.reason and "ROCm 6" in offered.reason
    _core.fill_kernel_cache("gfx942:sramecc+:xnack-", cache)
    assert _core.Session(kernel_cache=cache).offers_kernel("gpu0", "copy").available


def test_an_old_compiler_is_asked_for_what_it_knows(use_hip: pytest.MonkeyPatch) -> None:
    """Catches a safe compilation that is refused: gfx90a works with every hipRTC in use."""
    use_hip.setenv("FAKE_VERSION", "50221153")
    assert _core.Session().offers_kernel("gpu0", "copy").available


def test_compiling_for_a_cache_needs_a_compiler(use_hip: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Catches a child that ends well and leaves nothing behind."""
    use_hip.setenv("BYTEWAYS_LIBHIPRTC", "/nosuch/libhiprtc.so")
    with pytest.raises(_core.UnsupportedError, match="kernels need hipRTC"):
        _core.fill_kernel_cache("gfx90a", str(tmp_path))


@pytest.mark.slow
def test_real_compiler_fills_a_cache(tmp_path: Path) -> None:
    """Catches a cache that the fake fills and the real hipRTC does not, and its abort being survived."""
    script = "import sys; from byteways import _core; _core.fill_kernel_cache(sys.argv[1], sys.argv[2])"

    def compiled(architecture: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", script, architecture, str(tmp_path / architecture)],
            capture_output=True,
            text=True,
            check=False,
        )

    done = compiled("gfx90a")
    if "kernels need hipRTC" in done.stderr:
        pytest.skip("no library with hipRTC here (Debian: libamdhip64-5)")
    assert done.returncode == 0, done.stderr
    names = {path.name.partition("-")[0] for path in (tmp_path / "gfx90a").iterdir()}
    assert names == {source.removesuffix(".cu").replace("/", ".") for source in SOURCES}
    assert compiled("gfx942").returncode in (0, -signal.SIGABRT)
