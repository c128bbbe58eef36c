"""How many cases a plan may have. A product of axes grows fast: better a count at once than minutes of
silence.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from byteways.errors import BytewaysError

if TYPE_CHECKING:
    from byteways.plan.suite_types import Sweep

#: Of a suite on one machine, each round counted once. `full` has 30,000 on 16 GPUs; a hundred thousand
#: cases of a tenth of a second take three hours.
MOST_CASES = 100_000
#: Sets of flows that a sweep looks at, to keep one of each class.
MOST_SETS = 1_000_000


def within(count: int, what: str, most: int = MOST_CASES) -> None:
    """Raises BytewaysError with the count when there are more.

    Args:
        count: Of cases.
        what: Whose they are, with its place in the file: "my.toml:7: sweep 'pairs'".
        most: How many there may be.
    """
    if count > most:
        raise BytewaysError(
            f"{what} has {count:,} cases, more than {most:,}",
            hint="leave out sizes, options or devices, or split it into several suites",
        )


def choices(sweep: Sweep) -> int:
    """How many cases a set of flows makes: the product of all other axes."""
    axes = (
        *(sweep.sizes, sweep.caches, *sweep.options.values(), *sweep.environment.values()),
        *(sweep.beside_interfaces, sweep.beside_sizes, *sweep.beside_options.values()),
    )
    return math.prod(max(1, len(axis)) for axis in axes)
