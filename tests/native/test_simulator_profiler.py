"""The simulator's rocprofiler-sdk: what it refuses, names and lists, as the real one is documented."""

from __future__ import annotations

import ctypes
from typing import Any

from byteways.measuring.shared.simulator import simulator_path
from tests.native import simulated as toy

NO_CONTEXT, NO_BUFFER, NO_KIND, NO_OPERATION, LOCKED, INVALID = 2, 3, 4, 5, 16, 19


def library() -> Any:
    loaded = ctypes.CDLL(simulator_path())
    assert loaded.bwsim_load(toy.amd().encode()) == 0
    return loaded


def test_nothing_is_configured_outside_of_a_tools_turn() -> None:
    """Catches services that begin in the middle of a program, which the real library locks."""

    def scene() -> list[int]:
        loaded, handle = library(), ctypes.c_uint64()
        act = ctypes.CFUNCTYPE(None)(lambda: None)
        one = ctypes.c_uint64(1)
        return [
            loaded.rocprofiler_create_context(ctypes.byref(handle)),
            loaded.rocprofiler_create_context(None),
            loaded.rocprofiler_create_buffer(
                one, ctypes.c_size_t(64), ctypes.c_size_t(32), 2, act, None, ctypes.byref(handle)
            ),
            loaded.rocprofiler_configure_buffer_tracing_service(one, 10, None, ctypes.c_size_t(0), one),
            loaded.rocprofiler_configure_buffer_tracing_service(one, 99, None, ctypes.c_size_t(0), one),
            loaded.rocprofiler_start_context(one),
            loaded.rocprofiler_flush_buffer(one),
        ]

    assert toy.apart(scene) == [LOCKED, INVALID, LOCKED, LOCKED, NO_KIND, NO_CONTEXT, NO_BUFFER]


def test_kinds_and_operations_have_names() -> None:
    """Catches a collector that must know numbers, which move between versions."""

    def scene() -> dict[str, Any]:
        loaded = library()
        kinds: dict[str, int] = {}
        calls: list[str] = []
        name = ctypes.c_char_p()

        @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)
        def each_kind(kind: int, _: Any) -> int:
            loaded.rocprofiler_query_buffer_tracing_kind_name(kind, ctypes.byref(name), None)
            kinds[(name.value or b"").decode()] = kind
            return 0

        @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint32, ctypes.c_int32, ctypes.c_void_p)
        def each_call(kind: int, operation: int, _: Any) -> int:
            loaded.rocprofiler_query_buffer_tracing_kind_operation_name(
                kind, operation, ctypes.byref(name), None
            )
            calls.append((name.value or b"").decode())
            return 0

        loaded.rocprofiler_iterate_buffer_tracing_kinds(each_kind, None)
        loaded.rocprofiler_iterate_buffer_tracing_kind_operations(kinds["HIP_RUNTIME_API"], each_call, None)
        unknown = loaded.rocprofiler_query_buffer_tracing_kind_operation_name(
            kinds["MEMORY_COPY"], 5, ctypes.byref(name), None
        )
        return {"kinds": sorted(kinds), "calls": calls, "unknown": unknown}

    found = toy.apart(scene)
    assert found["kinds"] == ["HIP_RUNTIME_API", "MEMORY_ALLOCATION", "MEMORY_COPY"]
    assert {"hipMemcpyAsync", "hipStreamSynchronize", "hipMalloc"} <= set(found["calls"])
    assert found["unknown"] == NO_OPERATION


def test_agents_are_domains_and_then_gpus() -> None:
    """Catches GPUs whose numbers are not the machine's, and a structure that the caller has no room for."""

    def scene() -> list[Any]:
        loaded = library()
        types: list[int] = []
        each_type = ctypes.CFUNCTYPE(
            ctypes.c_int, ctypes.c_uint32, ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t, ctypes.c_void_p
        )

        @each_type
        def each(_: int, agents: Any, count: int, __: Any) -> int:
            types.extend(ctypes.c_uint32.from_address(agents[at] + 16).value for at in range(count))
            return 0

        good = loaded.rocprofiler_query_available_agents(1, each, ctypes.c_size_t(24), None)
        large = loaded.rocprofiler_query_available_agents(1, each, ctypes.c_size_t(4096), None)
        return [types, good, large]

    assert toy.apart(scene) == [[1, 1, 2, 2], 0, INVALID]
