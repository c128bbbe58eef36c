"""Vendor libraries that are there, but not as they should be: what the loader makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from byteways import _core
from byteways.measuring.shared.library_paths import library_directories
from tests.native import fake_libraries as fake


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fake-libraries")


@pytest.fixture(scope="module")
def driver(folder: Path) -> Path:
    """A CUDA driver that has every function."""
    return fake.build(folder, "cuda.def")


@pytest.fixture
def use_driver(driver: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("BYTEWAYS_LIBCUDA", str(driver))
    return monkeypatch


def reports(**options: object) -> dict[str, _core.LibraryReport]:
    return {report.library: report for report in _core.Session(**options).libraries}  # type: ignore[arg-type]


def gpu_session(cache: Path | None = None) -> _core.Session:
    return _core.Session(library_directories=library_directories(), kernel_cache=str(cache or ""))


def test_whole_driver_is_usable(use_driver: pytest.MonkeyPatch, driver: Path) -> None:
    """Catches a loader that ignores the override variable, or a report that hides what was loaded."""
    report = reports()["cuda-driver"]
    assert report.usable and report.reason == ""
    assert (report.path, report.found_by, report.searched) == (str(driver), "BYTEWAYS_LIBCUDA", [str(driver)])
    assert report.version == "CUDA 13.0"
    assert report.missing == []


def test_driver_too_old(use_driver: pytest.MonkeyPatch) -> None:
    """Catches an old driver that is used until some call fails in the middle of a run."""
    use_driver.setenv("FAKE_VERSION", "10020")
    report = reports()["cuda-driver"]
    assert not report.usable
    assert "too old" in report.reason and "CUDA 10.2" in report.reason
    assert "driver 450" in report.hint


def test_driver_lacks_a_required_function(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a null function pointer that is called instead of reported."""
    library = fake.build(folder, "cuda.def", ["cuLaunchKernel", "cuMemHostAlloc"])
    monkeypatch.setenv("BYTEWAYS_LIBCUDA", str(library))
    session = _core.Session()
    report = next(report for report in session.libraries if report.library == "cuda-driver")
    assert not report.usable
    assert {(f.name, f.introduced_in, f.required) for f in report.missing} == {
        ("cuLaunchKernel", "4.0", True),
        ("cuMemHostAlloc", "2.2", True),
    }
    assert "cuLaunchKernel (since 4.0)" in report.reason and "cuMemHostAlloc" in report.reason
    assert report.hint
    assert {device.runtime for device in session.devices} == {"host"}


def test_driver_lacks_an_optional_function(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a driver that is refused for a function it can do without."""
    library = fake.build(folder, "cuda.def", ["cuMemPrefetchAsync_v2"])
    monkeypatch.setenv("BYTEWAYS_LIBCUDA", str(library))
    report = reports()["cuda-driver"]
    assert report.usable
    assert [(f.name, f.required) for f in report.missing] == [("cuMemPrefetchAsync_v2", False)]


@pytest.mark.parametrize(
    ("variable", "library"), [("BYTEWAYS_LIBCUDA", "cuda-driver"), ("BYTEWAYS_LIBNVRTC", "nvrtc")]
)
def test_file_that_is_no_library(
    variable: str, library: str, tmp_path: Path, use_driver: pytest.MonkeyPatch
) -> None:
    """Catches a broken file that is reported as absent, which sends the user looking in the wrong place."""
    text = tmp_path / "library.so"
    text.write_text("not an ELF file")
    use_driver.setenv(variable, str(text))
    report = reports()[library]
    assert not report.usable
    assert variable in report.reason and "does not load" in report.reason and str(text) in report.reason
    assert variable in report.hint


def test_override_that_names_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a silent fall back to another library than the one the user asked for."""
    monkeypatch.setenv("BYTEWAYS_LIBCUDA", str(tmp_path / "nosuch.so"))
    report = reports()["cuda-driver"]
    assert not report.usable
    assert report.searched == [str(tmp_path / "nosuch.so")]
    assert "not there" in report.reason


def test_folders_are_searched_after_the_dynamic_linker(driver: Path, tmp_path: Path) -> None:
    """Catches folders that are never searched, and a found library whose path is not reported."""
    packages = tmp_path / "site-packages" / "nvidia" / "lib"
    packages.mkdir(parents=True)
    (packages / "libcuda.so.1").write_bytes(driver.read_bytes())
    report = reports(library_directories=[str(tmp_path), str(packages)])["cuda-driver"]
    assert report.searched[:2] == ["libcuda.so.1", "libcuda.so"]
    assert report.path == str(packages / "libcuda.so.1")
    assert report.found_by == "Python package"


def test_driver_that_does_not_initialise(use_driver: pytest.MonkeyPatch) -> None:
    """Catches a failing cuInit that becomes an exception, or loses the vendor's words."""
    use_driver.setenv("FAKE_INIT", "100")
    report = reports()["cuda-driver"]
    assert not report.usable
    assert report.reason == "cuInit: CUDA_ERROR_NO_DEVICE (as the vendor words it)"
    assert "CUDA_VISIBLE_DEVICES" in report.hint


def test_driver_that_shows_no_device(use_driver: pytest.MonkeyPatch) -> None:
    """Catches a usable report with no device behind it."""
    use_driver.setenv("FAKE_DEVICES", "0")
    report = reports()["cuda-driver"]
    assert not report.usable and "no GPU" in report.reason and report.hint


def test_devices_are_described_as_the_vendors_tools_do(use_driver: pytest.MonkeyPatch) -> None:
    """Catches a UUID or address that NVML and sysfs write differently, and a wrong bandwidth."""
    use_driver.setenv("FAKE_DEVICES", "2")
    gpus = [device for device in _core.Session().devices if device.runtime == "cuda"]
    assert [device.name for device in gpus] == ["gpu0", "gpu1"]
    assert [device.pci_address for device in gpus] == ["0000:3b:00.0", "0000:3c:00.0"]
    assert gpus[0].uuid == "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
    assert gpus[0].architecture == "sm_90"
    assert gpus[0].memory_bytes_per_s == 2 * 3_201_000_000 * 6144 // 8
    assert gpus[0].last_level_cache_bytes == 60 << 20
    assert (gpus[0].multiprocessors, gpus[0].copy_engines, gpus[0].memory_bytes) == (132, 3, 1 << 37)


def test_mig_instance_has_its_own_uuid(use_driver: pytest.MonkeyPatch) -> None:
    """Catches two MIG instances of one GPU that are taken for the same device."""
    use_driver.setenv("FAKE_INSTANCE", "1")
    gpu = next(device for device in _core.Session().devices if device.runtime == "cuda")
    assert gpu.uuid == "MIG-01020304-0506-0708-090a-0b0c0d0e0f10"


def test_memory_that_cannot_be_had_has_a_reason(use_driver: pytest.MonkeyPatch) -> None:
    """Catches memory that is offered and then fails, and an out-of-memory taken for a broken run."""
    use_driver.setenv("FAKE_CONCURRENT_MANAGED", "0")
    session = _core.Session()
    assert "concurrent managed access" in session.offers("gpu0", "managed").reason
    assert session.offers("gpu0", "registered").available
    with pytest.raises(_core.OutOfMemoryError, match=r"cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY .* on gpu0"):
        session.allocate("gpu0", "device", 4096, "gpu0")


def test_nvrtc_too_old(folder: Path, use_driver: pytest.MonkeyPatch) -> None:
    """Catches a compiler without cubin output that is used, kernels that vanish without a reason, and advice
    to install an NVRTC whose code the driver refuses.
    """
    old = fake.build(folder, "nvrtc.def", ["nvrtcGetCUBIN", "nvrtcGetCUBINSize"])
    use_driver.setenv("BYTEWAYS_LIBNVRTC", str(old))
    session = _core.Session()
    report = next(report for report in session.libraries if report.library == "nvrtc")
    assert not report.usable and report.version == "10.2"
    assert "nvrtcGetCUBIN (since 11.1)" in report.reason
    assert "pip install 'byteways[cuda]'" in report.hint
    offered = session.offers_kernel("gpu0", "copy")
    assert not offered.available
    assert "NVRTC" in offered.reason and "nvrtcGetCUBIN" in offered.reason and "pip install" in offered.reason
    for driver_version in ("12080", "11040"):
        use_driver.setenv("FAKE_VERSION", driver_version)
        assert "pip install 'byteways[cuda12]'" in reports()["nvrtc"].hint


def test_nvrtc_that_suits_the_driver_is_preferred(
    folder: Path, use_driver: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Catches NVRTC 13 in the first folder being taken for a driver of CUDA 12, and no last resort."""
    made = fake.build(folder, "nvrtc.def", ["nvrtcGetPTX"])
    for name in ("first/libnvrtc.so.13", "second/libnvrtc.so.12"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(made.read_bytes())
    both = [str(tmp_path / "first"), str(tmp_path / "second")]
    for version, folders, wanted in (
        ("12080", both, "so.12"),
        ("13000", both, "so.13"),
        ("12080", both[:1], "so.13"),
    ):
        use_driver.setenv("FAKE_VERSION", version)
        report = reports(library_directories=folders)["nvrtc"]
        assert report.path.endswith(wanted) and not report.reason.startswith("not found")


def test_nvrtc_newer_than_the_driver(folder: Path, use_driver: pytest.MonkeyPatch) -> None:
    """Catches a doctor that is content with a compiler of which the driver loads nothing."""
    use_driver.setenv("FAKE_NVRTC", "13")
    use_driver.setenv("BYTEWAYS_LIBNVRTC", str(fake.build(folder, "nvrtc.def")))
    for driver_version, hinted in ((13000, False), (12080, True)):
        use_driver.setenv("FAKE_VERSION", str(driver_version))
        report = reports()["nvrtc"]
        assert report.usable and bool(report.hint) == hinted


def test_kernels_are_compiled_for_the_device(use_driver: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Catches a kernel the catalogue offers but no source defines, and PTX where machine code was meant."""
    images = tmp_path / "images"
    use_driver.setenv("FAKE_IMAGE", str(images))
    session = gpu_session()
    kernels = ("gate", "fill", "poison", "check", "copy", "copy_bulk", "chase_build", "chase", "occupy")
    assert {kernel: session.offers_kernel("gpu0", kernel).reason for kernel in kernels} == dict.fromkeys(
        kernels, ""
    )
    assert images.read_bytes() == b"\x7fELF" * 6  # one module a file


def test_bulk_copies_need_hopper(use_driver: pytest.MonkeyPatch) -> None:
    """Catches kernel-bulk being planned where its instructions do not exist."""
    use_driver.setenv("FAKE_CAPABILITY", "80")
    session = gpu_session()
    assert session.offers_kernel("gpu0", "copy").available
    offered = session.offers_kernel("gpu0", "copy_bulk")
    assert not offered.available and "sm_90" in offered.reason and "sm_80" in offered.reason


def test_device_newer_than_the_compiler_gets_ptx(use_driver: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Catches a new GPU that has no kernels at all until its users find a newer compiler."""
    images = tmp_path / "images"
    use_driver.setenv("FAKE_IMAGE", str(images))
    use_driver.setenv("FAKE_CAPABILITY", "990")
    assert gpu_session().offers_kernel("gpu0", "copy").available
    assert images.read_bytes() == b"//\n/"


def test_device_older_than_the_compiler(use_driver: pytest.MonkeyPatch) -> None:
    """Catches a compiler's bare error where the reason is that the GPU is too old for it."""
    use_driver.setenv("FAKE_CAPABILITY", "30")
    offered = gpu_session().offers_kernel("gpu0", "copy")
    assert not offered.available
    assert "sm_30" in offered.reason and "an earlier NVRTC helps" in offered.reason


def test_driver_that_refuses_the_image(use_driver: pytest.MonkeyPatch) -> None:
    """Catches a compiler too new for the driver that ends the worker instead of skipping kernels."""
    use_driver.setenv("FAKE_LOAD", "209")
    offered = gpu_session().offers_kernel("gpu0", "copy")
    assert not offered.available and "the driver refuses what nvrtc-" in offered.reason


def test_compiled_kernels_are_kept_and_reused(use_driver: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Catches a cache that is never read, and one that hands out a damaged file."""
    cache = tmp_path / "cache"
    assert gpu_session(cache).offers_kernel("gpu0", "gate").available
    (kept,) = cache.iterdir()
    assert kept.name.startswith("interfaces.service.gate-sm_90-nvrtc-")
    whole, written = kept.read_bytes(), kept.stat().st_mtime_ns

    assert gpu_session(cache).offers_kernel("gpu0", "gate").available
    assert kept.stat().st_mtime_ns == written, "compiled again although it was there"

    for damaged in (b"", whole[:-1], whole[:-1] + bytes([whole[-1] ^ 1])):
        kept.write_bytes(damaged)
        assert gpu_session(cache).offers_kernel("gpu0", "gate").available
        assert kept.read_bytes() == whole, "a damaged file was kept"
    assert list(cache.iterdir()) == [kept], "a temporary file was left behind"


def test_cache_that_cannot_be_written_costs_only_time(use_driver: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Catches a read-only home that makes kernels unavailable."""
    blocked = tmp_path / "file"
    blocked.write_text("a file where the folder should be")
    assert gpu_session(blocked / "cache").offers_kernel("gpu0", "gate").available


def test_unknown_kernel_is_refused_by_name(use_driver: pytest.MonkeyPatch) -> None:
    """Catches a misspelt kernel that reaches the driver."""
    offered = gpu_session().offers_kernel("gpu0", "cpoy")
    assert not offered.available and "cpoy" in offered.reason


def test_without_a_driver_the_compiler_is_not_loaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Catches the cost of loading NVRTC on machines that have no use for it."""
    monkeypatch.setenv("BYTEWAYS_LIBCUDA", str(tmp_path / "nosuch.so"))
    report = reports(library_directories=library_directories())["nvrtc"]
    assert not report.usable and report.searched == []
    assert "no CUDA driver" in report.reason
