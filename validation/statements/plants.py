"""All plants: false statements for what a run says. A plant returns False where it has no place there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from statements import plants_of_figures, plants_of_pages, plants_of_sentences
from statements.records import RunData

PLANTS: tuple[Callable[[RunData, dict[str, Any]], bool], ...] = tuple(
    plant
    for module in (plants_of_figures, plants_of_sentences, plants_of_pages)
    for name, plant in vars(module).items()
    if name.startswith(("table_", "result_", "claim_", "tie_", "sentence_", "run_"))
)
