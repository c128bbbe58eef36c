"""Outputs of other programs: one row a format, recognised by content, one reader a file."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from byteways.imported import (
    babelstream,
    bandwidth_test,
    imb,
    nvbandwidth,
    nvbandwidth_json,
    p2p_bandwidth_latency,
    rocm_bandwidth_test,
    stream_text,
    ucx_perftest,
)
from byteways.imported.lines import Line
from byteways.imported.reader import DocumentReader, TextReader


@dataclass(frozen=True)
class TextFormat:
    """A table in text, which may be one of several in a log."""

    name: str
    says: str  # for messages
    made_by: str  # a command that writes such an output
    begins: re.Pattern[str]  # matches, from its beginning, the first line of such an output alone
    reader: Callable[[Line], TextReader]  # gets that line, too


@dataclass(frozen=True)
class DocumentFormat:
    """A document of JSON, or lines of such documents; text of launchers may come before it."""

    name: str
    says: str
    made_by: str
    keys: frozenset[str]  # of its outermost object, which together only such a document has
    reader: DocumentReader


#: In order of precedence; the beginnings exclude each other.
TEXT_FORMATS: tuple[TextFormat, ...] = (
    TextFormat(
        nvbandwidth.NAME,
        "text of nvbandwidth",
        "nvbandwidth",
        nvbandwidth.BEGINS,
        nvbandwidth.NvbandwidthReader,
    ),
    TextFormat(
        ucx_perftest.NAME,
        "text or CSV of ucx_perftest",
        "ucx_perftest HOST -t tag_bw",
        ucx_perftest.BEGINS,
        ucx_perftest.UcxPerftestReader,
    ),
    TextFormat(
        imb.NAME,
        "tables of Intel MPI Benchmarks",
        "mpirun -n 2 IMB-MPI1 PingPong",
        imb.BEGINS,
        imb.ImbReader,
    ),
    TextFormat(
        stream_text.NAME,
        "text of STREAM",
        "stream_c.exe",
        stream_text.BEGINS,
        stream_text.StreamReader,
    ),
    TextFormat(
        babelstream.NAME,
        "text or CSV of BabelStream",
        "cuda-stream --csv",
        babelstream.BEGINS,
        babelstream.BabelStreamReader,
    ),
    TextFormat(
        p2p_bandwidth_latency.NAME,
        "matrices of p2pBandwidthLatencyTest",
        "p2pBandwidthLatencyTest",
        p2p_bandwidth_latency.BEGINS,
        p2p_bandwidth_latency.P2pReader,
    ),
    TextFormat(
        bandwidth_test.NAME,
        "text or CSV of bandwidthTest",
        "bandwidthTest --csv",
        bandwidth_test.BEGINS,
        bandwidth_test.BandwidthTestReader,
    ),
    TextFormat(
        rocm_bandwidth_test.NAME,
        "logs of rocm_bandwidth_test 2.x",
        "rocm-bandwidth-test",
        rocm_bandwidth_test.BEGINS,
        rocm_bandwidth_test.RocmBandwidthTestReader,
    ),
)
DOCUMENT_FORMATS: tuple[DocumentFormat, ...] = (
    DocumentFormat(
        nvbandwidth_json.NAME,
        "JSON of nvbandwidth",
        "nvbandwidth -j",
        nvbandwidth_json.KEYS,
        nvbandwidth_json.read_nvbandwidth_json,
    ),
)
