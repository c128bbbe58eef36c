"""Upper limits on the number of cases in a plan: a product of axes grows fast."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from byteways.base.errors import BytewaysError

if TYPE_CHECKING:
    from byteways.plan.suite_types import Sweep

#: Per suite and machine, with each round counted once. `full` has 30,000 on 16 GPUs; a hundred thousand cases
#: of 0.1 s take three hours.
MOST_PLANNED_CASES = 100_000
#: Sets of flows that a sweep examines to keep one of each class.
MOST_SETS = 1_000_000


def within(count: int, what: str, most: int = MOST_PLANNED_CASES) -> None:
    """Raises BytewaysError with the count if it exceeds the limit.

    Args:
        count: Number of cases.
        what: Where they come from: "my.toml:7: sweep 'pairs'".
        most: The limit.
    """
    if count > most:
        raise BytewaysError(
            f"{what} has {count:,} cases, more than {most:,}",
            hint="leave out sizes, options or devices, or split it into several suites",
        )


def choices(sweep: Sweep) -> int:
    """Returns the number of cases per set of flows: the product of all other axes."""
    axes = (
        *(sweep.sizes, sweep.caches, *sweep.options.values(), *sweep.environment.values()),
        *(sweep.beside_interfaces, sweep.beside_sizes, *sweep.beside_options.values()),
    )
    return math.prod(max(1, len(axis)) for axis in axes)
