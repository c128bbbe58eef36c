"""Computes what follows from a topology once per topology: planning asks for the same routes 10⁵ times."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar, cast

from byteways.topology.model import Topology

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def cached(
    function: Callable[Concatenate[Topology, Arguments], Result],
) -> Callable[Concatenate[Topology, Arguments], Result]:
    """The same pure function, which remembers its results with the topology and as long as that lives.

    Args:
        function: Of a topology and hashable arguments; callers never change what it returns.
    """

    def remembered(topology: Topology, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        key = (args, tuple(kwargs.items()))
        results = topology.derived.setdefault(function, {})
        try:
            return cast(Result, results[key])
        except KeyError:
            result = results[key] = function(topology, *args, **kwargs)
            return result

    return cast(Callable[Concatenate[Topology, Arguments], Result], wraps(function)(remembered))
