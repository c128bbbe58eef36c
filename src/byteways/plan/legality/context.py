"""The input of a rule: one flow of a case on a machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from byteways.cases.case import Case, Flow
from byteways.machine.model import Capabilities, Topology
from byteways.plan.legality.request import Request


@dataclass(frozen=True)
class LegalityContext:
    """`found` are the probed capabilities; `there` adds what the case's environment may enable."""

    case: Case
    flow: Flow
    topology: Topology
    found: Capabilities
    there: Capabilities

    @property
    def interface(self) -> str:
        return self.case.interface_of(self.flow)

    @property
    def options(self) -> Mapping[str, int | str | bool]:
        return self.case.options_of(self.flow)

    @property
    def request(self) -> Request:
        """The part of the flow that does not depend on a machine."""
        case, flow = self.case, self.flow
        return Request(
            self.interface, case.pattern, case.cache_of(flow), case.size_of(flow), case.options_of(flow)
        )
