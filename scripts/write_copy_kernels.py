"""Compiles the kernels of the copy library into PTX, which drivers compile for a GPU. Needs NVRTC, no GPU.

Run it after a change of native/copy_library/kernels.cu or of what it includes; a test compares the digest
of the sources, because each release of NVRTC writes other text.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from byteways.measuring.shared.library_paths import library_directories

NATIVE = Path(__file__).parents[1] / "native"


@dataclass(frozen=True)
class Image:
    """A file of PTX, its source below native/, and the oldest GPUs that it is for.

    `version` is the PTX version that came with these GPUs: drivers that are older than the compiler refuse
    the version that it writes, and the kernels use nothing of it.
    """

    name: str
    source: str
    architecture: str
    version: str

    @property
    def path(self) -> Path:
        return NATIVE / "copy_library" / self.name


IMAGES = (
    Image("kernels.ptx", "copy_library/kernels.cu", "compute_80", "7.0"),
    Image("bulk_kernels.ptx", "interfaces/blocks/bulk.cu", "compute_90", "8.0"),
)


def sources(image: Image) -> dict[str, str]:
    """Returns the source and all that it includes, by the names in #include."""
    found: dict[str, str] = {}
    open_names = [image.source]
    while open_names:
        name = open_names.pop()
        if name not in found:
            found[name] = (NATIVE / name).read_text(encoding="utf-8")
            open_names += re.findall(r'#include "([^"]+)"', found[name])
    return found


def digest(image: Image) -> str:
    """Returns the digest that a current image has in its first line."""
    text = "".join(f"{name}\n{text}\n" for name, text in sorted(sources(image).items()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def compiled(nvrtc: ctypes.CDLL, image: Image) -> str:
    """Returns the PTX."""
    every = sources(image)
    text = every.pop(image.source)
    program, count = ctypes.c_void_p(), len(every)
    texts = (ctypes.c_char_p * count)(*(each.encode() for each in every.values()))
    names = (ctypes.c_char_p * count)(*(each.encode() for each in every))
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", count, texts, names)
    options = (ctypes.c_char_p * 2)(f"--gpu-architecture={image.architecture}".encode(), b"-std=c++17")
    failed = nvrtc.nvrtcCompileProgram(program, 2, options)
    what = "ProgramLog" if failed else "PTX"
    size = ctypes.c_size_t()
    getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{what}")(program, buffer)
    if failed:
        sys.exit(buffer.value.decode())
    return buffer.value.decode()


def main() -> None:
    """Writes the images."""
    libraries = (
        path for folder in library_directories() for path in sorted(Path(folder).glob("libnvrtc.so.*"))
    )
    found = next(libraries, None)
    if found is None:
        sys.exit("NVRTC is not there: pip install 'nvidia-cuda-nvrtc>=12.8'")
    nvrtc = ctypes.CDLL(str(found))
    for image in IMAGES:
        ptx = re.sub(r"^\.version .*$", f".version {image.version}", compiled(nvrtc, image), flags=re.M)
        lines = [line for line in ptx.splitlines() if line and not line.startswith("//")]
        image.path.write_text("\n".join([f"// sources {digest(image)}", *lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
