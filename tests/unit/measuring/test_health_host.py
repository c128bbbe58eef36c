"""Load of the host: written /proc files and a clock of the test's own; what becomes a warning."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from byteways.measuring.shared.health_host import JUDGED_WINDOW_S, HostLoad, HostMonitor, HostReading
from tests.machines.synthetic import write


class Host:
    """A kernel of three cores, of which this process may use two; times are in ticks of 10 ms."""

    def __init__(self, root: Path) -> None:
        self.root, self.now_s = root, 100.0
        self.idle, self.own, self.conductor, self.others, self.steal = 1000, 50, 5, 200, 0
        write(root / "proc/self/cgroup", "0::/job")
        write(root / "sys/fs/cgroup/job/cpu.stat", "usage_usec 1\nnr_throttled 0\nthrottled_usec 0")
        self.write()

    def write(self) -> None:
        busy = self.own + self.conductor + self.others
        lines = [
            f"cpu  {busy} 0 0 {self.idle} 0 0 0 {self.steal} 0 0",
            f"cpu0 {busy} 0 0 0 0 0 0 {self.steal} 7 0",
            f"cpu1 0 0 0 {self.idle} 0 0 0 0 0 0",
            "cpu2 123456 0 0 0 0 0 0 9999 0 0",
            "intr 12",
        ]
        write(self.root / "proc/stat", "\n".join(lines))
        write(self.root / "proc/loadavg", "6.50 5.00 4.00 7/300 4711")
        for pid, ticks in (("self", self.own), (str(os.getppid()), self.conductor)):
            write(self.root / f"proc/{pid}/stat", f"1 (a) b) R {'0 ' * 10}{ticks} 0 0")

    def passes(
        self, seconds: float, own: int = 0, others: int = 0, steal: int = 0, conductor: int = 0
    ) -> None:
        self.now_s += seconds
        self.own += own
        self.conductor += conductor
        self.others += others
        self.steal += steal
        self.idle += round(200 * seconds) - own - others - steal - conductor
        self.write()

    def monitor(self) -> HostMonitor:
        return HostMonitor(self.root, {0, 1}, lambda: self.now_s)


def ids(load: HostLoad) -> list[str]:
    return [warning.id for warning in load.warnings()]


def test_shares_are_of_the_cores_that_may_be_used(tmp_path: Path) -> None:
    """Catches another job's cores, our own work or the conductor's counted as other processes' load."""
    host = Host(tmp_path)
    monitor = host.monitor()
    host.passes(1.0, own=100, others=4, steal=2, conductor=10)
    load = monitor.end()
    assert (load.others, load.steal, load.idle, load.cores) == (0.02, 0.01, 0.42, 2)
    assert (load.load_1min, load.runnable, load.throttled_s, load.window_s) == (6.5, 7, 0, 1.0)
    assert ids(load) == []
    assert json.loads(json.dumps(load.to_json()))["others"] == 0.02


@pytest.mark.parametrize(
    ("spent", "throttled_usec", "warned"),
    [
        ({"others": 19}, 0, []),
        ({"others": 30}, 0, ["host-busy"]),
        ({"steal": 5}, 0, ["steal"]),
        ({"own": 200}, 0, []),
        ({"own": 100}, 30_000, ["cpu-throttled"]),
        ({"others": 100, "steal": 10}, 1, ["host-busy", "steal", "cpu-throttled"]),
    ],
)
def test_what_becomes_a_warning(
    tmp_path: Path, spent: dict[str, int], throttled_usec: int, warned: list[str]
) -> None:
    """Catches load that is not told, our own load told as others', and a warning without its figures."""
    host = Host(tmp_path)
    monitor = host.monitor()
    write(tmp_path / "sys/fs/cgroup/job/cpu.stat", f"nr_throttled 1\nthrottled_usec {throttled_usec}")
    host.passes(1.0, **spent)
    load = monitor.end()
    assert ids(load) == warned
    assert all(float(one.observed or 0) > float(one.required or 0) for one in load.warnings())


def test_a_short_case_is_judged_with_what_came_before(tmp_path: Path) -> None:
    """Catches a warning from one tick of the kernel's clock, and load of long ago held against a case."""
    host = Host(tmp_path)
    monitor = host.monitor()
    host.passes(0.1, others=10)
    assert ids(monitor.end()) == [], f"nothing is judged over less than {JUDGED_WINDOW_S} s"
    host.passes(3.0, others=300)
    monitor.begin()
    host.passes(0.3)
    monitor.begin()
    host.passes(0.3)
    load = monitor.end()
    assert (load.window_s, load.others) == (0.6, 0)
    host.passes(2.0, others=40)
    monitor.begin()
    host.passes(0.5, others=50)
    load = monitor.end()
    assert (load.window_s, load.others) == (0.5, 0.5), "one that is long enough is judged alone"


def test_cases_that_follow_share_a_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a host that is read twice between two cases, and a pause that counts as part of a case."""
    host = Host(tmp_path)
    monitor, readings = host.monitor(), 0
    read = monitor.read

    def counted() -> HostReading:
        nonlocal readings
        readings += 1
        return read()

    monkeypatch.setattr(monitor, "read", counted)
    for pause_s, wanted in ((0.01, 1), (1.0, 2)):
        readings = 0
        host.passes(pause_s, others=100 if pause_s == 1.0 else 0)
        monitor.begin()
        host.passes(0.5)
        assert monitor.end().others == 0
        assert readings == wanted


def test_a_kernel_that_tells_nothing(tmp_path: Path) -> None:
    """Catches zeros in place of what nobody tells, and a sandbox without /proc/stat in which no case runs."""
    load = HostMonitor(tmp_path, {0}, lambda: 1.0).end()
    assert load.to_json() == {"window_s": 0.0, "cores": 1}
    write(tmp_path / "proc/loadavg", "0.00 0.00 0.00 0 0")
    assert HostMonitor(tmp_path, {0}, lambda: 1.0).end().load_1min is None


def test_throttling_of_version_1(tmp_path: Path) -> None:
    """Catches nanoseconds taken for microseconds, and a quota of a group above that is not seen."""
    write(tmp_path / "proc/self/cgroup", "3:cpu,cpuacct:/a/b")
    place = tmp_path / "sys/fs/cgroup/cpu/a/cpu.stat"
    write(place, "nr_periods 1\nthrottled_time 30000000")
    monitor = HostMonitor(tmp_path, {0}, lambda: 1.0)
    write(place, "nr_periods 1\nthrottled_time 70001000")
    assert monitor.end().throttled_s == 0.040001
