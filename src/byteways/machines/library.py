"""Machine models by name or file."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from byteways.errors import BytewaysError
from byteways.machines.check import read_machine
from byteways.machines.model import MachineModel
from byteways.plan.suite import read_toml
from byteways.plan.words import closest


def _shipped() -> dict[str, str]:
    """TOML text of the models in the package, by name."""
    folder = resources.files("byteways.machines")
    texts = {
        entry.name[: -len(".toml")]: entry.read_text(encoding="utf-8")
        for entry in folder.iterdir()
        if entry.name.endswith(".toml")
    }
    return dict(sorted(texts.items()))


def names() -> list[str]:
    """Names of the models that come with byteways."""
    return list(_shipped())


def load(name_or_path: str) -> MachineModel:
    """The model of that name, or in that file.

    Raises:
        BytewaysError: There is no such model or file, or the file is no valid model; then the message names
            file, line and key.
    """
    shipped = _shipped()
    if name_or_path in shipped:
        return load_text(shipped[name_or_path], file=f"{name_or_path}.toml")
    path = Path(name_or_path)
    if path.suffix != ".toml" and "/" not in name_or_path and not path.is_file():
        raise BytewaysError(f"unknown machine '{name_or_path}'", hint=closest(name_or_path, shipped))
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else f"not UTF-8 text: {error}"
        raise BytewaysError(
            f"cannot read the machine file '{name_or_path}'",
            cause=cause,
            hint="byteways list machines shows the models that come with byteways",
        ) from error
    return load_text(text, file=name_or_path)


def load_text(text: str, *, file: str) -> MachineModel:
    """The model in a TOML text; `file` is what messages call it.

    Raises:
        BytewaysError: The text is no TOML or no valid model.
    """
    return read_machine(read_toml(text, file=file), text=text, file=file)
