"""The recipes that publish byteways elsewhere than on PyPI, against pyproject.toml, which they repeat."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import build_wheels
from byteways import __version__

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib  # type: ignore[no-redef]

ROOT = Path(__file__).parents[3]
PACKAGING = ROOT / "packaging"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SPACK = PACKAGING / "spack/spack_repo/byteways/packages/py_byteways/package.py"
CONDA = yaml.safe_load((PACKAGING / "conda/recipe.yaml").read_text(encoding="utf-8"))
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))


def parts(requirement: str) -> tuple[str, str]:
    """Name and bounds of a requirement: ("typer", ">=0.12,<0.29")."""
    found = re.match(r"([\w-]+) *([^;\[]*)", requirement)
    assert found is not None
    return found[1], found[2].strip()


def least(bounds: str) -> str:
    """The lower bound: "0.12" of ">=0.12,<0.29"."""
    (found,) = re.findall(r">=([\d.]+)", bounds)
    return str(found)


def directives(name: str) -> list[ast.Call]:
    """The calls of a directive in the Spack recipe."""
    tree = ast.parse(SPACK.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call for call in calls if getattr(call.func, "id", "") == name]


def series(version: str) -> tuple[int, int]:
    """Major and minor number: (0, 3) of "0.3.0"."""
    major, minor, *_ = version.split(".")
    return int(major), int(minor)


@pytest.fixture(scope="module")
def spack() -> dict[str, tuple[str, dict[str, Any]]]:
    """The dependencies of the Spack recipe: name -> version, and the keywords of the directive."""
    found = {}
    for call in directives("depends_on"):
        name, _, version = ast.literal_eval(call.args[0]).partition("@")
        keywords = {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
        found[name.partition("+")[0]] = version, keywords
    return found


def test_spack_needs_what_the_package_needs(spack: dict[str, tuple[str, dict[str, Any]]]) -> None:
    """Catches a dependency or its bound that was changed in pyproject.toml alone."""
    for requirement in [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"]]:
        name, bounds = parts(requirement)
        version, keywords = spack[f"py-{name}"]
        assert version.split(":")[0] == least(bounds), name
        assert ("run" in keywords["type"]) == (requirement in PROJECT["project"]["dependencies"])
    polars = parts(PROJECT["project"]["optional-dependencies"]["parquet"][0])[1]
    assert spack["py-polars"][0] == f"{least(polars)}:"
    assert spack["python"][0] == f"{least(PROJECT['project']['requires-python'])}:"


def test_conda_needs_what_the_package_needs() -> None:
    """Catches a dependency or its bound that was changed in pyproject.toml alone."""
    wanted = {parts(each) for each in PROJECT["project"]["dependencies"] if ";" not in each}
    run = CONDA["requirements"]["run"]
    assert {parts(each) for each in run if isinstance(each, str)} == {*wanted, ("python", "")}
    conditional = [each for each in PROJECT["project"]["dependencies"] if ";" in each]
    assert [parts(each["then"]) for each in run if isinstance(each, dict)] == [*map(parts, conditional)]
    host = {parts(each) for each in CONDA["requirements"]["host"]}
    assert {parts(each) for each in PROJECT["build-system"]["requires"]} <= host


def test_version_is_the_same_everywhere() -> None:
    """Catches a release that the citation, a recipe, the changelog or the upgrade notes call differently."""
    assert PROJECT["project"]["dynamic"] == ["version"] and "version" not in PROJECT["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == CONDA["context"]["version"] == __version__
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## \[(.*?)\](?: - \d{4}-\d\d-\d\d)?$", changes, re.MULTILINE)
    assert headings[0] == "Unreleased" and len(headings) == changes.count("\n## ")
    assert "dev" in __version__ or headings[1] == __version__
    assert f"\n## [{headings[1]}] - {citation['date-released']}\n" in changes
    # Spack's recipe has the branch, and releases by their numbers.
    assert {ast.literal_eval(call.args[0]) for call in directives("version")} <= {"main", *headings[1:]}
    upgrades = (ROOT / "docs/guides/upgrade.md").read_text(encoding="utf-8")
    notes = re.findall(r"^## From \S+ to (\d+)\.(\d+)$", upgrades, re.MULTILINE)
    assert notes and max((int(major), int(minor)) for major, minor in notes) <= series(__version__)


def test_containers_copy_what_a_build_reads() -> None:
    """Catches an image that is built without a file, or with what was built outside of it."""
    needed = {"CMakeLists.txt", "LICENSE", "README.md", "native", "pyproject.toml", "src"}
    ignore = (PACKAGING / "Dockerfile.dockerignore").read_text(encoding="utf-8").split("\n")
    assert {line[1:] for line in ignore if line.startswith("!")} == needed
    definition = (PACKAGING / "byteways.def").read_text(encoding="utf-8")
    assert set(re.findall(r"^    (\S+) /byteways/", definition, re.MULTILINE)) == needed
    assert all((ROOT / name).exists() for name in needed)


def test_release_publishes_what_was_tested() -> None:
    """Catches a version that reaches PyPI although a test failed, or without a tag."""
    jobs = WORKFLOW["jobs"]
    assert {*jobs["publish"]["needs"]} == {"test", "installed"} and jobs["installed"]["needs"] == "wheels"
    assert jobs["publish"]["if"] == "github.ref_type == 'tag'"
    assert {*jobs["pages"]["needs"]} == {"publish", "site"} and jobs["pages"]["if"] == jobs["publish"]["if"]
    # YAML 1.1 reads the key `on` as true.
    assert WORKFLOW[True]["push"] == {"tags": ["v*"]}


@pytest.mark.parametrize(
    ("name", "machine", "accepted"),
    [
        ("b-1-cp312-abi3-manylinux_2_24_x86_64.manylinux_2_28_x86_64.whl", "x86_64", True),
        ("b-1-cp312-abi3-manylinux_2_28_aarch64.whl", "aarch64", True),
        ("b-1-cp312-abi3-manylinux_2_34_aarch64.whl", "aarch64", False),
        ("b-1-cp312-abi3-manylinux_2_28_x86_64.whl", "aarch64", False),
        ("b-1-cp312-abi3-linux_x86_64.whl", "x86_64", False),
    ],
)
def test_wheel_that_serves_no_old_system_is_refused(name: str, machine: str, accepted: bool) -> None:
    """Catches a wheel that was built for this system's glibc, or for another processor than was asked for."""
    if accepted:
        build_wheels.check_name(name, machine)
        return
    with pytest.raises(SystemExit) as failed:
        build_wheels.check_name(name, machine)
    assert str(failed.value).startswith("error: ") and "\nhint: " in str(failed.value)


def test_wheels_of_another_machine_are_cross_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches CMake building for this machine under the name of the other."""
    monkeypatch.setattr(build_wheels, "zig", lambda: "/zig")
    monkeypatch.setattr(build_wheels.platform, "machine", lambda: "x86_64")
    crossing = "-DCMAKE_SYSTEM_PROCESSOR=aarch64"
    for machine, crossed in (("x86_64", False), ("aarch64", True)):
        environment = build_wheels.compiler(tmp_path / machine, machine)
        assert (crossing in environment["CMAKE_ARGS"].split()) == crossed
        assert f"'{machine}-linux-gnu.2.28'" in (tmp_path / machine / "c++").read_text(encoding="utf-8")
