"""The one module that writes files: whole or not at all, through no planted link, waiting for nobody."""

from __future__ import annotations

import ast
import errno
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import pytest

import byteways
from byteways.base import writing
from byteways.cli import main
from rooms import parsed
from tests.report import sample_run
from tests.report.run_builder import Builder

SOURCE = Path(byteways.__file__).parent

#: Calls that open something for writing and are no files of the user.
OTHERS = {
    ("cli/__init__.py", "os.open"): "/dev/null instead of standard output",
    ("console/terminal.py", "os.open"): "/dev/null instead of a closed stream",
    ("console/terminal.py", "os.fdopen"): "standard output that Python left closed",
    ("measuring/work/worker.py", "write_text"): "/proc/self/oom_score_adj",
    ("machine/sysfs_writer.py", "write_bytes"): "the sysfs of a machine model in a private temporary folder",
    ("machine/sysfs_writer.py", "symlink_to"): "the same",
    ("ext/watch/simulated.py", "write_text"): "a machine model in a private temporary folder",
    ("ext/watch/simulated.py", "symlink_to"): "the simulator under HIP's names in the same",
    ("ext/watch/launching.py", "symlink_to"): "the collectors in the new folder of a watch, or a private one",
    ("ext/watch/hook/sitecustomize.py", "write_text"): "in the watched program, which need not find byteways",
    ("measuring/conduct/append_only_file.py", "os.fdopen"): "a descriptor of writing.open_appended()",
    ("measuring/conduct/process.py", "os.fdopen"): "a descriptor of writing.open_appended()",
}
_WRITE_FLAGS = {"O_WRONLY", "O_RDWR", "O_CREAT", "O_APPEND", "O_TRUNC"}
_ALWAYS = {"write_text", "write_bytes", "touch", "symlink_to", "hardlink_to", "link_to", "mkstemp"}
_ALWAYS |= {"NamedTemporaryFile", "copyfile", "copy", "copy2", "copytree", "move"}


def writes(call: ast.Call) -> str | None:
    """The name of what a call opens for writing with; None if it does not."""
    last = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if last not in _ALWAYS | {"open", "fdopen"}:
        return None
    name = ast.unparse(call.func)
    if last in _ALWAYS and (last != "copy" or name.startswith("shutil.")):
        return name if name.startswith(("os.", "shutil.", "tempfile.")) else last
    if name == "os.open":
        flags = {node.attr for node in ast.walk(call) if isinstance(node, ast.Attribute)}
        return name if flags & _WRITE_FLAGS else None
    if last in ("open", "fdopen"):
        texts = [
            node.value
            for argument in (*call.args, *(word.value for word in call.keywords if word.arg == "mode"))
            for node in ast.walk(argument)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        return (
            name if any(set(text) <= set("rwaxbt+") and set(text) & set("wax+") for text in texts) else None
        )
    return None


def test_one_module_opens_files_for_writing() -> None:
    """Catches the next file that a full disk leaves in part, or that is written through a planted link."""
    found = set()
    for path in sorted(SOURCE.rglob("*.py")):
        if path.name == "writing.py":
            continue
        place = str(path.relative_to(SOURCE))
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Call) and (name := writes(node)):
                found.add((place, name))
    assert found == {*OTHERS}


@pytest.mark.parametrize(
    "line",
    [
        'open(p, "w")',
        'path.open("ab")',
        'path.open(mode="x")',
        "os.open(p, os.O_RDWR | os.O_CREAT)",
        'os.fdopen(d, "wb")',
        "path.write_text(t)",
        "shutil.copy(a, b)",
        "tempfile.NamedTemporaryFile()",
    ],
)
def test_what_the_search_for_writers_finds(line: str) -> None:
    """Catches a search that finds nothing."""
    (call,) = (node for node in ast.walk(ast.parse(line)) if isinstance(node, ast.Call))
    assert writes(call)


def test_a_planted_link_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches another user's link under the name of the unfinished file, through which any file is
    overwritten.
    """
    victim = tmp_path / "victim"
    victim.write_text("precious")
    names = []

    def first(draft: Any, flags: int, mode: int = 0, **_: Any) -> int:
        names.append(Path(draft).name)
        Path(draft).symlink_to(victim)
        return opened(draft, flags, mode)

    opened = os.open
    for _ in range(2):
        monkeypatch.setattr(os, "open", first)
        with pytest.raises(FileExistsError):
            writing.write_named(tmp_path / "verdicts.xml", "new")
        monkeypatch.undo()
    assert victim.read_text() == "precious"
    assert len({*names}) == 2 and all(writing.DRAFT.fullmatch(name) for name in names)


def test_links_of_a_run_folder_are_replaced(tmp_path: Path) -> None:
    """Catches a run folder from somebody else in which report.html, workers.log or a journal leads out."""
    victim, link = tmp_path / "victim", tmp_path / "report.html"
    victim.write_text("precious")
    link.symlink_to(victim)
    with pytest.raises(OSError) as caught:
        writing.open_appended(link)
    assert caught.value.errno == errno.ELOOP
    writing.write(link, "page")
    assert victim.read_text() == "precious" and not link.is_symlink() and link.read_text() == "page"


@pytest.mark.parametrize("named", [False, True])
def test_what_cannot_be_finished_leaves_the_old_file(named: bool, tmp_path: Path) -> None:
    """Catches half a page, plan or table in place of a good one when the disk is full."""
    path = tmp_path / "page"
    path.write_text("old")
    path.chmod(0o640)
    writer = writing.named if named else writing.replacing
    with pytest.raises(OSError) as caught, writer(path) as file:
        file.write(b"new")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert caught.value.filename == str(path)
    assert path.read_text() == "old" and [*tmp_path.iterdir()] == [tmp_path / "page"]
    with writer(path) as file:
        file.write(b"new")
    assert path.read_text() == "new" and stat.S_IMODE(path.stat().st_mode) == 0o640


class Full:
    """A file on a disk that is full after the first write."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._left = file, 1

    def __enter__(self) -> Full:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, data: bytes) -> int:
        self._left -= 1
        if self._left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self._file.write(data[: len(data) // 2])

    def flush(self) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    build = Builder(sample_run.topology(2))
    for _ in range(3):
        build.measure("copy", [("gpu0:device", "gpu1:device", "gpu1")], 396.0, peak=450)
    return build.write(tmp_path_factory.mktemp("run"))


#: Verbs that write a file which the user names.
NAMING = (
    "report RUN --out FILE",
    "export RUN --out FILE",
    "export RUN --format parquet --out FILE",
    "check RUN --against peak --junit FILE",
    "check RUN --against peak --prometheus FILE",
    "check --learn RUN --out FILE",
)


def words_of(verb: str, run: Path, file: Path | str) -> list[str]:
    places = {"RUN": str(run), "FILE": str(file)}
    return [places.get(word, word) for word in verb.split()]


@pytest.mark.parametrize("verb", NAMING)
def test_a_full_disk_leaves_the_old_file(
    verb: str, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches a verb that writes past the one writer: half of its file where a whole one was."""
    file, opened = tmp_path / "file", os.fdopen
    file.write_text("old")

    def full(descriptor: int, mode: str) -> Any:
        stream = opened(descriptor, mode)
        return Full(stream) if mode == "wb" else stream  # type: ignore[arg-type]

    monkeypatch.setattr(os, "fdopen", full)
    assert main(words_of(verb, run, file)) == 2
    monkeypatch.undo()
    told = capsys.readouterr().err
    assert f"cannot write {file}" in told and "free some space" in told
    assert file.read_text() == "old" and [*tmp_path.iterdir()] == [tmp_path / "file"]


@pytest.mark.parametrize("verb", NAMING)
def test_a_fifo_that_nobody_reads(
    verb: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches a verb that waits for ever, or replaces a FIFO by a file; and a hint that does not help."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert main(words_of(verb, run, fifo)) == 2
    assert "hint: start what reads from it first" in capsys.readouterr().err
    assert fifo.is_fifo()
    reader = subprocess.Popen(["cat", str(fifo)], stdout=subprocess.PIPE)
    try:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("byteways.base.writing.os.open", waiting_open)  # until `cat` has opened it
            assert main(words_of(verb, run, fifo)) == 0
        assert reader.communicate(timeout=60)[0]
    finally:
        reader.kill()
        reader.communicate()


_OPEN = os.open


def waiting_open(path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
    """Opens, once a FIFO has a reader."""
    while True:
        try:
            return _OPEN(path, flags, mode, **more)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise


def test_what_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a folder or a disk taken for a file: root would overwrite /dev/sda."""
    with pytest.raises(IsADirectoryError):
        writing.write_named(tmp_path, "text")
    disk = os.stat_result((stat.S_IFBLK | 0o660, *[0] * 9))
    monkeypatch.setattr(Path, "stat", lambda path, **_: disk)
    with pytest.raises(OSError, match="block device"):
        writing.write_named(tmp_path / "sda", "text")


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "itself"])
def test_standard_output_by_name(name: str, run: Path, tmp_path: Path) -> None:
    """Catches a file called `-`, what the shell redirects to replaced by a file, or a path below it."""
    taken = tmp_path / "taken"
    words = words_of("export RUN --out FILE", run, str(taken) if name == "itself" else name)
    program = [sys.executable, "-c", "import sys; from byteways.cli import main; sys.exit(main())", *words]
    with taken.open("wb") as out:
        out.write(b"before\n")
        out.flush()
        subprocess.run(program, stdout=out, stderr=subprocess.DEVNULL, check=True, cwd=tmp_path)
    text = taken.read_text(encoding="utf-8")
    assert text.startswith("before\ncase_id,") and text.count("\n") == 5
    assert [*tmp_path.iterdir()] == [tmp_path / "taken"]
