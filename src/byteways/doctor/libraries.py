"""Checks of the vendor libraries: where each was searched and found, its version, and what it lacks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from byteways.doctor.check import Check

#: Whose GPUs need each library, as sysfs_pcie.gpu_addresses() names vendors.
VENDORS = {
    **dict.fromkeys(("cuda-driver", "nvrtc", "nvml"), "NVIDIA"),
    **dict.fromkeys(("hip", "hiprtc", "hsa"), "AMD"),
}
#: Names of a search that are printed; all of them are in --json.
SEARCHED_SHOWN = 2

_FIELDS = ("library", "usable", "path", "found_by", "version", "searched", "reason", "hint")


def check_libraries(
    reports: Sequence[Mapping[str, Any]], vendors: Collection[str], environment: Mapping[str, str]
) -> list[Check]:
    """One check a library.

    Args:
        reports: Fields of `_core.LibraryReport`.
        vendors: Of the GPUs that PCI shows; without one of its vendor, an absent library is as it should be.
        environment: Libraries of a vendor of whom BYTEWAYS_LIB… names one must be there in any case.
    """
    named = {vendor for library, vendor in VENDORS.items() if _setting(library) in environment}
    return [_check(report, {*vendors, *named}) for report in reports]


def check_mpi(report: Mapping[str, Any], environment: Mapping[str, str]) -> Check:
    """The library of MPI, which only cases of several processes need: without one nothing else is lost.

    Args:
        report: Fields of `_core.LibraryReport`.
        environment: A library that BYTEWAYS_LIBMPI names must be usable.
    """
    where = f"{report['path']}, found by {report['found_by']}" if report["path"] else _searched(report)
    found = ", ".join(part for part in (str(report["version"]), where) if part)
    hint = report["hint"] or None
    if report["usable"]:
        return Check("libraries", "mpi", "ok", f"{found}; {hint}" if hint else found, None, report)
    text = "; ".join(part for part in (str(report["reason"]), found) if part)
    if report["path"] or _setting("mpi") in environment:
        return Check("libraries", "mpi", "problem", text, hint, report)
    text = f"none, which only cases of several processes need: {text}"
    return Check("libraries", "mpi", "ok", text, None, report)


def _setting(library: str) -> str:
    """The setting that names the library's file: BYTEWAYS_LIBCUDA of `cuda-driver`."""
    return f"BYTEWAYS_LIB{library.removesuffix('-driver').upper()}"


def management_report() -> list[dict[str, Any]]:
    """NVML's report, which no worker makes as it is read in this process; empty without the native module."""
    try:
        from byteways._core import Management
    except ImportError:
        return []
    report = Management().report
    missing = [
        {"name": function.name, "introduced_in": function.introduced_in, "required": function.required}
        for function in report.missing
    ]
    return [{**{name: getattr(report, name) for name in _FIELDS}, "missing": missing}]


def _check(report: Mapping[str, Any], vendors: Collection[str]) -> Check:
    vendor = VENDORS.get(str(report["library"]))
    needed = vendor in vendors if vendor else bool(vendors)
    name, missing = str(report["library"]), report["missing"]
    where = f"{report['path']}, found by {report['found_by']}" if report["path"] else _searched(report)
    found = ", ".join(part for part in (str(report["version"]), where) if part)
    lacks = "; ".join(_lack(function) for function in missing)
    advice = report["hint"] or None
    if report["usable"] and not missing:
        return Check("libraries", name, "ok", found, None, report)
    if report["usable"]:
        update = advice or "update it; until then, cases that need these functions are skipped"
        return Check("libraries", name, "warning", f"{found}; lacks {lacks}", update, report)
    text = "; ".join(part for part in (report["reason"], found, f"lacks {lacks}" if lacks else "") if part)
    if not needed:
        gpu = f"{vendor} GPU" if vendor else "GPU"
        return Check("libraries", name, "ok", f"not needed, no {gpu} on the PCI bus: {text}", None, report)
    return Check(
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
