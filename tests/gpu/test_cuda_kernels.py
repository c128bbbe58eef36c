"""The device kernels word by word: bounds, alignment, tails, and the check that everything else relies on."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest

from tests.gpu.device import ChaseArguments, CopyArguments, Device, PatternArguments, PingPongArguments

pytestmark = pytest.mark.gpu

GUARD = 64  # bytes on either side that nothing may touch
UNTOUCHED = 0xAA
NONE = 2**64 - 1


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Device:
    return Device(tmp_path_factory.mktemp("kernels"))


def pattern(key: int, first: int, count: int) -> np.ndarray:
    """What fill writes: pattern_word of native/interfaces/device/data_pattern.hpp."""
    indices = np.uint64(key) + np.uint64(first) + np.arange(count, dtype=np.uint64)
    word = indices * np.uint64(0x9E3779B97F4A7C15)
    return word ^ (word >> np.uint64(32))


@pytest.mark.parametrize("count", [1, 2, 3, 7, 1024, 100_003])
@pytest.mark.parametrize("misaligned", [0, 8])
@pytest.mark.parametrize("stride", [1, 5])
def test_fill_writes_only_its_words(device: Device, count: int, misaligned: int, stride: int) -> None:
    """Catches a lost head or tail word, a write past the end, a stride from the wrong word."""
    size = 2 * GUARD + misaligned + 8 * count
    with device.memory(bytes([UNTOUCHED]) * size) as base:
        start = GUARD + misaligned
        device.launch("fill", (3, 96), PatternArguments(base + start, count, 77, 5, stride, 0))
        content = device.read(base, size)
    words = np.frombuffer(content[start : start + 8 * count], dtype=np.uint64)
    expected = np.full(count, int.from_bytes(bytes([UNTOUCHED]) * 8, "little"), dtype=np.uint64)
    expected[::stride] = pattern(77, 5, count)[::stride]
    assert np.array_equal(words, expected)
    assert set(content[:start] + content[start + 8 * count :]) == {UNTOUCHED}


@pytest.mark.parametrize(
    "spoiled", [[], [0], [1], [100_002], [50_001, 50_000, 99_999], list(range(0, 100_003, 7))]
)
@pytest.mark.parametrize("misaligned", [0, 8])
def test_check_finds_the_first_wrong_word(device: Device, spoiled: list[int], misaligned: int) -> None:
    """Catches wrong counts, and expected and got that belong to another word than the first wrong one."""
    count = 100_003
    words = pattern(9, 3, count)
    words[spoiled] ^= np.arange(1, len(spoiled) + 1, dtype=np.uint64)
    content = bytes(misaligned) + words.tobytes()
    start = np.array([0, NONE, 0, 0], dtype=np.uint64).tobytes()
    with device.memory(content) as base, device.memory(start) as result:
        device.launch("check", (7, 256), PatternArguments(base + misaligned, count, 9, 3, 1, result))
        bad, first, expected, got = np.frombuffer(device.read(result, 32), dtype=np.uint64).tolist()
    assert bad == len(spoiled)
    if spoiled:
        j = min(spoiled)
        assert (first, expected, got) == (j, int(pattern(9, 3, count)[j]), int(words[j]))
    else:
        assert (first, expected, got) == (NONE, 0, 0)


def test_check_finds_the_first_of_very_many(device: Device) -> None:
    """Catches the race of all threads that lower the first index at once, over a hundred tries."""
    count = 1 << 20
    with device.memory(bytes(8 * count)) as base:
        for attempt in range(100):
            with device.memory(np.array([0, NONE, 0, 0], dtype=np.uint64).tobytes()) as result:
                arguments = PatternArguments(base, count, attempt + 1, 0, 1, result)
                device.launch("check", (264, 512), arguments)
                found = np.frombuffer(device.read(result, 32), dtype=np.uint64).tolist()
            assert found == [count, 0, int(pattern(attempt + 1, 0, 1)[0]), 0]


def copy_case(
    device: Device,
    entry: str,
    size: int,
    offsets: tuple[int, int],
    shape: tuple[int, int],
    ring: tuple[int, int],
) -> None:
    if entry not in device.offered:
        pytest.skip(f"{entry} does not exist on {device.architecture}")
    content = random.Random(size).randbytes(GUARD + offsets[0] + size)
    whole = 2 * GUARD + offsets[1] + size
    chunk, stages = ring
    with device.memory(content) as source, device.memory(bytes([UNTOUCHED]) * whole) as target:
        arguments = CopyArguments(
            source + GUARD + offsets[0],
            target + GUARD + offsets[1],
            size,
            chunk_bytes=chunk,
            stages=stages,
            chunks=-(-(size // 16 * 16) // chunk) if chunk else 0,
        )
        shared = 256 + chunk * stages if entry == "copy_bulk" else 0
        device.launch(entry, shape, arguments, shared)
        copied = device.read(target, whole)
    start = GUARD + offsets[1]
    assert copied[start : start + size] == content[GUARD + offsets[0] :]
    assert set(copied[:start] + copied[start + size :]) == {UNTOUCHED}


SIZES = [1, 8, 15, 16, 17, 4096, 65_528, 1_000_001, 3 * 2**20, 9 * 2**20 + 24]


def test_a_part_of_a_word_is_checked_by_its_bytes(device: Device) -> None:
    """Catches a change next to the copied bytes that passes, and a copied byte that is not checked."""
    stride, slots, poison = 32, 100, 0xBADC0FFEE0DDF00D
    mask = 0xFFFFFF
    rest = poison & ~mask
    words = np.zeros(stride * slots, dtype=np.uint64)
    count = (slots - 1) * stride + 1
    words[::stride] = (pattern(9, 3, stride * slots)[::stride] & np.uint64(mask)) | np.uint64(rest)

    start = np.array([0, NONE, 0, 0], dtype=np.uint64).tobytes()

    def checked(spoiled: np.ndarray) -> list[int]:
        with device.memory(spoiled.tobytes()) as base, device.memory(start) as result:
            arguments = PatternArguments(base, count, 9, 3, stride, result, mask=mask, rest=rest)
            device.launch("check", (7, 256), arguments)
            return [int(word) for word in np.frombuffer(device.read(result, 32), dtype=np.uint64)]

    assert checked(words)[0] == 0
    for bit in (1 << 23, 1 << 24):
        spoiled = words.copy()
        spoiled[5 * stride] ^= np.uint64(bit)
        found = checked(spoiled)
        assert found == [1, 5 * stride, int(words[5 * stride]), int(spoiled[5 * stride])]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("shape", [(1, 32), (5, 96), (264, 512), (132, 1024), (3000, 256)])
def test_copy_is_exact(device: Device, size: int, shape: tuple[int, int]) -> None:
    """Catches a gap or overlap between whole passes, the rest and the tail, and writes past the end."""
    copy_case(device, "copy_resident", size, (0, 0), shape, (0, 0))


@pytest.mark.parametrize("accesses", [1, 31, 256, 257, 4097, 3 * 2**16 + 5])
@pytest.mark.parametrize("threads", [32, 256, 512, 1024])
@pytest.mark.parametrize(("entry", "each"), [("copy", 1), ("copy_tiled", 4)])
def test_a_covering_copy_is_exact(device: Device, entry: str, each: int, threads: int, accesses: int) -> None:
    """Catches a gap between tiles, and accesses behind the last one by threads of the last block."""
    blocks = -(-accesses // (threads * each))
    copy_case(device, entry, 16 * accesses, (0, 16), (blocks, threads), (0, 0))


@pytest.mark.parametrize("offsets", [(8, 8), (8, 0), (0, 4), (1, 3)])
@pytest.mark.parametrize("entry", ["copy_resident", "copy_bulk"])
def test_copy_from_and_to_any_address(device: Device, entry: str, offsets: tuple[int, int]) -> None:
    """Catches a misaligned 16-byte access, which kills the context and the worker with it."""
    copy_case(device, entry, 100_003, offsets, (4, 32), (1024, 4))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("ring", [(48, 1), (48, 3), (1024, 2), (4096, 4), (16_384, 8), (4096, 32)])
@pytest.mark.parametrize("blocks", [1, 8, 24])
def test_bulk_copy_is_exact(device: Device, size: int, ring: tuple[int, int], blocks: int) -> None:
    """Catches a stage loaded again while it is read, a wrong barrier phase, a lost last chunk."""
    copy_case(device, "copy_bulk", size, (0, 0), (blocks, 32), ring)


@pytest.mark.parametrize("entry", ["copy", "copy_tiled", "copy_resident", "copy_bulk"])
def test_operations_rotate_over_slots(device: Device, entry: str) -> None:
    """Catches an operation that reads or writes another slot than its own."""
    if entry not in device.offered:
        pytest.skip(f"{entry} does not exist on {device.architecture}")
    size, slots = 4096, (3, 5)
    source = [bytes([k + 1]) * size for k in range(slots[0])]
    with device.memory(b"".join(source)) as base, device.memory(bytes(slots[1] * size)) as target:
        for operation in (7, 12_345_678_901):
            arguments = CopyArguments(base, target, size, chunk_bytes=1024, stages=4, chunks=4)
            arguments.source_offset = operation % slots[0] * size
            arguments.destination_offset = operation % slots[1] * size
            device.launch(entry, (8, 32), arguments, 256 + 4096 if entry == "copy_bulk" else 0)
            place = operation % slots[1] * size
            assert device.read(target + place, size) == source[operation % slots[0]]


@pytest.mark.parametrize("lines", [1, 2, 8, 4096])
def test_chase_visits_every_line_once(device: Device, lines: int) -> None:
    """Catches a cycle that is shorter than the working set, which would measure a cache instead."""
    line_bytes = 128
    with device.memory(bytes(lines * line_bytes)) as base, device.memory(bytes(8)) as end:
        device.launch("chase_build", (2, 64), ChaseArguments(base, lines, line_bytes, 42, 0, 0, end))
        words = np.frombuffer(device.read(base, lines * line_bytes), dtype=np.uint64)[:: line_bytes // 8]
        following = ((words - np.uint64(base)) // np.uint64(line_bytes)).tolist()
        visited, line = [], 0
        for _ in range(lines):
            visited.append(line)
            line = following[line]
        assert line == 0 and sorted(visited) == list(range(lines))
        for steps in (0, 1, 5, lines, lines + 3):
            device.launch("chase", (1, 1), ChaseArguments(base, lines, line_bytes, 42, 0, steps, end))
            assert int.from_bytes(device.read(end, 8), "little") == visited[steps % lines]


@pytest.mark.parametrize("patience_s", [0.02, 0.5])
def test_a_side_that_nobody_answers_gives_up_in_time(device: Device, patience_s: float) -> None:
    """Catches a device that hangs where a partner is gone, and patience that is counted in looks."""
    with device.memory(bytes(24)) as words:
        arguments = PingPongArguments(words, words + 8, 0, 5, int(patience_s * 1e9), 1, words + 16)
        device.launch("ping_pong", (1, 1), arguments)  # loads the kernel
        begin = time.monotonic()
        device.launch("ping_pong", (1, 1), arguments)
        waited_s = time.monotonic() - begin
        written, polled, done = np.frombuffer(device.read(words, 24), dtype=np.uint64).tolist()
    assert (written, polled, done) == (1, 0, 0)
    assert patience_s <= waited_s < patience_s + 0.1
