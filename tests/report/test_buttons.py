"""Every button of every page is pressed: none fails, and those that save give a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from byteways.record.run_folder import RunFolder
from byteways.report import write_comparison, write_report
from tests.report import sample_run
from tests.report.browser import IN_BROWSER, Browser

pytestmark = IN_BROWSER

#: Presses each button, also those that are hidden now, and waits for each file, ten seconds at most.
PRESS = """(async () => {
  const files = [], wrong = [], done = new Set();
  window.addEventListener("unhandledrejection", (event) => wrong.push(String(event.reason)));
  window.byteways.save = (made, kind, name) => files.push([kind, made.size]);
  document.querySelectorAll("details").forEach((part) => { part.open = true; });
  await window.byteways.filled;
  await window.byteways.unpacked();
  // A table that is drawn again has new buttons of the same name.
  const name = (one) => (one.getAttribute("aria-label") || one.textContent) + " of " + one.parentElement.id;
  const open = () => [...document.querySelectorAll("button")];
  const next = () => open().find((one) => !done.has(name(one)));
  let saving = 0;
  for (let button = next(); button && done.size < 500; button = next()) {
    const before = files.length + wrong.length, bar = button.closest(".save");
    const saves = bar && !bar.previousElementSibling.hidden;
    done.add(name(button));
    button.click();
    if (saves) saving += 1;
    for (let n = 0; saves && n < 2000 && files.length + wrong.length === before; n++) {
      await new Promise((go) => setTimeout(go, 5));
    }
  }
  return { files, wrong, pressed: done.size, saving };
})()"""


@pytest.mark.parametrize("page", ["many sizes", "one interface", "compared at one size"])
def test_every_button(page: str, tmp_path: Path) -> None:
    """Catches buttons of a picture that is not there: the explorer has no curve of one size."""
    sizes = {"sizes": (sample_run.GIB,)} if "one size" in page else {}
    build = sample_run.four_pairs() if page == "one interface" else sample_run.h200x4(**sizes)
    run = RunFolder(build.write(tmp_path / "first"))
    if "compared" in page:
        second = RunFolder(build.write(tmp_path / "second"))
        second.manifest["run_id"] = "another"
        file = write_comparison([run, second], names=["a", "b"])
    else:
        file = write_report(run)
    with Browser() as browser:
        browser.open(file)
        found = browser.evaluate(PRESS)
        assert found["wrong"] == [] and browser.console == []
        assert found["pressed"] >= 5
        saved = [size for kind, size in found["files"] if kind in ("svg", "png")]
        assert len(saved) == found["saving"] and all(size > 500 for size in saved)
