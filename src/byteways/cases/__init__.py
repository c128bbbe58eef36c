"""What is measured: interfaces, memories, patterns, options, cases, and questions about them (pure).
README.md says where to begin.
"""

#: Modules that other packages may import; the rest is this package's own.
FACE = (
    "applications",
    "block_layout",
    "block_list",
    "case",
    "collective_counts",
    "describe",
    "error_categories",
    "folding",
    "interface",
    "interface_rows",
    "interfaces",
    "kv_cache",
    "memory",
    "memory_steps",
    "misplaced_words",
    "option_set",
    "options",
    "osu",
    "pieces",
    "pitched_rows",
    "question",
    "reasons",
    "relays",
    "sizes",
    "transfer_sets",
    "vocabulary",
)
