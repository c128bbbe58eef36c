"""Checks of the software below byteways: Python, compiler, kernel cache, variables that affect results."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from byteways.base.settings import SETTINGS, WORKER_ENVIRONMENT, Setting
from byteways.base.units import format_size
from byteways.measuring.doctor.check import Diagnosis

#: Variables that affect results: pattern, test for a warning, effect, advice.
_VARIABLES: tuple[tuple[str, Callable[[str], bool], str, str], ...] = (
    (
        "CUDA_LAUNCH_BLOCKING",
        lambda value: value not in ("", "0"),
        "launches are synchronous: nothing overlaps, and samples are not gated",
        "unset CUDA_LAUNCH_BLOCKING",
    ),
    ("CUDA_VISIBLE_DEVICES", lambda _: False, "selects and numbers the GPUs", ""),
    (
        "CUDA_DEVICE_ORDER",
        lambda value: value != WORKER_ENVIRONMENT["CUDA_DEVICE_ORDER"],
        "GPU numbers may differ from nvidia-smi's",
        "unset CUDA_DEVICE_ORDER",
    ),
    (
        "CUDA_DEVICE_MAX_CONNECTIONS",
        lambda value: value != WORKER_ENVIRONMENT["CUDA_DEVICE_MAX_CONNECTIONS"],
        "number of hardware queues: too few serialise the streams of concurrent cases",
        "unset CUDA_DEVICE_MAX_CONNECTIONS",
    ),
    (
        "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
        lambda _: True,
        "limits kernels to a share of the multiprocessors",
        "unset CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
    ),
    ("LD_PRELOAD", lambda _: True, "is loaded into every worker and may intercept calls", "unset LD_PRELOAD"),
    (
        "GPU_MAX_HW_QUEUES",
        lambda value: value != WORKER_ENVIRONMENT["GPU_MAX_HW_QUEUES"],
        "number of ROCm hardware queues: too few serialise the streams of concurrent cases",
        "unset GPU_MAX_HW_QUEUES",
    ),
    (
        "HIP_LAUNCH_BLOCKING|AMD_SERIALIZE_(KERNEL|COPY)",
        lambda value: value not in ("", "0"),
        "launches or copies are synchronous: nothing overlaps, and samples are not gated",
        "unset it",
    ),
    (
        "HSA_ENABLE_SDMA",
        lambda value: value == "0",
        "0 makes the runtime copy by kernels instead of copy engines",
        "unset HSA_ENABLE_SDMA; the suite full measures both settings",
    ),
    (
        "HSA_ENABLE_PEER_SDMA",
        lambda value: value == "0",
        "0 makes the runtime copy between GPUs by kernels instead of copy engines",
        "unset HSA_ENABLE_PEER_SDMA; the suite full measures both settings",
    ),
    (
        "HSA_XNACK",
        lambda _: False,
        "whether GPU page faults are retried: decides whether managed pages migrate",
        "",
    ),
    ("(ROCR|HIP)_VISIBLE_DEVICES", lambda _: False, "selects and numbers the GPUs", ""),
    ("ROC_P2P_SDMA_SIZE", lambda _: False, "size in KiB up to which ROCm copies between GPUs by kernels", ""),
    (
        "GPU_FORCE_BLIT_COPY_SIZE",
        lambda _: False,
        "size in KiB up to which ROCm copies from the host by kernels",
        "",
    ),
    ("NVIDIA_VISIBLE_DEVICES", lambda _: False, "selects the GPUs of a container", ""),
    ("NCCL_.+", lambda _: False, "read by NCCL", ""),
    ("UCX_.+", lambda _: False, "read by UCX", ""),
    ("(HSA|HIP|ROCR)_.+", lambda _: False, "read by AMD's runtimes", ""),
)


def check_process(cache: Path | None, environment: Mapping[str, str] = os.environ) -> list[Diagnosis]:
    """Returns all checks of the process.

    Args:
        cache: Folder for compiled kernels; None: there is none.
        environment: Variables of the process.
    """
    version = f"{platform.python_version()}, {sys.executable}"
    return [
        Diagnosis("process", "Python", "ok", version),
        check_compiler(environment),
        check_cache(cache),
        *check_variables(environment),
    ]


def check_compiler(environment: Mapping[str, str]) -> Diagnosis:
    """Reports a C++ compiler. GPU kernels do not need it: NVRTC compiles them."""
    for name in (environment.get("CXX"), "c++", "g++", "clang++"):
        if name and (path := shutil.which(name, path=environment.get("PATH"))):
            return Diagnosis("process", "C++ compiler", "ok", path)
    return Diagnosis("process", "C++ compiler", "ok", "none; only building byteways from source needs one")


def check_cache(cache: Path | None) -> Diagnosis:
    """Checks that compiled kernels can be cached in a folder where only this user can write."""
    if cache is None:
        text = "none without a home folder: every worker recompiles the kernels"
        return Diagnosis("process", "kernel cache", "warning", text, "BYTEWAYS_CACHE=<folder>")
    existing = next(place for place in (cache, *cache.parents) if place.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        text = f"{existing} is not writable: every worker recompiles the kernels"
        return Diagnosis("process", "kernel cache", "warning", text, "BYTEWAYS_CACHE=<writable folder>")
    if existing == cache and (why := _unsafe(cache)):
        text = f"{cache} {why}, so it is not used: every worker recompiles the kernels"
        advice = f"chmod 700 {cache}, or BYTEWAYS_CACHE=<folder>"
        return Diagnosis("process", "kernel cache", "warning", text, advice)
    if existing != cache:
        return Diagnosis(
            "process", "kernel cache", "ok", f"{cache}, created when the first kernel is compiled"
        )
    sizes = [file.stat().st_size for file in cache.rglob("*") if file.is_file()]
    held = f"{len(sizes)} files, {format_size(sum(sizes))}" if sizes else "empty"
    return Diagnosis("process", "kernel cache", "ok", f"{cache}, {held}")


def _unsafe(cache: Path) -> str:
    """Returns why the native core rejects this folder (native/runtimes/gpu/cache_files.cpp), or ''."""
    found = cache.stat()
    if found.st_uid != os.geteuid():
        return "belongs to another user"
    return "is writable by others" if found.st_mode & 0o022 else ""


def check_variables(environment: Mapping[str, str]) -> list[Diagnosis]:
    """Reports set variables that affect results. Values of others are never shown: they may be secrets."""
    checks = [
        _check_setting(setting, environment[setting.name])
        for setting in SETTINGS
        if setting.name in environment
    ]
    for name, value in sorted(environment.items()):
        known = next((row for row in _VARIABLES if re.fullmatch(row[0], name)), None)
        if known is not None:
            _, warns, effect, advice = known
            text = f"{value or '(empty)'}: {effect}"
            warned = warns(value)
            checks.append(
                Diagnosis("process", name, "warning" if warned else "ok", text, advice if warned else None)
            )
    return checks or [Diagnosis("process", "variables", "ok", "none set that affects results")]


def _check_setting(setting: Setting, value: str) -> Diagnosis:
    """Checks that a library's file is there; a name without a folder is for the dynamic linker to find."""
    text = f"{value or '(empty)'}: {setting.meaning}"
    if setting.names_library and "/" in value and not Path(value).is_file():
        advice = f"unset {setting.name}, or let it name the library's file"
        return Diagnosis("process", setting.name, "problem", f"{text}, and no such file is there", advice)
    return Diagnosis("process", setting.name, "ok", text)
