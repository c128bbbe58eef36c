"""The navigation of the documentation site, and the reports of recorded runs that it has.

Each page of docs/ but the first is in it once; tests/unit/house/test_site.py compares.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Captions of the side bar, and their pages below docs/ in the order of reading.
NAVIGATION = {
    "Start": (
        "tutorial",
        "guides/install",
        "guides/first-run",
        "guides/read-the-report",
        "guides/troubleshooting",
    ),
    "For you": (
        "guides/for-performance-engineers",
        "guides/for-node-owners",
        "guides/for-code-authors",
        "guides/for-researchers",
        "guides/without-the-machine",
    ),
    "Measure": (
        "guides/choose-what-to-run",
        "guides/your-own-suite",
        "guides/measure-between-processes",
        "guides/measure-between-hosts",
        "guides/measure-application-patterns",
        "guides/batch-jobs",
        "guides/on-known-systems",
        "guides/simulate-a-machine",
        "guides/reproduce-a-study",
    ),
    "Use results": (
        "guides/ask",
        "guides/compare",
        "guides/check",
        "guides/audit",
        "guides/watch",
        "guides/other-tools",
        "guides/traces",
        "guides/python",
        "guides/notebook",
        "guides/scattered-blocks",
        "guides/copy-library",
        "guides/copy-from-python",
    ),
    "Concepts": (
        "concepts/vocabulary",
        "concepts/topology",
        "concepts/how-we-time",
        "concepts/findings",
        "concepts/flows-together",
        "concepts/amd-evidence",
        "concepts/architecture",
    ),
    "Measured": ("reference/measured-h100x2", "reference/measured-h200x4", "reference/measured-h200x2"),
    "Reference": (
        "reference/cli",
        "reference/suite-format",
        "reference/record-format",
        "reference/exit-status",
        "reference/environment-variables",
        "reference/machine-models",
        "reference/peers",
        "guides/upgrade",
    ),
}


@dataclass(frozen=True)
class Report:
    """A report that the site has, `reports/NAME.html`.

    Attributes:
        name: Of the file.
        run: The recorded run below examples/.
        title: The link's text.
    """

    name: str
    run: str
    title: str


REPORTS = (
    Report("h200x4", "h200x4-rounds/full", "A report of 4 × H200"),
    Report("h100x2", "h100x2/full", "A report of 2 × H100"),
)
#: A report is one file, which a browser loads at once; the largest of these has 0.7 MB.
MOST_REPORT_BYTES = 1_500_000
