"""The argument blocks that tests and benchmarks pass to kernels: those of the C++ headers, to the byte."""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path

import simulated_runtime
from kernel_arguments import INTERFACES
from tests.gpu import device

BLOCKS = {
    block.__name__: block
    for block in (*vars(device).values(), *vars(simulated_runtime).values())
    if isinstance(block, type) and issubclass(block, ctypes.Structure)
}


def test_layouts_and_defaults_are_those_of_the_compiler(tmp_path: Path) -> None:
    """Catches a member that was added to a header and that tests would pass as what lies in memory there."""
    assert {"PatternArguments", "ChaseArguments"} <= set(BLOCKS)
    lines = [f'#include "interfaces/{block.interface}/arguments.hpp"' for block in BLOCKS.values()]
    lines += ["#include <cstddef>", "#include <cstdio>", "#include <cstring>", "int main() {"]
    expected = []
    for name, block in BLOCKS.items():
        lines.append(f'  {{ byteways::{name} block{{}}; std::printf("{name} %zu", sizeof block);')
        expected.append(f"{name} {ctypes.sizeof(block)}")
        for field, _ in block._fields_:
            lines.append(f'  std::printf(" %zu", offsetof(byteways::{name}, {field}));')
            expected[-1] += f" {getattr(block, field).offset}"
        lines.append("  unsigned long long sum = 0, word = 0; (void)word;")
        for field, _ in block._fields_:
            lines.append(
                f"  word = 0; std::memcpy(&word, &block.{field}, sizeof block.{field}); sum += word;"
            )
        lines.append('  std::printf(" %llu\\n", sum); }')
        values = block()
        expected[-1] += f" {sum(int(getattr(values, field)) for field, _ in block._fields_) % 2**64}"
    source = tmp_path / "layout.cpp"
    source.write_text("\n".join([*lines, "}"]) + "\n")
    compiler = os.environ.get("CXX", "c++")
    program = tmp_path / "layout"
    subprocess.run(
        [compiler, "-std=c++17", "-w", "-I", INTERFACES.parent, "-o", program, source],
        check=True,
        timeout=120,
    )
    said = subprocess.run([program], capture_output=True, text=True, check=True, timeout=60).stdout
    assert said.splitlines() == expected
