"""What a run folder contains: records, manifests, warnings; reading (older versions too) and exporting them.
README.md says where to begin.
"""

#: Modules that other packages may import; the rest is this package's own.
FACE = (
    "blame",
    "busy_machine",
    "code_version",
    "columns",
    "exporters",
    "frame",
    "imported_values",
    "journal_lines",
    "libraries",
    "library_choice",
    "manifest",
    "manifest_types",
    "part_types",
    "record",
    "run_folder",
    "sampled_devices",
    "samples",
    "simulation_mark",
    "stragglers",
    "times",
    "unusable_gpus",
    "warnings",
)
