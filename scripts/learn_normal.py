"""Writes what `byteways check` takes for normal, from the recorded runs of examples/ and published values.

    python scripts/learn_normal.py

Results of one round count beside those of other machines: they only widen what machines vary by. Of the
published values (validation/published and the studies) those count that fix the same things as one of our
cases: bandwidths of copies and kernels at 16 MiB and more, where it matters little how a program times, and
of collectives at 1 MiB and more; no approximate values, no second prints, and no other options. The nodes are
those of the machine models, and those of which byteways knows the vendors' peaks (validation/references.csv).
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "validation")]

from byteways.answers.results.index import Index  # noqa: E402
from byteways.cases.case import PlannedCase  # noqa: E402
from byteways.ext.audit.imported.cases import cases_of, transfer  # noqa: E402
from byteways.ext.studies.published.values import LARGEST  # noqa: E402
from byteways.machine.model import Topology  # noqa: E402
from byteways.machine.nominal import NOMINAL_MACHINES, nominal_topology  # noqa: E402
from byteways.measuring.conduct.recording import record_without_values  # noqa: E402
from byteways.models.library import load as load_model  # noqa: E402
from byteways.models.topology import topology_of  # noqa: E402
from byteways.record.record import Record  # noqa: E402
from byteways.record.run_folder import RunFolder  # noqa: E402
from byteways.verdicts.checks.learning import learned  # noqa: E402
from byteways.verdicts.checks.normal import NORMAL_FILE, Normal, NormalSetting, ReferenceMachine, Sample  # noqa: E402
from byteways.verdicts.two_runs.setting import family_of, setting_of  # noqa: E402
from published_values import (  # type: ignore[import-not-found]  # noqa: E402
    COUNTS,
    PublishedValue,
    foreign,
    library_of,
    load,
    machines,
    references,
)
from unpack_examples import EXAMPLES, fleet, unpack  # noqa: E402

PLACE = ROOT / "src/byteways/verdicts/checks" / NORMAL_FILE
LEAST_BYTES = {"copy": 16 * 2**20, "kernel": 16 * 2**20, "xccl": 2**20}


class Sheet:
    """A node as a run without records, to name the settings of published values.

    Args:
        topology: Of the node.
        library: Version of its NCCL or RCCL; empty: not stated.
    """

    def __init__(self, topology: Topology, library: str = "") -> None:
        self.topology = topology
        name = "rccl" if topology.device("gpu0").model.startswith("AMD") else "nccl"
        known = {"library": name, "usable": True, "version": library or "not stated"}
        self.manifest: Mapping[str, object] = {"topology": self.topology.to_json(), "libraries": [known]}
        self.records: list[Record] = []
        self.damaged_lines = 0


def recorded_runs() -> Iterator[tuple[RunFolder, str]]:
    """Every measured run of examples/, with the name that its source has in the file."""
    unpack()
    for manifest in sorted(EXAMPLES.rglob("run.json")):
        run = RunFolder(manifest.parent)
        yield run, manifest.parent.relative_to(EXAMPLES.parent).as_posix()
    for folder in fleet():
        yield RunFolder(folder), f"examples/fleet/{folder.parent.name}"


def usable(value: PublishedValue) -> bool:
    """Whether a published value fixes the same things as one of our cases."""
    plain = not value.same_as and value.exactness != "approximate"
    plain &= value.method == "xccl" or not value.options
    large = value.size_bytes is not None and value.size_bytes >= LEAST_BYTES.get(value.method, LARGEST)
    return plain and large and foreign(value) is not None


def record_of(value: PublishedValue, topology: Topology) -> Record:
    """The case of a published value."""
    ends, size = (value.source, value.destination), value.size_bytes or 0
    if value.method == "xccl":
        own = cases_of(foreign(value), topology).own
        assert own is not None and own.factor == 1.0, value.key
        case = replace(own.case, environment=value.environment)
    else:
        case = transfer(value.method, value.pattern, ends, value.executor, size, value.environment)
    planned = PlannedCase(case, "published", 0, 1.0, 0.01)
    return record_without_values(planned, 1, "skipped", "published")


def with_published(normal: Normal) -> Normal:
    """Adds the published values, a machine per source and system."""
    nodes, settings = list(normal.machines), dict(normal.settings)
    known = [(topology_of(load_model(name)), load(name)) for name in machines()]
    known += [
        (nominal_topology(name), [value for value in references() if value.machine == name])
        for name in NOMINAL_MACHINES
    ]
    for topology, values in known:
        systems: dict[tuple[str, str], dict[str, list[PublishedValue]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for value in filter(usable, values):
            index = Index(Sheet(topology, library_of(value)))
            if key := setting_of(index, record_of(value, topology)):
                systems[value.source_key, value.system][key].append(value)
        for (source, system), found in systems.items():
            places = ", ".join(dict.fromkeys(value.locator for some in found.values() for value in some))
            # Without numbers of devices: the node of the publication may have more than the model.
            nodes.append(ReferenceMachine(system, f"{source}: {places}", published=True))
            for key, some in found.items():
                _add(settings, key, some, len(nodes) - 1, topology)
    return Normal(normal.version, tuple(nodes), settings)


def _add(
    settings: dict[str, NormalSetting], key: str, some: list[PublishedValue], place: int, topology: Topology
) -> None:
    numbers = [value.value for value in some]
    ends = [end for value in some for end in value.range or (value.value,)]
    sample = Sample(place, median(numbers), min(ends), max(ends), len(numbers), 0)
    known = settings.get(key)
    counts = COUNTS[some[0].counts]
    family = family_of(record_of(some[0], topology))
    if known is None:
        settings[key] = NormalSetting(family, counts, None, {}, (sample,))
    elif known.counts == counts:
        settings[key] = replace(known, samples=(*known.samples, sample))


def text() -> str:
    """The content of the file."""
    return with_published(learned([*recorded_runs()], least_rounds=1)).text()


def main() -> int:
    PLACE.write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
