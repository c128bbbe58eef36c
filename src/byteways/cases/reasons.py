"""Codes of the reasons for cases without a result. The sentence beside a code is for people only.

A case that breaks a rule of `legality.rules.RULES` has the code of that rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

OUT_OF_TIME = "out-of-time"
PAGES_LAND_ELSEWHERE = "pages-land-elsewhere"
GIVEN_UP = "given-up"
LIBRARY_MEMORY = "library-memory"
HOST_LEFT_OUT = "host-left-out"
WITHIN_HOST = "within-host"
NO_SIMULATED_NETWORK = "no-simulated-network"
UNAVAILABLE = "unavailable"
OUT_OF_MEMORY = "out-of-memory"
CALL_FAILED = "call-failed"
WORKER_ERROR = "worker-error"
NOT_AS_ASKED = "not-as-asked"
WORKER_LOST = "worker-lost"
NO_ANSWER = "no-answer"
CLOCK_WRONG = "clock-wrong"

#: How the names of a library's calls begin: of NCCL and RCCL, of MPI, of UCX.
CALLS_OF_LIBRARIES = {"xccl": "nccl", "mpi": "MPI_", "ucx": "ucp_"}

#: What codes mean that belong to no rule.
MEANINGS: Mapping[str, str] = {
    OUT_OF_TIME: "left out to fit the time budget",
    GIVEN_UP: "workers were lost in cases like it, it hung in an earlier round, or its ranks share cores",
    LIBRARY_MEMORY: "a trial showed that the library between ranks cannot move this memory",
    HOST_LEFT_OUT: "one of its hosts was excluded from the run",
    WITHIN_HOST: "it measures ranks of one host, and the run is between hosts",
    NO_SIMULATED_NETWORK: "the simulated NCCL and RCCL reach no other host",
    UNAVAILABLE: "a runtime or library refused it when the worker asked",
    OUT_OF_MEMORY: "memory cannot be allocated",
    CALL_FAILED: "a call of a runtime or library failed",
    WORKER_ERROR: "the worker met an error that it did not expect",
    NOT_AS_ASKED: "pages were not where the case requires them",
    WORKER_LOST: "the worker died or sent an invalid answer",
    NO_ANSWER: "the worker did not answer in time",
    CLOCK_WRONG: "the worker's clock disagrees with the conductor's",
}


@dataclass(frozen=True)
class Refusal:
    """Why a case cannot run."""

    code: str
    text: str
