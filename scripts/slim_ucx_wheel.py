"""Writes a small wheel of UCX with CUDA for machines without network.

    python scripts/slim_ucx_wheel.py libucx_cu13-1.22.0-py3-none-….whl FOLDER

The wheels libucx-cu13 and libucx-cu12 have 43 MB. Ranks need 7 of them: the libraries, each once, the
modules of CUDA and of shared memory (src/byteways/measuring/shared/mpi_wheels.py), and the CUDA runtime, without
which UCX does not see that memory is freed. pip installs the new wheel like
the other one, and prefers it because of its build number.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import sys
import zipfile
from pathlib import Path

#: Files below `libucx/`.
KEPT = (
    "__init__.py",
    "_version.py",
    "load.py",
    "UCX_WHEEL_VERSION.txt",
    "GIT_COMMIT",
    *(f"lib/lib{name}.so.0" for name in ("ucm", "ucs", "ucs_signal", "uct", "ucp")),
    *(f"lib/ucx/lib{name}.so.0" for name in ("ucm_cuda", "uct_cuda", "uct_cma")),
)
#: Beside `libucx/`, in the folder of libraries that the wheel's own need.
KEPT_PREFIX = "libcudart-"
BUILD = "1slim"


def is_kept(name: str) -> bool:
    """Whether the small wheel has this file of the whole one."""
    folder, _, rest = name.partition("/")
    if folder.endswith(".dist-info"):
        return rest in ("METADATA", "WHEEL") or rest.startswith("licenses/")
    if folder.endswith(".libs"):
        return rest.startswith(KEPT_PREFIX)
    return folder == "libucx" and rest in KEPT


def slim(wheel: Path, folder: Path) -> Path:
    """Writes the small wheel into the folder and returns its path.

    Raises:
        ValueError: The file is no wheel of UCX: a library is missing.
    """
    name, version, tags = wheel.stem.split("-", 2)
    written = folder / f"{name}-{version}-{BUILD}-{tags}.whl"
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(wheel) as whole:
        kept = [one for one in whole.infolist() if is_kept(one.filename)]
        missing = {f"libucx/{one}" for one in KEPT} - {one.filename for one in kept}
        if not any(Path(one.filename).name.startswith(KEPT_PREFIX) for one in kept):
            missing.add(f"{KEPT_PREFIX}*")
        if missing:
            raise ValueError(f"{wheel} lacks {', '.join(sorted(missing))}")
        rows = []
        with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as small:
            for one in kept:
                data = whole.read(one)
                if one.filename == f"{info}/WHEEL":
                    data = data.rstrip(b"\n") + f"\nBuild: {BUILD}\n".encode()
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                rows.append(f"{one.filename},sha256={digest},{len(data)}\n")
                small.writestr(one, data, zipfile.ZIP_DEFLATED)
            small.writestr(f"{info}/RECORD", "".join([*rows, f"{info}/RECORD,,\n"]))
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes a small wheel of UCX with CUDA.")
    parser.add_argument("wheel", type=Path, help="libucx_cu13-….whl or libucx_cu12-….whl")
    parser.add_argument("folder", type=Path, help="an existing folder for the small wheel")
    given = parser.parse_args()
    try:
        written = slim(given.wheel, given.folder)
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        sys.exit(f"error: no small wheel written\n  caused by: {error}")
    sys.stdout.write(f"{written}: {written.stat().st_size / 1e6:.1f} MB\n")


if __name__ == "__main__":
    main()
