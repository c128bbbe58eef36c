"""`byteways run --hosts FILE`: measures between hosts, in the rounds of a tournament."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from byteways.base.errors import BytewaysError, ExitStatus
from byteways.base.json_text import json_text
from byteways.base.units import format_duration, format_size
from byteways.cases.case import PlannedCase
from byteways.cli.measure_and_report import (
    command_line,
    main_findings,
    print_ending,
    refuse_gpus,
    say_how_to_continue,
)
from byteways.cli.plan_text import plan_blocks
from byteways.cli.progress import WRONG, counts_text, figure
from byteways.console.layout import Lines, show
from byteways.console.terminal import echo, say
from byteways.measuring.conduct.interruption import Interruption
from byteways.measuring.conduct.new_folder import check_new_folder
from byteways.measuring.hosts.execution import (
    HostsExecution,
    begin_between_hosts,
    hosts_plan,
    take_up_between_hosts,
)
from byteways.measuring.hosts.facts import ends_of
from byteways.measuring.hosts.job import HostsJob
from byteways.measuring.hosts.launchers import HOSTS_WORKER_MODULE, find_hosts_launcher
from byteways.measuring.shared.options import RunOptions
from byteways.plan.hosts.names import Host, hosts_of
from byteways.plan.hosts.plan import HostsPlan
from byteways.plan.hosts.rule import DEFAULT_EACH, Meetings, PairRule
from byteways.plan.planner import Plan
from byteways.plan.suite_types import Suite
from byteways.questions.display.table import Table
from byteways.record.record import Record
from byteways.record.run_folder import LOG, RunFolder

#: Rounds and pairs of a round that a dry run prints; and pairs that progress names.
ROUNDS_SHOWN, PAIRS_SHOWN = 3, 4
#: A run longer than this is offered as a sample.
LONG_S = 3600.0


def check_options(options: RunOptions, simulated: bool) -> None:
    """Raises BytewaysError for options that do not go with --hosts."""
    wrong = [
        name
        for name, value in (
            ("--budget", options.budget_s),
            ("--for", options.for_s),
            ("--ranks", options.ranks),
            ("--self", options.with_self),
            ("--machine", simulated),
        )
        if value
    ]
    if wrong:
        hints = {
            "--budget": "--pairs sample, --rounds, --only and --size reduce a run between hosts",
            "--self": "ranks of one host have a GPU each",
            "--ranks": "each host has one rank, or as many as --ranks-per-host says",
            "--machine": "a model of two hosts needs no --hosts: --machine frontier-mi250x-2 --ranks 2",
        }
        raise BytewaysError(f"{wrong[0]} and --hosts exclude each other", hint=hints.get(wrong[0]))


def dry_run(suite: Suite, options: RunOptions, as_json: bool) -> int:
    """Prints what a run between hosts would measure, how long it takes, and the launcher's line."""
    hosts = hosts_of(options.hosts or "")
    plan, topology, _ = hosts_plan(suite, hosts, options)
    line = _launcher_line(options, plan)
    tournament = plan.tournament
    seconds = plan.estimated_s
    disk = plan.disk_bytes(lambda device: len(json.dumps(ends_of(topology, device))))
    if as_json:
        rounds = [
            {"round": met.round, "number": met.number, "pairs": [list(pair) for pair in met.groups]}
            for met in islice(plan.tournament.meetings(0), ROUNDS_SHOWN * bool(plan.of_pairs))
        ]
        numbers = {
            "hosts": len(hosts),
            "rule": plan.rule.to_json(),
            "pairs": tournament.pairs,
            "tournament_rounds": tournament.rounds,
            "rounds": plan.suite.rounds,
            "cases_per_pair": len(plan.of_pairs),
            "cases_of_all_hosts": len(plan.of_all),
            "ranks_per_host": plan.ranks_per_host,
            "records": plan.records,
            "estimated_s": round(seconds, 1),
            "disk_bytes": disk,
            "launcher": line,
            "first_rounds": rounds,
            "cases": [planned.case.identity() for planned in plan.cases],
            "notes": list(plan.notes),
        }
        echo(json_text(numbers, indent=1))
        return ExitStatus.GOOD
    tables = [
        block
        for block in plan_blocks(Plan(plan.suite, _cases_to_show(plan), plan.notes, seconds, None))
        if isinstance(block, Table)
    ]
    show([*tables, *_about(plan, line, seconds, disk), *_rounds(plan)])
    return ExitStatus.GOOD


def run(
    suite: Suite | None, options: RunOptions, folder: Path, resume: Path | None, as_json: bool, report: bool
) -> int:
    """Measures between hosts, or takes up such a run; returns the exit status."""

    with Interruption() as interruption:
        if resume is not None:
            execution = take_up_between_hosts(resume, suite, options.launcher)
        else:
            assert suite is not None
            hosts = hosts_of(options.hosts or "")
            check_new_folder(folder)
            say(f"planning {len(hosts)} hosts, then running suite {suite.name} into {folder}")
            execution = begin_between_hosts(suite, hosts, options, folder, command_line(), interruption.check)
        try:
            return _measured(execution, interruption, as_json, report)
        finally:
            execution.close()


def _measured(execution: HostsExecution, interruption: Interruption, as_json: bool, report: bool) -> int:
    plan = execution.plan
    parts = []
    if plan.of_pairs:
        parts.append(
            f"{plan.tournament.pairs} pairs of {len(plan.hosts)} hosts in {plan.tournament.rounds} rounds, "
            f"{len(plan.of_pairs)} cases each"
        )
    if plan.of_all:
        parts.append(f"{len(plan.of_all)} cases of all {len(plan.hosts)} hosts together")
    say(f"{'; '.join(parts)}, {_times(plan.suite.rounds)}: about {format_duration(plan.estimated_s)}")
    progress = HostsProgress(plan, interruption, len(execution.done))

    def on_start(job: HostsJob) -> None:
        interruption.at_once = job.kill_at_once

    execution.measure(progress, say, on_start)
    if execution.state == "interrupted":
        say_how_to_continue(interruption, execution.folder, execution.manifest)
    folder = RunFolder(execution.folder)
    counts = Counter(record.status for record in folder.records)
    say(counts_text(Counter(record.display_status for record in folder.records)))
    written = None
    if report:
        from byteways.report import write_report

        written = write_report(execution.folder)
    left_out = execution.left_out or {}
    if as_json:
        outcome = {
            "folder": str(folder.path),
            "state": execution.state,
            "counts": dict(counts),
            "hosts_left_out": left_out,
            "report": str(written) if written else None,
        }
        echo(json_text(outcome, indent=1))
    else:
        print_ending(folder, main_findings(folder))
        echo(f"report: {written}" if written else f"run: {folder.path}")
    if execution.state == "interrupted":
        return ExitStatus.INTERRUPTED
    unusable = refuse_gpus(folder.manifest)
    if left_out or any(counts[status] for status in WRONG):
        say(f"some measurements failed: byteways show {execution.folder}, and {execution.folder / LOG}")
        return ExitStatus.FAILED
    return ExitStatus.FAILED if unusable else ExitStatus.GOOD


class HostsProgress:
    """Prints the rounds of the tournament and what fails.

    Args:
        plan: Of the run.
        interruption: Checked while waiting.
        done: Records that existed before.
    """

    def __init__(self, plan: HostsPlan, interruption: Interruption, done: int) -> None:
        self._plan = plan
        self._interruption = interruption
        self._done = done
        self._before = done
        self._began = time.monotonic()

    def meets(self, met: Meetings) -> None:
        self._interruption.check()
        new, rest = self._done - self._before, self._plan.records - self._done
        left = ""
        if new:
            left = f" ({format_duration((time.monotonic() - self._began) / new * rest)} left)"
        suite_round = f" of suite round {met.round + 1}" if self._plan.suite.rounds > 1 else ""
        if self._plan.is_together(met):
            say(f"all {len(self._plan.hosts)} hosts together{suite_round}{left}")
            return
        say(
            f"round {met.number + 1}/{self._plan.tournament.rounds}{suite_round}: "
            f"{pairs_text(met, self._plan.hosts)}{left}"
        )

    def ended(self, record: Record) -> None:
        self._interruption.check()
        self._done += 1
        if record.status in WRONG:
            label = f"{record.interface} {record.path} {format_size(record.size_bytes)}"
            say(f"[{self._done}/{self._plan.records}] {label}: {figure(record)}")

    def tick(self) -> None:
        self._interruption.check()


def pairs_text(met: Meetings, hosts: Sequence[Host]) -> str:
    """`n0-n3 n1-n2`, of many pairs the first ones and their number."""
    named = [f"{hosts[a].name}-{hosts[b].name}" for a, b in met.groups[:PAIRS_SHOWN]]
    more = len(met.groups) - len(named)
    return " ".join(named) + (f" and {more} more pairs" if more else "")


def _about(plan: HostsPlan, line: str, seconds: float, disk: int) -> list[Lines]:
    tournament, rule = plan.tournament, plan.rule
    every = "every two hosts" if rule.pairs == "all" else f"each host with {tournament.rounds} others"
    cases = []
    lines = [f"{len(plan.hosts):,} hosts"]
    if plan.of_pairs:
        cases.append(f"{len(plan.of_pairs)} cases of each pair")
        pauses = "; one host pauses in each" if tournament.pauses else ""
        lines = [
            f"{len(plan.hosts):,} hosts, {tournament.pairs:,} pairs: {every}",
            f"{tournament.rounds:,} rounds of up to {len(plan.hosts) // 2:,} pairs at a time{pauses}",
        ]
    if plan.of_all:
        each = "one rank" if plan.ranks_per_host == 1 else f"{plan.ranks_per_host} ranks"
        cases.append(f"{len(plan.of_all)} cases of all hosts together, {each} on each")
    lines += [
        f"{' and '.join(cases)}, {_times(plan.suite.rounds)}: {plan.records:,} records, "
        f"about {format_size(disk)}",
        f"about {format_duration(seconds)}",
        f"launcher: {line}",
    ]
    if seconds > LONG_S and rule.pairs == "all" and plan.of_pairs:
        sample = HostsPlan(
            plan.suite, plan.hosts, PairRule.parse("sample"), plan.cases, plan.notes
        ).estimated_s
        lines.append(
            f"--pairs sample measures {DEFAULT_EACH} pairs of each host: about {format_duration(sample)}"
        )
    return [Lines("In all", (*lines, *(f"note: {note}" for note in plan.notes)))]


def _cases_to_show(plan: HostsPlan) -> tuple[PlannedCase, ...]:
    """Returns the cases of a pair, and those of all hosts with their names."""
    everyone = range(len(plan.hosts))
    of_all = (plan.planned(planned, tuple(everyone), 0) for planned in plan.of_all)
    return (*plan.of_pairs, *of_all)


def _rounds(plan: HostsPlan) -> list[Lines]:
    if not plan.of_pairs:
        return []
    shown = [
        f"round {met.number + 1}/{plan.tournament.rounds}: {pairs_text(met, plan.hosts)}"
        for met in islice(plan.tournament.meetings(0), ROUNDS_SHOWN)
    ]
    more = plan.tournament.rounds - len(shown)
    return [Lines("Rounds", (*shown, *([f"and {more:,} more rounds"] if more else [])))]


def _launcher_line(options: RunOptions, plan: HostsPlan) -> str:
    """Returns the exact words, or why there is no launcher here: other hosts may have one."""
    names = [host.name for host in plan.hosts]
    try:
        launcher = find_hosts_launcher(options.launcher, plan.ranks_per_host)
    except BytewaysError as error:
        if options.launcher is not None:
            raise
        return f"none ({error.what}; {error.hint})"
    program = ["python", "…/byteways/start.py", HOSTS_WORKER_MODULE, *launcher.worker_words(names)]
    return " ".join(launcher.line(names, Path("RUN/hosts.txt"), program))


def _times(rounds: int) -> str:
    return "once" if rounds == 1 else f"{rounds} times"
