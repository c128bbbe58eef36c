"""The one table of programs that nobody here wrote, and of a few small ones that do what those seldom do."""

from __future__ import annotations

from tests.programs.program import Build, Program, ranks

#: A number as programs print measured ones.
_NUMBER = r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?"
_BOTH = ("mpich", "openmpi")


def _unpacked(source: str, strip: int, *patterns: str) -> str:
    """Returns a command that unpacks files of a source package, without so many folders of their names."""
    named = " ".join(f"'*/{pattern}'" for pattern in patterns)
    archive = f'"$(ls "$SOURCES"/{source}_*.orig.tar.*)"'
    return f"tar --extract --file {archive} --strip-components={strip} --wildcards {named}"


#: Of each allocator the file that its package for building brings.
_ALLOCATORS = {
    "glibc": "",
    "jemalloc": "/usr/include/jemalloc/jemalloc.h",
    "tcmalloc": "/usr/include/gperftools/tcmalloc.h",
    "mimalloc": "/usr/include/mimalloc.h",
}
_CONTAINERS = {
    name: Build(
        f"containers-{name}",
        'g++ -O1 -std=c++17 -pthread "$OWN/containers.cpp" -o containers'
        + (f" -Wl,--no-as-needed -l{name}" if file else ""),
        ("g++", *([file] if file else [])),
    )
    for name, file in _ALLOCATORS.items()
}
#: mimalloc's own stress test calls the functions of the C library if it is told so.
_STRESS = Build(
    "mimalloc-stress",
    _unpacked("mimalloc", 1, "*")
    + """
    for allocator in jemalloc tcmalloc mimalloc; do
      gcc -O1 -pthread -DUSE_STD_MALLOC -Iinclude test/test-stress.c -o stress-$allocator \\
        -Wl,--no-as-needed -l$allocator
    done
    """,
)
_MUSL = Build(
    "musl", 'musl-gcc -O1 "$OWN/copies.c" -o copies; gcc -O1 -static "$OWN/copies.c" -o static', ("musl-gcc",)
)
#: Debian's openmpi-bin has the wrappers of its compilers alone, without what they need.
_HEADERS = {
    "mpich": "/usr/include/x86_64-linux-gnu/mpich/mpi.h",
    "openmpi": "/usr/lib/x86_64-linux-gnu/openmpi/include/mpi.h",
}
_ENDS = {
    mpi: Build(
        f"ends-{mpi}",
        f'mpicxx.{mpi} -O1 "$OWN/throws.cpp" -o throws; mpicc.{mpi} -O1 -pthread "$OWN/cancels.c" -o cancels',
        (f"mpicxx.{mpi}", _HEADERS[mpi]),
    )
    for mpi in _BOTH
}
#: Programs that Open MPI's source package brings; the other MPI compiles them as well.
_EXAMPLES = {
    mpi: Build(
        f"openmpi-examples-{mpi}",
        f"""
        {_unpacked("openmpi", 2, "examples/*")}
        for name in hello_c ring_c connectivity_c; do mpicc.{mpi} -O1 $name.c -o $name; done
        mpif77.{mpi} hello_mpifh.f -o hello_mpifh; mpif77.{mpi} ring_mpifh.f -o ring_mpifh
        for name in hello_usempi ring_usempi hello_usempif08 ring_usempif08; do
          mpif90.{mpi} $name.f90 -o $name
        done
        """,
    )
    for mpi in _BOTH
}
_HYPRE = Build(
    "hypre-examples",
    _unpacked("hypre", 2, "src/examples/*")
    + """
    for name in ex3 ex5; do
      mpicc.openmpi -O1 -I/usr/include/hypre examples/$name.c -o $name -lHYPRE -lm
    done
    """,
)
_PETSC = Build(
    "petsc-tutorials",
    _unpacked("petsc", 1, "src/ksp/ksp/tutorials/ex2.c", "src/snes/tutorials/ex19.c")
    + """
    export PKG_CONFIG_PATH=$(ls -d /usr/lib/petscdir/petsc*/*-real/lib/pkgconfig | head -n 1)
    for name in ksp/ksp/tutorials/ex2 snes/tutorials/ex19; do
      mpicc.openmpi -O1 src/$name.c -o ${name##*/} $(pkg-config --cflags --libs PETSc) -lm
    done
    """,
)
#: The wheels of mpi4py load whichever MPI is there; the source distribution has the tests.
_MPI4PY = Build(
    "mpi4py",
    """
    python3 -m venv --system-site-packages venv
    venv/bin/pip install --quiet --only-binary :all: mpi4py=="$MPI4PY"
    venv/bin/pip download --quiet --no-deps --no-binary mpi4py mpi4py=="$MPI4PY"
    mkdir lib && ln -s "$(ls /usr/lib/*/libmpich.so.12)" lib/libmpi.so.12 # the name that wheels load
    tar --extract --file mpi4py-*.tar.gz --strip-components=1 --wildcards '*/test/*' '*/demo/*'
    """,
)
#: Of functions of MPI 4, which Debian's Open MPI does not have. mpi4py asks for them by weak symbols, which
#: the layer of a watch has (docs/guides/watch.md): alone their tests are skipped, beneath it they fail.
_MPI_4 = {"mpich": "test_p2p_buf_part test_cco_pr_buf test_cco_pr_vec", "openmpi": ""}
#: Intel's MPI and its benchmarks. Over shared memory it needs no library of a network.
_INTEL = Build(
    "intel",
    """
    python3 -m venv venv
    venv/bin/pip install --quiet --no-deps --only-binary :all: impi-rt=="$IMPI_RT"
    test -x venv/bin/IMB-MPI1
    """,
)
_HPCC = Build(
    "hpcc",
    """
    awk '/ Ns$/ && !n++ { print 48 " Ns"; next } / Ps$/ && !p++ { print 1 " Ps"; next } { print }' \\
      /usr/share/doc/hpcc/examples/_hpccinf.txt >hpccinf.txt
    """,
)
#: Of ScaLAPACK's tests those for two ranks, and of each list of blocks the first; each has hundreds of rows.
_FEWER = "-e '/process grids/s/^4/2/' -e '/umber of \\(NB\\|NRHS\\|blocking\\)/s/^[34]/1/'"
#: PDLACON compares a number of its stack that it has never set: which exception that raises depends on what
#: functions that were called left there.
_UNINITIALISED = (r"^Note: The following floating-point exceptions are signalling:.*\n?", "")
#: IMB prints a table: sizes and repetitions are given, times are measured.
_IMB = (
    (r"^( +\d+ +\d+) .*$", r"\1"),
    (r"^( +\d+) +\d+\.\d+.*$", r"\1"),
    (r"^#.*(?:Date|Machine|System|Release|Version|processes|secs|Calling sequence|IMB-).*$", "#"),
)
_PYTHON_TESTS = (
    (r"^\d+:\d\d:\d\d (?:load avg: [\d.]+ )?", ""),
    (r"^(Total duration|Total tests|== .*|Using random seed).*$", ""),
    (r"(\d+ (?:ms|sec)\b ?)+|\d+ min", "T"),
    (r" ?\(T\)", ""),
    # What took long is told again, beside whichever test ends next.
    (r" -- .* passed in .*$|^\S+ passed in .*$", ""),
)

PROGRAMS: tuple[Program, ...] = (
    # Programs without MPI: allocators, processes, other C libraries.
    *(
        Program(f"containers, {name}", "$BUILD/containers", build, group=f"allocator: {name}", quick=True)
        for name, build in _CONTAINERS.items()
    ),
    *(
        Program(
            f"mimalloc's stress, {one}",
            f"$BUILD/stress-{one} 2 20 10",
            _STRESS,
            group=f"allocator: {one}",
            errors=False,  # mimalloc's own times
            vary=((r"^.*(?:elapsed|user|system|rss|commit|heap stats|reserved).*$", ""),),
        )
        for one in ("jemalloc", "tcmalloc", "mimalloc")
    ),
    Program("redis-server", 'sh "$OWN/redis.sh"', group="allocator: jemalloc", needs=("redis-server",)),
    Program(
        "static: busybox",
        "busybox sh -c 'echo one; head -c 300000 /dev/zero | md5sum; (exit 3)'",
        status=3,
        needs=("busybox",),
    ),
    Program("static: started directly", "$BUILD/static", _MUSL, direct=True, quick=True),
    Program("musl: started directly", "$BUILD/copies", _MUSL, direct=True, quick=True),
    Program("musl: started by a shell", "$BUILD/copies; env $BUILD/copies", _MUSL, quick=True),
    Program("forks: make", 'make -j2 -s -f "$OWN/tree.mk"', needs=("make",), quick=True),
    Program(
        "forks: shell",
        "i=0; while [ $i -lt 100 ]; do i=$((i + 1)); (echo $i | sed s/1/one/); done; "
        "bash -c 'kill -9 $$'; echo $?",
        quick=True,
        vary=((r"^sh: \d+: |^.*: line \d+: +\d+", ""),),
        errors=False,  # the shell names the process that was killed
    ),
    *(
        Program(
            f"forks: python, {one}",
            f'python3 "$OWN/processes.py" {one}',
            needs=("python3",),
            quick=one == "fork",
        )
        for one in ("fork", "spawn")
    ),
    Program(
        "user namespace: bwrap",
        "bwrap --unshare-user --unshare-pid --ro-bind / / --proc /proc "
        "sh -c 'id -u; head -c 300000 /dev/zero | md5sum'",
        needs=("bwrap",),
    ),
    Program(
        "user namespace: unshare", "unshare --user --map-root-user id -u", needs=("unshare",), quick=True
    ),
    Program(
        "stress-ng",
        "stress-ng --quiet --seed 1 --verify --timeout 60 --malloc 2 --malloc-ops 2000 "
        "--memcpy 1 --memcpy-ops 50 --fork 1 --fork-ops 300 "
        "--vfork 1 --vfork-ops 300 --clone 1 --clone-ops 100 --exec 1 --exec-ops 50 "
        "--pthread 1 --pthread-ops 100 --mremap 1 --mremap-ops 20 --bigheap 1 --bigheap-ops 500 "
        "--dynlib 1 --dynlib-ops 20",
        needs=("stress-ng",),
        vary=((r"stress-ng: [^[]*\[\d+\]", "stress-ng:"),),
    ),
    Program(
        "python's tests",
        "python3 -m test --timeout 300 test_subprocess test_os test_threading test_ctypes "
        "test_fork1 test_wait4 test_posix test_mmap test_multiprocessing_main_handling",
        needs=("python3",),
        status=None,
        any_order=True,
        errors=False,
        vary=_PYTHON_TESTS,
        limit_s=400,
    ),
    # Ends of MPI programs that few make.
    *(
        Program(
            f"throws, {mpi}",
            ranks(mpi, 1, "$BUILD/throws"),
            _ENDS[mpi],
            mpi,
            status=7,
            vary=((r"\[\[\d+,", "[[#,"),),  # the number of Open MPI's launcher
            counted=False,  # the counter, in C, does not see a call end by an exception
            quick=True,
        )
        for mpi in _BOTH
    ),
    *(
        Program(
            f"cancels, {mpi}",
            ranks(mpi, 1, "$BUILD/cancels"),
            _ENDS[mpi],
            mpi,
            status=7,
            counted=False,
            errors=False,
            vary=((r"^(?!cancelled|ended).*$", ""),),
            quick=True,
        )
        for mpi in _BOTH
    ),
    # Small programs of others, in C and Fortran.
    *(
        Program(
            f"{name}, {mpi}",
            ranks(mpi, 2, f"$BUILD/{name}"),
            _EXAMPLES[mpi],
            mpi,
            group=f"Open MPI's examples, {mpi}",
            any_order=True,
            vary=((r"(?:MPICH|Open MPI).*$", "library"),),
        )
        for mpi in _BOTH
        for name in (
            *("hello_c", "ring_c", "connectivity_c", "hello_mpifh", "ring_mpifh"),
            *("hello_usempi", "ring_usempi", "hello_usempif08", "ring_usempif08"),
        )
    ),
    # Applications and benchmarks.
    *(
        Program(
            f"netpipe, {mpi}",
            ranks(mpi, 2, f"{name} -u 65536 -n 5") + "; awk '{ print $1 }' np.out",
            mpi=mpi,
            needs=(name,),
            errors=False,  # measured rates
            any_order=True,
            vary=((r"^\d+: .*$", ""),),
        )
        for mpi, name in (("mpich", "NPmpich2"), ("openmpi", "NPopenmpi"))
    ),
    Program(
        "lammps",
        ranks("openmpi", 2, 'lmp -in "$OWN/melt.lammps" -log none'),
        mpi="openmpi",
        needs=("lmp",),
        vary=(
            (
                r"^(Loop time|Performance|\d+\.\d% CPU|(Pair|Neigh|Comm|Output|Modify|Other) |Total wall).*$",
                "",
            ),
            (r"CPU = .*$", ""),
        ),
    ),
    Program(
        "hpcc",
        "cp $BUILD/hpccinf.txt . && "
        + ranks("openmpi", 2, "hpcc")
        + " && grep -E 'PASSED|FAILED|Failures|tests completed|^(HPL_N|CommWorldProcs|Success)' hpccoutf.txt",
        _HPCC,
        "openmpi",
        needs=("hpcc",),
        # A line of processor time is left out where there was none.
        vary=((r"^CPU .*\n", ""), (_NUMBER, "#")),
        limit_s=300,
    ),
    *(
        Program(
            f"hypre {name}",
            ranks("openmpi", 2, f"$BUILD/{name} {options}"),
            _HYPRE,
            "openmpi",
            vary=((r"^.*(?:wall clock|cpu clock|MFLOPS).*$", ""),),
        )
        for name, options in (("ex3", "-n 32 -solver 1"), ("ex5", "-n 60 -solver 0"))
    ),
    *(
        Program(f"petsc {name}", ranks("openmpi", 2, f"$BUILD/{name} {options}"), _PETSC, "openmpi")
        for name, options in (
            ("ex2", "-m 200 -n 200 -ksp_monitor_short -pc_type gamg"),
            ("ex19", "-da_refine 2 -snes_monitor_short -pc_type asm"),
        )
    ),
    *(
        Program(
            f"scalapack {name}, {mpi}",
            f"for file in LU QR; do sed {_FEWER} /usr/lib/x86_64-linux-gnu/scalapack/{mpi}-tests/$file.dat "
            ">$file.dat; done; " + ranks(mpi, 2, f"/usr/lib/x86_64-linux-gnu/scalapack/{mpi}-tests/{name}"),
            mpi=mpi,
            needs=(f"/usr/lib/x86_64-linux-gnu/scalapack/{mpi}-tests/{name}",),
            vary=((r" *\d+\.\d+(E[-+]\d+)?", " #"), _UNINITIALISED),
            limit_s=300,
        )
        for mpi in _BOTH
        for name in ("xdlu", "xdqr")
    ),
    *(
        Program(
            name,
            ranks("intel", 2, f"$INTEL/bin/{name} -iter 5 -iter_policy off -msglog 0:17 -time 100 {kinds}"),
            _INTEL,
            "intel",
            vary=_IMB,
            environment={"INTEL": "$BUILD/venv", "LD_LIBRARY_PATH": "$BUILD/venv/lib"},
            limit_s=300,
        )
        for name, kinds in (
            ("IMB-MPI1", "PingPong Sendrecv Exchange Allreduce Reduce_scatter Alltoallv Bcast Barrier"),
            ("IMB-NBC", "Ibcast Iallreduce Ialltoallv"),
            ("IMB-RMA", "Unidir_put Bidir_get Accumulate Fetch_and_op"),
        )
    ),
    *(
        Program(
            f"mpi4py's tests, {mpi}, {number}",
            f"cd $BUILD && {ranks(mpi, number, 'venv/bin/python test/main.py -q')} "
            "test_p2p_buf test_p2p_obj test_p2p_buf_matched test_p2p_obj_matched test_cco_buf test_cco_obj "
            "test_cco_vec test_cco_nb_buf test_cco_nb_vec test_cco_ngh_buf test_cco_ngh_obj "
            "test_cco_buf_inter test_rma test_status test_request test_errhandler test_exceptions "
            f"test_threads test_comm_topo test_pickle test_msgspec {_MPI_4[mpi]}",
            _MPI4PY,
            mpi,
            any_order=True,
            errors=False,
            limit_s=900,
            environment={"MPI4PY_MPIABI": mpi, "LD_LIBRARY_PATH": "$BUILD/lib"},
            known="weak symbols" if mpi == "openmpi" else "",
        )
        for mpi in _BOTH
        for number in (1, 2)
    ),
)
