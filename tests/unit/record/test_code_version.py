"""Which code made a run: every file of the package counts, nothing else does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from byteways.record import code_version


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small package in a checkout."""
    folder = tmp_path / "src" / "byteways"
    (folder / "run").mkdir(parents=True)
    for name in ("__init__.py", "run/worker.py", "suite.toml"):
        (folder / name).write_text(name)
    monkeypatch.setattr(code_version.byteways, "__file__", str(folder / "__init__.py"))
    return folder


def digest(simulated: bool = False) -> str:
    code_version.code_digest.cache_clear()
    return code_version.code_digest(simulated)


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """Neither what an earlier test asked for counts here, nor what these ask for in a later one."""
    known = (code_version.code_digest, code_version.commit)
    for one in known:
        one.cache_clear()
    yield
    for one in known:
        one.cache_clear()


def test_every_file_of_the_package_counts(package: Path) -> None:
    """Would catch a changed sweep, module or name that a resumed run does not notice."""
    seen = {digest()}
    (package / "suite.toml").write_text("another")
    seen.add(digest())
    (package / "run" / "worker.py").rename(package / "run" / "other.py")
    seen.add(digest())
    assert len(seen) == 3 and {len(one) for one in seen} == {16}


def test_what_python_makes_does_not_count(package: Path) -> None:
    """Would catch a run that cannot be resumed because it was read meanwhile."""
    before = digest()
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "worker.cpython-311.pyc").write_bytes(b"x")
    assert digest() == before


@pytest.mark.parametrize("kind", ["branch", "detached", "packed", "worktree"])
def test_commit_of_a_checkout(package: Path, kind: str) -> None:
    """Would catch a commit that is not found in one of the ways in which git writes it down."""
    root, git = package.parents[1], package.parents[1] / ".git"
    git.mkdir()
    if kind == "detached":
        (git / "HEAD").write_text("c0ffee\n")
    elif kind == "packed":
        (git / "HEAD").write_text("ref: refs/heads/main\n")
        (git / "packed-refs").write_text("# pack-refs\nbad0 refs/heads/other\nc0ffee refs/heads/main\n")
    else:
        (git / "refs" / "heads").mkdir(parents=True)
        (git / "refs" / "heads" / "main").write_text("c0ffee\n")
        (git / "HEAD").write_text("ref: refs/heads/main\n")
    if kind == "worktree":
        git.rename(root / "main.git")
        own = root / "main.git" / "worktrees" / "one"
        own.mkdir(parents=True)
        (own / "HEAD").write_text("ref: refs/heads/main\n")
        (own / "commondir").write_text("../..\n")
        git.write_text(f"gitdir: {own}\n")
    assert code_version.commit() == "c0ffee"


def test_no_commit_of_somebody_elses_checkout(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch the commit of the project whose virtual environment byteways is installed in."""
    installed = package.parents[1] / "lib" / "site-packages" / "byteways"
    installed.mkdir(parents=True)
    (installed.parents[1] / ".git").mkdir()
    (installed.parents[1] / ".git" / "HEAD").write_text("c0ffee\n")
    monkeypatch.setattr(code_version.byteways, "__file__", str(installed / "__init__.py"))
    assert code_version.commit() is None


@pytest.mark.parametrize(
    ("name", "simulated"),
    [("_core.abi3.so", False), ("_core.cpython-311.so", True), ("libbyteways_sim.so", True)],
)
def test_the_native_core_counts_wherever_it_is(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, simulated: bool
) -> None:
    """Catches a native core that was built anew, beside an editable package, and is the same code by name."""
    assert package.is_dir()
    native = tmp_path / "site-packages"
    native.mkdir()
    (native / "other.so").write_text("no part of it")
    spec = SimpleNamespace(origin=str(native / "_core.so"))
    monkeypatch.setattr(code_version.importlib.util, "find_spec", lambda _: None)
    alone = digest(simulated)
    monkeypatch.setattr(code_version.importlib.util, "find_spec", lambda _: spec)
    assert digest(simulated) == alone
    seen = {alone}
    for content in ("one", "other"):
        (native / name).write_text(content)
        seen.add(digest(simulated))
    assert len(seen) == 3
    spec.origin = None
    assert digest(simulated) == alone


def test_a_measured_run_does_not_count_the_simulator(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a run that cannot be resumed because the simulator was built meanwhile."""
    assert package.is_dir()
    spec = SimpleNamespace(origin=str(tmp_path / "_core.so"))
    monkeypatch.setattr(code_version.importlib.util, "find_spec", lambda _: spec)
    before = digest()
    (tmp_path / "libbyteways_sim.so").write_text("built later")
    assert digest() == before
