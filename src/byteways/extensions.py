"""What extensions add to the core: their verbs, and what the core asks them for.

The core imports no extension (scripts/packages.py). What it needs of one has a name here, and its module is
loaded when it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

#: Verbs: module, and function in it.
VERBS = {
    "advise": ("byteways.ext.watch.verbs.advise", "advise"),
    "audit": ("byteways.ext.audit.verbs.audit", "audit"),
    "import": ("byteways.ext.audit.verbs.import_outputs", "import_outputs"),
    "plan": ("byteways.ext.copy.verbs.plan", "plan"),
    "reproduce": ("byteways.ext.studies.verbs.reproduce", "reproduce"),
    "watch": ("byteways.ext.watch.verbs.watch", "watch"),
}
#: What a run that repeats a study adds to its report and its findings (ext/studies/subject.py).
_STUDY = "byteways.ext.studies.subject"
#: Everything else that the core asks for: module, and function in it.
HOOKS = {
    "study topic": (_STUDY, "topic"),
    "study findings": (_STUDY, "claims_repeated"),
    "study summary": (_STUDY, "repeated"),
    "studies": ("byteways.ext.studies.published.listing", "rows"),
    "run beside": ("byteways.ext.studies.verbs.beside_option", "run_beside"),
    "suite of a watched program": ("byteways.ext.watch.verbs.watched_suite", "suite_of_folder"),
}


def verb(name: str) -> Any:
    """Returns the function of a verb; None if no extension has it."""
    return _function(*VERBS[name]) if name in VERBS else None


def hook(name: str) -> Any:
    """Returns the function that an extension registered. Raises KeyError for a name that HOOKS lacks."""
    return _function(*HOOKS[name])


def _function(module: str, name: str) -> Any:
    return getattr(import_module(module), name)
