"""The list of what the published works contain, and the program that checks what shows each item."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import mission
import mission_rows
from byteways.ext.studies.published.reading import load
from mission_rows import BY_PROXY, NOT_DECIDABLE, ON_A_MODEL, Evidence, Row

#: Items of each source.
ITEMS = {"herten2022": 85, "memcpy-peer": 50, "pearson2023": 89, "schieffer2024": 25, "schieffer2025": 265}


def row(kind: str = "claim", status: str = ON_A_MODEL, reason: str = "", *evidence: Evidence) -> Row:
    return Row("pearson2023", "X1", "Sec. 1", kind, "an item", "", status, evidence, reason)


class Answers(mission.Program):
    """A program with fixed answers."""

    def __init__(self, **answers: dict[str, Any]) -> None:
        super().__init__(Path("nowhere"))
        self.fixed = answers

    def asked(self, *arguments: str) -> dict[str, Any]:
        return self.fixed[arguments[0]]

    def study(self, key: str, model: str) -> dict[str, Any]:
        return self.fixed[model]


def missing(shown: str, program: mission.Program, kind: str = "claim") -> list[str]:
    """Reasons why this evidence shows nothing."""
    evidence = [mission_rows._evidence(text) for text in shown.split("; ")]
    return mission.Examiner(program).missing(row(kind, ON_A_MODEL, "", *evidence))


@pytest.mark.parametrize("source", sorted(ITEMS))
def test_no_item_is_lost_or_malformed(source: str) -> None:
    """Would catch an item that is deleted because nothing shows it, and evidence that cannot be looked up."""
    rows = mission_rows.read(source)
    assert len(rows) >= ITEMS[source]
    assert [name for name, times in Counter(one.id for one in rows).items() if times > 1] == []
    assert [text for one in rows for text in mission_rows.wrong(one)] == []


@pytest.mark.parametrize("source", sorted(ITEMS))
def test_claims_and_figures_that_are_named_exist(source: str) -> None:
    study = load(source)
    there = {"claim": {claim.id for claim in study.claims}, "figure": {one.id for one in study.figures}}
    named = [(one.id, shown) for one in mission_rows.read(source) for shown in one.evidence]
    assert [
        (name, shown) for name, shown in named if shown.subject not in there.get(shown.kind, [shown.subject])
    ] == []
    docs = [shown for _, shown in named if shown.kind == "docs"]
    examiner = mission.Examiner(Answers())
    assert [text for shown in docs if (text := examiner._docs(row(), shown))] == []


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (row(status="done"), "no status 'done'"),
        (row(), "nothing shows it"),
        (row(status=NOT_DECIDABLE), "needs a reason"),
        (row("claim", BY_PROXY, "", Evidence("claim", "a")), "needs a reason"),
        (row("figure", NOT_DECIDABLE, "a photograph"), "has to be shown"),
        (row("method", ON_A_MODEL, "", Evidence("study", "price")), "no part 'price'"),
    ],
)
def test_a_row_that_says_too_little_is_refused(wrong: Row, text: str) -> None:
    assert text in "; ".join(mission_rows.wrong(wrong))


@pytest.mark.parametrize("text", ["claim", "claim:", "rumour:a"])
def test_evidence_of_no_kind_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no evidence"):
        mission_rows._evidence(text)


def test_a_claim_needs_a_verdict() -> None:
    """Would catch a claim that counts as shown though its data are missing."""
    claims = [
        {"id": "fast", "verdict": "holds", "detail": ""},
        {"id": "gone", "verdict": mission.UNTESTED, "detail": "no record of a copy"},
    ]
    program = Answers(toy={"claims": claims, "figures": []})
    assert missing("claim:fast@toy", program) == []
    assert missing("claim:gone@toy", program) == ["claim gone: no record of a copy (toy)"]
    assert missing("claim:none@toy", program) == ["claim none: there is no such claim"]


def test_models_share_a_figure_and_leave_no_gap() -> None:
    """Would catch a figure that counts as shown with a line that no model has a value of."""

    def figure(*values: float | None) -> dict[str, Any]:
        rows = [{"line": "copy", "place": f"p{k}", "ours": value} for k, value in enumerate(values)]
        return {"claims": [], "figures": [{"id": "fig1", "kind": "curve", "rows": rows, "hops": {}}]}

    program = Answers(one=figure(1.0, None), other=figure(None, 2.0), neither=figure(1.0, None))
    assert missing("figure:fig1@one; figure:fig1@other", program, "figure") == []
    assert missing("figure:fig1@one; figure:fig1@neither", program, "figure") == [
        "figure fig1: no value of copy at p1"
    ]
    assert missing("figure:fig2@one", program, "figure") == ["figure fig2: there is no such figure"]


def test_a_node_has_the_links_that_a_source_names() -> None:
    links = [{"a": "gpu0", "b": "gpu1", "peak_bytes_per_s": 200e9}]
    program = Answers(topo={"links": links})
    assert missing("topology:toy gpu1-gpu0=200", program) == []
    assert missing("topology:toy gpu0-gpu1=100", program) == [
        "topology gpu0-gpu1=100: gpu0-gpu1 has 200.0 GB/s, not 100"
    ]
    assert missing("topology:toy", Answers(topo={"links": []})) == ["topology toy: no link"]


def test_a_run_needs_a_verified_result(tmp_path: Path) -> None:
    """Would catch a run that is skipped throughout, or moves wrong data, and counts as shown."""
    records = [{"status": "skipped", "verified": None}, {"status": "measured", "verified": False}]
    program = mission.Program(tmp_path)
    folder = tmp_path / "latency---machine-toy"
    folder.mkdir()
    (folder / "run.json").write_text("{}")
    file = folder / "measurements.jsonl"
    file.write_text("\n".join(map(json.dumps, records)))
    assert missing("run:latency --machine toy", program) == ["run latency --machine toy: no verified result"]
    file.write_text(json.dumps({"status": "measured", "verified": True}))
    assert missing("run:latency --machine toy", program) == []


def test_an_undecided_item_fails(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a list that is complete because nobody has looked at the rest."""
    rows = [row(status="")]
    monkeypatch.setattr(mission, "read", lambda _: rows)
    assert mission.main(["--source", "pearson2023"]) == 1
    assert "undecided: X1" in capsys.readouterr().out
    rows[:] = [row("method", ON_A_MODEL, "", Evidence("docs", "README.md#Byteways"))]
    monkeypatch.setattr(mission.Examiner, "_docs", lambda *_: "")
    assert mission.main(["--source", "pearson2023"]) == 0
