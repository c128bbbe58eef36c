"""The table of rules that every case must satisfy, and the flows that each applies to."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

from byteways.base.text import Sentence
from byteways.cases.case import Case
from byteways.cases.interface_rows import COLD_LOAD
from byteways.cases.interfaces import APPLICATIONS, INTERFACES, is_memory_step
from byteways.cases.reasons import PAGES_LAND_ELSEWHERE, Refusal
from byteways.machine.model import Capabilities, Topology
from byteways.plan.legality import applications, calls, executors, rooms
from byteways.plan.legality.context import LegalityContext
from byteways.plan.legality.request import mistake


@dataclass(frozen=True)
class Rule:
    """`holds` states the rule in words; `broken` returns how a flow violates it.

    A rule applies to flows of certain interfaces or with certain options; a rule about the whole case is
    applied to its first flow only.
    """

    code: str  # of a refusal, for programs
    holds: Sentence
    broken: Callable[[LegalityContext], str | None]
    interfaces: tuple[str, ...] = tuple(INTERFACES)
    options: tuple[str, ...] = ()  # empty: any options
    whole_case: bool = False

    def concerns(self, question: LegalityContext) -> bool:
        """Whether it applies to a flow, of one of its interfaces."""
        if self.whole_case and question.flow is not question.case.flows[0]:
            return False
        return not self.options or any(name in question.options for name in self.options)


def _possible(question: LegalityContext) -> str | None:
    wrong = mistake(question.request)
    return wrong.reason if wrong else None


def _company(question: LegalityContext) -> str | None:
    case = question.case
    first, *others = (case.interface_of(flow) for flow in case.flows)
    if others and INTERFACES[first].alone and case.pattern != "interference":
        return f"{first} moves no bytes: it runs alone or as the measured flow of interference"
    if others and INTERFACES[first].partner:
        return f"{first} keeps two devices busy polling: it runs alone"
    for interface in others:
        if INTERFACES[interface].alone:
            return f"{interface} moves no bytes, so it cannot be a background load"
    return None


_STEPS = tuple(name for name in INTERFACES if is_memory_step(name))
_COPIES = ("copy", "copy-2d", "copy-blocks", "route")
_OF_TORCH = tuple(name for name, interface in INTERFACES.items() if interface.worker == "torch")
_OF_THREADS = tuple(name for name, interface in INTERFACES.items() if "threads" in interface.takes)
_OF_XCCL = tuple(name for name, interface in INTERFACES.items() if interface.library == "xccl")
_DIRECT = tuple(name for name, interface in INTERFACES.items() if interface.library == "direct")
_OWN = tuple(name for name, interface in INTERFACES.items() if interface.own_buffer)

#: In order of precedence: the first violated rule gives the reason.
RULES: tuple[Rule, ...] = (
    Rule("request", "size, options and pattern are compatible", _possible),
    Rule(
        "alone",
        "interfaces that move no bytes run alone or as the measured flow of interference",
        _company,
        whole_case=True,
    ),
    Rule("own-buffer", "an own buffer is memory of the executor", executors.result_refusal, _OWN),
    Rule(
        "environment",
        "its runtimes or its library read the variables that are set",
        executors.environment_refusal,
        whole_case=True,
    ),
    Rule(
        "in-place",
        "a collective in place has one buffer per rank",
        executors.in_place_refusal,
        options=("in_place",),
    ),
    Rule(
        "registration",
        "a window is memory of the library",
        executors.registration_refusal,
        options=("registration",),
    ),
    Rule("window", "a put stores into memory of the library", executors.window_refusal, ("xccl-put",)),
    Rule("staging", "what is staged is memory of a GPU", executors.staging_refusal, options=("staging",)),
    Rule("grid", "ranks fill the grid, and cells fill tiles", applications.grid_refusal, APPLICATIONS),
    Rule(
        "gpu-per-rank",
        "each rank with kernels has a GPU",
        executors.gpu_per_rank_refusal,
        (*APPLICATIONS, *_OF_XCCL),
    ),
    Rule(
        "transport-memory",
        "the transport takes the memory of messages",
        applications.transport_refusal,
        APPLICATIONS,
    ),
    Rule(
        "reach-of-ranks",
        "kernels of each rank reach its data and messages",
        applications.reach_of_ranks_refusal,
        APPLICATIONS,
    ),
    Rule("reach", "executor and partner support it and reach every buffer", executors.flow_refusal),
    Rule("own-gpu", "each rank of NCCL and RCCL has a GPU of its own", executors.own_gpu_refusal, _OF_XCCL),
    Rule("peer-memory", "ranks can open each other's memory", calls.peers_refusal, _DIRECT, whole_case=True),
    Rule("ipc", "one GPU opens and uses another process's memory", calls.ipc_refusal),
    Rule("migration", "managed pages can migrate, or stay, as requested", calls.pages_refusal),
    Rule(PAGES_LAND_ELSEWHERE, "prefetched pages land where they are sent", calls.landing_refusal),
    Rule(
        "plain-copy",
        "the runtime copies memory that it does not know",
        calls.plain_copy_refusal,
        (*_COPIES, COLD_LOAD),
    ),
    Rule("plain-set", "the runtime sets memory that it does not know", calls.plain_set_refusal, ("memset",)),
    Rule("torch-memory", "PyTorch has tensors in this memory", calls.torch_refusal, _OF_TORCH),
    Rule("memory-step", "the step exists for this memory", calls.step_refusal, _STEPS),
    Rule("copy-engine", "the chosen engine serves the pair", calls.engine_refusal, options=("copy_engine",)),
    Rule(
        "copy-call",
        "the runtime has the call, and it takes these ends",
        calls.call_refusal,
        options=("call",),
    ),
    Rule(
        "packing",
        "blocks are packed between the host and the executor",
        calls.packing_refusal,
        ("pack-blocks",),
    ),
    Rule("rows", "the runtime has 2D copies", calls.rows_refusal, ("copy-2d",)),
    Rule(
        "submit",
        "the runtime takes graphs or batches of this memory",
        calls.submit_refusal,
        options=("submit",),
    ),
    Rule("cores", "the named cores exist", executors.cores_refusal, options=("core", "partner_core")),
    Rule(
        "threads",
        "each thread of a team has its own core",
        executors.threads_refusal,
        _OF_THREADS,
        ("threads", "blocks"),
    ),
    Rule("relays", "the relays of a route exist and reach its ends", calls.route_refusal, ("route",)),
    Rule(
        "managed-room",
        "managed memory fits the free memory of each GPU",
        rooms.managed_refusal,
        whole_case=True,
    ),
    Rule("room", "all buffers fit their owners' memory", rooms.room_refusal, whole_case=True),
)


def refusal(case: Case, topology: Topology, capabilities: Capabilities) -> str | None:
    """Returns why the case cannot run on this machine, in words; None if it can."""
    found = broken_rule(case, topology, capabilities)
    return found.text if found else None


def broken_rule(case: Case, topology: Topology, capabilities: Capabilities) -> Refusal | None:
    """Returns the first rule that the case breaks on this machine, and how; None if it can run.

    Devices must exist in the topology (ensured by the expansion of sweeps).
    """
    there = executors.in_environment(case, capabilities)
    questions = [LegalityContext(case, flow, topology, capabilities, there) for flow in case.flows]
    for rule, interfaces in _rules_of(tuple(dict.fromkeys(question.interface for question in questions))):
        for question in questions:
            if question.interface not in interfaces or not rule.concerns(question):
                continue
            if reason := rule.broken(question):
                return Refusal(rule.code, reason)
    return None


@functools.cache
def _rules_of(interfaces: tuple[str, ...]) -> tuple[tuple[Rule, frozenset[str]], ...]:
    """The rules that apply to any of these interfaces, in their order, each with those it applies to."""
    applying = ((rule, frozenset(interfaces) & frozenset(rule.interfaces)) for rule in RULES)
    return tuple((rule, some) for rule, some in applying if some)
