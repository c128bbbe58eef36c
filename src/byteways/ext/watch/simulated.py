"""A program that is run with the simulator as its HIP runtime, so that it needs no AMD GPU."""

from __future__ import annotations

from pathlib import Path

from byteways.ext.watch.launching import WatchLaunch

#: Names by which programs look for HIP (5 to 7), and the collector for rocprofiler-sdk.
_SIMULATED_LIBRARIES = (
    *("libamdhip64.so", "libamdhip64.so.5", "libamdhip64.so.6", "libamdhip64.so.7"),
    *("librocprofiler-sdk.so", "librocprofiler-sdk.so.1"),
)
#: Read by native/simulator: the file of the machine, and `real`: the program accesses its memory.
_SHEET_VARIABLE, _MEMORY_VARIABLE = "BYTEWAYS_SIM_SHEET", "BYTEWAYS_SIM_MEMORY"
#: Variables of ld.so(8) that byteways adds to.
_LIBRARY_PATH = "LD_LIBRARY_PATH"


def simulate_gpus(launch: WatchLaunch, folder: Path, simulator: Path, sheet: str) -> None:
    """Lets a program load the simulator as its HIP runtime.

    Args:
        launch: From watch_launch().
        folder: An empty folder, which is there until the program has ended.
        simulator: Its library.
        sheet: The machine, as the simulator reads it.

    Raises:
        OSError: The folder cannot be written.
    """
    for name in _SIMULATED_LIBRARIES:
        (folder / name).symlink_to(simulator)
    machine = folder / "machine"
    machine.write_text(sheet)
    before = launch.environment.get(_LIBRARY_PATH)
    launch.environment[_LIBRARY_PATH] = f"{folder}:{before}" if before else str(folder)
    launch.environment |= {_SHEET_VARIABLE: str(machine), _MEMORY_VARIABLE: "real"}
