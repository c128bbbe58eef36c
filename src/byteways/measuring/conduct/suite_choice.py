"""The suite of a run, given or made for the machine, and what it may use of the machine, which is tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from byteways.machine.model import Topology
from byteways.measuring.conduct.opening import ScopeOf, many_gpus
from byteways.measuring.shared.options import RunOptions
from byteways.plan.device_sample import DeviceSample, sample_for
from byteways.plan.planner import needs_ranks
from byteways.plan.probe_scope import ProbeScope, scope_of
from byteways.plan.suite_types import Suite

#: Returns the suite for a machine whose devices have been listed.
SuiteOf = Callable[[Topology], Suite]


class SuiteChoice:
    """The suite of a run with its options, and what it may use of the machine."""

    def __init__(self, suite: Suite | SuiteOf, options: RunOptions, simulated: bool) -> None:
        self._options, self._simulated = options, simulated
        self._suite_of: SuiteOf = suite if callable(suite) else lambda topology: suite
        self._known = None if callable(suite) else options.applied(suite)

    @property
    def applied(self) -> Suite:
        """The suite, when the machine has been opened."""
        assert self._known is not None
        return self._known

    def scope(self) -> ProbeScope | ScopeOf:
        """Returns what is tried on the machine, at once where that is known before its devices are."""
        listed_first = self._known is None or (not self._simulated and many_gpus())
        return self._scope_of if listed_first else scope_of(self.applied)

    def _scope_of(self, topology: Topology) -> ProbeScope:
        self._known = self._options.applied(self._suite_of(topology))
        scope, sample = scope_of(self._known), None
        if scope.gpus is None and not self._simulated:
            sample = sample_of(self._known, self._options, topology)
        if sample is None:
            return scope
        return replace(scope, gpus=tuple(name for name in sample.devices if name.startswith("gpu")))


def sample_of(suite: Suite, options: RunOptions, topology: Topology) -> DeviceSample | None:
    """Returns the devices of the plan on a large machine; None: all, as ranks take every GPU."""
    if options.all_devices or needs_ranks(suite):
        return None
    return sample_for(suite, topology, options.only)
