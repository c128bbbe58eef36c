"""Checks of the vendor libraries: search path, location, version, and missing functions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from byteways.machine.unusable_gpus import LIBRARY_VENDORS
from byteways.measuring.doctor.check import Diagnosis
from byteways.measuring.shared.mpi_wheels import MpiWheels, Obstacle

#: Optional libraries and the cases that need them.
OPTIONAL_LIBRARIES = {
    "mpi": "cases of several processes",
    "ucx": "the interfaces of UCX",
    **dict.fromkeys(("nccl", "rccl"), "the interfaces xccl and xccl-ping-pong"),
}
#: Number of searched names printed; --json has all.
SEARCHED_SHOWN = 2


def check_libraries(
    reports: Sequence[Mapping[str, Any]], vendors: Collection[str], environment: Mapping[str, str]
) -> list[Diagnosis]:
    """Returns one check per library.

    Args:
        reports: Fields of `_core.LibraryReport`.
        vendors: Vendors of the GPUs on the PCI bus; libraries of other vendors may be absent.
        environment: If BYTEWAYS_LIB… names a library of a vendor, that vendor's libraries are required.
    """
    named = {vendor for library, vendor in LIBRARY_VENDORS.items() if _setting(library) in environment}
    return [
        check_optional(report, environment, OPTIONAL_LIBRARIES[str(report["library"])])
        if report["library"] in OPTIONAL_LIBRARIES
        else _check(report, {*vendors, *named})
        for report in reports
    ]


def check_optional(report: Mapping[str, Any], environment: Mapping[str, str], needed_by: str) -> Diagnosis:
    """Checks a library that only some cases need, so its absence is not a problem.

    Args:
        report: Fields of `_core.LibraryReport`.
        environment: A library named by a variable (BYTEWAYS_LIBMPI) must be usable.
        needed_by: The cases that need it.
    """
    name = str(report["library"])
    where = f"{report['path']}, found by {report['found_by']}" if report["path"] else _searched(report)
    found = ", ".join(part for part in (str(report["version"]), where) if part)
    hint = report["hint"] or None
    if report["usable"]:
        return Diagnosis("libraries", name, "ok", f"{found}; {hint}" if hint else found, None, report)
    text = "; ".join(part for part in (str(report["reason"]), found) if part)
    if report["path"] or _setting(name) in environment:
        return Diagnosis("libraries", name, "problem", text, hint, report)
    return Diagnosis("libraries", name, "ok", f"none; needed only by {needed_by}: {text}", None, report)


def check_gpu_messages(wheels: MpiWheels | None, obstacle: Obstacle | None) -> list[Diagnosis]:
    """Says whether the packages of the extra `mpi` send memory of GPUs; nothing without them.

    Args:
        wheels: Both packages, if this environment has them.
        obstacle: Why they are not used here; None if they are.
    """
    if wheels is None:
        return []
    if obstacle is not None:
        state, text = "warning" if obstacle.advice else "ok", f"{wheels}; not used: {obstacle.reason}"
        return [Diagnosis("libraries", "mpi of GPUs", state, text, obstacle.advice or None)]
    text = f"{wheels}, which ranks preload; the memory that it moves is found by trial in each run"
    return [Diagnosis("libraries", "mpi of GPUs", "ok", text)]


def _setting(library: str) -> str:
    """Returns the setting for the library's path: BYTEWAYS_LIBCUDA for `cuda-driver`."""
    return f"BYTEWAYS_LIB{library.removesuffix('-driver').upper()}"


def _check(report: Mapping[str, Any], vendors: Collection[str]) -> Diagnosis:
    vendor = LIBRARY_VENDORS.get(str(report["library"]))
    needed = vendor in vendors if vendor else bool(vendors)
    name, missing = str(report["library"]), report["missing"]
    where = f"{report['path']}, found by {report['found_by']}" if report["path"] else _searched(report)
    found = ", ".join(part for part in (str(report["version"]), where) if part)
    lacks = "; ".join(_lack(function) for function in missing)
    advice = report["hint"] or None
    if report["usable"] and not missing:
        state = "warning" if advice else "ok"
        return Diagnosis("libraries", name, state, found, advice, report)
    if report["usable"]:
        update = advice or "update it; until then, cases that need these functions are skipped"
        return Diagnosis("libraries", name, "warning", f"{found}; lacks {lacks}", update, report)
    if not needed:
        gpu = f"{vendor} GPU" if vendor else "GPU"
        text = f"not needed, no {gpu} on the PCI bus: {report['reason']}"
        return Diagnosis("libraries", name, "ok", text, None, report)
    text = "; ".join(part for part in (report["reason"], found, f"lacks {lacks}" if lacks else "") if part)
    return Diagnosis(
        "libraries", name, "problem", text, advice or "install or update the vendor's driver", report
    )


def _searched(report: Mapping[str, Any]) -> str:
    names = list(report["searched"])
    more = (
        f" and {len(names) - SEARCHED_SHOWN} more (listed by --json)" if len(names) > SEARCHED_SHOWN else ""
    )
    return f"searched {', '.join(names[:SEARCHED_SHOWN])}{more}" if names else ""


def _lack(function: Mapping[str, Any]) -> str:
    kind = "required" if function["required"] else "optional"
    since = f", introduced in {function['introduced_in']}" if function["introduced_in"] else ""
    return f"{function['name']} ({kind}{since})"
