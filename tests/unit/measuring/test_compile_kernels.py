"""Kernels that are compiled in a child, and what a worker says when the child is lost."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from byteways.measuring.work import capabilities, compile_kernels
from byteways.measuring.work.compile_kernels import compile_in_child, risky_architectures

DIES = [SimpleNamespace(name=f"gpu{i}", runtime="hip", architecture="gfx942") for i in range(2)]
CPU = SimpleNamespace(name="cpu0", runtime="host", architecture="x86_64")


def compiler(version: str, *, usable: bool = True, found_by: str = "dynamic linker") -> SimpleNamespace:
    return SimpleNamespace(library="hiprtc", usable=usable, version=version, found_by=found_by)


@pytest.mark.parametrize(
    ("report", "risky"),
    [
        (compiler("5.2.3"), ["gfx942"]),
        (compiler(""), ["gfx942"]),
        (compiler("6.4.43484"), []),
        (compiler("5.2.3", usable=False), []),
        (compiler("5.2.3", found_by="simulated"), []),
    ],
)
def test_only_old_compilers_need_a_child(report: SimpleNamespace, risky: list[str]) -> None:
    """Would catch a worker that lets an old compiler end it, and a child where none is needed."""
    assert risky_architectures([CPU, *DIES], [report]) == risky
    assert risky_architectures([CPU], [report]) == []


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("", ""),
        ("import os; os.abort()", "compiling kernels for gfx942 ended by SIGABRT"),
        (
            "import sys; print('no hipRTC here', file=sys.stderr); sys.exit(1)",
            "compiling kernels for gfx942 ended by exit status 1: no hipRTC here",
        ),
    ],
)
def test_what_becomes_of_the_child(tmp_path: Path, program: str, said: str) -> None:
    """Would catch a crash of the compiler that is more than a reason."""
    assert compile_in_child("gfx942", tmp_path, [sys.executable, "-c", program]) == said


def test_a_child_that_cannot_start_or_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a probe that hangs with its compiler."""
    assert "did not start" in compile_in_child("gfx942", tmp_path, [str(tmp_path / "none")])
    monkeypatch.setattr(compile_kernels, "TIMEOUT_S", 0.05)
    slow = compile_in_child("gfx942", tmp_path, [sys.executable, "-c", "import signal; signal.pause()"])
    assert slow == "the process that compiles kernels for gfx942 did not end within 0 s"


def test_the_child_says_why_it_compiled_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a child that ends without a word where there is no compiler at all."""
    monkeypatch.setenv("BYTEWAYS_LIBHIP", str(tmp_path / "none.so"))
    monkeypatch.setenv("BYTEWAYS_LIBHIPRTC", str(tmp_path / "none.so"))
    said = compile_in_child("gfx90a", tmp_path)
    assert said.startswith("compiling kernels for gfx90a ended by exit status 1: ")
    assert "hipRTC" in said


def test_a_lost_child_is_the_reason_for_its_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch interfaces that are refused for another reason than the compiler's end."""
    refused = SimpleNamespace(available=False, reason="no other process has compiled it")
    session = SimpleNamespace(
        offers_kernel=lambda device, kernel: refused,
        handle_obstacle=lambda device: "nobody opens it",
        virtual_time=True,
    )
    report = SimpleNamespace(usable=True, reason="")
    monkeypatch.setattr(capabilities._core, "xccl_report", lambda *_: report)
    offers = capabilities._interfaces(session, DIES[0], "ended by SIGABRT")  # type: ignore[arg-type]
    assert offers["kernel"] == {"available": False, "reason": "ended by SIGABRT"}
    assert offers["copy"] == {"available": True, "reason": ""}
