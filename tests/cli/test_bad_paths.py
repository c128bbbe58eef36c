"""Paths that the system refuses, in every verb: an error of the user's, never `a bug in byteways`."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest

from byteways.cli import main
from byteways.cli.frame import VERBS
from tests.imported.corpus import FOLDER
from tests.report import sample_run
from tests.report.run_builder import Builder
from tests.unprivileged import assert_unprivileged
from tests.watched.traces.corpus import FOLDER as TRACES

#: Every place for a path (PATH, or TOML for one with this ending); RUN is a good run.
COMMANDS = """\
run TOML --dry-run
run --resume PATH
run --resume PATH --dry-run
run quick --machine h200-x4 --out PATH
run quick --machine TOML --dry-run
run mpi --hosts PATH --out PATH
run mpi --hosts PATH --dry-run
run mpi --launcher PATH --dry-run
reproduce PATH/ --dry-run
reproduce pearson2023 --from PATH
reproduce pearson2023 --resume PATH
reproduce pearson2023 --machine TOML --dry-run
reproduce pearson2023 --machine h200-x4 --out PATH
best gpu0 gpu1 1MiB --machine TOML
best gpu0 gpu1 1MiB --machine h200-x4 --out PATH
topo --from PATH
list devices --machine TOML
show PATH
report PATH
report RUN PATH
report RUN --out PATH
export PATH
export RUN --out PATH
plan PATH
watch --read PATH
watch -- PATH
watch --out PATH -- true
watch --import PATH
watch --out PATH --import TRACE
advise PATH
compare RUN PATH
compare PATH RUN
check PATH
check RUN --against PATH
check RUN --against TOML
check RUN --against peak --junit PATH
check RUN --against peak --prometheus PATH
check --learn PATH --out FILE
check --learn RUN --out PATH
audit PATH --machine h100-x8
audit OUTPUT --machine PATH
audit OUTPUT --machine TOML
audit OUTPUT --machine h100-x8 --html PATH
import PATH --machine h100-x8 --out FILE
import OUTPUT --machine PATH --out FILE
import OUTPUT --machine TOML --out FILE
import OUTPUT --machine h100-x8 --out PATH
""".splitlines()


OUTPUT = str(FOLDER / "nvbandwidth" / "v0.8.json")
TRACE = str(TRACES / "kineto" / "torch-2.5.json")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    build = Builder(sample_run.topology(2))
    build.measure("copy", [("gpu0:device", "gpu1:device", "gpu1")], 396.0, peak=450)
    return build.write(tmp_path_factory.mktemp("run"))


def wrong(run: Path, path: Path) -> list[str]:
    """The commands for which a path is not an error of the user with a hint."""
    places = {
        "PATH": str(path),
        "PATH/": f"{path}/",
        "TOML": f"{path}.toml",
        "RUN": str(run),
        "OUTPUT": OUTPUT,
        "TRACE": TRACE,
    }
    found = []
    for command in COMMANDS:
        said = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            status = main([places.get(word, word) for word in command.split()])
        text = said.getvalue()
        if status != 2 or "bug" in text or "\nhint: " not in text:
            found.append(f"{command}: {status}\n{text}")
    return found


def test_a_name_that_is_too_long(run: Path, tmp_path: Path) -> None:
    """Catches a path that a verb looks at before it opens it."""
    assert wrong(run, tmp_path / ("x" * 256)) == []
    assert {command.split()[0] for command in COMMANDS} == {*VERBS} - {"doctor", "help"}


def test_a_folder_that_cannot_be_searched(run: Path, tmp_path: Path) -> None:
    """Catches the same for a folder of somebody else."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)

    def check() -> None:
        found = wrong(run, closed / "x")
        assert found == [], "\n".join(found)

    assert_unprivileged(check)
    closed.chmod(0o700)
