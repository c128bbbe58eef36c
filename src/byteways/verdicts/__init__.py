"""Verdicts on runs: `checks` against what is normal, `two_runs` compared. README.md says where to begin."""

#: Modules that other packages may import; the rest is this package's own.
FACE = (
    "checks.check",
    "checks.learning",
    "checks.normal",
    "checks.peak_reference",
    "checks.verdict",
    "checks.wording_check",
    "two_runs.across_machines",
    "two_runs.comparison",
    "two_runs.environments",
    "two_runs.link_changes",
    "two_runs.paired_cases",
    "two_runs.setting",
    "two_runs.wording_comparison",
    "two_runs.wording_options",
)
