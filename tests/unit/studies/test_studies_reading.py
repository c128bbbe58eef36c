"""Studies as their authors write them: what is wrong in a file is told by name and ends with status 2."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from byteways.cli import main
from byteways.ext.studies.comparison.figures import part_of
from byteways.ext.studies.published.reading import load
from byteways.ext.studies.published.study import StudyLine
from byteways.ext.studies.published.values import read_values
from tests.unit.study_files import Edit, edited_study, mistake_in


@pytest.fixture
def edited(tmp_path: Path) -> Edit:
    """Edits herten2022."""
    return partial(edited_study, tmp_path, "herten2022")


MISTAKES = [
    ("study.toml", "statistic =", "statistics =", "key 'statistics': unknown key"),
    ("study.toml", 'title = "First', 'name = "First', "key 'name': unknown key"),
    ("study.toml", 'kind = "map"\n', "", "figure 'threads-copy', key 'kind': missing"),
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
    ("study.toml", 'says = "STREAM copy"', "says = [1]", "key 'lines.copy.says': a list instead of a string"),
    (
        "study.toml",
        "threads = [128, 256, 512, 1024]",
        "threads = [[]]",
        "key 'lines.copy.each.threads': a list instead of a string or",
    ),
    ("study.toml", 'lines = ["STREAM copy"', 'lines = [{}, "STREAM copy"', "a table instead of a string"),
    ("study.toml", "year = 2022", "year = true", "key 'year': a boolean instead of a number"),
    ("study.toml", 'devices = ["gpu0"]', 'devices = ["near b"]', "device near b of place own"),
    ("study.toml", 'source = "a:device"', 'source = ""', "buffer '' of line STREAM copy"),
    ("study.toml", 'source = "a:device"', "source = []", "source': the list is empty"),
    ("claims.toml", 'about = "82 %"', 'about = "many"', "could not convert string to float: 'many'"),
    ("claims.toml", ', about = "82 %", within = 0.04', "", "has neither 'about' nor 'at_least' nor"),
    (
        "claims.toml",
        'over = "line"',
        'over = "lines"',
        "key 'check.over': 'lines' is not a valid value\nhint: did you mean 'line'",
    ),
    ("claims.toml", "of_best = 0.95", "of_best = nan", "key 'check.of_best': nan is out of range"),
    ("claims.toml", 'size = "64MiB"', 'size = "64XB"', "64XB"),
    ("claims.toml", '[[claim]]\nid = "usage"', '[claim]\nid = "usage"', ""),
    ("published.csv", "2147483648", "9" * 400, "is not a number above 0 and below"),
    (
        "claims.toml",
        'kind = "reaches"',
        'kind = "reached"',
        "claim 'saturation', key 'check.kind': 'reached' is not a valid value\nhint: did you mean 'reaches'",
    ),
    (
        "claims.toml",
        'locator = "Sec. Data',
        'where = "Sec. Data',
        "claim 'copy-and-triad', key 'where': unknown key",
    ),
    ("claims.toml", "of_best", "of_bst", "claim 'saturation', key 'check.of_bst': unknown key"),
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
    ("claims.toml", 'quote = "For triad, ', '# "', "claim 'triad-of-peak': it needs either 'quote'"),
    (
        "claims.toml",
        'about = "82 %"',
        "published = true",
        "claim 'triad-of-peak', key 'check': the check of a quotation",
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
        (
            'fact = "gpu", about = 4',
            "key 'check.fact': 'gpu' is not a valid value\nhint: did you mean 'gpus'",
        ),
        ('fact = "gpus"', "has neither 'about' nor 'at_least' nor 'at_most'"),
        ('fact = "gpus", about = 4, at = "own"', "the fact 'gpus' has no place: leave out 'at'"),
        ('fact = "links", about = 4', "the fact 'links' needs 'at', a place with two devices"),
        ('fact = "links", about = 4, at = "own"', "place own of claim triad-of-peak"),
        ('fact = "l3-bytes", about = "32XB"', "32XB"),
    )
]


MISTAKES += [
    ("claims.toml", OF_TRIAD, f'kind = "gap", of = {of}, to = {to}{bound}', cause)
    for of, to, bound, cause in (
        (
            '"STREAM triad@own/2GiB"',
            '["STREAM triad@own/2GiB", "STREAM copy@own/2GiB"]',
            ", at_most = 1",
            "key 'check.of': the string 'STREAM triad@own/2GiB' instead of a list",
        ),
        (
            '["STREAM triad@own/2GiB", "STREAM copy@own/2GiB"]',
            '["STREAM copy@own/2GiB"]',
            ", at_most = 1",
            "key 'check.to': it has 1 values instead of 2",
        ),
        ('["x@own/1", "y@own/1"]', '["x@own/1", "y@own/1"]', "", "has neither 'about' nor 'at_least'"),
    )
]
#: Mistakes in how a figure is drawn.
SCAN = 'y = ["linear", "log"]\n\n[[figures]]\nid = "scan-a100"'
QUOTIENT = 'against = [{ name = "A100 / MI250 GCD", of = "A100", to = "MI250 GCD" }]'
DRAWING = "figure 'scan', key 'drawing"
MISTAKES += [
    ("study.toml", SCAN, SCAN.replace("\n", f"\n{keys}\n", 1), cause)
    for keys, cause in (
        ("scale = 1", f"{DRAWING}.scale': unknown key"),
        (
            'plot = "pie"',
            f"{DRAWING}.plot': 'pie' is not a valid value\nhint: valid: lines, bars, matrix, tiles",
        ),
        ('x = "log2"', f"{DRAWING}.x': 'log2' is not a valid value\nhint: did you mean 'log'"),
        ('unit = "GB"', f"{DRAWING}.unit': 'GB' is not a valid value\nhint: valid: GiB/s"),
        ('rows = "up"', f"{DRAWING}.rows': 'up' is not a valid value\nhint: valid: downwards, upwards"),
        ('apart = ["copy"]', f"{DRAWING}.apart': 'copy' is none of the groups"),
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
            f"{DRAWING}.series': two series have one name",
        ),
        (
            'series = [{ name = "one", lines = ["STREAM add"], dash = "wavy" }]',
            "drawing.series 'one', key 'dash': 'wavy' is not a valid value",
        ),
    )
]
MISTAKES += [
    (
        "study.toml",
        QUOTIENT,
        QUOTIENT.replace('of = "A100"', 'of = "H200"'),
        "of = 'H200' is none of the series",
    ),
    (
        "study.toml",
        'plot = "matrix"\nunit = "GiB/s"',
        'plot = "matrix"\nunit = "GiB/s"\n[[figures]]\nid = "more"\ntitle = "x"\nlocator = "x"\n'
        'kind = "curve"\nunit = "ns"\nlines = ["STREAM add"]\nplaces = ["own"]\n'
        'drawing = { unit = "GiB/s" }\n',
        "figure 'more', key 'drawing.unit': 'GiB/s' is no unit of values in ns",
    ),
    (
        "study.toml",
        'y = ["linear", "log"]',
        'y = "double"',
        "key 'drawing.y': 'double' is not a valid value\nhint: valid: log, linear",
    ),
]


@pytest.mark.parametrize(("name", "old", "new", "cause"), MISTAKES, ids=[entry[3] for entry in MISTAKES])
def test_mistakes_are_told_with_their_file(edited: Edit, name: str, old: str, new: str, cause: str) -> None:
    """Would catch a traceback, and a name that reads 'not measured' for ever."""
    assert cause in mistake_in(edited(name, old, new))


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
