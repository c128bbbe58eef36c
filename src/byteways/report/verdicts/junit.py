"""JUnit XML, as continuous integration reads it: one test suite, with a test case per case.

Only what all readers know is used: Jenkins, GitLab and the schemas of Ant's reports disagree about `error`.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from byteways.verdicts.checks.verdict import NOT_DECIDED, UNKNOWN, CheckedCases, Judged
from byteways.verdicts.checks.wording_check import sentence, summary, suspicion

#: Verdicts of test cases that decide nothing.
_SKIPPED = (UNKNOWN, NOT_DECIDED)
#: Characters that XML 1.0 does not allow, whatever their encoding.
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(check: CheckedCases) -> str:
    """Returns the XML document, with a test case for each case and for cases together.

    FAIL and MISSING are failures, as is NOT DECIDED of a strict check; UNKNOWN and NOT DECIDED are skipped.
    """
    failing = [one for one in check.everything if _fails(one, check)]
    skipped = [one for one in check.everything if one.verdict in _SKIPPED and one not in failing]
    suite = ElementTree.Element("testsuite")
    attributes = {
        "name": f"byteways check {check.run} against {check.against}",
        "hostname": check.host,
        "tests": str(len(check.everything)),
        "failures": str(len(failing)),
        "errors": "0",
        "skipped": str(len(skipped)),
        "time": "0",
        **({"timestamp": f"{check.finished_at:%Y-%m-%dT%H:%M:%S}"} if check.finished_at else {}),
    }
    for name, text in attributes.items():
        suite.set(name, _clean(text))
    for one in check.everything:
        _add(suite, one, _fails(one, check))
    said = "\n".join(filter(None, (*check.marks, summary(check), suspicion(check))))
    ElementTree.SubElement(suite, "system-out").text = _clean(said)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root, " ")
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _fails(one: Judged, check: CheckedCases) -> bool:
    return one.failing or (check.strict and one in check.undecided)


def _add(suite: ElementTree.Element, one: Judged, fails: bool) -> None:
    case = ElementTree.SubElement(suite, "testcase")
    case.set("classname", "byteways.check")
    case.set("name", _clean(f"{one.case} [{one.case_id}]" if one.case_id else one.case))
    case.set("time", "0")
    if not fails and one.verdict not in _SKIPPED:
        ElementTree.SubElement(case, "system-out").text = _clean(f"{one.verdict}: {sentence(one)}")
        return
    told = ElementTree.SubElement(case, "failure" if fails else "skipped")
    told.set("message", _clean(sentence(one)))
    if fails:
        told.set("type", one.verdict)


def _clean(text: str) -> str:
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)
