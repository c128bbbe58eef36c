"""Numbers of other programs: `imported` reads them, `judging` says whether they are possible and normal;
`import`, `audit`. README.md says where to begin.
"""

#: Modules that other packages may import; the rest is this package's own.
FACE = (
    "imported.nccl_inspector",
    "imported.reader",
    "imported.reading",
)
