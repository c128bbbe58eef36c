"""Errors, units, settings, text, and files: reading and writing them, TOML with places, words of other tools.
README.md says where to begin.
"""

#: Modules that other packages may import; the rest is this package's own.
FACE = (
    "aliases",
    "decoding",
    "devices",
    "errors",
    "files",
    "json_text",
    "private_folder",
    "quantities",
    "safe_folders",
    "settings",
    "spelling",
    "system_errors",
    "text",
    "toml_files",
    "toml_reading",
    "units",
    "vendor_query",
    "writing",
)
