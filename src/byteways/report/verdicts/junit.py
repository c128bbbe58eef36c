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
    for case in check.cases:
        _add(suite, case)
    said = "\n".join(filter(None, (*check.marks, summary(check), suspicion(check))))
    ElementTree.SubElement(suite, "system-out").text = _clean(said)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root, " ")
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _add(suite: ElementTree.Element, judged: Judged) -> None:
    case = ElementTree.SubElement(suite, "testcase")
    case.set("classname", "byteways.check")
    case.set("name", _clean(f"{judged.case} [{judged.case_id}]" if judged.case_id else judged.case))
    case.set("time", "0")
    if not judged.failing and judged.verdict != UNKNOWN:
        ElementTree.SubElement(case, "system-out").text = _clean(f"{judged.verdict}: {sentence(judged)}")
        return
    element = ElementTree.SubElement(case, "failure" if judged.failing else "skipped")
    element.set("message", _clean(sentence(judged)))
    if judged.failing:
        element.set("type", judged.verdict)


def _clean(text: str) -> str:
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)
