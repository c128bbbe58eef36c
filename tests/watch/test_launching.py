"""How a program is started: what keeps collectors from being loaded is said, and nothing breaks."""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from byteways.watch.elf import obstacle
from byteways.watch.launching import WatchLaunch, watch_launch
from byteways.watch.problems import WATCH_PROBLEMS, Problem, sentence
from tests.watch.programs import HERE, codes, collectors, compiled, watched

MACHINES = {"x86_64": 62, "aarch64": 183}


def elf(
    *, bits: int = 64, machine: int | None = None, interpreter: bytes | None = b"/lib64/ld-linux.so.2"
) -> bytes:
    """A file with the header of a program and at most one segment, of its interpreter."""
    own = MACHINES[os.uname().machine] if machine is None else machine
    name = (interpreter or b"") + b"\0"
    head = b"\x7fELF" + bytes([2 if bits == 64 else 1, 1, 1]) + bytes(9)
    count = 1 if interpreter else 0
    head += struct.pack("<HHIQQQIHHHHHH", 3, own, 1, 0, 64, 0, 0, 64, 56, count, 0, 0, 0)
    segment = struct.pack("<IIQQQQQQ", 3, 4, 120, 0, 0, len(name), len(name), 1)
    return head + segment + name


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (elf(), None),
        (elf(interpreter=None), "static-program"),
        (elf(bits=32), "other-architecture"),
        (elf(machine=8), "other-architecture"),
        (elf(interpreter=b"/lib/ld-musl-x86_64.so.1"), "other-c-library"),
        (elf()[:40], None),
        (b"", None),
        (b"#!", None),
        (b"#!/bin/sh\n", None),
        (b"#!/no/such/interpreter\n", None),
    ],
)
def test_what_a_program_is(tmp_path: Path, content: bytes, code: str | None) -> None:
    """Catches a program that looks as if it moved nothing, where nothing can be seen; and a cut header."""
    program = tmp_path / "program"
    program.write_bytes(content)
    found = obstacle(program)
    assert (found.code if found else None) == code


def test_a_script_is_what_its_interpreter_is(tmp_path: Path) -> None:
    """Catches a script of a static shell."""
    (tmp_path / "shell").write_bytes(elf(interpreter=None))
    (tmp_path / "script").write_text(f"#!{tmp_path / 'shell'} -e\n")
    assert obstacle(tmp_path / "script") == Problem("static-program", "shell")


@pytest.mark.parametrize("mode", [0o4755, 0o2755])
def test_a_program_with_other_rights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int) -> None:
    """Catches a setuid program without a word, and a warning of one with the user's own rights."""
    program = tmp_path / "program"
    program.write_bytes(elf())
    program.chmod(mode)
    assert obstacle(program) is None
    monkeypatch.setattr(os, "getuid", lambda: program.stat().st_uid + 1)
    monkeypatch.setattr(os, "getgid", lambda: program.stat().st_gid + 1)
    assert obstacle(program) == Problem("privileged-program", "program")


def launched(tmp_path: Path, content: bytes, variables: Mapping[str, str] | None = None) -> WatchLaunch:
    program = tmp_path / "program"
    program.write_bytes(content)
    return watch_launch(program, tmp_path, collectors()[0].parent, 5, variables or {})


def test_a_program_that_would_not_start_with_the_library(tmp_path: Path) -> None:
    """Catches a preloaded library that keeps a program of another C library from starting."""
    launch = launched(tmp_path, elf(interpreter=b"/lib/ld-musl-x86_64.so.1"), {"LD_PRELOAD": "own.so"})
    assert launch.environment["LD_PRELOAD"] == "own.so"
    assert [one.code for one in launch.problems] == ["other-c-library"]


def test_what_a_static_program_starts_is_watched(tmp_path: Path) -> None:
    """Catches a static launcher of ranks that are not."""
    launch = launched(tmp_path, elf(interpreter=None))
    assert "byteways_watch_mpi.so" in launch.environment["LD_PRELOAD"]


def test_a_real_static_program_runs(tmp_path: Path) -> None:
    """Catches the same of a whole run."""
    program = compiled("static", [HERE / "copies.c"], "-static", "-fno-builtin")
    done, found = watched(tmp_path / "W", program, settings=["--memcpy", "1MiB"])
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert codes(found) == ["static-program", "no-snapshots"]


def test_a_folder_that_the_linker_would_split(tmp_path: Path) -> None:
    """Catches an LD_PRELOAD whose halves the linker complains about in the program's output."""
    program = tmp_path / "program"
    program.write_bytes(elf())
    launch = watch_launch(program, tmp_path, tmp_path / "a folder", 5, {})
    assert "LD_PRELOAD" not in launch.environment
    assert [one.code for one in launch.problems] == ["unusable-path"]


def test_a_library_is_preloaded_once(tmp_path: Path) -> None:
    """Catches a nested watch that loads it again."""
    first = launched(tmp_path, elf())
    second = launched(tmp_path, elf(), first.environment)
    assert second.environment["LD_PRELOAD"] == first.environment["LD_PRELOAD"]
    assert [one.code for one in second.problems] == ["nested-watch"]


def test_codes_of_collectors_have_meanings() -> None:
    """Catches a code of the native side that no reader can explain."""
    native = HERE.parents[1] / "native" / "watch"
    found = subprocess.run(
        ["grep", "-rhoE", r'(failure|kTaken) = "[a-z-]+"|note_failure\("[a-z-]+"\)', native],
        capture_output=True,
        text=True,
        check=True,
    )
    noted = {line.split('"')[1] for line in found.stdout.splitlines()}
    assert noted >= {"cupti-missing", "cupti-taken", "no-thread"} and noted <= {*WATCH_PROBLEMS}


def test_a_code_of_a_newer_version_is_named() -> None:
    """Catches a reader that fails on what it does not know."""
    assert "new-code" in sentence(Problem("new-code", "x"))
