"""From suites to a plan: sweeps, legality, peaks, limits and time of cases (pure); the shipped suites.
README.md says where to begin.
"""

#: Modules that other packages may import; the rest is this package's own.
FACE = (
    "block_files",
    "budget",
    "built_suite",
    "core_pairs",
    "device_sample",
    "filter_keys",
    "filters",
    "flow_sets",
    "footprint",
    "hosts.all_hosts",
    "hosts.names",
    "hosts.places",
    "hosts.plan",
    "hosts.rule",
    "hosts.templates",
    "legality",
    "legality.executors",
    "legality.rules",
    "limits",
    "load_question",
    "peaks",
    "physical",
    "planner",
    "probe_scope",
    "question_suite",
    "ranks",
    "suite",
    "suite_types",
    "sweep",
    "transfers_suite",
    "unmatched",
    "variables",
)
