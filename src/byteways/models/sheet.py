"""The sheet of a machine model: the input of the simulator (machine/model.hpp), one number per line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from byteways.models.model import NOISE_SEED, MachineModel
from byteways.models.schema import OFF_THE_SHEET


def sheet(model: MachineModel, faults: Sequence[str] = (), seed: int | None = None) -> str:
    """Returns `key<TAB>value` lines: booleans as 1 and 0, lists by index, all keys including defaults.

    Args:
        model: The machine model.
        faults: Faults to inject.
        seed: Seed of the noise; None: the model's.
    """
    own = {key: fact.value for key, fact in model.facts.items() if key.split(".")[0] not in OFF_THE_SHEET}
    lines: list[str] = []
    for key, value in (own if seed is None else {**own, NOISE_SEED: seed}).items():
        lines += _lines(key, value if isinstance(value, tuple) else (value,), value)
    lines += _lines("faults", tuple(faults), tuple(faults))
    return "".join(f"{line}\n" for line in lines)


def _lines(key: str, items: Iterable[str | int | float | bool], whole: object) -> list[str]:
    if not isinstance(whole, tuple):
        return [f"{key}\t{_text(item)}" for item in items]
    return [f"{key}.{index}\t{_text(item)}" for index, item in enumerate(items)]


def _text(value: str | int | float | bool) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)
