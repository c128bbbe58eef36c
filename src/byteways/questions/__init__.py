"""Findings and topics: `subjects` has a file per question, `bottlenecks` explains what limits, `display`
holds tables and charts as data. README.md says where to begin.
"""

#: Modules that other packages may import; the rest is this package's own.
FACE = (
    "bottlenecks.culprits",
    "bottlenecks.prediction",
    "display.chart",
    "display.curves",
    "display.numbers",
    "display.table",
    "display.topic",
    "findings",
    "node_matrix",
    "subjects.block_slowdowns",
    "subjects.dips",
    "subjects.latency",
    "subjects.messages",
    "subjects.missing_links",
    "subjects.odd_pairs",
    "subjects.predicted_sums",
    "tables",
    "topics",
)
