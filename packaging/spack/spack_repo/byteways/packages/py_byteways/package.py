# SPDX-License-Identifier: Apache-2.0
"""byteways for Spack 1.0 and newer, from a checkout:

spack repo add packaging/spack/spack_repo/byteways
spack install py-byteways +cuda
"""

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class PyByteways(PythonPackage):
    """byteways benchmarks every data path in a GPU node and recommends the fastest interface for each."""

    homepage = "https://github.com/byteways/byteways"
    git = "https://github.com/byteways/byteways.git"

    license("Apache-2.0")

    # No release yet: each will be a version with the SHA-256 of its source distribution.
    version("main", branch="main")

    variant("cuda", default=False, description="NVRTC, to compile the kernels of NVIDIA GPUs")
    variant("rocm", default=False, description="hipRTC, to compile the kernels of AMD GPUs")
    variant("mpi", default=False, description="Measure messages between processes")
    variant("parquet", default=False, description="byteways export --format parquet")

    depends_on("cxx", type="build")
    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-scikit-build-core+pyproject@0.10:", type="build")
    depends_on("py-nanobind@2.4:", type="build")
    depends_on("cmake@3.20:", type="build")
    depends_on("ninja@1.10:", type="build")

    depends_on("py-typer@0.12:0.28", type=("build", "run"))
    depends_on("py-rich@13.7:", type=("build", "run"))
    depends_on("py-jinja2@3.1:", type=("build", "run"))
    depends_on("py-msgspec@0.19:", type=("build", "run"))
    depends_on("py-tomli@2.0:", type=("build", "run"), when="^python@:3.10")

    # byteways opens these libraries at run time and is not linked with them. It looks in CUDA_HOME and
    # ROCM_PATH, which their modules set.
    depends_on("cuda@12.8:", type="run", when="+cuda")
    depends_on("hip", type="run", when="+rocm")
    depends_on("mpi", type="run", when="+mpi")
    depends_on("py-polars@1.30:", type="run", when="+parquet")

    conflicts("%gcc@:10", msg="byteways is written in C++20: GCC 11 or newer")
    conflicts("%clang@:15", msg="byteways is written in C++20: Clang 16 or newer")

    import_modules = ["byteways", "byteways._core"]
