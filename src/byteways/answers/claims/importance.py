"""What orders findings: the list of all of them, the most important first.

A finding's importance is the weight of its entry here, scaled by the gain or loss that it reports. It is
lowered if its results have warnings, show no difference, or rest on a model's assumed numbers. Equal
importance keeps the order of the rules (`explain.subjects.FINDINGS`).
"""

from __future__ import annotations

from enum import Enum

#: Findings of this weight and more must be known, whatever the gain.
MUST_KNOW = 800.0
#: Limits of findings with a warning, without significant difference, and on assumed numbers.
WARNED_IMPORTANCE, NO_DIFFERENCE_IMPORTANCE, ASSUMED_IMPORTANCE = 350.0, 250.0, 240.0
#: Findings on assumed numbers are ordered above this, which is below warnings and skipped cases.
LEAST_ASSUMED = 125.0
#: Relative gain whose findings have half the importance of a very large one.
HALF_GAIN = 0.1


class Priority(Enum):
    """All findings in the order of their weights, one entry each.

    Weights have gaps, so that a new finding changes no other's importance.
    """

    weight: float

    def __new__(cls, weight: float) -> Priority:
        """Numbers the entries, so that equal weights make no alias."""
        entry = object.__new__(cls)
        entry._value_ = len(cls.__members__)
        entry.weight = weight
        return entry

    # Must be known: the run or the machine is not what it should be.
    CORRUPT_DATA = 1000.0
    BEYOND_LIMIT = 950.0
    FAILED_CASES = 900.0
    DAMAGED_FILES = 890.0
    MISSING_LINK = 880.0
    SLOW_LINK = 870.0
    # What the run was made for: it comes before all else that the run has, also where a model assumes it.
    REPEATED_STUDY = 850.0
    BLOCKS = 845.0
    # Something is slower than its equals.
    ODD_PAIR = 799.0
    GRAVE_WARNING = 798.0
    THROTTLED = 797.0
    # What a user gains over the default: before all that only describes, however small the gain.
    ROUTE_GAIN = 794.0
    FASTEST_BETWEEN_GPUS = 792.0
    FASTEST_TO_GPU = 790.0
    FASTEST_FROM_GPU = 788.0
    # What costs others their speed.
    TRANSFER_COST = 700.0
    # Subjects that only runs which ask for them have.
    STRAGGLER = 640.0
    CHANGED_OVER_TIME = 640.0
    REGISTERING = 595.0
    ALLOCATION = 594.0
    POOLS = 593.0
    BIDIRECTIONAL_LOSS = 580.0
    PREFETCHING = 565.0
    # Concurrent transfers, and other ways to submit or carry one.
    HIDDEN_BOTTLENECK = 525.0
    BOTTLENECK = 505.0
    SHARED_HOST = 500.0
    BIDIRECTIONAL_SUM = 480.0
    SUBMISSION = 480.0
    SHARED_GPU = 470.0
    HALO_TRANSPORT = 466.0
    IN_TURNS = 465.0
    DIRECT_MESSAGES = 463.0
    MESSAGE_BESIDE_COPY = 462.0
    IPC = 461.0
    ALL_PAIRS = 460.0
    MANAGED_CROSSOVER = 455.0
    UNEXPLAINED_LOSS = 455.0
    READ_AGAINST_WRITE = 450.0
    PLACEMENT = 441.0
    DISTURBED_FLOW = 440.0
    TO_AGAINST_FROM_HOST = 440.0
    CURVE_DIP = 435.0
    # Properties of the machine.
    HOST_MEMORY_KINDS = 430.0
    SATURATION = 430.0
    LOADED_LATENCY = 429.0
    ENERGY = 428.0
    FIRST_TOUCH = 425.0
    PING_PONG = 425.0
    MESSAGE_RATE = 424.5
    MESSAGE_LATENCY = 424.0
    MESSAGE_BANDWIDTH = 423.0
    COLLECTIVE = 422.0
    GPU_LATENCY = 420.0
    KERNEL_LAUNCH = 415.0
    SMALL_COPIES = 414.0
    RELAYS_LOSE = 410.0
    READ_AGAINST_WRITE_SMALL = 405.0
    STREAM_ON_GPU = 405.0
    STREAM_REMOTE = 404.0
    FASTEST_IN_GPU = 400.0
    TO_AGAINST_FROM_HOST_SMALL = 395.0
    FASTEST_IN_CPU = 395.0
    STREAM_ON_CPU = 394.5
    HOST_THREADS = 394.0
    CPU_LATENCY = 393.5
    STREAMING_STORES = 393.0
    CORES = 393.0
    FAR_MEMORY = 392.0
    HOST_MEMORY_KINDS_INSIDE = 391.0
    FASTEST_BETWEEN_GPUS_SMALL = 390.0
    FASTEST_BETWEEN_CPUS = 390.0
    ROWS = 380.0
    MESSAGE_WINDOW = 380.0
    SUBMISSION_LOSS = 370.0
    SUBMISSION_NO_GAIN = 370.0
    FASTEST_TO_GPU_SMALL = 340.0
    FASTEST_FROM_GPU_SMALL = 330.0
    # What is as expected.
    STEADY_OVER_TIME = 300.0
    AS_PREDICTED = 300.0
    TRANSFER_COST_UNCLEAR = 300.0
    BIDIRECTIONAL_NO_LOSS = 280.0
    FASTEST_IN_GPU_SMALL = 150.0
    FASTEST_IN_CPU_SMALL = 145.0
    FASTEST_BETWEEN_CPUS_SMALL = 140.0
    # What this run does not say.
    ABOVE_PEAK = 120.0
    PAGES_LANDING = 115.0
    WARNINGS = 110.0
    FEW_ROUNDS = 105.0
    SKIPPED = 100.0
    LEFT_OUT = 100.0
    NO_ENERGY = 90.0


def worth(weight: float, gain: float) -> float:
    """Returns the importance of a finding whose relative gain or loss is `gain`."""
    return weight if weight >= MUST_KNOW else weight * (0.5 + 0.5 * gain / (gain + HALF_GAIN))


def if_assumed(importance: float) -> float:
    """Returns the importance of a finding that rests on a model's assumed numbers."""
    if not LEAST_ASSUMED < importance < MUST_KNOW:
        return importance
    part = (importance - LEAST_ASSUMED) / (MUST_KNOW - LEAST_ASSUMED)
    return LEAST_ASSUMED + part * (ASSUMED_IMPORTANCE - LEAST_ASSUMED)
