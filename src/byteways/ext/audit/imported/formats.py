"""Outputs of other programs: one row a format, recognised by content, one reader a file."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from byteways.ext.audit.imported.babelstream import BabelStreamReader
from byteways.ext.audit.imported.bandwidth_test import BandwidthTestReader
from byteways.ext.audit.imported.google_benchmark import read_google_benchmark
from byteways.ext.audit.imported.google_benchmark_csv import GoogleBenchmarkCsvReader
from byteways.ext.audit.imported.gpu_fryer import GpuFryerReader
from byteways.ext.audit.imported.imb import ImbReader
from byteways.ext.audit.imported.lines import Line
from byteways.ext.audit.imported.nccl_inspector import read_nccl_inspector
from byteways.ext.audit.imported.nccl_tests import NcclTestsReader
from byteways.ext.audit.imported.nccl_tests_json import read_nccl_tests_json
from byteways.ext.audit.imported.nvbandwidth import NvbandwidthReader
from byteways.ext.audit.imported.nvbandwidth_json import read_nvbandwidth_json
from byteways.ext.audit.imported.osu import OsuReader
from byteways.ext.audit.imported.p2p_bandwidth_latency import P2pReader
from byteways.ext.audit.imported.perftest import PerftestReader
from byteways.ext.audit.imported.reader import DataCheck, DocumentReader, TextReader
from byteways.ext.audit.imported.reading import Reading
from byteways.ext.audit.imported.rocm_bandwidth_test import RocmBandwidthTestReader
from byteways.ext.audit.imported.stream_text import StreamReader
from byteways.ext.audit.imported.superbench import read_superbench
from byteways.ext.audit.imported.transferbench import TransferBenchReader
from byteways.ext.audit.imported.ucx_perftest import UcxPerftestReader


@dataclass(frozen=True)
class TextFormat:
    """A table in text, which may be one of several in a log."""

    name: str
    says: str  # for messages
    made_by: str  # a command that writes such an output
    begins: re.Pattern[str]  # matches, from its beginning, the first line of such an output alone
    reader: Callable[[Line], TextReader]  # gets that line, too
    data_check: DataCheck


@dataclass(frozen=True)
class DocumentFormat:
    """A document of JSON, or lines of such documents; text of launchers may come before it."""

    name: str
    says: str
    made_by: str
    keys: frozenset[str]  # of its outermost object, which together only such a document has
    reader: DocumentReader
    data_check: DataCheck


def _text(reader: type[Reading], says: str, made_by: str) -> TextFormat:
    return TextFormat(reader.name, says, made_by, reader.begins, reader, reader.data_check)


#: In order of precedence; the beginnings exclude each other.
TEXT_FORMATS: tuple[TextFormat, ...] = (
    _text(OsuReader, "tables of OSU Micro-Benchmarks", "osu_bw D D"),
    _text(NcclTestsReader, "tables of nccl-tests or rccl-tests", "all_reduce_perf"),
    _text(NvbandwidthReader, "text of nvbandwidth", "nvbandwidth"),
    _text(UcxPerftestReader, "text or CSV of ucx_perftest", "ucx_perftest HOST -t tag_bw"),
    _text(ImbReader, "tables of Intel MPI Benchmarks", "mpirun -n 2 IMB-MPI1 PingPong"),
    _text(StreamReader, "text of STREAM", "stream_c.exe"),
    _text(BabelStreamReader, "text or CSV of BabelStream", "cuda-stream --csv"),
    _text(P2pReader, "matrices of p2pBandwidthLatencyTest", "p2pBandwidthLatencyTest"),
    _text(BandwidthTestReader, "text or CSV of bandwidthTest", "bandwidthTest --csv"),
    _text(RocmBandwidthTestReader, "logs of rocm_bandwidth_test 2.x", "rocm-bandwidth-test"),
    _text(TransferBenchReader, "text or CSV of TransferBench", "TransferBench p2p"),
    _text(GpuFryerReader, "text of gpu-fryer", "gpu-fryer 60"),
    _text(
        GoogleBenchmarkCsvReader,
        "CSV of Google Benchmark, as of Comm|Scope",
        "comm_scope --benchmark_out=FILE --benchmark_out_format=csv",
    ),
    _text(PerftestReader, "tables of linux-rdma perftest", "ib_write_bw HOST"),
)
DOCUMENT_FORMATS: tuple[DocumentFormat, ...] = (
    DocumentFormat(
        "nccl-tests-json",
        "JSON of nccl-tests or rccl-tests",
        "all_reduce_perf -J FILE",
        frozenset(("results", "average_bus_bandwidth")),
        read_nccl_tests_json,
        DataCheck(marks=('"nwrong": 8192', '"out_of_bounds": {"count": 8192, "okay": false}')),
    ),
    DocumentFormat(
        "nvbandwidth-json",
        "JSON of nvbandwidth",
        "nvbandwidth -j",
        frozenset(("nvbandwidth",)),
        read_nvbandwidth_json,
        DataCheck(none_because="a wrong byte aborts it before it writes the document"),
    ),
    DocumentFormat(
        "google-benchmark",
        "JSON of Google Benchmark, as of Comm|Scope",
        "comm_scope --benchmark_out=FILE --benchmark_out_format=json",
        frozenset(("context", "benchmarks")),
        read_google_benchmark,
        DataCheck(none_because="an entry whose benchmark reports an error has no value"),
    ),
    DocumentFormat(
        "superbench",
        "lines of SuperBench's results-summary.jsonl",
        "sb run",
        frozenset(("node",)),
        read_superbench,
        DataCheck(marks=('"nccl-bw/return_code": 33',)),
    ),
    DocumentFormat(
        "nccl-inspector",
        "lines of JSON of NCCL's inspector",
        "NCCL_INSPECTOR_ENABLE=1",
        frozenset(("header", "metadata")),
        read_nccl_inspector,
        DataCheck(none_because="it times the operations of an application and knows no expected data"),
    ),
)
