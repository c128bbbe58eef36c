"""JUnit XML, as continuous integration reads it: one test suite, with a test case per case.

Only what all readers know is used: Jenkins, GitLab and the schemas of Ant's reports disagree about `error`.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from byteways.explain.checks.verdict import UNKNOWN, CheckedCases, Judged
from byteways.explain.checks.wording_check import sentence, summary, suspicion

#: Characters that XML 1.0 does not allow, whatever their encoding.
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(check: CheckedCases) -> str:
    """Returns the XML document. LOW and MISSING are failures, UNKNOWN is skipped."""
    suite = ElementTree.Element("testsuite")
    attributes = {
        "name": f"byteways check {check.run} against {check.against}",
        "hostname": check.host,
        "tests": str(len(check.cases)),
        "failures": str(len(check.failing)),
        "errors": "0",
        "skipped": str(check.counts[UNKNOWN]),
        "time": "0",
        **({"timestamp": f"{check.finished_at:%Y-%m-%dT%H:%M:%S}"} if check.finished_at else {}),
    }
    for name, text in attributes.items():
        suite.set(name, _clean(text))
    for one in check.cases:
        _add(suite, one)
    said = "\n".join(filter(None, (*check.marks, summary(check), suspicion(check))))
    ElementTree.SubElement(suite, "system-out").text = _clean(said)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root, " ")
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _add(suite: ElementTree.Element, one: Judged) -> None:
    case = ElementTree.SubElement(suite, "testcase")
    case.set("classname", "byteways.check")
    case.set("name", _clean(f"{one.case} [{one.case_id}]" if one.case_id else one.case))
    case.set("time", "0")
    if not one.failing and one.verdict != UNKNOWN:
        ElementTree.SubElement(case, "system-out").text = _clean(f"{one.verdict}: {sentence(one)}")
        return
    told = ElementTree.SubElement(case, "failure" if one.failing else "skipped")
    told.set("message", _clean(sentence(one)))
    if one.failing:
        told.set("type", one.verdict)


def _clean(text: str) -> str:
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)
