"""The dashboard of docs/guides/grafana.json against what `byteways check --prometheus` writes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from byteways.report.verdicts.prometheus import prometheus
from byteways.verdicts.checks.verdict import VERDICT_CODES
from tests.report import sample_run
from tests.report.run_builder import Builder
from tests.unit.verdicts.test_checks import against
from tests.unit.verdicts.test_comparison import pairs_run

FILE = Path(__file__).parents[3] / "docs/guides/grafana.json"
DASHBOARD: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
VARIABLES = {one["name"]: one for one in DASHBOARD["templating"]["list"]}
#: Labels that Prometheus adds to what it collects.
ADDED = {"instance", "job"}


@pytest.fixture(scope="module")
def families(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The labels of each series that a check of bandwidths and latencies writes."""
    builds = pairs_run(lambda a, b: 300.0), pairs_run()
    for build in builds:
        build.measure("pointer-chase", [("gpu0:device", "gpu0:device", "gpu0")], 0.0, latency_ns=700.0)
    text = prometheus(against(tmp_path_factory.mktemp("grafana"), *builds))
    return {
        one.name: {label for sample in one.samples for label in sample.labels}
        for one in text_string_to_metric_families(text)
        if one.samples
    }


def queries() -> Iterator[tuple[str, str]]:
    """Yields each query with the legend that names its series."""
    for panel in DASHBOARD["panels"]:
        yield from ((target["expr"], target["legendFormat"]) for target in panel["targets"])
    yield from ((one["definition"], "") for one in VARIABLES.values() if one["type"] == "query")


def test_every_query_names_a_series_that_is_written(families: dict[str, set[str]]) -> None:
    """Catches a panel that stays empty: of a series or label that was renamed; and a series without panel."""
    drawn: set[str] = set()
    for query, legend in queries():
        names = set(re.findall(r"byteways_\w+", query))
        assert names and names <= {*families}, query
        drawn |= names
        (name,) = names
        asked = re.findall(r'(\w+)=~?"', query) + re.findall(r"\{\{(\w+)\}\}", legend)
        asked += re.findall(r"by \((\w+)\)", query) + re.findall(r"label_values\(\w+, (\w+)\)", query)
        assert {*asked} <= families[name] | ADDED, query
        assert {*re.findall(r"\$(\w+)", query)} <= {*VARIABLES}, query
    assert drawn == {*families}


def test_verdicts_are_named_by_their_numbers() -> None:
    """Catches a PASS that is drawn as another verdict."""
    mappings = [
        one for panel in DASHBOARD["panels"] for one in panel["fieldConfig"]["defaults"].get("mappings", ())
    ]
    assert mappings
    for one in mappings:
        assert {told["text"]: int(code) for code, told in one["options"].items()} == VERDICT_CODES


def test_the_form_is_that_of_a_dashboard() -> None:
    """Catches a file that Grafana does not import, panels that overlap, and a data source of one server."""
    assert {"title", "uid", "schemaVersion", "panels", "templating", "time"} <= {*DASHBOARD}
    panels = DASHBOARD["panels"]
    assert len({one["id"] for one in panels}) == len(panels)
    for one in panels:
        assert {"type", "title", "gridPos", "targets", "fieldConfig", "datasource"} <= {*one}
        assert one["gridPos"]["x"] >= 0 and one["gridPos"]["x"] + one["gridPos"]["w"] <= 24
        assert len({target["refId"] for target in one["targets"]}) == len(one["targets"])
        sources = {part["datasource"]["uid"] for part in (one, *one["targets"])}
        assert sources == {"${datasource}"}
    for first, second in combinations([one["gridPos"] for one in panels], 2):
        apart = [
            first[at] + first[size] <= second[at] or second[at] + second[size] <= first[at]
            for at, size in (("x", "w"), ("y", "h"))
        ]
        assert any(apart)


def test_a_time_of_any_kind_is_in_microseconds(tmp_path: Path) -> None:
    """Catches times of calls that have no series, since their figure is no latency of a load."""
    builds = Builder(sample_run.topology(2)), Builder(sample_run.topology(2))
    for build in builds:
        build.measure("launch", [("gpu0:device", "gpu0:device", "gpu0")], 0.0, latency_ns=4200.0)
    found = against(tmp_path, *builds)
    assert found.cases[0].figure not in ("", "bandwidth", "latency")
    (family,) = (
        one
        for one in text_string_to_metric_families(prometheus(found))
        if one.name == "byteways_check_time_microseconds"
    )
    assert [sample.value for sample in family.samples] == [pytest.approx(4.2)]
