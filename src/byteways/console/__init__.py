"""Text for terminals: tables, wrapping, the first screen. README.md says where to begin."""

#: Modules that other packages may import; the rest is this package's own.
FACE = (
    "layout",
    "overview",
    "screens",
    "show_tables",
    "terminal",
)
