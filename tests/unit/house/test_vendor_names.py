"""No vendor is named above the runtimes, the device language, the simulator, topology/ and machines/."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from rooms import parsed

ROOT = Path(__file__).parents[3]
PACKAGE, NATIVE = ROOT / "src/byteways", ROOT / "native"
WORDS = re.compile(
    r"nvidia|cuda|nvrtc|nvml|nvlink|(?<![a-z])amd(?![a-z])|amdsmi|amdgpu|(?<![a-z])hip(?![a-z])|hiprtc|"
    r"rocm|(?<![a-z])hsa(?![a-z])|kfd|xgmi"
)
BELOW = {"topology", "machines"}
NATIVE_BELOW = ("runtimes/", "simulator/", "interfaces/device/")
#: What has such a name nevertheless, and why.
ALLOWED = {
    "nvlink_errors": "a field of every record",
    "nvlink_data_tx_bytes": "counted by records as nvlink_errors is",
    "nvlink_data_rx_bytes": "counted by records as nvlink_errors is",
    "rocm_bandwidth_test": "the name of a program whose logs are read",
    "RocmBandwidthTestReader": "the name of a program whose logs are read",
    "cuda": "torch's own name of its GPU module, whoever made the GPU",
    "CUDA": "the aliases' column of that vendor's names",
    "HIP": "the aliases' column of that vendor's names",
}


def words_of(name: str) -> str:
    """`SysfsHip` and `check_hip` have the same words."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def defined(tree: ast.AST) -> Iterator[str]:
    """Names that a module gives: to functions, classes, arguments, variables and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def python_files() -> list[Path]:
    return [file for file in PACKAGE.rglob("*.py") if file.relative_to(PACKAGE).parts[0] not in BELOW]


def native_files() -> list[Path]:
    files = [file for suffix in ("cpp", "hpp") for file in NATIVE.rglob(f"*.{suffix}")]
    return [file for file in files if not str(file.relative_to(NATIVE)).startswith(NATIVE_BELOW)]


def vendors_in(names: set[str]) -> set[str]:
    return {name for name in names if WORDS.search(words_of(name))} - set(ALLOWED)


def test_python_above_the_line_names_no_vendor() -> None:
    """Catches a function of one vendor where a second one would need its twin."""
    found = {file: vendors_in({file.stem, *defined(parsed(file))}) for file in python_files()}
    assert len(found) > 200
    assert {str(file.relative_to(PACKAGE)): names for file, names in found.items() if names} == {}


def test_native_code_above_the_line_names_no_vendor() -> None:
    """Catches a mover or a binding that knows whose GPU it is for."""
    found = {}
    for file in native_files():
        text = re.sub(r"//[^\n]*", "", file.read_text(encoding="utf-8"))
        names = {file.stem, *re.findall(r"[A-Za-z_]\w*", re.sub(r'"(?:\\.|[^"\\])*"', '""', text))}
        found[file] = vendors_in(names | set(re.findall(r'#include "([^"]+)"', text)))
    assert len(found) > 100
    assert {str(file.relative_to(NATIVE)): names for file, names in found.items() if names} == {}
