"""How a program is started: what keeps collectors from being loaded is said, and nothing breaks."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from byteways.ext.watch.changes import ProgramChange
from byteways.ext.watch.elf import obstacle
from byteways.ext.watch.folder import make_folder, read_watch_folder
from byteways.ext.watch.launching import WatchLaunch, usable_libraries, watch_launch
from byteways.ext.watch.problems import WATCH_PROBLEMS, Problem, sentence
from byteways.ext.watch.verbs.watched_command import Command, observe
from byteways.measuring.shared.simulator import native_folder
from tests.watch.programs import HERE, codes, collectors, compiled, watched
from tests.watch.test_memcpy import copies

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


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (elf(interpreter=b"/lib/ld-musl-x86_64.so.1"), "other-c-library"),
        (elf(bits=32), "other-architecture"),
    ],
)
def test_what_another_program_starts_is_watched(tmp_path: Path, content: bytes, code: str) -> None:
    """Catches children that are not seen because their launcher cannot be."""
    launch = launched(tmp_path, content, {"LD_PRELOAD": "own.so"})
    ours, own = launch.environment["LD_PRELOAD"].split(":")
    assert own == "own.so" and "/$PLATFORM/" in ours
    assert [one.code for one in launch.problems] == [code]


def test_a_program_that_would_not_start_with_the_library(tmp_path: Path) -> None:
    """Catches a preloaded library that keeps a program of another C library from starting, where there is no
    path that this C library passes over.
    """
    program = tmp_path / "program"
    program.write_bytes(elf(interpreter=b"/lib/ld-musl-x86_64.so.1"))
    launch = watch_launch(program, tmp_path, tmp_path, 5, {"LD_PRELOAD": "own.so"})
    assert launch.environment["LD_PRELOAD"] == "own.so"
    assert [one.code for one in launch.problems] == ["other-c-library"]


def child(tmp_path: Path, compiler: str, *options: str) -> tuple[int, str, str]:
    """What a shell gets of a program that it starts, compiled in this way."""
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}, which continuous integration installs on x86")
    program = tmp_path / "child"
    source = tmp_path / "child.c"
    source.write_text("int main(void) { return 7; }")
    subprocess.run([compiler, *options, source, "-o", program], check=True)
    done, _ = watched(tmp_path / "W", "sh", "-c", f"{program}; echo $?", settings=["--memcpy", "64KiB"])
    return done.returncode, done.stdout, done.stderr


def test_a_child_of_another_c_library(tmp_path: Path) -> None:
    """Catches a child of musl that does not start, because musl loads what glibc alone can resolve."""
    assert child(tmp_path, "musl-gcc")[:2] == (0, "7\n")


def test_a_child_of_32_bits(tmp_path: Path) -> None:
    """Catches a line of the loader on the standard error of a child that can have no collector."""
    if not [*Path("/usr/lib32").glob("libc.so*")]:
        pytest.skip("needs gcc-multilib, which continuous integration installs on x86")
    status, out, err = child(tmp_path, "gcc", "-m32")
    assert (status, out) == (0, "7\n") and "ld.so" not in err


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


@pytest.mark.parametrize("separator", [" ", ":", ",", "$", "\n"])
def test_an_installation_in_a_folder_that_the_linker_would_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, separator: str
) -> None:
    """Catches a program that is not seen, a link that stays, and libraries that other hosts do not find."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    libraries, folder, odd = (tmp_path / name for name in (f"a{separator}b", "W", f"W{separator}"))
    for made in (libraries, folder, odd):
        made.mkdir()
    with usable_libraries(libraries, folder) as found:
        assert found.resolve() == libraries and found.parent == folder
    with usable_libraries(libraries, odd) as found:
        assert found.resolve() == libraries and separator not in str(found)
    monkeypatch.setenv("TMPDIR", str(odd))
    monkeypatch.setattr("byteways.base.safe_folders._USUAL", ())
    with usable_libraries(libraries, folder / "missing") as found:
        assert found == libraries
    with usable_libraries(tmp_path, odd) as found:
        assert found == tmp_path
    assert sorted(tmp_path.iterdir()) == sorted([libraries, folder, odd])
    assert not [*folder.iterdir(), *odd.iterdir()]


def test_a_program_is_watched_from_such_an_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a link by which the loader does not find the libraries, or not those beside them."""
    libraries, folder = tmp_path / "a folder", tmp_path / "W"
    libraries.symlink_to(native_folder())
    make_folder(folder)
    monkeypatch.setattr("byteways.measuring.shared.simulator.native_folder", lambda: libraries)
    ended, problems = observe(Command(copies(), [str(copies())], 1 << 20), folder, ProgramChange())
    assert (ended.exit_status, problems) == (0, [])
    watched_folder = read_watch_folder(folder)
    assert codes(watched_folder) == [] and watched_folder.watched.processes[0].collectors == ["memcpy"]
    assert sorted(file.name for file in folder.iterdir()) == ["processes", "watch.json"]


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
