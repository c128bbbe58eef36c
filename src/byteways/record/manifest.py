"""The manifest of a run, `run.json`: what ran, where and on what, and what must be unchanged to resume it."""

from __future__ import annotations

import hashlib
import json
import platform
import secrets
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from byteways import __version__
from byteways.base.json_text import json_text
from byteways.base.settings import recorded_environment
from byteways.base.system_errors import cannot_write
from byteways.base.writing import write as write_file
from byteways.machine.model import Capabilities, Topology
from byteways.machine.unusable_gpus import UnusableGpus
from byteways.record.code_version import code_digest, commit
from byteways.record.record import SCHEMA_VERSION
from byteways.record.run_folder import MANIFEST

#: Fields of a device's description that may change on the same machine.
_VOLATILE = ("memory_bytes",)


def now() -> str:
    """Returns the current time in ISO 8601, UTC, with milliseconds."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")


def fingerprint(
    topology: Topology, capabilities: Capabilities, method_version: int, simulated: bool
) -> dict[str, Any]:
    """Returns what must be equal for two measurements to belong to one run."""
    loops = capabilities.host_loops
    return {
        **({"host_loops": f"{loops.isa} by {loops.compiler}"} if loops else {}),
        "driver": driver_versions(capabilities),
        "topology": topology_digest(topology.to_json()),
        "code": f"{__version__} {code_digest(simulated)}",
        "method_version": method_version,
    }


def driver_versions(capabilities: Capabilities) -> str:
    """Formats 'cuda 12.8 (driver 570.86)' for every vendor runtime in use; 'none' without a GPU."""
    versions = {
        f"{device['runtime']} {device['runtime_version']}"
        for device in capabilities.devices.values()
        if device["runtime"] != "host"
    }
    return ", ".join(sorted(versions)) or "none"


def topology_digest(topology: Mapping[str, Any]) -> str:
    """Returns 16 hexadecimal digits over devices, switches and links; ignores notes and free memory."""
    devices = [
        {name: value for name, value in device.items() if name not in _VOLATILE}
        for device in topology["devices"]
    ]
    stable = {**topology, "devices": devices, "notes": [], "nics": []}  # cables come and go
    return hashlib.sha256(json.dumps(stable, sort_keys=True).encode()).hexdigest()[:16]


def topology_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Lists differences between two topologies as short phrases; empty if they count as equal."""
    if topology_digest(before) == topology_digest(after):
        return []
    before, after = json.loads(json.dumps(before)), json.loads(json.dumps(after))  # tuples equal lists
    changes: list[str] = []
    if before["host"] != after["host"]:
        changes.append(f"host {before['host']} became {after['host']}")
    old = {device["name"]: device for device in before["devices"]}
    new = {device["name"]: device for device in after["devices"]}
    changes += [f"{name} disappeared" for name in old if name not in new]
    changes += [f"{name} is new" for name in new if name not in old]
    for name in old:
        if name in new:
            differing = [
                key for key in old[name] if key not in _VOLATILE and old[name][key] != new[name].get(key)
            ]
            changes += [f"{name}: {key} {old[name][key]} became {new[name].get(key)}" for key in differing]
    if (before["links"], before["switches"]) != (after["links"], after["switches"]):
        changes.append(f"links ({len(before['links'])} became {len(after['links'])}) or their rates")
    return changes or ["its description"]


def build(
    *,
    command_line: Sequence[str],
    suite: Mapping[str, Any],
    options: Mapping[str, Any],
    planned: int,
    topology: Topology,
    capabilities: Capabilities,
    libraries: Iterable[Mapping[str, Any]],
    method_version: int,
    unusable_gpus: Sequence[UnusableGpus] = (),
    machine_model: Mapping[str, Any] | None = None,
    study: Mapping[str, Any] | None = None,
    sample: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Returns the manifest of a new run.

    Args:
        suite: `name`, `title`, `text` (the TOML as read) and `rounds`.
        options: `only`, `sizes`, `budget_s` and all other inputs of the plan.
        planned: Number of records that the run will have.
        unusable_gpus: GPUs that the machine has and no runtime opened.
        machine_model: The simulated machine; None: the run is measured.
        sample: The devices that globs mean on a large machine; runs that take all lack this field.
        study: `key` and `title` of the publication that the run reproduces; other runs lack this field.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "byteways_version": __version__,
        "method_version": method_version,
        "run_id": secrets.token_hex(8),
        "state": "running",
        "started_at": now(),
        "finished_at": None,
        "wall_s": None,
        "simulated": machine_model is not None,
        "machine_model": dict(machine_model) if machine_model is not None else None,
        "command_line": list(command_line),
        "host": {
            "name": platform.node(),
            "kernel": platform.release(),
            "os": _os_name(),
            "python": platform.python_version(),
        },
        "build": {"digest": code_digest(machine_model is not None), "commit": commit()},
        "suite": dict(suite),
        **({"study": dict(study)} if study is not None else {}),
        "options": dict(options),
        **({"sample": dict(sample)} if sample is not None else {}),
        "planned": planned,
        "topology": topology.to_json(),
        "capabilities": capabilities.to_json(),
        "libraries": [dict(library) for library in libraries],
        "unusable_gpus": list(unusable_gpus),
        "environment": recorded_environment(simulated=machine_model is not None),
        "fingerprint": fingerprint(topology, capabilities, method_version, machine_model is not None),
    }


def finish(
    manifest: Mapping[str, Any], state: str, wall_s: float, memory_trials: Iterable[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """Returns the manifest at the end of a run or of a part: `state` is `complete` or `interrupted`.

    Args:
        wall_s: Seconds of this part; added to those of earlier parts.
        memory_trials: What libraries between ranks were tried with in this part.
    """
    trials = [*manifest.get("memory_trials", ()), *map(dict, memory_trials)]
    return {
        **manifest,
        **({"memory_trials": trials} if trials else {}),
        "state": state,
        "finished_at": now(),
        "wall_s": round((manifest.get("wall_s") or 0.0) + wall_s, 3),
    }


def write(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Writes the manifest atomically.

    Raises:
        BytewaysError: The folder cannot be written; the previous manifest is intact.
    """
    path = folder / MANIFEST
    try:
        write_file(path, json_text(manifest, indent=1) + "\n", durable=True)
    except OSError as error:
        raise cannot_write(path, error, "check the file system") from error


def _os_name() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", sys.platform)
    except OSError:
        return sys.platform
