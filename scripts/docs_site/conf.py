"""Sphinx's settings for the documentation site; `make site` reads them."""

from __future__ import annotations

import sys
from pathlib import Path

from byteways import __version__

sys.path.insert(0, str(Path(__file__).parents[1]))

from docs_site.pages import BRANCH, REPOSITORY

project = "byteways"
author = "The byteways authors"
version = release = __version__
extensions = ["myst_nb", "docs_site.pages"]
exclude_patterns: list[str] = []

html_theme = "furo"
html_title = f"byteways {__version__}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_use_index = False
html_theme_options = {
    "source_repository": f"{REPOSITORY}/",
    "source_branch": BRANCH,
    "source_directory": "docs/",
}
# An indented block has no language: most are commands with what they print.
highlight_language = "text"
# Options such as --json keep both dashes.
smartquotes = False

# Pages link to headings by GitHub's names.
myst_heading_anchors = 6
# Classes of pictures: docs_site/pages.py.
myst_enable_extensions = ["attrs_inline"]
# The notebook has its outputs (`make notebooks`).
nb_execution_mode = "off"
