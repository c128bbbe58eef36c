"""A run between hosts as seen from its folder: begun, measured, taken up again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from byteways.base.decoding import decoded
from byteways.base.errors import BytewaysError
from byteways.base.files import MOST_LINES_BYTES, read_bytes
from byteways.base.json_text import json_line
from byteways.base.system_errors import cannot_write
from byteways.base.writing import write
from byteways.machine.model import Topology
from byteways.machine.unusable_gpus import unusable_here
from byteways.measuring.conduct import plan_file
from byteways.measuring.conduct.conductor import Interrupted
from byteways.measuring.conduct.execution import suite_json
from byteways.measuring.conduct.journal import Journal
from byteways.measuring.conduct.new_folder import claim_folder, restore_folder
from byteways.measuring.conduct.opening import topology_of
from byteways.measuring.conduct.probe import Probe, probe
from byteways.measuring.hosts.conductor import HostsConductor, HostsObserver
from byteways.measuring.hosts.job import HostsJob
from byteways.measuring.hosts.launchers import HostsLauncher, find_hosts_launcher
from byteways.measuring.shared.allocation import Allocation
from byteways.measuring.shared.options import RunOptions
from byteways.plan.hosts.names import Host, check_names
from byteways.plan.hosts.places import RankOfHost
from byteways.plan.hosts.plan import HostsPlan, make_hosts_plan
from byteways.plan.hosts.rule import PairRule
from byteways.plan.planner import Plan
from byteways.plan.suite import parse
from byteways.plan.suite_types import Suite
from byteways.record import manifest as manifests
from byteways.record.run_folder import HOSTS, MANIFEST, damaged_manifest, read_manifest


@dataclass
class HostsExecution:
    """A run between hosts that is ready to measure."""

    folder: Path
    journal: Journal
    manifest: dict[str, Any]
    plan: HostsPlan
    launcher: HostsLauncher
    method_version: int
    done: set[tuple[str, int]]  # case and round of records that exist
    started: float  # monotonic seconds
    state: str = "running"
    left_out: dict[str, str] | None = None  # reason by host, after measure()

    def measure(
        self, observer: HostsObserver, say: Callable[[str], None], on_start: Callable[[HostsJob], None]
    ) -> None:
        """Measures what has no record; then sets `state` to `complete` or `interrupted`.

        Raises:
            BytewaysError: The journal cannot be written, or fewer than two hosts are left; every record is
                kept, and the run can be resumed.
        """
        names = [host.name for host in self.plan.hosts]
        job = HostsJob(self.folder, names, self.launcher, say, observer.tick)
        on_start(job)
        allocation = Allocation.of() if self.launcher.launcher.name == "Slurm" else None
        conductor = HostsConductor(self.journal, self.plan, job, self.method_version, observer, self.done)
        self.state = "interrupted"
        try:
            if allocation is not None:
                job.leave_out_others(allocation)
            conductor.run()
            self.state = "complete"
        except Interrupted:
            pass
        finally:
            job.kill()
            self.left_out = dict(job.left_out)
            self.journal.sync()
            others = [one for one in self.manifest["libraries"] if one.get("library") != "mpi"]
            if job.mpi:
                self.manifest = {**self.manifest, "libraries": [*others, *job.mpi]}
            self.manifest = manifests.finish(self.manifest, self.state, time.monotonic() - self.started)
            manifests.write(self.folder, self.manifest)

    def close(self) -> None:
        self.journal.close()


def is_between_hosts(folder: Path) -> bool:
    """Whether a run folder is of a run between hosts."""
    return (folder / HOSTS).exists()


def hosts_plan(suite: Suite, hosts: Sequence[Host], options: RunOptions) -> tuple[HostsPlan, Topology, Probe]:
    """Plans a run between hosts after probing this one. Raises BytewaysError."""
    probed = probe(launcher=options.launcher)
    topology = topology_of(probed, None)
    plan = make_hosts_plan(
        options.applied(suite),
        hosts,
        PairRule.parse(options.pairs or "all"),
        topology,
        probed.capabilities,
        only=options.only,
        sizes=options.sizes,
        ranks_per_host=options.ranks_per_host or 1,
    )
    return plan, topology, probed


def begin_between_hosts(
    suite: Suite,
    hosts: Sequence[Host],
    options: RunOptions,
    folder: Path,
    command_line: Sequence[str],
    tick: Callable[[], None],
) -> HostsExecution:
    """Starts a new run between hosts in a new folder.

    Raises:
        BytewaysError: The folder is taken, there is no launcher, or nothing to measure.
        Interrupted: From `tick`; the folder is restored.
    """
    started = time.monotonic()
    existed = folder.is_dir()
    launcher = find_hosts_launcher(options.launcher, options.ranks_per_host or 1)
    journal = claim_folder(folder)
    try:
        plan, topology, probed = hosts_plan(suite, hosts, options)
        tick()
        plan_file.write(folder, Plan(plan.suite, plan.cases, plan.notes, plan.estimated_s, None))
        _write_hosts(folder, plan)
        manifest = manifests.build(
            command_line=command_line,
            suite=suite_json(plan.suite),
            options=options.to_json(),
            planned=plan.records,
            topology=topology,
            capabilities=probed.capabilities,
            libraries=probed.libraries,
            method_version=probed.method_version,
            unusable_gpus=unusable_here(probed.capabilities.devices, probed.libraries),
        )
        manifests.write(folder, manifest)
        read_hosts_plan(folder, read_manifest(folder))  # before hours of measuring depend on them
    except BaseException:
        journal.close()
        restore_folder(folder, existed)
        raise
    return HostsExecution(folder, journal, manifest, plan, launcher, probed.method_version, set(), started)


def take_up_between_hosts(
    folder: Path, suite: Suite | None = None, launcher: str | None = None
) -> HostsExecution:
    """Resumes an interrupted run between hosts: pairs, cases and rounds without a record remain. Hosts that
    were left out are tried again.

    Raises:
        BytewaysError: The folder is damaged or in use, code or suite have changed, or `launcher` is not its
            own.
    """
    started = time.monotonic()
    manifest = read_manifest(folder)
    plan, options = read_hosts_plan(folder, manifest, suite)
    options.check_launcher(folder, launcher)
    starter = find_hosts_launcher(options.launcher, plan.ranks_per_host)
    journal = Journal(folder)
    try:
        records = journal.repair().records
        probed = probe(launcher=options.launcher)
        topology = topology_of(probed, None)
        now = manifests.fingerprint(topology, probed.capabilities, probed.method_version, simulated=False)
        before = manifest["fingerprint"]
        # Any of the hosts may resume, so its topology may differ.
        changes = [
            f"{name}: {before[name]} became {now[name]}"
            for name in ("driver", "code", "method_version")
            if before[name] != now[name]
        ]
        if changes:
            raise _changed(folder, "; ".join(changes))
        done = {(record.case_id, record.round) for record in records}
        manifest = {**manifest, "state": "running"}
        manifests.write(folder, manifest)
    except BaseException:
        journal.close()
        raise
    return HostsExecution(folder, journal, manifest, plan, starter, probed.method_version, done, started)


def read_hosts_plan(
    folder: Path, manifest: dict[str, Any], suite: Suite | None = None
) -> tuple[HostsPlan, RunOptions]:
    """Reads the plan of a run between hosts. Raises BytewaysError if it is damaged or the suite differs."""
    if suite is not None and suite.text != manifest["suite"]["text"]:
        raise _changed(folder, f"suite: '{suite.name}' changed since the run was started")
    try:
        options = RunOptions.from_json(manifest["options"])
    except ValueError as error:
        raise damaged_manifest(folder / MANIFEST, f"options: {error}") from error
    own = options.applied(parse(manifest["suite"]["text"], file=f"{folder / MANIFEST} (suite)"))
    path = folder / HOSTS
    try:
        data = decoded(read_bytes(path, MOST_LINES_BYTES))
        hosts = tuple(Host(*words) for words in data["hosts"])
        check_names(hosts)
        rule = PairRule(**data["rule"])
        ranks = tuple(RankOfHost(*words) for words in data.get("ranks_of_host", ()))
    except (OSError, ValueError, KeyError, TypeError) as error:
        hint = "restore it from a copy, or start a new run: byteways run"
        raise BytewaysError(f"{path} is damaged", cause=str(error), hint=hint) from error
    cases = plan_file.read(folder, own)
    return HostsPlan(own, hosts, rule, cases.cases, cases.notes, ranks), options


def _write_hosts(folder: Path, plan: HostsPlan) -> None:
    """Writes the hosts and the rule that says which pairs meet. Raises BytewaysError if that fails."""
    data: dict[str, Any] = {
        "hosts": [[host.name, host.group] if host.group else [host.name] for host in plan.hosts],
        "rule": plan.rule.to_json(),
    }
    if plan.ranks_of_host:
        data["ranks_of_host"] = [[rank.cpu, rank.gpu] for rank in plan.ranks_of_host]
    path = folder / HOSTS
    try:
        write(path, json_line(data), durable=True)
    except OSError as error:
        raise cannot_write(path, error, "choose another --out") from error


def _changed(folder: Path, cause: str) -> BytewaysError:
    return BytewaysError(
        f"{folder} cannot be resumed: results before and after would not be comparable",
        cause=cause,
        hint="start a new run: byteways run",
    )
