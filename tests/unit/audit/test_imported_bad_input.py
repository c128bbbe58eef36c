"""Bad input of the readers of other programs' outputs: what is no output, and two outputs in one file."""

from __future__ import annotations

import pytest

from byteways.ext.audit.imported.formats import DOCUMENT_FORMATS, TEXT_FORMATS, DocumentFormat, TextFormat
from byteways.ext.audit.imported.lines import lines_of_log
from byteways.ext.audit.imported.reading import mistake_in_number
from byteways.ext.audit.imported.scan import OutputsOfFile, scan_text
from byteways.machine.foreign_text import FormatError
from tests.imported.write import FOLDER, formats, variants

TEXTS = [
    (name, file_name)
    for name in formats()
    for file_name in variants(name)
    if not file_name.endswith((".json", ".jsonl"))
]


def scanned(content: bytes) -> OutputsOfFile:
    return scan_text(content.splitlines(keepends=True))


def contents(name: str, file_name: str) -> bytes:
    return (FOLDER / name / file_name).read_bytes()


def test_lines_that_nccl_logs_are_no_part_of_an_output() -> None:
    """Logged lines within a document of JSON that damage it, or that shift the numbers of lines."""
    logged = [b"[1,0]<stdout>:node-a:42:43 [0] NCCL INFO Connected all rings\n", b"n:1:2 [7] NCCL TRACE x\n"]
    content = [logged[0], b"a\n", logged[1], b"3: b\n", b"n:1:2 NCCL INFO x\n"]
    assert [(line.number, line.prefix, line.text) for line in lines_of_log(content)] == [
        (2, "", "a"),
        (4, "3: ", "b"),
        (5, "", "n:1:2 NCCL INFO x"),
    ]


@pytest.mark.parametrize("text", ["0", "1.50", "12.", "1e3", "2.5E-06"])
def test_numbers_of_programs(text: str) -> None:
    """A notation that C's printf or a JSON writer uses and that is refused."""
    assert mistake_in_number(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "nan",
        "-nan",
        "inf",
        "-1.0",
        "+1",
        "1,5",
        "1,234",
        "1'234.5",
        "0x10",
        "1_0",
        "1e999",
        "١٢",
        "",
        "1" * 30,
    ],
)
def test_what_is_no_number_of_a_program(text: str) -> None:
    """A text that float() accepts, or that another locale writes, taken for a measured value."""
    wrong = mistake_in_number(text)
    assert wrong is not None
    assert wrong[0]


@pytest.mark.parametrize("text", ["1,25", "1,234.5", "nan", "-3.5"])
def test_a_refused_number_has_a_hint(text: str) -> None:
    """A mistake that a user can act on without what to do."""
    assert (mistake_in_number(text) or ("", ""))[1]


def test_a_table_without_its_header_is_refused_once() -> None:
    """Rows of numbers that vanish, or a mistake for each of thousands of rows."""
    scan = scanned(b"some program\n65536 1.0 2.0\n131072 1.1 2.1\n262144 1.2 2.2\n")
    assert [mistake.line for mistake in scan.mistakes] == [2]
    assert not scan.outputs


@pytest.mark.parametrize("digit", ["²", "٣"])
def test_digits_of_other_scripts_end_in_no_traceback(digit: str) -> None:
    """A digit that Python counts as one and a program does not print, in every place of a number."""
    for name, file_name in TEXTS:
        content = contents(name, file_name).decode(errors="ignore")
        for place in ("0", "1"):
            changed = content.replace(place, place + digit, 20).encode()
            for output in scanned(changed).outputs:
                assert all(value.text.isascii() for value in output.values)


def test_a_table_without_one_of_its_columns_is_read() -> None:
    """A reader that looks for a column that a damaged header does not have."""
    header = "#       size         count      type   redop    root     time   algbw  #wrong\n"
    row = "     1048576        262144     float     sum      -1    98.20   10.67       0\n"
    scan = scanned(("# nThread 1 nGpus 8\n" + header + row).encode())
    assert [value.text for output in scan.outputs for value in output.values] == ["98.20", "10.67"]


def test_an_unknown_program_is_no_output() -> None:
    """A log of something else that a reader takes for its own."""
    scan = scanned(b"Running a benchmark.\nTest 1:\nDevice 0: a GPU\n\nSUM of all 5.0\nTriad: 5\n")
    assert not scan.outputs
    assert not scan.mistakes


@pytest.mark.parametrize("content", [b"\x7fELF\x00\x01", b"\xff\xfe\x00", b"a\xff\n", b"x" * 70_000])
def test_what_is_no_text_is_refused_with_its_line(content: bytes) -> None:
    """A binary that ends in a traceback, or takes minutes."""
    with pytest.raises(FormatError) as error:
        scanned(b"a log\n" + content)
    assert error.value.line == 2


@pytest.mark.parametrize(("first", "second"), list(zip(TEXTS, TEXTS[7:] + TEXTS[:7], strict=True)))
def test_two_programs_in_one_file(first: tuple[str, str], second: tuple[str, str]) -> None:
    """A reader that goes on into the output of another program, or loses its own at the end."""
    contents_of = [contents(*each) for each in (first, second)]
    alone = [scanned(content) for content in contents_of]
    ended = [content if content.endswith(b"\n") else content + b"\n" for content in contents_of]
    both = scanned(b"".join(ended))
    texts = [value.text for output in both.outputs for value in output.values]
    assert texts == [value.text for scan in alone for output in scan.outputs for value in output.values]
    assert len({output.format for output in both.outputs}) == len({first[0], second[0]})


def test_processes_of_a_launcher_are_read_on_their_own() -> None:
    """Lines of two processes that are mixed: rows of one in the table of the other."""
    logs = [contents("stream_text", "v5.10.txt"), contents("nvbandwidth", "v0.4-devices.txt")]
    lines = [log.splitlines(keepends=True) for log in logs]
    mixed = []
    for number in range(max(len(each) for each in lines)):
        for rank, each in enumerate(lines):
            mixed += [b"%d: %s" % (rank, each[number])] if number < len(each) else []
    scan = scan_text(mixed)
    alone = [scanned(log) for log in logs]
    wanted = {
        output.format: [value.text for value in output.values] for each in alone for output in each.outputs
    }
    assert {output.format: [value.text for value in output.values] for output in scan.outputs} == wanted
    assert not any(output.mistakes for output in scan.outputs)


@pytest.mark.parametrize("known", DOCUMENT_FORMATS, ids=lambda known: known.name)
def test_a_document_of_other_types_is_refused(known: DocumentFormat) -> None:
    """A document with the right keys and the wrong types that ends in a traceback."""
    for content in (None, 5, "text", [], [5], {"a": 5}):
        document = dict.fromkeys(known.keys, content)
        try:
            found = known.reader(document, 1)
        except FormatError:
            continue
        assert not found.values


def test_each_format_says_how_to_make_it() -> None:
    """A registered format that a message cannot name."""
    known: list[TextFormat | DocumentFormat] = [*TEXT_FORMATS, *DOCUMENT_FORMATS]
    assert len({each.name for each in known}) == len(known)
    assert all(each.says and each.made_by for each in known)


def test_long_numbers_end_in_no_traceback() -> None:
    """A number of more digits than Python converts, in every place of a number."""
    for name, file_name in TEXTS:
        content = contents(name, file_name).decode(errors="ignore")
        for place in ("0", "1", "5"):
            changed = content.replace(place, place * 5000, 5).encode()
            for output in scanned(changed).outputs:
                assert all(len(value.text) < 100 for value in output.values)


@pytest.mark.parametrize("filler", [" ", "a", "0 ", "row", "#", "="])
def test_long_lines_take_no_time(filler: str) -> None:
    """A pattern whose work grows with the square of a line's length: this test would take minutes."""
    for name, file_name in TEXTS:
        lines = contents(name, file_name).decode(errors="ignore").splitlines()[:12]
        for line in lines:
            half = len(line) // 2
            for long in (line[:half] + filler * (20_000 // len(filler)) + line[half:], line + filler * 9000):
                scanned("\n".join([*lines, long]).encode())


def test_a_ratio_of_damaged_bandwidths_is_none() -> None:
    """Two bandwidths whose ratio is below the smallest number."""
    result = {"time": 98.2, "alg_bw": 1e300, "bus_bw": 1e-300}
    document = {"version": 3, "results": [{"size": 8, "redop": "sum", "root": "-1", "out_of_place": result}]}
    document["devices"] = [{"device_info": "a GPU"}] * 8
    known = next(each for each in DOCUMENT_FORMATS if each.name == "nccl-tests-json")
    assert known.reader(document, 1).values[0].text == "98.2"
