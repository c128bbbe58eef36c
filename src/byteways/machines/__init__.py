"""Machine models: TOML files that the simulator runs, with a source for every number.

Pure: nothing here loads the native core or starts processes.
"""

from byteways.machines.library import load, load_text, names
from byteways.machines.model import MachineModel
from byteways.machines.sheet import sheet

__all__ = ["MachineModel", "load", "load_text", "names", "sheet"]
