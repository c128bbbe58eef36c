"""What could not be observed of a program: codes of manifests and snapshots, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why something is missing from what was observed; `subject` is what it is about: a file, a number."""

    code: str
    subject: str = ""


#: What each code means, in words; `{}` has the subject.
WATCH_PROBLEMS: Mapping[str, str] = {
    "static-program": "{} is linked statically: it loads no library; its MPI calls and memcpy were not seen",
    "privileged-program": "{} runs with other rights than yours: the system loads no library into it; "
    "nothing of it was seen",
    "other-architecture": "{} is a program of another architecture than byteways: nothing of it was seen",
    "other-c-library": "{} uses another C library than glibc: its MPI calls and memcpy were not seen",
    "unusable-path": "LD_PRELOAD cannot have the path {}, and there is no other: MPI calls and memcpy were "
    "not seen; name a folder without blanks and colons with --out",
    "nested-watch": "it was started inside another `byteways watch` ({}): what the command did is here alone",
    "damaged-snapshot": "{} cannot be read: the disk was full, or the file is not of byteways",
    "newer-snapshot": "{} is of a newer version of byteways",
    "unreadable-time-line": "{} has a time line of other intervals: left out",
    "ranks-missing": "{} MPI ranks left nothing: they were killed at once, or do not share the folder",
    "not-ended": "{} did not end by themselves: the last second before may be missing",
    "lost": "{} operations were counted by no bin",
    "no-thread": "{} could start no thread: a process that was killed left nothing",
    "no-snapshots": "no process left anything: the command made no call that is watched",
    "own-allocator": "{} has an allocator of its own, to which other memory cannot be given: its allocations "
    "were not changed",
    "allocations-unchanged": "large allocations of {} could not all be given other memory",
    "wrong-launcher": "{} processes were each rank 0 of 1, though a launcher had started several: it is that "
    "of another MPI; use the launcher beside the program's own libmpi (ldd PROGRAM)",
    "mpi-unseen": "{} called MPI by addresses that it had fetched itself, as MPI.jl does: its MPI calls were "
    "not seen",
    "mpi-partial": "MPI in {} did not answer a question about ranks or sizes, or memory was short: what they "
    "would show is missing",
    "not-understood": "seen but not understood: {}; what they move is not known",
    "topology-unknown": "the devices of this machine could not be listed: {}",
    "cuda-injection-taken": "CUDA_INJECTION64_PATH names another tool ({}): GPU copies were not seen",
    "nccl-profiler-taken": "NCCL_PROFILER_PLUGIN names another plugin ({}): NCCL was not seen",
    "nccl-unusable": "NCCL was not seen in {}: there was no memory for it",
    "cupti-missing": "no CUPTI was found: GPU copies were not seen; pip install nvidia-cuda-cupti",
    "cupti-unusable": "CUPTI could not be used: GPU copies were not seen",
    "cupti-taken": "another profiler had taken CUPTI in {}: its GPU copies were not seen",
    "cupti-partial": "CUPTI refused some kinds of records or calls in {}: what they would show is missing",
    "cupti-dropped": "CUPTI dropped records of the GPU in {}",
    "rocprofiler-missing": "rocprofiler-sdk did not show itself in {}: copies of AMD GPUs were not seen",
    "rocprofiler-unusable": "rocprofiler-sdk could not be used in {}: copies of AMD GPUs were not seen",
    "rocprofiler-partial": "rocprofiler-sdk refused some kinds of records or names in {}: what they would "
    "show is missing",
    "rocprofiler-dropped": "rocprofiler-sdk dropped records of the GPU in {}",
    "hip-unused": "no process used HIP through the simulated runtime: programs that are linked with a path "
    "to another HIP (DT_RPATH) load that one",
    "copies-unused": "no copy was made by the plan: the program imports no PyTorch, or has no large copies "
    "between pinned memory and a GPU in the thread that imports it",
    "copies-kept": "the plan has no faster method than the driver's call for any of the program's {} copies",
    "copies-failed": "copies were PyTorch's own: {}",
    "copies-doubt": "of the copy plan: {}",
    "trace-unread": "events or rows that could not be read: {}",
    "trace-unsized": "of {} operations the trace does not have the sizes: they count without bytes",
    "unknown-problem": "{} (a code of a newer version of byteways)",
}


def sentence(problem: Problem) -> str:
    """Returns what a problem means, in words."""
    meaning = WATCH_PROBLEMS.get(problem.code)
    if meaning is None:
        return WATCH_PROBLEMS["unknown-problem"].format(problem.code)
    return meaning.format(problem.subject)
