"""Native core: runtimes, movers, timing. Prints nothing, never exits; errors are exceptions."""

from collections.abc import Callable, Mapping, Sequence
from typing import overload

METHOD_VERSION: int
COMPILER: str  # of the native core: "gcc 12.2.0"

class Error(RuntimeError):
    call: str
    code: str
    text: str
    device: str
    rank: int | None  # whose failure it is, in its team; None: this rank's, or unknown

class OutOfMemoryError(Error): ...
class UnsupportedError(Error): ...

class Availability:
    available: bool
    reason: str

class CopyEngines:
    engines: list[int]
    reason: str

class MissingFunction:
    name: str
    introduced_in: str
    required: bool

class LibraryReport:
    library: str
    usable: bool
    path: str
    found_by: str
    version: str
    searched: list[str]
    missing: list[MissingFunction]
    reason: str
    hint: str

class Device:
    """A device of a session; lives as long as the session."""

    name: str
    runtime: str
    runtime_version: str
    model: str
    uuid: str
    pci_address: str
    architecture: str
    numa_domain: int
    multiprocessors: int
    memory_bytes: int
    last_level_cache_bytes: int
    memory_bytes_per_s: int
    copy_engines: int
    pageable_access: bool
    host_access: bool

class Buffer:
    device: str
    memory: str
    first_touch: str
    bytes: int
    page_bytes: int
    address: int  # for other libraries in this process; valid while the buffer lives
    def placement(self) -> dict[int, int]: ...
    def handle(self) -> str: ...

class Flow:
    def __init__(
        self,
        source: Buffer | None,
        destination: Buffer | None,
        executor: str,
        interface: str,
        size_bytes: int,
        *,
        cold: bool = True,
        second_source: Buffer | None = None,
        partner: str = "",
        ranks: Ranks | None = None,
        xccl: XcclCommunicator | None = None,
        peers: PeerCommunicator | None = None,
        ucx: UcxRank | None = None,
        others: Sequence[Flow] = (),
        **options: int | str,
    ) -> None: ...

class MeasureOptions:
    cores: list[int]
    clock_offset_ns: float  # of this rank's clock against that of the team's first rank
    precision: float
    rounds: int
    budget_s: float
    max_samples: int
    interference: bool
    gate: bool
    gate_timeout_s: float
    batch: int
    cap_depth: bool
    key: int
    def __init__(self) -> None: ...

class LoadGenerator:
    operations: list[int]
    moved_bytes: float
    def start(self) -> None: ...
    def finish(self) -> None: ...

class Warning:
    id: str
    observed: float
    required: float
    unit: str

class Summary:
    n: int
    median: float
    min: float
    max: float
    mean: float
    sd: float
    ci95: tuple[float, float]
    variance_inflation: float

class Verification:
    def __init__(
        self,
        checked_bytes: int,
        bad_count: int = 0,
        first_offset_bytes: int = 0,
        expected: int = 0,
        got: int = 0,
    ) -> None: ...
    ok: bool
    checked_bytes: int
    bad_count: int
    first_offset_bytes: int
    expected: int
    got: int
    guard_of: str
    buffer_bytes: int

class SideResidency:
    side: str
    @property
    def sampled(self) -> int: ...
    @property
    def on_host(self) -> dict[str, int]: ...
    @property
    def on_gpus(self) -> dict[str, int]: ...
    @property
    def prefetched_to(self) -> str: ...

class FlowResult:
    bytes_per_s: float
    end_to_end_bytes_per_s: float
    start_skew_ns: float
    verification: Verification
    parts: dict[str, float]
    before: list[SideResidency]
    after: list[SideResidency]
    timed: list[SideResidency]
    bytes_per_touch: int
    blocks: int
    threads: int

class Times:
    device_ns: float
    submit_ns: float
    host_ns: float

class Discarded:
    reason: str
    time_ns: float

class Trace:
    released: float
    marks: list[float]
    operations: list[int]

class RankSkew:
    begin_ns: float
    end_ns: float
    begins_last: float
    waiting: float | None
    time_ns: float

class Fallback:
    """A transport that carries messages otherwise than asked; empty: as asked."""

    from_: str
    to: str
    reason: str

class EvidenceFields:
    """What readers need of the evidence for the engine."""

    window_messages: int  # 0: not sent in windows
    library: str  # "NCCL", "RCCL"; empty: none beside MPI
    library_version: str
    call: str  # of an operation that not every version of the library has as one; empty: all have it
    fallback: Fallback
    transports: list[str]  # of UCX to the other rank: "cma/memory"; empty: unknown, or no UCX
    own_caches: bool  # loads that a cache of the executor's own may serve

class Measurement:
    samples_ns: list[float]
    times: list[Times]
    discarded: list[Discarded]
    traces: list[list[Trace]]
    time_ns: Summary
    batch: int
    slope: bool
    gated: bool
    verified: bool
    verified_every_sample: bool
    verified_first: bool
    timed_by: str
    timer_resolution_ns: float
    submit_ns: float
    first_ns: float
    host_ns: float
    clock_alignment_ns: float
    window_ns: float
    end_to_end_ns: float
    engine: str
    engine_evidence: str
    evidence: EvidenceFields
    flows: list[FlowResult]
    ranks: list[RankSkew]
    warnings: list[Warning]
    distinct_source_bytes: int
    distinct_destination_bytes: int

class Vote:
    """What one rank states in an exchange; of a failure `question` is the phase and `text` the cause."""

    question: str
    values: list[float]
    text: str
    failed: bool
    kind: str  # "error", "out-of-memory", "unsupported"
    call: str
    code: str
    device: str
    rank: int  # whose failure it is; -1: the sender's
    @overload
    def __init__(self) -> None: ...
    @overload
    def __init__(self, vote: Vote) -> None: ...

class Team:
    """Ranks that measure together. Verbs are collective: all ranks call them in the same order.

    A subclass brings the transport: rank(), size() and exchange().
    """

    def __init__(self) -> None: ...
    def rank(self) -> int: ...
    def size(self) -> int: ...
    def exchange(self, mine: Vote) -> list[Vote]:
        """The votes of all ranks, in order of rank."""

    def barrier(self, question: str) -> None: ...
    def agree_max(self, question: str, mine: float) -> float: ...
    def agree_all(self, question: str, mine: bool) -> bool: ...
    def agree_any(self, question: str, mine: bool) -> bool: ...
    def agree_text(self, question: str, mine: str) -> str: ...
    def gather(self, question: str, mine: float) -> list[float]: ...
    def broadcast(self, question: str, mine: str, from_rank: int) -> str: ...
    def together(self, name: str, phase: Callable[[], None]) -> None:
        """Runs `phase`; returns when it has succeeded on all ranks, else every rank raises."""

def run_thread_team(size: int, body: Callable[[Team], None]) -> None:
    """Runs `body` once for each rank, on a thread of its own; the team is gone when this returns.

    Raises:
        Error: A rank failed; the others were told which one and why.
    """

class Ranks:
    """Those that measure a case together. Verbs are collective; they raise Error with what went wrong."""

    @property
    def rank(self) -> int: ...
    @property
    def size(self) -> int: ...
    def broadcast(self, data: bytes, root: int) -> bytes:
        """The bytes of rank `root`; those of the others are ignored."""

    def gather(self, data: bytes) -> list[bytes]:
        """The bytes of every rank, of any lengths, to every rank."""

class Communicator(Ranks):
    """Processes of an MPI job."""

    def split(self, color: int, key: int = 0) -> Communicator | None:
        """Ranks of the same color in order of `key`; color -1: this rank is in no part."""

    def split_by_host(self) -> Communicator: ...
    def message_to_self(self, buffer: Buffer) -> None: ...
    def barrier(self) -> None: ...

class ProcessRanks(Ranks):
    """Processes of this host that were started without MPI."""

    @staticmethod
    def join(folder: str, rank: int, size: int, patience_s: float) -> ProcessRanks:
        """Meets the others in a folder that is theirs alone. Raises Error if one does not come in time."""

    def split(self, color: int, key: int = 0) -> ProcessRanks | None:
        """Ranks of the same color in order of `key`; color -1: this rank is in no part."""

class ThreadRanks(Ranks):
    """Threads of this process: a handle for the thread of each rank."""

    @staticmethod
    def make(size: int) -> list[ThreadRanks]:
        """Returns the handles of all ranks."""

    def split(self, color: int, key: int = 0) -> ThreadRanks | None:
        """Ranks of the same color in order of `key`; color -1: this rank is in no part."""

    def leave(self, cause: str) -> None:
        """This rank takes part no longer: the verbs of the others raise and name rank and cause."""

class Ucx:
    """UCX, the transport below MPI, found and opened.

    Args:
        directories: Folders where it may lie, beside those of the dynamic linker.
        simulator: The simulator's library, on a simulated machine.

    Raises:
        UnsupportedError: There is none that can be used; the text has the reason.
    """

    def __init__(self, directories: Sequence[str] = (), simulator: str = "") -> None: ...
    @property
    def report(self) -> LibraryReport: ...

class UcxRank:
    """A rank in UCX, with an endpoint to each of the others. Making one is collective.

    Args:
        device: Whose memory this rank sends.

    Raises:
        UnsupportedError: No transport joins the ranks.
        Error: The library refuses, with its words.
    """

    def __init__(self, library: Ucx, ranks: Ranks, session: Session, device: str) -> None: ...
    def transports(self, other: int) -> list[str]:
        """What the endpoint to another rank uses: "cma/memory"; empty: the library does not say."""

class Xccl:
    """NCCL or RCCL, the vendors' libraries of collectives with one interface, found and opened.

    Args:
        vendor: "cuda" or "hip".
        directories: Folders where it may lie, beside those of the dynamic linker.
        simulator: The simulator's library, on a simulated machine.

    Raises:
        UnsupportedError: There is none that can be used; the text has the reason.
    """

    def __init__(self, vendor: str, directories: Sequence[str] = (), simulator: str = "") -> None: ...
    @property
    def report(self) -> LibraryReport: ...
    def allocate(self, session: Session, device: str, bytes: int) -> Buffer:
        """Memory of kind `xccl`. Raises OutOfMemoryError, Error, UnsupportedError if the library has none."""

    def register_obstacle(self, ranks: int) -> str:
        """Why such memory must not be registered with a communicator of so many ranks; empty: it may be."""

    def put_obstacle(self) -> str:
        """Why the library cannot put into such memory; empty: it can."""

class XcclCommunicator:
    """The ranks of a communicator in NCCL or RCCL. Making one is collective.

    Args:
        device: This rank's GPU. No other rank may have the same.

    Raises:
        Error: The library refuses, with its words.
    """

    def __init__(self, library: Xccl, ranks: Ranks, session: Session, device: str) -> None: ...
    @property
    def usable(self) -> bool:
        """False once a measurement by it has failed: another one has to be made."""

    @staticmethod
    def all(library: Xccl, session: Session, devices: Sequence[str]) -> list[XcclCommunicator]:
        """Returns the ranks of all these GPUs, in order, for one thread."""

class PeerCommunicator:
    """The ranks of direct collectives, whose GPUs use each other's memory. Making one is collective.

    Args:
        device: This rank's GPU.

    Raises:
        UnsupportedError: Two GPUs of different processes have no access to each other; on every rank.
    """

    def __init__(self, ranks: Ranks, session: Session, device: str) -> None: ...
    @property
    def obstacle(self) -> str:
        """Why ranks exchange through host memory; empty if their GPUs have access to each other."""

    @staticmethod
    def all(session: Session, devices: Sequence[str]) -> list[PeerCommunicator]:
        """Returns the ranks of all these GPUs, in order, for one thread."""

def ucx_report(directories: Sequence[str] = (), simulator: str = "") -> LibraryReport: ...
def xccl_report(vendor: str, directories: Sequence[str] = (), simulator: str = "") -> LibraryReport:
    """What was found of NCCL ("cuda") or RCCL ("hip")."""

class Mpi:
    """The MPI of this machine, found and started. It ends when finalize() is called, never by itself.

    Args:
        shims: Folder of byteways_mpi_<abi>.so.
        directories: Folders where libraries of MPI may lie, beside those of the dynamic linker.
        simulator: The simulator's library, on a simulated machine.
        threads: Thread level to start it with: "single", "funneled", "serialized" or "multiple".

    Raises:
        UnsupportedError: There is no MPI here that can be used; the text has the reason and what to do.
        Error: It does not start, it offers no such thread level, or a launcher started more ranks than it
            knows.
    """

    def __init__(
        self, shims: str, directories: Sequence[str] = (), simulator: str = "", threads: str = "single"
    ) -> None: ...
    @property
    def report(self) -> LibraryReport: ...
    @property
    def abi(self) -> str: ...
    @property
    def world(self) -> Communicator: ...
    def plain_world(self) -> Communicator | None:
        """MPI_COMM_WORLD itself, as programs use it; None where somebody else has started MPI."""

    def says_device_support(self, vendor: str) -> bool | None:
        """Whether the library says that it takes memory of GPUs ("cuda", "hip"); None: it does not say."""

    def finalize(self) -> None:
        """Ends MPI once all ranks have called this."""

    def abort(self, code: int) -> None:
        """Ends all ranks."""

def patient_broadcast(ranks: Communicator, data: bytes, root: int) -> bytes:
    """Communicator.broadcast() of ranks that sleep while they wait."""

def patient_collect(
    ranks: Communicator, data: bytes, root: int, senders: Sequence[int], patience_s: float
) -> list[bytes | None]:
    """On rank `root`, the bytes of `senders`, in their order; None: that rank sent nothing in time.

    Called by the senders and the root.
    """

class ClockOffset:
    """How far the clocks of two ranks are apart: offset of a rank's against rank 0's."""

    @property
    def offset_ns(self) -> float: ...
    @property
    def uncertainty_ns(self) -> float: ...
    @property
    def round_trips(self) -> int: ...

def estimate_clock_offsets(ranks: Communicator, session: Session, round_trips: int) -> list[ClockOffset]:
    """Estimates that of every rank from messages with rank 0. Collective; all ranks get the same results."""

def mpi_report(
    shims: str, directories: Sequence[str] = (), simulator: str = "", launcher: str = ""
) -> LibraryReport:
    """What Mpi() would open in a rank that `launcher` started. Library and shim are loaded, MPI is not
    started.

    Args:
        shims, directories, simulator: As for Mpi.
        launcher: File of the program that will start the ranks; empty: unknown.
    """

class RankTeam(Team):
    """The ranks of a communicator as a team."""

    def __init__(self, ranks: Ranks) -> None: ...
    def leave(self, cause: str) -> None:
        """This rank takes part no longer: the next verb of the others raises and names rank and cause."""

def run_rank_team(ranks: Ranks, body: Callable[[Team], None]) -> None:
    """Runs `body` on this rank and leaves the team when it ends; all ranks call this.

    Raises:
        Exception: What `body` raised; the other ranks were told which rank left and why.
    """

class Session:
    def __init__(
        self,
        *,
        library_directories: Sequence[str] = (),
        kernel_cache: str = "",
        gpus: bool = True,
        simulator: str = "",
        machine: str = "",
    ) -> None: ...
    @property
    def devices(self) -> list[Device]: ...
    @property
    def libraries(self) -> list[LibraryReport]: ...
    @property
    def virtual_time(self) -> bool:
        """Whether the machine is simulated and its clock stands still while nobody waits or asks."""

    def offers(self, device: str, memory: str) -> Availability: ...
    def offers_kernel(self, device: str, kernel: str) -> Availability: ...
    def offers_call(self, device: str, call: str) -> Availability: ...
    def copy_engines(self, source: str, destination: str) -> CopyEngines: ...
    def free_bytes(self, device: str) -> int: ...
    def handle_obstacle(self, device: str) -> str: ...
    def prove_peer(self, executor: str, owner: str, memory: str = "device") -> Availability: ...
    def allocate(self, device: str, memory: str, bytes: int, first_touch: str, *, user: str = "") -> Buffer:
        """`user`: the device that will use it, whose runtime then gives host memory of the vendors' kinds."""

    def open_exported(self, device: str, bytes: int, opener: str, handle: str) -> Buffer:
        """Opens memory of `device` that another process allocated, for use by `opener` alone.

        Args:
            handle: Its IPC handle, in hexadecimal digits.

        Raises:
            Error: The driver refuses it: this process exported it, or there is no access to the device.
        """

    def measure(
        self, flows: Sequence[Flow], options: MeasureOptions, team: Team | None = None
    ) -> Measurement:
        """Measures one case, with the other ranks of `team` where there is one: each calls this once."""

    def sustain(
        self, flows: Sequence[Flow], slice_s: float, *, interference: bool = False
    ) -> LoadGenerator: ...

def interfaces() -> list[str]:
    """Names of the interfaces that have a mover here, in alphabetical order."""

def host_kernels() -> list[str]:
    """Names of the kernels that the host has."""

def device_kernels() -> dict[str, str]:
    """Names of the kernels of GPUs, each with the source that has it."""

def load_machine(simulator: str, machine: str) -> None:
    """Makes `machine` (a sheet) the one of this process, for those who only ask Management(simulator)."""

def restart_machine(simulator: str, machine: str, key: int) -> None:
    """Begins the machine anew: time, queues, memory and, by `key`, noise.

    Raises:
        Error: A session still has memory, streams or events there.
    """

def join_machine(simulator: str, machine: str, rank: int, size: int) -> None:
    """Makes the calling thread a rank of the machine, with a clock of its own, until leave_machine(). All
    ranks have to join."""

def act_as_other_process(simulator: str, machine: str, other: bool) -> None:
    """From now on this thread allocates and exports memory on the simulated machine as another process would,
    or as this one again.
    """

def machine_at_fault(simulator: str, machine: str) -> tuple[int, int, bool]:
    """What the last deadlock of the ranks is the fault of: number of a rank and of a GPU (-1: none), and
    whether NCCL or RCCL refused a call.
    """

def leave_machine(simulator: str, machine: str) -> None:
    """Ends what join_machine() began."""

def measure_calls(
    options: MeasureOptions,
    *,
    time_ns: Callable[[int], float],
    spoil: Callable[[int], None],
    check: Callable[[], Verification],
    gated: Callable[[], bool],
    size_bytes: int,
    most_operations: int,
) -> Measurement:
    """Measures operations that another library enqueues and times, by the rules of all other interfaces.

    Args:
        time_ns: Runs so many operations on the device and returns their time by the device's events.
        spoil: Changes the data of the next so many operations, so that one left out shows.
        check: Compares all that was moved.
        gated: Whether all batches since the last call were enqueued before they ran.
        size_bytes: Of an operation.
        most_operations: Of a batch.
    """

def summarize(samples: Sequence[float], resolution: float = 0.0) -> Summary: ...
def series_warnings(samples: Sequence[float], resolution: float = 0.0) -> list[Warning]:
    """What a series shows as a whole: drift, bimodal, correlated, quantised."""

def window(
    flows: Sequence[tuple[float, Sequence[float], Sequence[int]]],
    *,
    interference: bool = False,
    cut_at: int = -1,
) -> tuple[list[float], float]:
    """Rates (operations per ns) and overlap of flows that ran together, each as (ns released, ns of its
    marks, operations done at each mark)."""

def contradiction(
    *,
    device_ns: float,
    submit_ns: float,
    host_ns: float,
    gated: bool = True,
    gate_opened: bool = False,
    resolution_ns: float = 500.0,
) -> str:
    """Why a batch with these times would be discarded; '' when it would not."""

def moved_by_call(device_ns: float, submit_ns: float, call_ns: float) -> bool:
    """Whether a copy of unlocked memory with these times was made by the call itself."""

def judge_slopes(batches: Sequence[tuple[float, float]], warm_up_ns: Sequence[float] = ()) -> list[str]:
    """Why each slope of a series is discarded, from the times of its shorter and longer batch in ns; empty
    texts for those that count. `warm_up_ns` are shorter batches that ran before.
    """

def settle(samples: Sequence[tuple[float, str]]) -> tuple[list[float], bool]:
    """Samples that count of (time, reason to discard it or ''), and whether all do."""

def stop(series: Sequence[float], precision: float, rounds: int = 1, resolution: float = 0.0) -> int:
    """Number of samples of `series` after which the stopping rule stops; 0 when it never does."""

class CpuCache:
    level: int
    kind: str  # "data", "instruction", "unified"
    size_bytes: int
    line_bytes: int
    sharing_cpus: int

class SharedCpuCache:
    level: int
    cpus: list[int]

class CpuDomain:
    number: int
    cpus: list[int]
    cores: list[list[int]]  # CPUs of each physical core; empty when the kernel does not tell
    memory_bytes: int  # 0 when not told
    distances: dict[int, int]
    caches: list[CpuCache]
    shared: list[SharedCpuCache]
    last_level_cache_bytes: int

class MemoryDomain:
    number: int
    memory_bytes: int
    distances: dict[int, int]
    nearest: int  # index of a domain

class CoreType:
    name: str
    cpus: list[int]

class CpuTopology:
    model: str
    virtual_machine: bool
    domains: list[CpuDomain]
    memory_only: list[MemoryDomain]
    core_types: list[CoreType]
    notes: list[str]

def read_cpus(sysfs: str, proc: str, allowed: Sequence[int]) -> CpuTopology:
    """The CPU side of the machine that these file systems describe."""

def reads_raw_clock_by_itself(release: str) -> bool:
    """Whether CLOCK_MONOTONIC_RAW needs no system call on this release of Linux."""

def host_isa() -> str:
    """Returns the instruction set of the host's loops: BYTEWAYS_ISA, or the processor's widest."""

def host_isas() -> list[str]:
    """Returns those that this processor has, the widest registers last."""

class FabricLink:
    index: int
    active: bool
    version: int
    remote_kind: str  # "gpu", "switch", "cpu", "unknown"
    remote_pci_address: str
    signalling_bytes_per_s: int  # per direction, 0 when not answered

class ManagementDevice:
    index: int
    name: str
    uuid: str
    pci_address: str
    memory_bytes: int
    memory_clock_mhz: int
    memory_bus_bits: int
    pcie_generation: int
    pcie_width: int
    pcie_generation_max: int
    pcie_width_max: int
    fabric_links: list[FabricLink]
    mig_enabled: bool
    compute_mode: str
    compute_processes: int
    numa_domain: int

class ManagementProcess:
    pid: int
    kind: str  # "compute", "graphics"
    memory_bytes: int  # -1 when unknown

class ManagementUse:
    processes_known: bool
    processes: list[ManagementProcess]
    utilisation_percent: int  # -1 when unknown

class ManagementHealth:
    """None: the driver does not answer; `unknown` has the reason."""

    sm_clock_mhz: int | None
    memory_clock_mhz: int | None
    temperature_c: int | None
    power_mw: int | None
    throttle_reasons: int | None
    pcie_replays: int | None
    nvlink_errors: int | None
    nvlink_data_tx_bytes: int | None  # since boot
    nvlink_data_rx_bytes: int | None
    unknown: dict[str, str]  # why, by field

class ManagementLinkBytes:
    """What counters of a GPU's links have seen, whoever moved the bytes. None: there is no such counter."""

    fabric_tx_bytes: int | None  # payload of all links to other GPUs
    fabric_rx_bytes: int | None
    pcie_tx_bytes: int | None
    pcie_rx_bytes: int | None

def announce_management_calls(descriptor: int) -> None:
    """From now on, writes a line `{"call": "nvmlInit_v2"}` to this file before each call of the library."""

class Management:
    """The vendor's management library (NVML), found by dlopen."""

    def __init__(self, simulator: str = "") -> None: ...
    @property
    def report(self) -> LibraryReport: ...
    def devices(self) -> list[ManagementDevice]: ...
    def health(self, uuid: str) -> ManagementHealth: ...
    def link_bytes(self, uuid: str) -> ManagementLinkBytes: ...
    def use(self, uuid: str, with_utilisation: bool = True) -> ManagementUse: ...
    def energy_mj(self, uuid: str) -> int: ...

def compile_kernels(architecture: str, library_directories: Sequence[str] = ()) -> dict[str, str]:
    """PTX of every device source by file name, for `architecture` ("sm_90")."""

def fill_kernel_cache(architecture: str, kernel_cache: str, library_directories: Sequence[str] = ()) -> None:
    """Compiles every device source for `architecture` ("gfx90a:sramecc+:xnack-") into the cache's folder.

    hipRTC 5 ends the process when it does not know the architecture: call it in a child.
    """

def shares_memory_with_cpu(runtime: str, sysfs: str, pci_address: str) -> bool:
    """Whether a GPU is one package with a CPU, with one memory, as the kernel describes it.

    Args:
        runtime: "hip"; others say it themselves.
        sysfs: The kernel's description of devices, /sys.
        pci_address: Of the GPU, "0000:c2:00.0".
    """

def copy_rule(
    runtime: str,
    version: int,
    environment: Mapping[str, str],
    source_device: int,
    destination_device: int,
    bytes: int,
    *,
    plain: bool = False,
    opened: bool = False,
) -> tuple[str, str]:
    """What carries a runtime's copy out, and the rule that says so; both empty when nothing is known.

    Args:
        runtime: "hip"; of others nothing is known.
        version: As hipRuntimeGetVersion answers, 60240092 for HIP 6.2.
        environment: Variables the runtime would see; only those that the rules read matter.
        source_device: The runtime's number; -1 is host memory.
        destination_device: Likewise.
        bytes: Size of the copy.
        plain: Either end is plain host memory, which the runtime stages.
        opened: Either end is memory of another process, which its handle has opened.
    """
