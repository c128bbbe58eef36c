"""AMD's HIP runtime as it may be found: whole, old, broken, without GPUs; and what is made of its answers."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from byteways import _core
from tests.native import fake_libraries as fake

SONAMES = ["libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fake-hip")


@pytest.fixture(scope="module")
def hip(folder: Path) -> Path:
    """A HIP runtime that has every function, and hipRTC inside."""
    return fake.build(folder, "hip.def", also=["hiprtc.def"])


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Hides the CUDA driver, if this machine has one."""
    monkeypatch.setenv("BYTEWAYS_LIBCUDA", "/nosuch/libcuda.so")
    return monkeypatch


@pytest.fixture
def use_hip(hip: Path, environment: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    environment.setenv("BYTEWAYS_LIBHIP", str(hip))
    return environment


def report(library: str = "hip", **options: object) -> _core.LibraryReport:
    found = _core.Session(**options).libraries  # type: ignore[arg-type]
    return next(report for report in found if report.library == library)


def gpu() -> _core.Device:
    return next(device for device in _core.Session().devices if device.runtime == "hip")


def test_whole_runtime_is_usable(use_hip: pytest.MonkeyPatch, hip: Path) -> None:
    """Catches an override that is ignored, a function that the table names wrongly, a wrong version."""
    found = report()
    assert found.usable and found.reason == ""
    assert (found.path, found.found_by, found.version) == (str(hip), "BYTEWAYS_LIBHIP", "HIP 6.2")
    assert found.missing == []
    assert gpu().runtime_version == "HIP 6.2, hipRTC 6.2"


def test_runtime_too_old(use_hip: pytest.MonkeyPatch) -> None:
    """Catches an old runtime that is used until some call fails in the middle of a run."""
    use_hip.setenv("FAKE_VERSION", "40521401")
    found = report()
    assert not found.usable and found.reason == "found, but too old: it is HIP 4.5"
    assert "HIP 5.0" in found.hint


def test_runtime_lacks_functions(folder: Path, environment: pytest.MonkeyPatch) -> None:
    """Catches a null function pointer that is called instead of reported."""
    lacking = fake.build(folder, "hip.def", ["hipModuleLaunchKernel", "hipMemAdvise"])
    environment.setenv("BYTEWAYS_LIBHIP", str(lacking))
    found = report()
    assert not found.usable and found.hint
    assert found.reason == "found, but it lacks hipModuleLaunchKernel (since 4.2)"
    assert {(f.name, f.required) for f in found.missing} == {
        ("hipModuleLaunchKernel", True),
        ("hipMemAdvise", False),
    }


def test_runtime_before_6_is_described(folder: Path, environment: pytest.MonkeyPatch) -> None:
    """Catches properties of the old layout looked for at the new one's places, and a missing UUID."""
    old = fake.build(folder, "hip.def", ["hipGetDevicePropertiesR0600", "hipDeviceGetUuid", "hipMemAdvise"])
    environment.setenv("BYTEWAYS_LIBHIP", str(old))
    environment.setenv("FAKE_VERSION", "50013601")
    assert report().usable
    assert (gpu().architecture, gpu().uuid) == ("gfx908", "")
    assert gpu().copy_engines == 0  # HIP 5 refuses to tell
    assert "hipMemAdvise" in _core.Session().offers("gpu0", "managed-coarse").reason


@pytest.mark.parametrize("code", ["100", "101"])
def test_without_a_gpu(use_hip: pytest.MonkeyPatch, code: str) -> None:
    """Catches a failing hipInit that becomes an exception, or loses the vendor's words: HIP 5 answers 101."""
    use_hip.setenv("FAKE_INIT", code)
    use_hip.setenv("FAKE_VERSION_CODE", code if code == "100" else "0")
    found = report()
    assert not found.usable
    name = "hipErrorNoDevice" if code == "100" else "hipErrorInvalidDevice"
    assert found.reason == f"the runtime finds no GPU: hipInit: {name} (as the vendor words it)"
    assert "/dev/kfd" in found.hint and "ROCR_VISIBLE_DEVICES" in found.hint


def test_text_that_repeats_the_name_is_said_once(use_hip: pytest.MonkeyPatch) -> None:
    """Catches `hipErrorInvalidDevice (hipErrorInvalidDevice)`, which is what HIP 5 makes of it."""
    use_hip.setenv("FAKE_INIT", "101")
    use_hip.setenv("FAKE_TEXT_IS_NAME", "1")
    assert report().reason == "the runtime finds no GPU: hipInit: hipErrorInvalidDevice"


def test_runtime_that_shows_no_device(use_hip: pytest.MonkeyPatch) -> None:
    """Catches a usable report with no device behind it."""
    use_hip.setenv("FAKE_DEVICES", "0")
    found = report()
    assert not found.usable and "no GPU" in found.reason and found.hint


@pytest.mark.parametrize(
    ("variable", "library"), [("BYTEWAYS_LIBHIP", "hip"), ("BYTEWAYS_LIBHIPRTC", "hiprtc")]
)
def test_file_that_is_no_library(
    variable: str, library: str, tmp_path: Path, use_hip: pytest.MonkeyPatch
) -> None:
    """Catches a broken file that is reported as absent, which sends the user looking in the wrong place."""
    text = tmp_path / "library.so"
    text.write_text("not an ELF file")
    use_hip.setenv(variable, str(text))
    found = report(library)
    assert not found.usable
    assert variable in found.reason and "does not load" in found.reason and str(text) in found.reason


def test_versions_are_looked_for_from_the_newest(folder: Path, hip: Path, tmp_path: Path) -> None:
    """Catches a search order in which an old library hides a newer one."""
    for soname in ("libamdhip64.so.6", "libamdhip64.so.7"):
        (tmp_path / soname).write_bytes(hip.read_bytes())
    script = (
        "import json\nfrom byteways import _core\n"
        "found = next(r for r in _core.Session().libraries if r.library == 'hip')\n"
        "print(json.dumps([found.searched, found.path]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={
            **os.environ,
            "LD_LIBRARY_PATH": str(tmp_path),
            "BYTEWAYS_LIBCUDA": "/nosuch/libcuda.so",
            "BYTEWAYS_LIBHIP": "",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    searched, path = json.loads(done.stdout)
    assert searched == SONAMES[: len(searched)]
    if len(searched) == 2:  # unless an administrator's libamdhip64.so comes first
        assert path == str(tmp_path / "libamdhip64.so.7")


def test_gpus_are_described_as_the_vendors_tools_do(use_hip: pytest.MonkeyPatch) -> None:
    """Catches a UUID, an address or an architecture written otherwise than by rocminfo and sysfs."""
    use_hip.setenv("FAKE_DEVICES", "2")
    gpus = [device for device in _core.Session().devices if device.runtime == "hip"]
    assert [device.name for device in gpus] == ["gpu0", "gpu1"]
    assert [device.pci_address for device in gpus] == ["0000:c1:00.0", "0000:c6:00.0"]
    assert gpus[0].uuid == "GPU-0123456789abcdef"
    assert (gpus[0].model, gpus[0].architecture) == ("Fake gfx GPU", "gfx90a:sramecc+:xnack-")
    assert gpus[0].memory_bytes_per_s == 2 * 1_600_000_000 * 4096 // 8
    assert gpus[0].last_level_cache_bytes == 8 << 20
    assert (gpus[0].multiprocessors, gpus[0].copy_engines, gpus[0].memory_bytes) == (110, 8, 1 << 36)
    assert not gpus[0].pageable_access and not gpus[0].host_access


def test_memory_beyond_what_attributes_tell(use_hip: pytest.MonkeyPatch) -> None:
    """Catches half of HBM3's bandwidth, and cold data that lies in the Infinity Cache."""
    use_hip.setenv("FAKE_ARCHITECTURE", "gfx942:sramecc+:xnack-")
    assert gpu().memory_bytes_per_s == 4 * 1_600_000_000 * 4096 // 8
    assert gpu().last_level_cache_bytes == 256 << 20


@pytest.mark.parametrize(("memory", "flags"), [("pinned", 0x60000003), ("pinned-noncoherent", 0xA0000001)])
def test_flags_of_pinned_memory(use_hip: pytest.MonkeyPatch, memory: str, flags: int) -> None:
    """Catches hipHostMallocMapped together with NonCoherent: older versions then give coherent memory."""
    session = _core.Session()
    session.allocate("cpu0", memory, 4096, "cpu0")
    getenv = ctypes.CDLL(None).getenv  # what the library set is no part of os.environ
    getenv.restype = ctypes.c_char_p
    assert int(getenv(b"FAKE_HOST_FLAGS"), 16) == flags


def test_apu_is_told(use_hip: pytest.MonkeyPatch) -> None:
    """Catches an attribute number of CUDA's: integrated is 18 there, pageable access 88."""
    use_hip.setenv("FAKE_INTEGRATED", "1")
    use_hip.setenv("FAKE_PAGEABLE", "1")
    assert gpu().host_access and gpu().pageable_access


def test_uuid_that_the_driver_does_not_know(use_hip: pytest.MonkeyPatch) -> None:
    """Catches devices that are all called GPU-XX, and so taken for one."""
    use_hip.setenv("FAKE_UUID", "XX" + 14 * "\x01")
    assert gpu().uuid == ""


def test_architecture_that_is_not_told(use_hip: pytest.MonkeyPatch) -> None:
    """Catches a crash, or rubbish handed to the compiler."""
    use_hip.setenv("FAKE_ARCHITECTURE", "")
    assert "architecture" in report().reason


def test_kinds_of_memory(use_hip: pytest.MonkeyPatch) -> None:
    """Catches a kind that is offered and then fails, or refused without the vendor's words."""
    use_hip.setenv("FAKE_UNCACHED", "1")
    use_hip.setenv("FAKE_REGISTERED_OFFSET", "4096")
    use_hip.setenv("FAKE_CONCURRENT_MANAGED", "0")
    session = _core.Session()
    for memory in ("device", "device-fine", "pinned", "pinned-noncoherent"):
        assert session.offers("gpu0", memory).available, memory
    uncached = session.offers("gpu0", "device-uncached")
    assert "hipExtMallocWithFlags: hipErrorInvalidValue (as the vendor words it)" in uncached.reason
    assert "another address" in session.offers("gpu0", "registered").reason
    assert "concurrent managed access" in session.offers("gpu0", "managed").reason
    assert "belongs to the host" in session.offers("gpu0", "pageable").reason
    with pytest.raises(_core.OutOfMemoryError, match=r"hipMalloc: hipErrorOutOfMemory .* on gpu0"):
        session.allocate("gpu0", "device", 4096, "gpu0")


def test_registered_and_uncached_memory_where_they_work(use_hip: pytest.MonkeyPatch) -> None:
    """Catches a refusal that nothing justifies."""
    session = _core.Session()
    for memory in ("registered", "device-uncached", "managed", "managed-coarse"):
        assert session.offers("gpu0", memory).available, memory
        if memory != "device-uncached":
            assert session.offers("cpu0", memory).available, memory


def test_cuda_has_fewer_kinds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a kind of AMD's that silently becomes another one."""
    monkeypatch.setenv("BYTEWAYS_LIBCUDA", str(fake.build(folder, "cuda.def")))
    session = _core.Session()
    for memory in ("device-fine", "device-uncached", "pinned-noncoherent", "managed-coarse"):
        assert "CUDA" in session.offers("gpu0", memory).reason


def test_a_runtime_that_the_process_has_loaded_is_used(tmp_path: Path) -> None:
    """Catches a second HIP runtime beside that of MPI's GPU transport: neither knows the other's memory."""
    source, own = tmp_path / "other.c", tmp_path / "libamdhip64.so"
    source.write_text("int elsewhere;")
    loaded = tmp_path / "of_mpi.so"
    for file, soname in ((own, own.name), (loaded, "libamdhip64.so.6")):
        subprocess.run(["cc", "-shared", f"-Wl,-soname,{soname}", "-o", file, source], check=True)
    program = (
        f"import ctypes; ctypes.CDLL({str(loaded)!r})\n"
        "from byteways import _core\n"
        "print(*(each.path for each in _core.Session().libraries if each.library == 'hip'))"
    )
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path), "BYTEWAYS_LIBCUDA": "/nosuch/libcuda.so"}
    environment.pop("BYTEWAYS_LIBHIP", None)
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(loaded)
