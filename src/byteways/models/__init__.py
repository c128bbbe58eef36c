"""Machine models: TOML files that the simulator runs, with a source for every number.

Pure: nothing here loads the native core or starts processes.
"""

from byteways.models.library import load, load_text, names
from byteways.models.model import MachineModel
from byteways.models.sheet import sheet

__all__ = ["MachineModel", "load", "load_text", "names", "sheet"]
