"""Machine models: nodes that the simulator plays, each a TOML file in which every number names its source.

Pure: nothing here loads the native core or starts anything.
"""

from byteways.machines.library import load, load_text, names
from byteways.machines.model import MachineModel
from byteways.machines.sheet import sheet

__all__ = ["MachineModel", "load", "load_text", "names", "sheet"]
