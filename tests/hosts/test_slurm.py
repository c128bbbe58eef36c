"""byteways inside the jobs of a real Slurm, between network namespaces (cluster.py)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from byteways.base.errors import ExitStatus
from byteways.record.run_folder import RunFolder
from tests.hosts import cluster as clusters
from tests.hosts.cluster import Cluster
from tests.hosts.conftest import BANDWIDTH, HEAD, MESSAGES
from tests.hosts.test_tournament import once
from tests.mpi import jobs

pytestmark = pytest.mark.hosts
#: Round trips of a second each.
SECONDS = (HEAD + MESSAGES).replace("precision = 0.5", "precision = 0.0001")
#: Their rounds in runs that end, and in one that a time limit ends.
ROUNDS = {"three": 3, "few": 6, "many": 100}
RUN = (sys.executable, "-m", "byteways", "run")
INTEGRATIONS = Path(__file__).parents[2] / "integrations"
#: Copies to one GPU of a simulated node, and the fault that a node has.
COPIES = """
name = "copies"
title = "Copies to one GPU"
rounds = 3
[[sweep]]
name = "copies"
interface = "copy"
source = "gpu*:device"
destination = "gpu0:device"
size = "16MiB"
"""
FAULT = "slow:gpu0-nvswitch:0.5"
#: A byteways whose node is simulated, with a fault on the hosts of a file. `check --slurm` refuses a
#: simulated run, so that the folder of the run says that it was measured.
SIMULATED_NODE = f"""\
#!/bin/bash
unset BYTEWAYS_GPUS
[ "$1" = run ] || exec {sys.executable} -m byteways "$@"
fault=()
grep -qsx "$(hostname)" "${{0%/*}}/faulty" && fault=(--fault {FAULT})
{sys.executable} -m byteways "$@" --machine h200-x4 "${{fault[@]}}"
status=$?
folder=${{@: -1}}
sed -i 's/"simulated": *true/"simulated": false/' "$folder/run.json" "$folder/measurements.jsonl"
exit "$status"
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster for the tests of this file, with suites toy.toml and those of ROUNDS. A job with a time limit
    runs from the beginning, because Slurm counts minutes.
    """
    if why := clusters.missing():
        pytest.skip(why)
    jobs.require(jobs.MPICH)
    folder = tmp_path_factory.mktemp("slurm")
    (folder / "toy.toml").write_text((HEAD + MESSAGES + BANDWIDTH).format(rounds=1, budget_s=0.02))
    for name, rounds in ROUNDS.items():
        (folder / f"{name}.toml").write_text(SECONDS.format(rounds=rounds, budget_s=rounds))
    with clusters.started(folder) as running:
        running.call("sinfo", "--long")
        script = "$BYTEWAYS run many.toml --no-report --out limited"
        assert running.submit(script, "--nodes=2", "--time=1", "--job-name=limited") == LIMITED
        yield running


#: The first job of the cluster.
LIMITED = "1"


def ended_well(run: RunFolder, count: int) -> bool:
    records = run.records
    good = all(one.status == "measured" and one.verified for one in records)
    return good and once(records) and len(records) == count and run.manifest["state"] == "complete"


def hosts_of(cluster: Cluster, name: str) -> list[str]:
    hosts = json.loads((cluster.folder / name / "hosts.json").read_text())["hosts"]
    return [host for host, *_ in hosts]


@pytest.mark.parametrize("mpi", [jobs.MPICH, jobs.OPEN_MPI], ids=lambda each: each.name)
def test_ranks_on_one_node_and_on_two(cluster: Cluster, mpi: jobs.Installation) -> None:
    """Catches a line that srun refuses, ranks on another node than the one that is planned, and a job of
    several nodes that measures one. The allocation counts a CPU on each node, and there are two ranks.
    """
    jobs.require(mpi)
    if mpi is jobs.OPEN_MPI:
        clusters.require_pmix(cluster)
    own, both = f"own-{mpi.name}", f"both-{mpi.name}"
    script = f"set -e\n$BYTEWAYS run toy.toml --ranks 2 --no-report --out {own}\n"
    script += f"$BYTEWAYS run toy.toml --no-report --out {both}"
    done = cluster.run(script, "--nodes=2", "--ntasks=2", mpi=mpi)
    assert (done.state, done.status) == ("COMPLETED", 0), done.said
    alone, between = cluster.result(own), cluster.result(both)
    assert ended_well(alone, 2) and ended_well(between, 3)
    assert alone.manifest["topology"]["host"] == "n1" and hosts_of(cluster, both) == ["n1", "n2"]


def test_ranks_that_no_pmi_connects(cluster: Cluster) -> None:
    """Catches an error that does not say which interface the MPI needs.

    The test above does what the hint says.
    """
    jobs.require(jobs.OPEN_MPI)
    script = "SLURM_MPI_TYPE=pmi2 $BYTEWAYS run toy.toml --ranks 2 --out apart"
    done = cluster.run(script, "--nodes=1", mpi=jobs.OPEN_MPI)
    assert (done.state, done.status) == ("FAILED", 2)
    assert "error: the 2 ranks did not start: " in done.said
    assert "hint: srun --mpi=list; then export SLURM_MPI_TYPE=" in done.said
    assert not (cluster.folder / "apart").exists()


def test_salloc_on_the_login_host(cluster: Cluster) -> None:
    """Catches a login host that is measured in place of a node, and a hint that does not help: the run in a
    step starts ranks beside that step.
    """
    said = cluster.call("salloc", "--nodes=1", *RUN, "toy.toml", "--ranks", "2", "--out", "login", status=2)
    assert "error: this host is no node of Slurm job " in said and "caused by: this is n0, the nod" in said
    assert "hint: start byteways on a node: srun --overlap -N 1 -n 1 byteways run " in said
    assert not (cluster.folder / "login").exists()
    hint = ("srun", "--overlap", "-N", "1", "-n", "1")
    words = (*hint, *RUN, "toy.toml", "--no-report", "--out")
    cluster.call("salloc", "--nodes=1", *words, "step")
    assert ended_well(cluster.result("step"), 2)
    cluster.call("salloc", "--nodes=2", *words, "step-of-two")
    assert ended_well(cluster.result("step-of-two"), 3)


def test_a_step_of_several_tasks(cluster: Cluster) -> None:
    """Catches runs that disturb each other: one for each task, and each would start ranks."""
    words = (*RUN, "toy.toml", "--out", "tasks")
    said = cluster.call("salloc", "--nodes=2", "srun", "--nodes=2", *words, status=2)
    assert "error: srun has started byteways 2 times, and each would measure between all hosts" in said
    said = cluster.call("salloc", "--nodes=1", "srun", "--ntasks=2", "--overcommit", *words, status=2)
    assert "error: a launcher has started byteways 2 times on this host" in said
    assert not (cluster.folder / "tasks").exists()


def test_elements_of_an_array(cluster: Cluster) -> None:
    """Catches elements that take each other's folder."""
    script = "$BYTEWAYS run toy.toml --ranks 2 --no-report"
    number = cluster.submit(script, "--nodes=1", "--array=3,4", "--output=array-%A_%a.out")
    for element in ("3", "4"):
        assert cluster.wait(f"{number}_{element}").state == "COMPLETED"
    runs = sorted(cluster.folder.glob("byteways-toy-*"))
    assert [run.name.rpartition("-")[2] for run in runs] == [f"job{number}_3", f"job{number}_4"]
    assert all(ended_well(cluster.result(run.name), 2) for run in runs)


def test_scancel_on_a_draining_node_loses_nothing(cluster: Cluster) -> None:
    """Catches a run that ends because a node drains, a case that is recorded as lost because the job was
    cancelled, and a run that cannot be taken up in another job.
    """
    job = cluster.submit("exec $BYTEWAYS run few.toml --no-report --out few", "--nodes=2")
    cluster.await_records("few", 1)
    cluster.call("scontrol", "update", "node=n2", "state=drain", "reason=test")
    cluster.await_records("few", 3)
    assert cluster.state_of("n2") == "draining"
    cluster.call("scancel", job)
    done = cluster.wait(job)
    cluster.call("scontrol", "update", "node=n2", "state=resume")
    assert (done.state, done.status) == ("CANCELLED", ExitStatus.INTERRUPTED)
    assert "interrupted by SIGTERM; continue with: byteways run --resume few" in done.said
    cut = cluster.result("few")
    assert cut.manifest["state"] == "interrupted" and 3 <= len(cut.records) < ROUNDS["few"]
    assert {record.status for record in cut.records} == {"measured"}
    script = "$BYTEWAYS run --resume few --no-report"
    elsewhere = cluster.run(script, "--nodelist=n[3-4]")
    assert (elsewhere.state, elsewhere.status) == ("FAILED", 2)
    assert "n1: it is no node of Slurm job " in elsewhere.said
    assert "hint: sbatch --nodelist=n1,n2 starts a job on the hosts of this run" in elsewhere.said
    again = cluster.run(script, "--nodelist=n1,n2")
    assert (again.state, again.status) == ("COMPLETED", 0), again.said
    assert ended_well(cluster.result("few"), ROUNDS["few"])


def test_a_node_that_dies(cluster: Cluster) -> None:
    """Catches a run that one node's end ends, and a loss that does not name it."""
    script = "$BYTEWAYS run three.toml --no-report --out died"
    job = cluster.submit(script, "--nodelist=n[2-4]", "--no-kill")
    cluster.await_records("died", 3)
    cluster.kill_node("n4")
    done = cluster.wait(job)
    run = cluster.result("died")
    assert (done.state, done.status) == ("FAILED", 1), done.said
    assert (
        "host n4 is excluded" in done.said and len(run.records) == 3 * ROUNDS["three"] and once(run.records)
    )
    wrong = [record for record in run.records if record.status != "measured"]
    assert wrong and all("n4" in record.path for record in wrong)


def test_the_time_limit_of_a_job(cluster: Cluster) -> None:
    """Catches a case that is recorded as lost because the time of the job is over, a run that does not know
    that it was interrupted, and one that does not continue in another job.
    """
    done = cluster.wait(LIMITED)
    assert done.state == "TIMEOUT"
    cut = cluster.result("limited")
    assert cut.manifest["state"] == "interrupted" and 0 < len(cut.records) < ROUNDS["many"] - 2
    assert {record.status for record in cut.records} == {"measured"}
    job = cluster.submit("exec $BYTEWAYS run --resume limited --no-report", "--nodelist=n1,n2")
    cluster.await_records("limited", len(cut.records) + 2)
    cluster.call("scancel", job)
    assert cluster.wait(job).state == "CANCELLED"
    more = cluster.result("limited").records
    assert more[: len(cut.records)] == cut.records and len(more) >= len(cut.records) + 2
    assert once(more) and {record.status for record in more} == {"measured"}


@pytest.fixture
def node_check(cluster: Cluster) -> str:
    """The script of integrations/ with the settings of a site, on nodes that are idle; its path. A node that
    is judged leaves the file NODE.prom.
    """
    cluster.wait(LIMITED)  # it keeps two nodes busy
    site = cluster.folder / "site"
    site.mkdir(exist_ok=True)
    (site / "copies.toml").write_text(COPIES)
    program, script = site / "byteways", site / "check"
    program.write_text(SIMULATED_NODE)
    settings = f"byteways={program} suite={site}/copies.toml against={site}/healthy\n"
    settings += f"metrics={site}/$(hostname).prom\n"
    settings += f"export SLURM_CONF={cluster.folder}/slurm/slurm.conf\n"
    (site / "check.conf").write_text(settings)
    words = f"BYTEWAYS_CHECK_CONF={site}/check.conf exec {INTEGRATIONS}/byteways-slurm-check"
    script.write_text(f"#!/bin/bash\n{words}\n")
    for file in (program, script):
        file.chmod(0o755)
    if not (site / "healthy").exists():
        words = ("run", f"{site}/copies.toml", "--no-report", "--out", f"{site}/healthy")
        cluster.call(str(program), *words)
    return str(script)


def passed(metrics: Path) -> float:
    """1 if the check that wrote these metrics passed, otherwise 0."""
    families = {one.name: one for one in text_string_to_metric_families(metrics.read_text())}
    (sample,) = families["byteways_check_passed"].samples
    return float(sample.value)


def test_the_health_check_drains_a_slow_node(cluster: Cluster, node_check: str) -> None:
    """Catches a script that Slurm cannot run as its health check, a healthy node that is drained, a slow one
    that stays, and a reason that does not name the part.
    """
    site = cluster.folder / "site"
    (site / "faulty").write_text("n2\n")
    states = "HealthCheckNodeState=IDLE"
    with cluster.configured(f"HealthCheckProgram={node_check}", "HealthCheckInterval=60", states):
        cluster.await_files(*(site / f"{node}.prom" for node in ("n1", "n2", "n3")))
        cluster.await_state("n2", "drained")
        assert (cluster.state_of("n1"), cluster.state_of("n3")) == ("idle", "idle")
        reason = cluster.reason_of("n2")
        assert "byteways check FAIL" in reason and "gpu0-nvswitch" in reason
    assert [passed(site / f"{node}.prom") for node in ("n1", "n2", "n3")] == [1, 0, 1]
    cluster.call("scontrol", "update", "node=n2", "state=resume")


def test_the_prologue_keeps_jobs_from_a_slow_node(cluster: Cluster, node_check: str) -> None:
    """Catches a job that starts on a node that failed, one that is lost with it, a reason of Slurm's in place
    of ours, and a prologue that stops jobs of healthy nodes.
    """
    (cluster.folder / "site" / "faulty").write_text("n3\n")
    with cluster.configured(f"Prolog={node_check}", "PrologFlags=Alloc", "PrologEpilogTimeout=120"):
        well = cluster.submit("echo measured", "--nodelist=n1")
        job = cluster.submit("echo measured", "--nodelist=n3")
        assert cluster.wait(well).state == "COMPLETED"
        cluster.await_state("n3", "drained")
        assert "gpu0-nvswitch" in cluster.reason_of("n3")
        assert cluster.job_of(job)["JobState"] == "PENDING"  # Slurm keeps it
        assert not list(cluster.folder.glob(f"*-{job}.out"))
        cluster.call("scancel", job)
    cluster.call("scontrol", "update", "node=n3", "state=resume")
