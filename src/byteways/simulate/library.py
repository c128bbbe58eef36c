"""Loads machine models by name or file."""

from __future__ import annotations

from byteways.plan.toml_files import find, read_toml, shipped
from byteways.simulate.check import read_machine
from byteways.simulate.model import MachineModel

_PACKAGE = "byteways.simulate"


def names() -> list[str]:
    """Returns the names of the built-in models."""
    return list(shipped(_PACKAGE))


def load(name_or_path: str) -> MachineModel:
    """Loads the model with that name, or from that file.

    Raises:
        BytewaysError: No such model or file, or the file is invalid; the message then has file, line and key.
    """
    text, file = find(name_or_path, shipped(_PACKAGE), "machine", "machines")
    return load_text(text, file=file)


def load_text(text: str, *, file: str) -> MachineModel:
    """Parses a model from a TOML text; messages call it `file`.

    Raises:
        BytewaysError: The text is not TOML or not a valid model.
    """
    return read_machine(read_toml(text, file=file), text=text, file=file)
