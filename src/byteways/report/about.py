"""Facts about a run for the page: headline data, devices, and method."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from operator import attrgetter

from byteways.answers.results.machine_names import gpus
from byteways.answers.results.model_error import categories_of, model_error
from byteways.answers.results.progress import progress
from byteways.answers.results.summary import RecordedRun, Result
from byteways.base.units import format_size
from byteways.machine.model import compute_units_name
from byteways.questions.display.numbers import moment
from byteways.record.simulation_mark import is_simulated, voice_of
from byteways.verdicts.two_runs.environments import carriers


def facts(run: RecordedRun) -> tuple[tuple[str, str], ...]:
    """Returns names and values for the head of the page: what was run, when, on what."""
    manifest = run.manifest
    suite, host = manifest.get("suite") or {}, manifest.get("host") or {}
    print_of = manifest.get("fingerprint") or {}
    domains = Counter(device.model for device in run.topology.devices if device.kind == "cpu")
    wall = manifest.get("wall_s")
    values = {
        "GPUs": ", ".join(gpus(run.topology)) or "none",
        "CPUs": ", ".join(f"{_domains(count)}{model}" for model, count in domains.items()),
        **_model_facts(run),
        "Suite": f"{suite.get('name')}: {suite.get('title')}",
        "When": moment(str(manifest.get("started_at") or "")),
        "Took": f"{wall:.1f} s" if isinstance(wall, (int, float)) else "",
        "Records": progress(run),
        "Driver": str(print_of.get("driver") or ""),
        "Between ranks": ", ".join(carriers(manifest, run.records)),
        "Simulated on"
        if is_simulated(manifest)
        else "System": f"{host.get('os')}, kernel {host.get('kernel')}",
        "Host loops": str(print_of.get("host_loops") or ""),
        "byteways": f"{manifest.get('byteways_version')}, method {manifest.get('method_version')}",
    }
    return tuple((name, value) for name, value in values.items() if value)


def _model_facts(run: RecordedRun) -> dict[str, str]:
    """Returns the facts on a machine model: name, sources, accuracy; empty for a measured run."""
    manifest, model = run.manifest, run.manifest.get("machine_model") or {}
    if not is_simulated(manifest) or not model:
        return {}
    sources = "; ".join(source["title"] for source in (model.get("sources") or {}).values())
    return {
        "Model": f"{model.get('name')}: {model.get('title')}",
        "Model error": model_error(model.get("fit"), categories_of(run.records)),
        "Sources": sources,
        "Faults": ", ".join(model.get("faults") or ()),
        "Seed of the noise": str(model.get("seed", "")),
    }


def _domains(count: int) -> str:
    return f"{count} NUMA domain{'s' if count > 1 else ''}, "


def devices(run: RecordedRun) -> tuple[tuple[str, ...], ...]:
    """Rows of the table of devices: name, model, memory, compute, identity."""
    rows = []
    for device in run.topology.devices:
        if device.kind == "cpu":
            compute = f"{len(device.cores)} cores" if device.cores else ""
            caches = [cache for cache in device.caches if cache.kind != "instruction"]
            identity = ", ".join(f"L{cache.level} {format_size(cache.size_bytes)}" for cache in caches)
        else:
            compute = (
                f"{device.multiprocessors} {compute_units_name(device)}" if device.multiprocessors else ""
            )
            identity = ", ".join(part for part in (device.pci_address, device.uuid) if part)
        memory = format_size(device.memory_bytes) if device.memory_bytes else ""
        rows.append((device.name, device.model, memory, compute, device.architecture or "", identity))
    return tuple(rows)


def method(run: RecordedRun, results: Sequence[Result]) -> tuple[tuple[str, str], ...]:
    """Returns how the results on this page were measured, counted over the records."""
    measured = [record for cell in results for record in cell.records]

    def tally(name: str) -> str:
        counts = Counter(map(attrgetter(name), measured))
        del counts[None]
        return ", ".join(f"{value} ({count})" for value, count in counts.most_common())

    def yes(name: str) -> str:
        return f"{sum(map(bool, map(attrgetter(name), measured)))} of {len(measured)}"

    samples = sum(record.time_ns.n for record in measured if record.time_ns)
    taken = f"{len(measured)} {voice_of(run.manifest).measurements}"
    rows = {
        "Timed by": tally("timed_by"),
        "Behind the gate": yes("gated") if measured else "",
        "Fixed cost removed by slope": yes("slope") if measured else "",
        "Verified": f"{yes('verified')}; checked: {tally('verification')}" if measured else "",
        "Engines": tally("engine"),
        "Samples": f"{samples} over {taken} of {len(results)} cases" if measured else "",
    }
    return tuple((name, value) for name, value in rows.items() if value)
