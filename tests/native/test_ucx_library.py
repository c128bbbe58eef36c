"""UCX's library: a file that is missing, broken, too old or another library is named, with advice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from byteways import _core
from byteways.measuring.shared.simulator import simulator_path
from byteways.measuring.shared.ucx_library import ucx_of_mpi, ucx_report_of_child

#: A UCX of the year 2020.
OLD = """
void ucp_get_version(unsigned* major, unsigned* minor, unsigned* release) {
  *major = 1; *minor = 9; *release = 0;
}
const char* ucp_get_version_string() { return "1.9.0"; }
"""


def test_a_file_that_is_no_such_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a crash, or a search that goes on silently, where the user has named a wrong file."""
    broken, old = tmp_path / "broken.so", tmp_path / "old.so"
    broken.write_text("no library")
    compiler = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(old)]
    subprocess.run(compiler, input=OLD, text=True, check=True)
    for file, said in (
        (str(tmp_path / "absent.so"), "not there"),
        (str(broken), "does not load"),
        (str(old), "1.9.0"),
        ("libm.so.6", "1.10"),
    ):
        monkeypatch.setenv("BYTEWAYS_LIBUCP", file)
        report = _core.ucx_report()
        assert not report.usable and said in report.reason and report.hint
        assert ucx_report_of_child()["reason"] == report.reason
        with pytest.raises(_core.UnsupportedError):
            _core.Ucx()
    monkeypatch.setenv("BYTEWAYS_LIBUCP", str(old))
    assert "pip install libucx-cu13" in _core.ucx_report().hint


def test_the_package_comes_before_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a package that was installed, as advised, and is not used because the system has an old UCX."""
    monkeypatch.delenv("BYTEWAYS_LIBUCP", raising=False)
    package = tmp_path / "site-packages" / "libucx" / "lib"
    package.mkdir(parents=True)
    compiler = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(package / "libucp.so.0")]
    subprocess.run(compiler, input=OLD, text=True, check=True)
    report = _core.ucx_report([str(package)])
    assert (report.version, report.found_by) == ("1.9.0", "Python package")


def test_the_simulated_library_has_every_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a simulated run that opens the machine's own library."""
    monkeypatch.setenv("BYTEWAYS_LIBUCP", "/nowhere")
    report = _core.ucx_report([], simulator_path())
    assert report.usable and report.found_by == "simulated" and not report.missing


def test_this_process_loads_nothing() -> None:
    """Catches a probe that loads UCX, which handles signals and memory, into the process that asks."""
    code = (
        "from byteways.measuring.shared.ucx_library import ucx_of_mpi, ucx_report_of_child; ucx_report_of_child();"
        "print('libucp.so' in open('/proc/self/maps').read())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_ucx_that_a_package_of_mpi_brings(tmp_path: Path) -> None:
    """Catches a machine without any UCX but that of its MPI, on which ranks of MPI could use it."""
    launcher = tmp_path / "bin" / "mpiexec"
    (tmp_path / "lib" / "openmpi").mkdir(parents=True)
    launcher.parent.mkdir()
    launcher.touch()
    assert ucx_of_mpi(str(launcher)) == [str(tmp_path / "lib" / "openmpi")]
    assert ucx_of_mpi("") == []
