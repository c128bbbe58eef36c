"""Programs with allocators of every kind, large allocations in other memory: all run as they do alone."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from byteways.ext.watch.bins import Watched
from byteways.ext.watch.changes import TRIED_MEMORY, ProgramChange
from byteways.ext.watch.folder import read_snapshots
from byteways.ext.watch.launching import FOLDER_VARIABLE, WatchLaunch
from byteways.measuring.shared.simulator import native_folder
from tests.watch.programs import PATIENCE_S, compiled

HERE = Path(__file__).parent
THRESHOLD = 100_000
ALLOCATORS = {
    "jemalloc": "libjemalloc.so.2",
    "tcmalloc": "libtcmalloc_minimal.so.4",
    "mimalloc": "libmimalloc.so.",
}
#: How the programs of these tests end.
GOOD = (7, "all good\n", "")
#: Turns of what may go well by chance.
TURNS = 3


def allocator(name: str) -> Path:
    """The library of an allocator that is installed."""
    found = [*Path("/usr/lib").glob(f"*/{ALLOCATORS[name]}*")]
    if not found:
        pytest.skip(f"needs {ALLOCATORS[name]}")
    return found[0]


def own_allocator() -> Path:
    """The library of own_allocator.c."""
    return compiled("libown.so", [HERE / "own_allocator.c"], "-shared", "-fPIC", "-fno-builtin")


def made(source: str, *options: str, linked: Path | None = None) -> Path:
    """A program, linked to an allocator before all other libraries."""
    sources = [HERE / source, *([HERE / "allocators.h"] if source.startswith("allocators") else [])]
    link = ["-Wl,--no-as-needed", str(linked), f"-Wl,-rpath,{linked.parent}"] if linked else []
    if source.endswith(".cpp"):
        options = ("-std=c++20", "-faligned-new", "-fsized-deallocation", *options)
    compiler = "g++" if source.endswith(".cpp") else "gcc"
    return compiled(Path(source).stem, sources, "-Wno-unused-result", *options, *link, compiler=compiler)


def ended(
    folder: Path, kind: str, *words: str | Path, preloaded: Path | None = None
) -> tuple[tuple[int, str, str], Watched, list[str]]:
    """How a program ends whose memory is of this kind; what was counted, and the codes of what was not."""

    def run(environment: dict[str, str]) -> tuple[int, str, str]:
        done = subprocess.run(
            words, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        return done.returncode, done.stdout, done.stderr

    (folder / "processes").mkdir(parents=True)
    alone = {**os.environ, **({"LD_PRELOAD": str(preloaded)} if preloaded else {})}
    assert run(alone) == GOOD
    launch = WatchLaunch({**alone, FOLDER_VARIABLE: str(folder)})
    ProgramChange(kind, memory=kind).apply(launch, native_folder(), THRESHOLD)
    end = run(launch.environment)
    watched, problems = read_snapshots(sorted((folder / "processes").glob("*.json")))
    return end, watched, [one.code for one in problems]


def changed(watched: Watched) -> int:
    """How many allocations were changed."""
    return sum(one.count for one in watched.bins if one.what == "allocation")


@pytest.mark.parametrize("source", ["allocators.c", "allocators.cpp"])
@pytest.mark.parametrize("name", ["", "own", *ALLOCATORS])
def test_a_program_that_is_linked_to_an_allocator(name: str, source: str, tmp_path: Path) -> None:
    """Catches memory that one allocator gives and another frees, in either direction."""
    library = None if not name else own_allocator() if name == "own" else allocator(name)
    program = made(source, *([] if name in ALLOCATORS else ["-DWHOLE"]), linked=library)
    for turn in range(TURNS):
        end, watched, codes = ended(tmp_path / str(turn), "hugepage", program)
        assert (end, codes) == (GOOD, [])
        assert changed(watched) > 10


@pytest.mark.parametrize("source", ["allocators.c", "allocators.cpp"])
@pytest.mark.parametrize("name", ["own", *ALLOCATORS])
def test_an_allocator_that_the_user_preloads(name: str, source: str, tmp_path: Path) -> None:
    """Catches an allocator of the user that hides the change, or that the change pushes aside."""
    library = own_allocator() if name == "own" else allocator(name)
    for turn in range(TURNS):
        end, watched, codes = ended(tmp_path / str(turn), "registered", made(source), preloaded=library)
        assert (end, codes) == (GOOD, [])
        assert changed(watched) > 10


@pytest.mark.parametrize(
    ("options", "is_changed"),
    [(["-DOWN_MALLOC"], False), (["-DOWN_NEW"], True), (["-DOWN_MALLOC", "-DOWN_NEW"], False)],
)
@pytest.mark.parametrize("kind", TRIED_MEMORY)
def test_an_allocator_in_the_program(options: list[str], is_changed: bool, kind: str, tmp_path: Path) -> None:
    """Catches `operator new` of ours beside the program's `delete`, or beside its malloc()."""
    program = made("allocators.cpp", "-fno-builtin", "-rdynamic", *options)
    end, watched, codes = ended(tmp_path / "W", kind, program)
    assert end == GOOD
    assert (changed(watched) > 10, codes) == (is_changed, [] if is_changed else ["own-allocator"])


def test_functions_that_only_one_allocator_has(tmp_path: Path) -> None:
    """Catches memory of ours that a program gives to its allocator by another name than free()."""
    program = made("own_free.c", linked=own_allocator())
    end, watched, codes = ended(tmp_path / "W", "hugepage", program)
    assert (end, changed(watched), codes) == (GOOD, 0, ["own-allocator"])


def test_a_static_program(tmp_path: Path) -> None:
    """Catches an environment that a program without a dynamic linker cannot stand."""
    program = made("allocators.c", "-static")
    assert ended(tmp_path / "W", "hugepage", program)[0] == GOOD


def test_a_module_of_cpp_in_a_program_of_c(tmp_path: Path) -> None:
    """Catches `new` that gives no memory instead of an exception, where the program itself has no `new`."""
    module = compiled("cpp_module.so", [HERE / "cpp_module.cpp"], "-shared", "-fPIC", compiler="g++")
    end, watched, codes = ended(tmp_path / "W", "hugepage", made("opens_module.c"), module)
    assert (end, codes) == (GOOD, [])
    assert changed(watched) == 1


@pytest.mark.parametrize("kind", TRIED_MEMORY)
def test_a_thread_that_a_constructor_waits_for(kind: str, tmp_path: Path) -> None:
    """Catches a hook that waits for the dynamic linker, whose lock the constructor's thread holds."""
    driver = compiled("libcuda.so.1", [HERE / "fake_cuda.c"], "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1")
    module = compiled("starting.so", [HERE / "starting.c", driver], "-shared", "-fPIC")
    for turn in range(TURNS):
        end, watched, _ = ended(tmp_path / str(turn), kind, made("opens_module.c"), module)
        assert end == GOOD
        assert changed(watched) >= 20


def test_a_program_that_allocates_little_has_no_further_thread(tmp_path: Path) -> None:
    """Catches a thread before main(), with which a program can enter no namespace (unshare(2))."""
    program = made("one_thread.c")
    assert ended(tmp_path / "W", "hugepage", program)[0] == GOOD
