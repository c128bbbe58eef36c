"""A worker that speaks the protocol, measures instantly, and misbehaves on demand.

A case says what happens through its option `fault`, or BYTEWAYS_FAKE_FAULTS does by size
("8192=segfault,16384=hang"); other BYTEWAYS_FAKE_* variables change how it starts and what the probe tells.
A test waits for what it left in the file BYTEWAYS_FAKE_EVENTS, never for a time.
Standard library only, like the real one.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1


def capabilities() -> dict:
    memory = {"pageable": {"available": True, "reason": ""}, "hugepage": {"available": True, "reason": ""}}
    names = ("memcpy", "memcpy-mt", "memcpy-stream", "pointer-chase")
    device = {
        "name": "cpu0",
        "runtime": "host",
        "runtime_version": "1",
        "model": "fake",
        "uuid": "",
        "pci_address": "",
        "architecture": "x86_64",
        "numa_domain": 0,
        "multiprocessors": 2,
        "memory_bytes": int(os.environ.get("BYTEWAYS_FAKE_MEMORY", 8 << 30)),
        "last_level_cache_bytes": 1 << 20,
        "memory_bytes_per_s": 0,
        "copy_engines": 0,
        "pageable_access": True,
    }
    if version := os.environ.get("BYTEWAYS_FAKE_DRIVER"):
        device.update(runtime="cuda", runtime_version=version)
    return {
        "devices": {"cpu0": device},
        "memory": {"cpu0": memory},
        "interface": {"cpu0": {name: {"available": True, "reason": ""} for name in names}},
        "peer": {},
        "pageable_access": {"cpu0": True},
        "host_memory_bytes": int(os.environ.get("BYTEWAYS_FAKE_MEMORY", 8 << 30)),
    }


def outcome(case: dict) -> dict:
    median = 1000.0
    times = {
        "median": median,
        "ci95": [999.0, 1001.0],
        "min": 990.0,
        "max": 1010.0,
        "mean": 1000.0,
        "sd": 3.0,
        "n": 3,
    }
    return {
        "status": "measured",
        "reason": None,
        "timed_by": "host-clock",
        "batch": 1,
        "samples_ns": [999.0, 1000.0, 1001.0],
        "time_ns": times,
        "bandwidth_bytes_per_s": case["size_bytes"] * 1e9 / median,
        "counts": "per-direction",
        "verified": True,
    }


def eat_memory() -> None:
    eaten = []
    while True:
        eaten.append(bytearray(b"x") * (8 << 20))
        time.sleep(0.005)


def tell(event: str) -> None:
    """Leaves a line for the test."""
    if events := os.environ.get("BYTEWAYS_FAKE_EVENTS"):
        with Path(events).open("a") as file:
            file.write(f"{event}\n")


def misbehave(fault: str, connection: socket.socket) -> None:
    if fault == "segfault":
        ctypes.string_at(0)
    elif fault == "hang":
        tell("hangs")
        time.sleep(3600)
    elif fault == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif fault == "wait":  # until the test goes on
        while not Path(os.environ["BYTEWAYS_FAKE_GATE"]).exists():
            time.sleep(0.005)
    elif fault == "hang-hard":  # deaf to SIGTERM, and with a child
        signal.signal(signal.SIGTERM, lambda *_: tell("deaf"))
        subprocess.Popen(["sleep", "3600"])
        tell("hangs")
        time.sleep(3600)
    elif fault == "raise":
        raise RuntimeError("the fake worker raises")
    elif fault == "eat-memory":
        eat_memory()
    elif fault == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif fault == "garbage":
        connection.sendall(b"\x00\xffgarbage\n")
    elif fault == "no-object":
        connection.sendall(b"[1, 2]\n")
    elif fault == "wrong-answer":
        connection.sendall(b'{"did": "probe"}\n')
    elif fault == "half-line":
        connection.sendall(b'{"did": "mea')
        os._exit(0)
    elif fault == "close":
        connection.shutdown(socket.SHUT_RDWR)
        time.sleep(3600)
    elif fault == "exit":
        print("about to give up", file=sys.stderr, flush=True)
        os._exit(7)


def answer(request: dict, connection: socket.socket) -> dict:
    if request["do"] == "probe":
        misbehave(os.environ.get("BYTEWAYS_FAKE_PROBE", ""), connection)
        return {"did": "probe", "capabilities": capabilities(), "libraries": [], "method_version": 1}
    if request["do"] == "choices":
        misbehave(os.environ.get("NCCL_PLANTED", ""), connection)
        tell(f"asked for {len(request['cases'])} choices, {os.environ['NCCL_DEBUG_SUBSYS']}")
        choice = {"algorithm": "Ring", "protocol": "LL", "channels": 2, "source": "toy", "reason": None}
        return {"did": "choices", "choices": [choice] * len(request["cases"])}
    assert "NCCL_DEBUG_FILE" not in os.environ  # a log would disturb the timing
    case = request["case"]
    by_size = dict(
        entry.split("=") for entry in os.environ.get("BYTEWAYS_FAKE_FAULTS", "").split(",") if entry
    )
    fault = case["options"].get("fault") or by_size.get(str(case["size_bytes"]), "")
    misbehave(fault, connection)
    time.sleep(float(os.environ.get("BYTEWAYS_FAKE_SLEEP", "0")))
    reply = {"did": "measure", "outcome": outcome(case)}
    if fault == "not-a-number":
        reply["outcome"]["bandwidth_bytes_per_s"] = float("nan")
    elif fault == "unknown-field":
        reply["outcome"]["colour"] = "blue"
    elif fault == "corrupt":
        reply["outcome"].update(status="corrupt", reason="1 of 8 words differ", verified=False)
    elif fault == "failed":
        reply["outcome"] = {"status": "failed", "reason": "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY"}
    elif fault == "not-utf-8":  # a path in it, as Python decodes one
        reply["outcome"] = {"status": "failed", "reason": "/opt/\udc80: no such file"}
    elif fault == "sticky":
        reply["outcome"] = {"status": "failed", "reason": "CUDA_ERROR_ILLEGAL_ADDRESS"}
        reply["leaving"] = True
    return reply


def main() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket")
    parser.add_argument("--parent", type=int)
    parser.add_argument("--machine")
    parser.add_argument("--kind")
    arguments = parser.parse_args()
    if arguments.machine:  # as a simulated machine: its sheet must be there
        Path(arguments.machine).read_text()
    if os.getppid() != arguments.parent:
        sys.exit(1)
    if os.environ.get("BYTEWAYS_FAKE_START") == "dies":
        sys.exit("the fake worker does not start")
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(arguments.socket)
    if pids := os.environ.get("BYTEWAYS_FAKE_PIDS"):
        with Path(pids).open("a") as file:
            file.write(f"{os.getpid()}\n")
    connection.sendall(json.dumps({"did": "hello", "pid": os.getpid()}).encode() + b"\n")
    with connection.makefile("rb") as lines:
        for line in lines:
            request = json.loads(line)
            if request["do"] == "stop":
                return
            connection.sendall(json.dumps(answer(request, connection)).encode() + b"\n")


if __name__ == "__main__":
    main()
