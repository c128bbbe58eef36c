"""The files of examples/kubernetes: keys that the two schemas have, and commands that byteways takes."""

from __future__ import annotations

import itertools
import re
import shlex
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from byteways.cli.frame import load_verb
from byteways.plan.suite import load

FOLDER = Path(__file__).parents[3] / "examples" / "kubernetes"
EACH, BETWEEN = "each-node.yaml", "between-nodes.yaml"


def keys(required: str = "", **properties: Any) -> dict[str, Any]:
    """An object that has no other keys than these, and at least the required ones."""
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def many(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item, "minItems": 1}


TEXT, COUNT, ANY = {"type": "string"}, {"type": "integer", "minimum": 0}, {"type": "object"}
#: PodSpec, Container, Volume and others of the API core/v1 (kubernetes.io/docs/reference/kubernetes-api), as
#: far as the files use them.
CONTAINER = keys(
    "name image command",
    name=TEXT,
    image=TEXT,
    command=many(TEXT),
    args=many(TEXT),
    resources=keys("limits", limits={"type": "object", "additionalProperties": COUNT}),
    volumeMounts=many(keys("name mountPath", name=TEXT, mountPath={"pattern": "^/"})),
)
VOLUME = keys(
    "name",
    name=TEXT,
    persistentVolumeClaim=keys("claimName", claimName=TEXT),
    emptyDir=keys(medium={"enum": ["", "Memory"]}),
)
POD = keys(
    "containers",
    restartPolicy={"enum": ["Always", "OnFailure", "Never"]},
    terminationGracePeriodSeconds=COUNT,
    affinity=keys(nodeAffinity=ANY, podAffinity=ANY, podAntiAffinity=ANY),
    containers=many(CONTAINER),
    volumes=many(VOLUME),
)
METADATA = keys("name", name={"pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "maxLength": 63})
TEMPLATE = keys("spec", metadata=keys(labels=ANY), spec=POD)
#: JobSpec of the API batch/v1, from the same pages.
JOB = keys(
    "apiVersion kind metadata spec",
    apiVersion={"const": "batch/v1"},
    kind={"const": "Job"},
    metadata=METADATA,
    spec=keys(
        "template completions completionMode",
        completionMode={"enum": ["NonIndexed", "Indexed"]},
        completions=COUNT,
        parallelism=COUNT,
        backoffLimit=COUNT,
        template=TEMPLATE,
    ),
)
#: MPIJobSpec of the MPI Operator 0.5.0: pkg/apis/kubeflow/v2beta1/types.go.
MPI_JOB = keys(
    "apiVersion kind metadata spec",
    apiVersion={"const": "kubeflow.org/v2beta1"},
    kind={"const": "MPIJob"},
    metadata=METADATA,
    spec=keys(
        "mpiReplicaSpecs",
        slotsPerWorker=COUNT,
        runLauncherAsWorker={"type": "boolean"},
        launcherCreationPolicy={"enum": ["AtStartup", "WaitForWorkersReady"]},
        mpiImplementation={"enum": ["OpenMPI", "Intel", "MPICH"]},
        sshAuthMountPath={"pattern": "^/"},
        runPolicy=keys(cleanPodPolicy={"enum": ["All", "Running", "None"]}, backoffLimit=COUNT),
        mpiReplicaSpecs=keys(
            "Launcher Worker",
            **{name: keys("template", replicas=COUNT, template=TEMPLATE) for name in ("Launcher", "Worker")},
        ),
    ),
)
SCHEMAS = {EACH: JOB, BETWEEN: MPI_JOB}


def read(name: str) -> dict[str, Any]:
    return yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def pods(file: dict[str, Any]) -> list[dict[str, Any]]:
    """The specifications of its pods; of an MPIJob the launcher's and the worker's."""
    spec = file["spec"]
    templates = [spec["template"]] if "template" in spec else [*spec["mpiReplicaSpecs"].values()]
    return [(one.get("template") or one)["spec"] for one in templates]


def test_there_are_no_other_files() -> None:
    """Catches an example without a check."""
    assert {path.name for path in FOLDER.iterdir()} == {*SCHEMAS}


@pytest.mark.parametrize("name", SCHEMAS)
def test_keys_of_the_schemas(name: str) -> None:
    """Catches a misspelled key or value, which the server refuses, a mount without its volume, and nodes with
    other numbers of GPUs.
    """
    file = read(name)
    jsonschema.validate(file, SCHEMAS[name])
    for pod in pods(file):
        (container,) = pod["containers"]
        mounts = {mount["name"] for mount in container["volumeMounts"]}
        assert mounts == {volume["name"] for volume in pod["volumes"]}
    gpus = {pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] for pod in pods(file)}
    assert len(gpus) == 1 and file["spec"].get("slotsPerWorker", *gpus) == min(gpus)


def test_a_pod_on_each_node() -> None:
    """Catches two pods on one node, which measure each other, and a number that was changed in one place."""
    spec = read(EACH)["spec"]
    assert spec["completionMode"] == "Indexed" and spec["parallelism"] == spec["completions"]
    pod = spec["template"]
    (rule,) = pod["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert rule["labelSelector"]["matchLabels"] == pod["metadata"]["labels"]
    assert rule["topologyKey"] == "kubernetes.io/hostname"


def test_commands_are_those_of_byteways() -> None:
    """Catches an option or a suite that byteways does not have."""
    calls = []
    for pod in itertools.chain.from_iterable(pods(read(name)) for name in SCHEMAS):
        text = "\n".join(pod["containers"][0].get("args", ()))
        calls += re.findall(r"exec byteways run (.*?)(?:;|$)", text, re.MULTILINE)
    assert len(calls) == 3
    for call in calls:
        given = load_verb("run").make_context("run", shlex.split(call)).params
        assert given["resume"] or load(given["suite"]).sweeps
