"""The types of a manifest, `run.json`: its JSON Schema is generated from them, and reading checks them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict, get_type_hints

from byteways.base.decoding import converted
from byteways.machine.model import Capabilities, Topology
from byteways.machine.unusable_gpus import UnusableGpus
from byteways.plan.device_sample import DeviceSample

RUN_STATES = ("running", "complete", "interrupted")


class ManifestHost(TypedDict):
    name: str
    kernel: str
    os: str
    python: str


class ManifestBuild(TypedDict):
    digest: str  # 16 hexadecimal digits over the package's files and the native module
    commit: str | None  # of the package's checkout; None: it is installed


class ManifestSuite(TypedDict):
    name: str
    title: str
    text: str  # the TOML as read
    rounds: int


class _HostFingerprint(TypedDict, total=False):
    host_loops: str  # instruction set and compiler; simulated and earlier runs lack it


class ManifestFingerprint(_HostFingerprint):
    driver: str
    topology: str
    code: str
    method_version: int


class ManifestSource(TypedDict):
    title: str
    address: str


class ManifestCategoryError(TypedDict):
    values: int
    median_error: float
    p90_error: float


class _FitByCategory(TypedDict, total=False):
    categories: dict[str, ManifestCategoryError]  # early runs: none


class ManifestFit(_FitByCategory):
    fitted_values: int
    held_out_values: int
    median_error: float | None
    p90_error: float | None


class _ModelSeed(TypedDict, total=False):
    seed: int  # of the noise; early runs: the one in the text


class ManifestMachineModel(_ModelSeed):
    name: str
    title: str
    digest: str  # 16 hexadecimal digits over the text
    text: str  # the TOML as read
    faults: list[str]
    sources: dict[str, ManifestSource]
    fit: ManifestFit | None  # None: not compared with published values


class _StudyFolder(TypedDict, total=False):
    folder: str  # of a study that is not built in


class ManifestStudy(_StudyFolder):
    key: str
    title: str


class _PathOfMessages(TypedDict, total=False):
    """Of memory of GPUs that CPUs reach: "gpu" or "cores" move it; null: a message was not measured."""

    path: str | None
    bytes_per_s: float | None  # of a message of that memory
    host_bytes_per_s: float | None  # of one of host memory of the same two domains


class MemoryTrial(_PathOfMessages):
    """A verified operation that showed whether a library between ranks moves a kind of memory."""

    library: str  # with its version
    operation: str  # "message", or the collective or interface
    memories: list[str]
    environment: dict[str, str]  # variables of the cases that it stands for
    taken: bool
    reason: str | None  # why it is not taken


class ImportedFile(TypedDict):
    name: str
    formats: list[str]  # of its outputs
    values: int
    versions: list[str]  # of the programs
    mistakes: int  # lines and places that could not be read
    differences: dict[str, int]  # values without a result by code (imported_values.DIFFERENCES)


class Manifest(TypedDict):
    """`run.json`."""

    schema_version: int
    byteways_version: str
    method_version: int
    run_id: str
    state: str
    started_at: str
    finished_at: str | None
    wall_s: float | None
    simulated: bool
    machine_model: ManifestMachineModel | None  # of a simulated run
    command_line: list[str]
    host: ManifestHost
    build: ManifestBuild
    suite: ManifestSuite
    study: ManifestStudy  # of a run that reproduces a publication
    options: dict[str, Any]
    sample: DeviceSample  # of a run on a large machine
    planned: int
    topology: Topology
    capabilities: Capabilities
    libraries: list[dict[str, Any]]
    unusable_gpus: list[UnusableGpus]  # of a machine on which no runtime opened any GPU
    environment: dict[str, str]
    fingerprint: ManifestFingerprint
    memory_trials: list[MemoryTrial]  # of runs in which a library between ranks got memory of GPUs
    imported: list[ImportedFile]  # of a run of values that other programs printed


#: Optional fields of this schema version: `study` exists only in runs of a study, `sample` only in runs on
#: large machines, `memory_trials` only where there were some, `imported` only in imported runs; early runs
#: lack the others.
OPTIONAL_FIELDS = ("study", "sample", "machine_model", "build", "unusable_gpus", "memory_trials", "imported")
#: Fields without which a run cannot be read or resumed.
NEEDED = ("state", "suite", "options", "planned", "topology", "fingerprint")


def check(manifest: Mapping[str, Any]) -> None:
    """Checks the types of known fields; ignores unknown ones.

    Raises:
        ValueError: A field is missing or invalid; the text names it.
    """
    if missing := [name for name in NEEDED if name not in manifest]:
        raise ValueError(f"it has no {', '.join(missing)}")
    for name, kind in get_type_hints(Manifest).items():
        if name in manifest:
            try:
                converted(manifest[name], kind)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from error
    if manifest["state"] not in RUN_STATES:
        raise ValueError(f"state: '{manifest['state']}' is not one of {', '.join(RUN_STATES)}")
    if not 0 <= manifest["planned"] < 2**31:
        raise ValueError(f"planned: {manifest['planned']} is not a number of cases")
