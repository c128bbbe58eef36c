"""Machine models by name or file."""

from __future__ import annotations

from byteways.machines.check import read_machine
from byteways.machines.model import MachineModel
from byteways.plan.toml_files import find, read_toml, shipped

_PACKAGE = "byteways.machines"


def names() -> list[str]:
    """Names of the models that come with byteways."""
    return list(shipped(_PACKAGE))


def load(name_or_path: str) -> MachineModel:
    """The model of that name, or in that file.

    Raises:
        BytewaysError: There is no such model or file, or the file is no valid model; then the message names
            file, line and key.
    """
    text, file = find(name_or_path, shipped(_PACKAGE), "machine", "machines")
    return load_text(text, file=file)


def load_text(text: str, *, file: str) -> MachineModel:
    """The model in a TOML text; `file` is what messages call it.

    Raises:
        BytewaysError: The text is no TOML or no valid model.
    """
    return read_machine(read_toml(text, file=file), text=text, file=file)
