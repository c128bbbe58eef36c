"""A small run and what is said of it, all of it true, both written by hand: for tests of what checks it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

GIB = 2**30
GPUS, HOST = ("gpu0>gpu1", "gpu1>gpu0"), ("cpu0>gpu0", "cpu0>gpu1")
SDMA = {"HSA_ENABLE_SDMA": "0"}
#: Ends, kind, nominal rate and class of each link.
LINKS = [
    ("gpu0", "gpu1", "nvlink", 450e9, "NVLink4 ×18"),
    ("gpu0", "gpu2", "nvlink", 112e9, "NVLink4 ×4"),
    ("gpu1", "gpu2", "nvlink", 112e9, "NVLink4 ×4"),
    *(("cpu0", f"gpu{gpu}", "pcie", 63e9, "PCIe 5.0 ×16") for gpu in range(3)),
]
#: Signalling rate over nominal rate.
SIGNALLING = 1.06
#: interface, path, size, figure, then what differs from a plain unidirectional transfer.
CASES: list[tuple[str, str, int, float, dict[str, Any]]] = [
    *(("copy", path, GIB, 396e9, {}) for path in GPUS),
    *(("kernel", path, GIB, 375e9, {}) for path in GPUS),
    *(("kernel-bulk", path, GIB, 100e9, {}) for path in GPUS),
    ("copy", "gpu0>gpu2", GIB, 97e9, {"peak": 112e9}),
    ("copy", "gpu0>gpu1", 4096, 2e9, {}),
    ("copy", "gpu1>gpu0", 4096, 692e9, {"options": {"submit": "batch"}}),
    *(("copy", path, GIB, 55e9, {"environment": SDMA, "noisy": True, "peak": 63e9}) for path in HOST),
    *(("kernel", path, GIB, 55.02e9, {"environment": SDMA, "noisy": True, "peak": 63e9}) for path in HOST),
    ("copy", "gpu0<>gpu1", GIB, 780e9, {"pattern": "bidirectional", "peak": 900e9}),
    ("pointer-chase", "gpu0>gpu0", GIB, 500.0, {}),
    ("pointer-chase", "gpu1>gpu0", GIB, 900.0, {}),
]
#: Of the collective of all ranks.
COLLECTIVE_SIZE, COLLECTIVE_NS = 2**20, 400e3
#: Each round beside the median.
SCATTER = (0.998, 1.0, 1.003)


def name_of(interface: str, path: str, size: int = GIB) -> str:
    return f"{interface} {path} {size}"


def _flows(path: str, interface: str) -> list[dict[str, str]]:
    a, _, b = path.replace("<>", ">").partition(">")
    ends = [(a, b), (b, a)] if "<>" in path else [(a, b)]
    return [
        {
            "source": f"{b if interface == 'pointer-chase' else source}:device",
            "destination": f"{destination}:device",
            "executor": source,
        }
        for source, destination in ends
    ]


def record(number: int, case: tuple[str, str, int, float, dict[str, Any]]) -> dict[str, Any]:
    """One round of a case, in schema 2."""
    interface, path, size, middle, more = case
    latency, flows = interface == "pointer-chase", _flows(path, interface)
    value, pattern = middle * SCATTER[number], more.get("pattern", "unidirectional")
    void = middle > 478e9 and pattern == "unidirectional"
    paths = [f"{flow['source'].partition(':')[0]}>{flow['destination'].partition(':')[0]}" for flow in flows]
    counts = "dependent-load" if latency else "sum-of-directions" if len(flows) > 1 else "per-direction"
    moved = {
        "bandwidth_bytes_per_s": value,
        "directions": {one: value / len(paths) for one in paths},
        "peak_bytes_per_s": more.get("peak", 450e9),
        "limit_bytes_per_s": 478e9 * len(flows),
    }
    return {
        "case_id": name_of(interface, path, size),
        "round": number,
        "sweep": "s",
        "interface": interface,
        "executor": flows[0]["executor"],
        "access": "write",
        "pattern": pattern,
        "path": path,
        "flows": flows,
        "source": flows[0]["source"],
        "destination": flows[0]["destination"],
        "size_bytes": size,
        "cache": "cold",
        "options": more.get("options", {}),
        "environment": more.get("environment", {}),
        "status": "measured",
        "reason": None,
        "counts": counts,
        "verified": True,
        "simulated": True,
        "rests_on": ["assumed"] if more.get("noisy") else ["nominal"],
        "time_ns": {"median": size / value * 1e9 if not latency else value, "n": 21},
        **({"latency_ns": value} if latency else moved),
        "warnings": [{"id": "noisy"}] * bool(more.get("noisy")) + [{"id": "beyond-limit"}] * void,
    }


def collective(number: int) -> dict[str, Any]:
    """One round of an allreduce of four ranks, 1 MiB in 400 µs."""
    told = record(number, ("copy", GPUS[0], COLLECTIVE_SIZE, 1e9, {}))
    ends = [[f"{rank}/cpu0:pageable"] * 2 for rank in range(4)]
    time_ns = COLLECTIVE_NS * SCATTER[number]
    rate = COLLECTIVE_SIZE / time_ns * 1e9
    del told["directions"], told["peak_bytes_per_s"], told["limit_bytes_per_s"]
    return told | {
        "case_id": "allreduce",
        "interface": "mpi",
        "executor": "cpu0",
        "pattern": "allreduce",
        "path": "allreduce:0-3/cpu0",
        "flows": [{"source": ends[0][0], "destination": ends[0][1], "executor": "cpu0", "others": ends[1:]}],
        "source": ends[0][0],
        "destination": ends[0][1],
        "counts": "bus",
        "bandwidth_bytes_per_s": 1.5 * rate,
        "other_count": {"counts": "algorithm", "bytes_per_s": rate},
        "time_ns": {"median": time_ns, "n": 21},
    }


def _records() -> list[dict[str, Any]]:
    rounds = range(len(SCATTER))
    return [
        one for number in rounds for one in (*(record(number, case) for case in CASES), collective(number))
    ]


def write(folder: Path) -> Path:
    """The run folder."""
    folder.mkdir(parents=True, exist_ok=True)
    links = [
        {"a": a, "b": b, "kind": kind, "link_class": name, "peak_bytes_per_s": peak}
        | {"signalling_bytes_per_s": SIGNALLING * peak}
        for a, b, kind, peak, name in LINKS
    ]
    taken = [
        {name: one[name] for name in ("case_id", "round")}
        | {"samples_ns": [one["time_ns"]["median"] * (1 + 1e-3 * step) for step in range(-10, 11)]}
        for one in _records()
    ]
    (folder / "samples.jsonl").write_text("\n".join(map(json.dumps, taken)) + '\n{"torn')
    manifest = {"schema_version": 2, "simulated": True, "topology": {"links": links}}
    (folder / "run.json").write_text(json.dumps(manifest))
    lines = [*map(json.dumps, _records()), '{"torn']
    (folder / "measurements.jsonl").write_text("\n".join(lines))
    return folder


def operand(name: str, ids: Sequence[str]) -> dict[str, Any]:
    told = [case for case in CASES if name_of(*case[:3]) in ids]
    values = [case[3] for case in told]
    value, more = median(values), told[0][4]
    return {
        "name": name,
        "value": value,
        "low": 0.996 * value,
        "high": 1.004 * value,
        "least": min(values),
        "most": max(values),
        "case_ids": list(ids),
        "paths": [case[1] for case in told],
        "settings": [["interface", told[0][0]]]
        + [["environment", f"{name}={value}"] for name, value in more.get("environment", {}).items()],
        "doubts": ["noisy"] if more.get("noisy") else [],
    }


def claim(first: str, second: str, paths: Sequence[str], lead: bool, **more: Any) -> dict[str, Any]:
    """Of two interfaces over some paths; of one over two paths where `more` has the second's."""
    against: Sequence[str] = more.get("against", paths)
    sides = [
        operand(first, [name_of(first, path) for path in paths]),
        operand(second, [name_of(second, path) for path in against]),
    ]
    effect, pairs = sides[0]["value"] / sides[1]["value"], len(paths)
    assumed = paths == HOST
    return {
        "kind": "best", "verdict": "leads" if lead else "tie", "quantity": more.get("quantity", "bandwidth"),
        "first": sides[0], "second": sides[1], "differs": ["interface"], "scope": [["size", str(GIB)]],
        "effect": effect, "low": 0.995 * effect, "high": 1.005 * effect, "comparisons": 3, "pairs": pairs,
        "agree": pairs if lead else 0, "against": 0, "reason": "",
        "rests_on": ["assumed"] if assumed else ["nominal"],
    }  # fmt: skip


def finding(
    title: str, importance: float, claims: Sequence[dict[str, Any]], detail: str = ""
) -> dict[str, Any]:
    results = [claims[0]["first"], *(one["second"] for one in claims)]
    rests = sorted({what for one in claims for what in one["rests_on"]})
    told = {"title": title, "detail": detail, "importance": importance, "claims": list(claims)}
    return {**told, "results": results, "rests_on": rests}


def cell(case: tuple[str, str, int, float, dict[str, Any]]) -> dict[str, Any]:
    interface, path, size, value, more = case
    told = record(1, case)
    name = "latency_ns" if interface == "pointer-chase" else "bandwidth_bytes_per_s"
    return {
        "case_id": told["case_id"],
        "interface": interface,
        "path": path,
        "size_bytes": size,
        name: value,
        f"{name}_interval": [0.996 * value, 1.004 * value],
        "rounds": 3,
        "samples": 63,
        "ranked": True,
        "verified": True,
        "directions": told.get("directions"),
        "fraction_of_peak": value / told["peak_bytes_per_s"] if "peak_bytes_per_s" in told else None,
        "warnings": ["noisy"] if more.get("noisy") else [],
    }


def _collective_cell() -> dict[str, Any]:
    told = collective(1)
    value = told["bandwidth_bytes_per_s"]
    asked = "case_id interface path size_bytes counts bandwidth_bytes_per_s"
    return {name: told[name] for name in asked.split()} | {
        "bandwidth_bytes_per_s_interval": [0.996 * value, 1.004 * value],
        "operation_ns": told["time_ns"]["median"],
        "rounds": 3,
        "samples": 63,
        "ranked": True,
        "verified": True,
        "warnings": [],
    }


def _collective_tables() -> list[dict[str, Any]]:
    """400 µs, and 1.5 × 1 MiB in them."""
    figures = {"time, µs": "400", "bus bandwidth, GB/s": "3.93"}
    return [
        {
            "title": f"MPI, 0-3/cpu0, pageable memory, pipelined: {what}",
            "headings": ["size", "allreduce"],
            "rows": [["1 MiB", told]],
        }
        for what, told in figures.items()
    ]


def said() -> dict[str, Any]:
    """What `byteways show --json` would say of it."""
    between = [claim("copy", other, GPUS, True) for other in ("kernel", "kernel-bulk")]
    host = [claim("copy", "kernel", HOST, False)]
    walk = claim(
        "pointer-chase", "pointer-chase", ["gpu1>gpu0"], True, against=["gpu0>gpu0"], quantity="latency"
    )
    void = [case for case in CASES if case[3] == 692e9]
    fastest = "copy issued by the source is fastest at 1 GiB: 396 GB/s (88 % of 450); kernel reaches 375"
    ways = "copy and kernel (HSA_ENABLE_SDMA=0)"
    tie = f"no significant difference between {ways} at 1 GiB: 55 and 55 GB/s (noisy)"
    entry = {"wanted_size_bytes": GIB, "size_bytes": GIB, "interface": "copy", "next": None, "ties": []}
    return {
        "simulated": True,
        "damaged_lines": 1,
        "void": [name_of(*case[:3]) for case in void],
        "best": [
            {
                **entry,
                "between": "GPU > GPU, NVLink4 ×18",
                "how": "write",
                "next": "kernel",
                "claims": between,
                "bandwidth_bytes_per_s": 396e9,
                "bandwidth_bytes_per_s_interval": [394e9, 398e9],
                "next_bandwidth_bytes_per_s": 375e9,
            },
            {
                **entry,
                "between": "host > GPU",
                "how": "write, HSA_ENABLE_SDMA=0",
                "ties": ["kernel"],
                "claims": host,
                "bandwidth_bytes_per_s": 55e9,
                "bandwidth_bytes_per_s_interval": [54.8e9, 55.2e9],
            },
        ],
        "findings": [
            finding(f"Between GPUs (NVLink4 ×18), {fastest}", 600.0, between),
            finding(f"From host to GPU, {tie}", 240.0, host, "Based on assumed parameters of the model."),
            finding(
                "Load latency on a GPU: a peer's memory 900 ns, its own 500 ns (1.8 times)", 200.0, [walk]
            ),
        ],
        "cells": [*(cell(case) for case in CASES if case not in void), _collective_cell()],
        "topics": [{"anchor": "collectives", "tables": _collective_tables()}],
        "warnings": [{"id": "noisy", "count": 4}, {"id": "beyond-limit", "count": 1}],
        "not_measured": [],
    }
