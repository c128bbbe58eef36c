"""The studies as `byteways list studies` shows them."""

from __future__ import annotations

from typing import Any

from byteways.ext.studies.published import names
from byteways.ext.studies.published.reading import load


def rows() -> tuple[dict[str, Any], ...]:
    """Returns a row for each published work that `byteways reproduce` supports."""
    return tuple(
        {
            "name": study.key,
            "title": study.title,
            "authors": study.authors,
            "year": study.year,
            "address": study.address,
            "about": study.about,
            "machines": [*study.models],
            "claims": len(study.claims),
        }
        for study in map(load, names())
    )
