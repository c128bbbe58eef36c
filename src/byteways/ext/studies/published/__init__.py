"""Published experiments that `byteways reproduce` repeats, one folder each.

`study.toml` describes the work, the cases that correspond to its methods and places, and its figures.
`suite.toml` is the suite that measures them. `published.csv` has its values, `claims.toml` its claims with a
check each. study.py defines these; byteways.ext.studies.comparison compares a run with them.
"""

from __future__ import annotations

from importlib import resources

_FOLDERS = resources.files("byteways.ext.studies.published")


def names() -> list[str]:
    """Returns the keys of the built-in studies, sorted."""
    return sorted(name for name in with_values() if (_FOLDERS / name / "study.toml").is_file())


def with_values() -> list[str]:
    """Returns the folders with published values, including works without a study, sorted."""
    return sorted(entry.name for entry in _FOLDERS.iterdir() if (entry / "published.csv").is_file())
