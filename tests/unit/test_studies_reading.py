"""Studies as their authors write them: what is wrong in a file is told by name and ends with status 2."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import pytest

from byteways.cli import main
from byteways.errors import BytewaysError
from byteways.explain.studies.figures import part_of
from byteways.studies.reading import load
from byteways.studies.study import StudyLine
from byteways.studies.values import read_values

Edit = Callable[[str, str, str], Path]


@pytest.fixture
def edited(tmp_path: Path) -> Edit:
    """Writes herten2022 as a study of one's own, with a text of one of its files replaced by another."""

    def write(name: str, old: str, new: str) -> Path:
        folder = tmp_path / "mine"
        shutil.copytree(str(resources.files("byteways.studies") / "herten2022"), folder)
        text = (folder / name).read_text(encoding="utf-8")
        assert old in text
        (folder / name).write_text(text.replace(old, new), encoding="utf-8")
        return folder

    return write


MISTAKES = [
    (
        "study.toml",
        "statistic =",
        "statistics =",
        "it has the unknown key 'statistics': did you mean 'statistic'",
    ),
    ("study.toml", 'title = "First', 'name = "First', "it has the unknown key 'name'"),
    ("study.toml", 'kind = "map"\n', "", "has no 'kind'"),
    (
        "study.toml",
        'executor = "a"',
        'executor = "b"',
        "takes more devices than place own of figure scan has",
    ),
    ("study.toml", 'executor = "a"', 'executor = "gpu"', "device 'gpu' of line STREAM copy"),
    ("study.toml", 'interface = "stream-add"', 'interface = "stream-ad"', "interface stream-ad of line"),
    ("study.toml", 'lines = ["STREAM copy"', 'lines = ["STREAM kopy"', "line STREAM kopy of figure scan"),
    ("study.toml", 'places = ["own"]', 'places = ["home"]', "place home of figure scan"),
    ("study.toml", 'places = ["own"]\n[fig', "places = []\n[fig", "figure scan without places"),
    ("study.toml", "[places]", "[places", "Expected"),
    ("study.toml", 'says = "STREAM copy"', "says = [1]", "line 'copy' has says = [1]: expected a string"),
    ("study.toml", "threads = [128, 256, 512, 1024]", "threads = [[]]", "expected a table with one list"),
    ("study.toml", 'lines = ["STREAM copy"', 'lines = [{}, "STREAM copy"', "expected a list of strings"),
    ("study.toml", "year = 2022", "year = true", "it has year = True: expected a whole number"),
    ("study.toml", 'devices = ["gpu0"]', 'devices = ["near b"]', "device near b of place own"),
    ("study.toml", 'source = "a:device"', 'source = ""', "buffer '' of line STREAM copy"),
    ("study.toml", 'source = "a:device"', "source = []", "expected a string or a list of strings"),
    ("claims.toml", 'about = "82 %"', 'about = "many"', "could not convert string to float: 'many'"),
    ("claims.toml", ', about = "82 %", within = 0.04', "", "has neither 'about' nor 'at_least' nor"),
    ("claims.toml", 'over = "line"', 'over = "lines"', "has over = 'lines': did you mean 'line'"),
    ("claims.toml", "of_best = 0.95", "of_best = nan", "expected a number"),
    ("claims.toml", 'size = "64MiB"', 'size = "64XB"', "64XB"),
    ("claims.toml", '[[claim]]\nid = "usage"', '[claim]\nid = "usage"', ""),
    ("published.csv", "2147483648", "9" * 400, "is not a number above 0 and below"),
    (
        "claims.toml",
        'kind = "reaches"',
        'kind = "reached"',
        "claim 'saturation' has the check 'reached': did you mean 'reaches'",
    ),
    (
        "claims.toml",
        'locator = "Sec. Data',
        'where = "Sec. Data',
        "claim 'copy-and-triad' has the unknown key 'where'",
    ),
    ("claims.toml", "of_best", "of_bst", "the check of claim 'saturation' has the unknown key 'of_bst'"),
    (
        "claims.toml",
        "STREAM copy@own",
        "STREAM kopy@own",
        "claim copy-and-triad: 'STREAM kopy@own/2GiB' names no line",
    ),
    (
        "claims.toml",
        "@own/2GiB",
        "@own",
        "claim copy-and-triad: 'STREAM copy@own' is not a reference to a value; write line@place/size",
    ),
    (
        "claims.toml",
        'quote = "For triad',
        'says = "x"\nquote = "For triad',
        "needs either 'quote' (the source's words) or",
    ),
    ("claims.toml", 'quote = "For triad, ', '# "', "claim 'triad-of-peak' needs either 'quote'"),
    (
        "claims.toml",
        'about = "82 %"',
        "published = true",
        "claim 'triad-of-peak' quotes: its check uses the numbers of the sentence, not 'published'",
    ),
    (
        "claims.toml",
        'machine = "jureca-mi250"',
        'machine = "h200-x4"',
        "machine h200-x4 of claim copy-and-triad",
    ),
    (
        "claims.toml",
        'quote = "For triad, this is about 82% of the theoretically available peak."',
        'quote = "256 threads per block is always  a good choice."',
        "claims triad-of-peak and 256-threads quote the same sentence: it needs one verdict",
    ),
    ("published.csv", "1.42e+12", "many", "could not convert string to float: 'many'"),
    ("suite.toml", "stream-add", "stream-ad", "stream-ad"),
]


#: A check of herten2022, and mistakes in a check of the node in its place.
OF_TRIAD = 'kind = "value", of = "STREAM triad@own/2GiB", about = "82 %", within = 0.04'
MISTAKES += [
    ("claims.toml", OF_TRIAD, f'kind = "node", {keys}', cause)
    for keys, cause in (
        ('fact = "gpu", about = 4', "has fact = 'gpu': did you mean 'gpus'"),
        ('fact = "gpus"', "has neither 'about' nor 'at_least' nor 'at_most'"),
        ('fact = "gpus", about = 4, at = "own"', "the fact 'gpus' has no place: leave out 'at'"),
        ('fact = "links", about = 4', "the fact 'links' needs 'at', a place with two devices"),
        ('fact = "links", about = 4, at = "own"', "place own of claim triad-of-peak"),
        ('fact = "l3-bytes", about = "32MB"', "32MB"),
    )
]


TWO = "'of' and 'to' take two each"
MISTAKES += [
    ("claims.toml", OF_TRIAD, f'kind = "gap", of = {of}, to = {to}{bound}', cause)
    for of, to, bound, cause in (
        (
            '"STREAM triad@own/2GiB"',
            '["STREAM triad@own/2GiB", "STREAM copy@own/2GiB"]',
            ", at_most = 1",
            TWO,
        ),
        (
            '["STREAM triad@own/2GiB", "STREAM copy@own/2GiB"]',
            '["STREAM copy@own/2GiB"]',
            ", at_most = 1",
            TWO,
        ),
        ('["STREAM triad@own/2GiB"]', '["STREAM copy@own/2GiB"]', "", "has neither 'about' nor 'at_least'"),
    )
]
#: Mistakes in how a figure is drawn.
SCAN = 'y = ["linear", "log"]\n\n[[figures]]\nid = "scan-a100"'
QUOTIENT = 'against = [{ name = "A100 / MI250 GCD", of = "A100", to = "MI250 GCD" }]'
DRAWING = "drawing of figure 'scan'"
MISTAKES += [
    ("study.toml", SCAN, SCAN.replace("\n", f"\n{keys}\n", 1), cause)
    for keys, cause in (
        ("scale = 1", f"{DRAWING} has the unknown key 'scale'"),
        ('plot = "pie"', f"{DRAWING} has plot = 'pie': expected one of lines, bars, matrix, tiles"),
        ('x = "log2"', f"{DRAWING} has x = 'log2': expected one of log, linear"),
        ('unit = "GB"', f"{DRAWING} has unit = 'GB': expected one of GiB/s"),
        ('rows = "up"', f"{DRAWING} has rows = 'up': expected one of downwards, upwards"),
        ('apart = ["copy"]', f"{DRAWING} has apart = 'copy', which is none of its groups"),
        (
            'series = [{ name = "copy", lines = ["STREAM copy"], places = ["A100"] }]',
            "STREAM copy at A100, which figure scan draws and does not have",
        ),
        (
            'series = [{ name = "all", lines = ["STREAM *"] }]',
            "series 'all' of figure scan has 4 values, and 1 are drawn",
        ),
        (
            'series = [{ name = "one", lines = ["STREAM add"] }, { name = "one", lines = ["STREAM copy"] }]',
            f"{DRAWING} has two series of one name",
        ),
        (
            'series = [{ name = "one", lines = ["STREAM add"], dash = "wavy" }]',
            "series 'one' of the drawing of figure 'scan' has dash = 'wavy'",
        ),
    )
]
MISTAKES += [
    (
        "study.toml",
        QUOTIENT,
        QUOTIENT.replace('of = "A100"', 'of = "H200"'),
        "has of = 'H200', which is no series of it",
    ),
    (
        "study.toml",
        'plot = "matrix"\nunit = "GiB/s"',
        'plot = "matrix"\nunit = "GiB/s"\n[[figures]]\nid = "more"\ntitle = "x"\nlocator = "x"\n'
        'kind = "curve"\nunit = "ns"\nlines = ["STREAM add"]\nplaces = ["own"]\n'
        'drawing = { unit = "GiB/s" }\n',
        "the drawing of figure 'more' has unit = 'GiB/s', and its values are in ns",
    ),
    ("study.toml", 'y = ["linear", "log"]', 'y = "double"', "has y = 'double': expected one of log, linear"),
]


@pytest.mark.parametrize(("name", "old", "new", "cause"), MISTAKES, ids=[entry[3] for entry in MISTAKES])
def test_mistakes_are_told_with_their_file(edited: Edit, name: str, old: str, new: str, cause: str) -> None:
    """Would catch a traceback, and a name that reads 'not measured' for ever."""
    folder = edited(name, old, new)
    with pytest.raises(BytewaysError) as caught:
        load(str(folder))
    assert caught.value.status == 2
    assert cause in "\n".join(caught.value.lines())


def test_a_file_that_is_missing_is_named(edited: Edit, capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch an error that does not name the missing file."""
    folder = edited("claims.toml", "copy", "copy")
    (folder / "claims.toml").unlink()
    assert main(["reproduce", str(folder)]) == 2
    text = capsys.readouterr().err
    assert text.startswith(
        "error: cannot read mine/claims.toml\n  caused by: No such file or directory\nhint:"
    )


def test_a_study_of_one_s_own_is_read_from_its_folder(edited: Edit) -> None:
    """Would catch a study outside the package that cannot be read."""
    folder = edited("study.toml", "Andreas Herten", "Somebody")
    study = load(str(folder))
    assert (study.key, study.authors, study.folder) == ("mine", "Somebody", str(folder))
    assert len(study.claims) == len(load("herten2022").claims)


# --- what a published value counts

HEAD = (
    "machine,key,system,source_key,locator,method,options,environment,executor,access,pattern,source,"
    "destination,size_bytes,metric,value,counts,exactness,half_unit,peak_bytes_per_s,statistic,timing,same_as,note"
)


@pytest.mark.parametrize(
    ("method", "where", "counts", "line", "part"),
    [
        ("copy", "gpu0", "read+write", StudyLine("", "", "copy", ()), 1 / 2),
        ("copy", "gpu1", "one direction", StudyLine("", "", "copy", ()), 1),
        ("stream-copy", "gpu0", "read+write", StudyLine("", "", "stream-copy", ()), 1),
        (
            "stream-copy",
            "gpu1",
            "read+write",
            StudyLine("", "", "stream-copy", (), count="per-direction"),
            1 / 2,
        ),
        (
            "stream-triad",
            "gpu0",
            "read+write",
            StudyLine("", "", "stream-triad", (), count="per-direction"),
            1 / 3,
        ),
        (
            "stream-triad",
            "gpu1",
            "read+write",
            StudyLine("", "", "stream-triad", (), count="per-direction"),
            2 / 3,
        ),
        ("stream-copy", "gpu1", "one direction", StudyLine("", "", "stream-copy", ()), 2),
        ("stream-copy", "gpu1", "not stated", StudyLine("", "", "stream-copy", (), count="per-direction"), 1),
    ],
)
def test_a_published_value_is_taken_in_the_count_of_the_line(
    method: str, where: str, counts: str, line: StudyLine, part: float
) -> None:
    """Would catch a ratio of two for figures that agree, and one of 1.5 for kernels of three arrays."""
    buffer = f"{where}:device"
    ends = f"gpu0,local,unidirectional,{buffer},{buffer}"
    row = f"m,k,s,s,l,{method},,,{ends},1,bandwidth,6e9,{counts},exact,1,,max,t,,"
    (value,) = read_values([HEAD, row])
    assert part_of(value, line) == pytest.approx(part)
