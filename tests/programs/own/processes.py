"""Processes of Python that share memory, arrays and a queue; by fork or by spawn."""

import hashlib
import multiprocessing
import sys
from multiprocessing import shared_memory


def digest(size: int) -> str:
    return hashlib.sha256(bytes(bytearray(size))).hexdigest()[:16]


def fill(name: str, at: int) -> None:
    memory = shared_memory.SharedMemory(name)
    memory.buf[at << 20 : (at + 1) << 20] = bytes([at]) * (1 << 20)
    memory.close()


def main() -> None:
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(3) as pool:
        print(pool.map(digest, [1, 100_000, 1_000_000, 5_000_000]))
    memory = shared_memory.SharedMemory(create=True, size=4 << 20)
    workers = [context.Process(target=fill, args=(memory.name, at)) for at in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(hashlib.sha256(memory.buf[: 4 << 20]).hexdigest(), [worker.exitcode for worker in workers])
    memory.close()
    memory.unlink()


if __name__ == "__main__":
    main()
