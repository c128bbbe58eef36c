"""Caches functions of a topology: planning requests the same routes 10⁵ times."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar, cast

from byteways.machine.model import Topology

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")


def cached(
    function: Callable[Concatenate[Topology, Arguments], Returned],
) -> Callable[Concatenate[Topology, Arguments], Returned]:
    """Makes a pure function cache its results with the topology, for its lifetime.

    Args:
        function: Takes a topology and hashable arguments; callers must not modify its result.
    """

    def remembered(topology: Topology, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Returned:
        key = (args, tuple(kwargs.items()))
        results = topology.derived.setdefault(function, {})
        try:
            return cast(Returned, results[key])
        except KeyError:
            result = results[key] = function(topology, *args, **kwargs)
            return result

    return cast(Callable[Concatenate[Topology, Arguments], Returned], wraps(function)(remembered))
