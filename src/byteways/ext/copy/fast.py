"""byteways.fast_copies: the large copies of a PyTorch program by the fastest method."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager, nullcontext

from byteways.base.errors import BytewaysError
from byteways.base.settings import copy_plan_file
from byteways.ext.copy.plans import PlanArgument, PlanWarning, plan_of

#: Smaller copies are left to PyTorch: what Python adds to each call would be a good part of them.
LEAST_BYTES = 1 << 20


def fast_copies(
    plan: PlanArgument = None, *, least_bytes: int = LEAST_BYTES
) -> AbstractContextManager[object]:
    """Makes `Tensor.to`, `cuda` and `copy_` use the plan for large copies between pinned memory and a GPU.

    All else is left to PyTorch: smaller copies, pageable memory, conversions, gradients, copies between
    GPUs, and compiled code. Without `non_blocking=True` a call waits for its copy, as PyTorch's does.

        with byteways.fast_copies():
            model.to("cuda")

    Args:
        plan: An open plan or its file; None: BYTEWAYS_PLAN, or this host's plan in the cache.
        least_bytes: The smallest copy that is changed.

    Raises:
        BytewaysError: PyTorch is not installed.
        CopyError: The plan cannot be read.

    Warns:
        PlanWarning: There is no plan; nothing is changed then.
    """
    try:
        from byteways.ext.copy.torch_mode import FastCopies
    except ImportError as error:
        raise BytewaysError(
            "fast_copies needs PyTorch", cause=str(error), hint="use byteways.copy_ for other arrays"
        ) from error
    opened = plan_of(plan)
    if opened is None:
        place = copy_plan_file() or "a file"
        text = f"there is no copy plan; make one: byteways plan --measure -o {place}"
        warnings.warn(text, PlanWarning, stacklevel=2)
        return nullcontext()
    return FastCopies(opened, least_bytes)
