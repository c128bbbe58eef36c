"""Published experiments that `byteways reproduce` repeats: a folder each, with what was measured and claimed.

`study.toml` says what the work is, which cases stand for its methods and places, and its figures;
`suite.toml` is the suite that measures them; `published.csv` has its numbers; `claims.toml` its sentences,
each with a check. study.py reads them; byteways.analyse.studies compares a run with them.
"""

from __future__ import annotations

from importlib import resources

_FOLDERS = resources.files("byteways.studies")


def names() -> list[str]:
    """Keys of the studies that come with byteways, in alphabetic order."""
    return sorted(name for name in with_values() if (_FOLDERS / name / "study.toml").is_file())


def with_values() -> list[str]:
    """Folders with published values, of works that no study repeats as well, in alphabetic order."""
    return sorted(entry.name for entry in _FOLDERS.iterdir() if (entry / "published.csv").is_file())
