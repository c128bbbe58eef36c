"""Launchers of MPI by what they print of themselves, and the report on MPI of another process."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from byteways.base.errors import BytewaysError
from byteways.measuring.shared import launchers, mpi_library
from byteways.measuring.shared.launchers import Launcher, find_launcher
from byteways.measuring.shared.options import RunOptions

OPEN = ("{path}", "-n", "{ranks}", "--bind-to", "none")
PLAIN = ("{path}", "-n", "{ranks}")


@pytest.mark.parametrize(
    ("version", "name", "words"),
    [
        ("mpiexec (Open MPI) 5.0.8", "Open MPI", OPEN),
        ("mpiexec (OpenRTE) 4.1.4", "Open MPI", OPEN),
        ("PRTE 3.0", "Open MPI", OPEN),
        ("prterun (PRRTE) 3.0.2", "Open MPI", OPEN),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.9", "Intel MPI", PLAIN),
        ("HYDRA build details:\n    Version: 4.3", "MPICH", PLAIN),
        ("something else", "mpiexec", PLAIN),
    ],
)
def test_families(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, name: str, words: tuple[str, ...]
) -> None:
    """Catches ranks that a launcher binds to cores of its choice, and options that another MPI refuses."""
    path = tmp_path / "mpiexec"
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{version}\nEND\n")
    path.chmod(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    found = find_launcher("mpiexec", {"PATH": str(tmp_path)})
    assert (found.name, found.words) == (name, tuple(word.replace("{path}", str(path)) for word in words))
    oversubscribed = ("--oversubscribe",) if name == "Open MPI" else ()
    assert found.oversubscribed_words == oversubscribed
    assert found.environment == ({"I_MPI_PIN": "0"} if name == "Intel MPI" else {})
    yielding = {"Open MPI": "OMPI_MCA_mpi_yield_when_idle", "MPICH": "MPIR_CVAR_CH4_PROGRESS_THROTTLE"}
    assert found.oversubscribed_environment.get(yielding.get(name, "")) == ("1" if name in yielding else None)


SRUN = ("srun", "-n", "{ranks}", "--cpu-bind=none", "--kill-on-bad-exit=1", "--overlap", "--overcommit")
FLUX = ("flux", "run", "-n", "{ranks}", "--exclusive")
FLUX += ("-o", "gpu-affinity=off", "-o", "cpu-affinity=off", "-o", "mpibind=off")


@pytest.mark.parametrize(
    ("programs", "variables", "words"),
    [
        ("srun flux mpiexec", {"SLURM_JOB_ID": "7"}, SRUN),
        ("srun flux mpiexec", {"FLUX_URI": "local:"}, FLUX),
        ("srun flux mpiexec", {"SLURM_JOB_ID": "7", "FLUX_URI": "local:"}, SRUN),
        ("srun flux mpiexec mpirun", {}, ("mpiexec", "-n", "{ranks}")),
        ("srun flux mpirun", {"SLURM_JOB_ID": ""}, ("mpirun", "-n", "{ranks}")),
        ("mpiexec", {"SLURM_JOB_ID": "7", "FLUX_URI": "local:"}, ("mpiexec", "-n", "{ranks}")),
        ("flux", {"SLURM_JOB_ID": "7", "FLUX_URI": "local:"}, FLUX),
    ],
)
def test_the_launcher_of_an_allocation(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    programs: str,
    variables: dict[str, str],
    words: tuple[str, ...],
) -> None:
    """Catches a scheduler's launcher outside of its allocation, and mpiexec within one."""
    for name in programs.split():
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr(sys, "prefix", "/nonexistent")
    found = find_launcher(None, {"PATH": str(tmp_path), **variables})
    assert found.words == (str(tmp_path / words[0]), *words[1:])
    alone = {SRUN: ("-N", "1", "--ntasks-per-node={ranks}"), FLUX: ("-N", "1")}
    assert found.one_host_words == alone.get(words, ())
    if words in (SRUN, FLUX):
        assert find_launcher(words[0], {"PATH": str(tmp_path)}) == found  # named, outside of an allocation


def test_no_launcher_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Catches a machine without MPI that is said to have a launcher."""
    monkeypatch.setattr(sys, "prefix", "/nonexistent")
    where = {"PATH": str(tmp_path), "SLURM_JOB_ID": "7"}
    for find in (find_launcher, launchers.launcher_program):
        with pytest.raises(BytewaysError, match="no MPI launcher found"):
            find(None, where)
    for name in ("mpiexec", "mpirun", "srun"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
        assert launchers.launcher_program(None, where) == str(tmp_path / name)
        (tmp_path / name).unlink()


def test_the_program_of_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a path that means another file elsewhere, and a run that skips all that a mistyped launcher
    would start.
    """
    (tmp_path / "launch").write_text("#!/bin/sh\n")
    (tmp_path / "launch").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert launchers.launcher_program("./launch -n {ranks}", {"PATH": ""}) == str(tmp_path / "launch")
    for given in ("local", None, "./launch"):
        launchers.check_launcher(RunOptions(launcher=given), simulated=False)
    launchers.check_launcher(RunOptions(launcher="nompi"), simulated=True)
    with pytest.raises(BytewaysError, match="no program 'nompi'"):
        launchers.check_launcher(RunOptions(launcher="nompi"), simulated=False)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "--launcher is empty"),
        ("   ", "--launcher is empty"),
        ("'mpirun", "--launcher is not a command: 'mpirun"),
        ("nothing -n 2", "no program 'nothing'"),
    ],
)
def test_commands_that_are_none(given: str, said: str, tmp_path: Path) -> None:
    """Catches a traceback for a command that is mistyped."""
    with pytest.raises(BytewaysError, match=said):
        find_launcher(given, {"PATH": str(tmp_path)})


@pytest.mark.parametrize("program", ["#!/nonexistent\n", "#!/bin/sh\nsleep 60\n"])
def test_a_launcher_that_does_not_run(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a traceback for a launcher of another machine, and a wait for one that hangs."""
    (tmp_path / "mpiexec").write_text(program)
    (tmp_path / "mpiexec").chmod(0o755)
    monkeypatch.setattr(launchers, "VERSION_S", 0.05)
    with pytest.raises(BytewaysError, match=f"the launcher {tmp_path}/mpiexec does not run"):
        find_launcher("mpiexec", {"PATH": str(tmp_path)})


def test_words_of_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a command with two counts of ranks, or with none."""
    path = tmp_path / "srun"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    where = {"PATH": str(tmp_path)}
    assert find_launcher("srun --exclusive", where).words == (str(path), "--exclusive", "-n", "{ranks}")
    assert find_launcher("srun -N1 -n {ranks}", where).words == (str(path), "-N1", "-n", "{ranks}")


def test_root_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches Open MPI that does not start in a container, and a user's settings changed elsewhere."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert launchers._mpi("/mpiexec", "Open MPI").environment == {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }


def test_crowded_ranks() -> None:
    """Catches ranks that share cores without what that needs, and such words where each has its own."""
    launcher = Launcher("x", ("mpi", "-n", "{ranks}"), oversubscribed_words=("--more",))
    assert launcher.command(3, ["program"]) == ["mpi", "-n", "3", "program"]
    assert launcher.command(3, ["program"], oversubscribed=True) == ["mpi", "-n", "3", "--more", "program"]


def report(monkeypatch: pytest.MonkeyPatch, program: str) -> dict[str, object]:
    monkeypatch.setattr(mpi_library, "module_command", lambda _: (sys.executable, "-S", "-c", program))
    return mpi_library.mpi_report_of_child()


def test_the_report_is_the_last_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a library that prints while it is loaded, taken for its own report."""
    assert report(monkeypatch, "print('{}'); print('hello'); print('{\"usable\": true}')") == {"usable": True}


@pytest.mark.parametrize("program", ["raise SystemExit(3)", "", "print('no JSON')"])
def test_a_library_that_ends_its_process(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Catches a broken library that ends byteways, or that counts as usable."""
    found = report(monkeypatch, program)
    assert (found["usable"], found["library"], found["searched"]) == (False, "mpi", [])
    assert str(found["reason"]).startswith("the process that loads it fails: ")
    assert "BYTEWAYS_LIBMPI" in str(found["hint"])
