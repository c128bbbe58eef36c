"""Loads machine models by name or file."""

from __future__ import annotations

from byteways.base.errors import BytewaysError
from byteways.base.toml_files import find, read_toml, shipped
from byteways.machine.nominal import NOMINAL_MACHINES
from byteways.models.check import read_machine
from byteways.models.model import MachineModel

_PACKAGE = "byteways.models"


def names() -> list[str]:
    """Returns the names of the built-in models."""
    return list(shipped(_PACKAGE))


def load(name_or_path: str) -> MachineModel:
    """Loads the model with that name, or from that file.

    Raises:
        BytewaysError: No such model or file, or the file is invalid; the message then has file, line and key.
    """
    if name_or_path in NOMINAL_MACHINES:
        raise BytewaysError(
            f"{name_or_path} has published peaks alone, so that nothing can be simulated",
            hint=f"byteways topo --machine {name_or_path} shows them; byteways list machines has models",
        )
    text, file = find(name_or_path, shipped(_PACKAGE), "machine", "machines")
    from byteways.machine import foreign  # not loaded for what comes with byteways

    if (known := foreign.format_of(text.encode())) is not None:
        raise BytewaysError(
            f"{name_or_path} is {known.says}, not a machine model: it has no rates to simulate",
            hint=f"byteways topo --from {name_or_path} shows it; byteways list machines has models",
        )
    return load_text(text, file=file)


def load_text(text: str, *, file: str) -> MachineModel:
    """Parses a model from a TOML text; messages call it `file`.

    Raises:
        BytewaysError: The text is not TOML or not a valid model.
    """
    return read_machine(read_toml(text, file=file), text=text, file=file)
