"""What Python loads at its start in programs of `byteways watch --try copies` (module site, PYTHONPATH).

It enters `byteways.fast_copies()` as soon as PyTorch has been imported, in the thread that imports it, and
leaves in the folder of the watch what was copied by which method. It must not fail a program, nor hide a
sitecustomize of its own.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any

#: Set by ext/watch/changes.py and ext/watch/launching.py, which a program without byteways cannot import.
_PLAN, _FOLDER = "BYTEWAYS_WATCH_COPIES", "BYTEWAYS_WATCH"
#: Where byteways lies.
_PACKAGES = Path(__file__).resolve().parents[3]


class AfterTorch:
    """A finder that lets copies be fast once PyTorch has been imported."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        found = PathFinder.find_spec(name, path, target)
        if found is None or found.loader is None:
            return found
        load = found.loader.exec_module

        def loaded(module: ModuleType) -> None:
            load(module)
            start_copies(os.environ.get(_PLAN, ""))

        found.loader.exec_module = loaded  # type: ignore[method-assign]
        return found


def start_copies(plan_file: str) -> None:
    """Enters the mode of this thread, to the end of the process."""
    import warnings

    if str(_PACKAGES) not in sys.path:
        sys.path.append(str(_PACKAGES))
    try:
        import byteways

        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            plan = byteways.open_plan(plan_file)
            byteways.fast_copies(plan).__enter__()
    except Exception as error:  # whatever it is: the program goes on with its own copies
        leave({"failure": f"{type(error).__name__}: {error}"})
        return
    doubts = [str(one.message) for one in warned]
    atexit.register(lambda: leave({"warnings": doubts, "calls": plan.statistics().calls}))


def leave(found: dict[str, Any]) -> None:
    """Leaves a file for `byteways watch`."""
    folder = Path(os.environ.get(_FOLDER, "")) / "copies"
    try:
        folder.mkdir(exist_ok=True)
        (folder / f"{os.uname().nodename}-{os.getpid()}.json").write_text(json.dumps(found))
    except OSError:  # a full disk: the watch says that nothing was left
        return


def load_hidden(own: str) -> None:
    """Loads the sitecustomize that this one hides, as module site would have."""
    others = [path for path in sys.path if os.path.realpath(path or ".") != own]
    found = PathFinder.find_spec("sitecustomize", others)
    if found is None or found.loader is None:
        return
    module = module_from_spec(found)
    sys.modules["sitecustomize"] = module
    found.loader.exec_module(module)


if os.environ.get(_PLAN):
    sys.meta_path.insert(0, AfterTorch())
    load_hidden(os.path.realpath(Path(__file__).parent))
