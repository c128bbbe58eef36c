"""The functions of the table over real MPIs: what arrives, and what is said when a call fails."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.mpi import jobs


@pytest.mark.parametrize(
    ("installation", "ranks"),
    [
        (jobs.MPICH, 4),
        (jobs.OPEN_MPI, 2),
        *(
            pytest.param(installation, ranks, marks=pytest.mark.slow)
            for installation in (jobs.MPICH, jobs.STANDARD, jobs.OPEN_MPI, jobs.DEBIAN)
            for ranks in (2, 3, 4)
            if (installation, ranks) not in ((jobs.MPICH, 4), (jobs.OPEN_MPI, 2))
        ),
    ],
    ids=lambda each: getattr(each, "name", each),
)
def test_every_element_arrives(
    installation: jobs.Installation, ranks: int, check_table: Path, shims: str
) -> None:
    """Catches a wrong constant, argument or type of an ABI in any function, and the shim of another one."""
    jobs.require(installation)
    job = jobs.run(installation, ranks, [check_table, "table", shims])
    assert "WRONG" not in job.output
    assert job.status == 0 and job.output.count("GOOD") == ranks, job.output
    for rank in range(ranks):
        assert f"rank {rank} of {ranks} over {installation.said}" in job.output


@pytest.mark.parametrize("installation", jobs.ALL, ids=lambda each: each.name)
def test_failures_are_told_in_words(installation: jobs.Installation, check_table: Path, shims: str) -> None:
    """Catches a failure that ends the process, is lost, or has a number only; a count that wraps; and calls
    after the end that reach the library.
    """
    jobs.require(installation)
    job = jobs.run(installation, 2, [check_table, "failures", shims])
    assert job.status == 0 and job.output.count("GOOD") == 2, job.output
    said = dict(re.findall(r"^FAILED ([\w ]+): (.*)$", job.output, flags=re.MULTILINE))
    assert re.search(r"MPI_Send: error \d+ .*invalid rank", said["invalid rank"], re.IGNORECASE)
    assert re.search(r"MPI_Send: error \d+ .*invalid rank", said["invalid rank in a part"], re.IGNORECASE)
    assert re.search(r"MPI_Recv: error \d+ .*truncated", said["truncated"], re.IGNORECASE)
    assert re.search(r"MPI_Waitall: error \d+ .*truncated", said["truncated later"], re.IGNORECASE)
    assert "no message has this many elements" in said["negative count"]
    assert "no message has this many elements" in said["count beyond any type"]
    assert "elements of this kind cannot be sent" in said["unknown element"]
    assert "at most 2147483647 elements" in said["too many to reduce"]
    assert "MPI has been finalized" in said["after the end"]


#: Words as long as older versions of MPICH give them (MPI_MAX_ERROR_STRING is 1024), and how many fit.
LONG_WORDS = """
#include <malloc.h>
#include <stdio.h>
#include <string.h>
int MPI_Error_string(int error, char* text, int* length) {
  const unsigned long room = malloc_usable_size(text);
  memset(text, 'x', room < 1024 ? 1 : 1023);
  text[room < 1024 ? 1 : 1023] = 0;
  memcpy(text, room < 1024 ? "!" : "invalid rank, at length ", room < 1024 ? 1 : 24);
  *length = (int)strlen(text);
  return 0;
}
"""


def test_words_of_an_older_mpich_fit(check_table: Path, shims: str, tmp_path: Path) -> None:
    """Catches words of a library that are written past the end of a buffer."""
    jobs.require(jobs.MPICH)
    library = tmp_path / "words.so"
    command = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
    subprocess.run(command, input=LONG_WORDS, text=True, check=True)
    job = jobs.run(jobs.MPICH, 2, [check_table, "failures", shims], {"LD_PRELOAD": str(library)})
    said = dict(re.findall(r"^FAILED ([\w ]+): (.*)$", job.output, flags=re.MULTILINE))
    assert "invalid rank, at length xxx" in said["invalid rank"], job.output


@pytest.mark.slow
@pytest.mark.parametrize("installation", jobs.ALL, ids=lambda each: each.name)
def test_more_elements_than_an_int_counts(
    installation: jobs.Installation, check_table: Path, shims: str
) -> None:
    """Catches a count that wraps, and a part of the large type at the wrong place."""
    jobs.require(installation)
    job = jobs.run(installation, 2, [check_table, "large", shims])
    assert job.status == 0 and job.output.count("GOOD") == 2, job.output
