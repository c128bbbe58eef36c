"""A row of the table of interfaces: what it says of each, and what follows from that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from byteways.cases.options import COMMON_OPTIONS, Option

#: Byte count that includes every array read or written, as in STREAM.
READ_WRITE = "read+write"


@dataclass(frozen=True)
class Interface:
    """An interface: what the programmer calls to move bytes.

    `kernels` names the required kernels by kind of executor. A missing kind cannot execute the interface; an
    empty tuple means that the runtime itself does the work.
    """

    category: str  # taxonomy of schieffer2025, section 3
    meaning: str  # one line, for `byteways list` and the documentation
    kernels: Mapping[str, tuple[str, ...]]
    options: tuple[Option, ...] = ()
    gpu_options: tuple[Option, ...] = ()  # additional options of GPU executors
    #: `pair`: source and destination. `one`: a single buffer, written `buffer` in a suite, that is both.
    #: `moved`: one allocation whose pages migrate from the source's to the destination's device.
    buffers: str = "pair"
    figure: str = "bandwidth"  # or "latency", ns per dependent step; or "time", ns per call
    counts: str = "per-direction"
    granularity_bytes: int = 8  # sizes are multiples of this
    one_word: bool = False  # its buffers hold one word
    power_of_two_from: int = 0  # sizes must be powers of two from here on; 0: any
    scattered: bool = False  # accesses `access_bytes` at a time, at random places
    by_call: bool = False  # uses a runtime call, so the executor need not map both buffers
    batched: bool = False  # the vendor has a batched call for its operations
    alone: bool = False  # moves no bytes: runs alone or as background load
    own_buffer: bool = False  # its buffer belongs to the executor
    sources: int = 1  # number of arrays read; 2: the flow may name a second source; 0: it only writes
    writes: bool = True  # False: it only reads
    #: Patterns if source and destination belong to different processes; empty: runs in one process.
    between_ranks: tuple[str, ...] = ()
    in_place: tuple[str, ...] = ()  # those of them that may write their result where they read their input
    counted: int = 1  # how many arrays of an operation's size the bandwidth counts ("read+write")
    partner: bool = False  # a second device responds, written `partner` in a suite
    worker: str = "native"  # the kind of worker that measures it: other libraries run in separate processes
    refused: str = ""  # message for an unsupported kind of executor; empty: default of refusal()
    #: What implements it besides MPI: "xccl", NCCL or RCCL; "ucx"; "direct", our own kernels.
    library: str = ""
    one_sided: bool = False  # one rank moves the bytes by its calls, into or out of the other's memory
    front_end_of: str = ""  # the interface whose call it makes on the user's behalf
    needs: str = ""  # property that the executing device must be known to have; empty: none
    # For planning: bytes/s of one CPU thread, whether it uses all cores of a domain, and seconds per call.
    cpu_bytes_per_s: float = 0
    team: bool = False
    call_s: Mapping[str, float] = field(default_factory=dict)
    # For machine models: name prefix of its rates for GPU and core; without rates, the parameters that its
    # result rests on, by kind of executor.
    gpu_rate: str = "kernel"
    core_rate: str = "core_copy"
    rests_on: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def takes(self) -> tuple[str, ...]:
        """All options that a case may have."""
        return tuple(option.name for option in (*self.options, *COMMON_OPTIONS))

    @property
    def between(self) -> str:
        """What carries it from rank to rank: "mpi", "xccl", "ucx" or "direct"; empty within one process."""
        return (self.library or "mpi") if self.between_ranks else ""

    @property
    def walks(self) -> bool:
        """Whether an operation is one step of a pointer chase."""
        return self.figure == "latency" and not self.partner and not self.between_ranks

    @property
    def copies(self) -> bool:
        """Whether it copies data from one buffer to another."""
        return self.buffers == "pair" and self.figure == "bandwidth" and self.counts != READ_WRITE

    @property
    def in_pieces(self) -> bool:
        """Whether an operation moves many pieces with gaps between them: rows or blocks."""
        return bool({"width_bytes", "block_bytes"} & set(self.takes))

    def executed_by(self, kind: str) -> bool:
        """Whether devices of this kind ('cpu', 'gpu') can execute it at all."""
        return kind in self.kernels

    def refusal(self, name: str, executor: str) -> str:
        """Returns the message for an executor of an unsupported kind."""
        if "cpu" in self.kernels:
            return f"{name} runs on CPU cores, and {executor} is a GPU (a GPU executes copy or kernel)"
        where = self.refused or "runs on a GPU, and {executor} is a CPU (a CPU executes memcpy)"
        return f"{name} {where.format(executor=executor)}"
