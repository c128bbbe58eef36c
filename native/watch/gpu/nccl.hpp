// NCCL's profiler interface, versions 4 to 6 (NCCL 2.27 to 2.30; RCCL has the same), as this library needs
// it: own declarations, from NCCL's documentation of profiler plugins.
#pragma once
#include <cstddef>
#include <cstdint>

namespace byteways::watch::nccl {

// Bits of the kinds of events that a plugin asks for, and types of events.
enum Event : std::uint64_t { kCollective = 1 << 1, kMessage = 1 << 2, kKernelChannel = 1 << 6 };

// ncclProfilerEventDescr_v5 and _v6; in _v4 the type takes one byte of the first eight, whose rest is no part
// of it.
struct Descriptor {
  std::uint64_t type;
  void* parent;
  std::int32_t rank;
  union {
    struct {
      std::uint64_t sequence;
      const char* function;
      const void* send;
      void* receive;
      std::size_t count;
      std::int32_t root;
      const char* datatype;
      std::uint8_t channels, warps;
      const char* algorithm;
      const char* protocol;
    } collective;
    struct {
      const char* function;
      void* buffer;
      const char* datatype;
      std::size_t count;
      std::int32_t peer;
      std::uint8_t channels;
    } message;
    struct {
      std::uint8_t channel;
      std::uint64_t start;  // GPU's timer, ns
    } kernel;
  };
};
static_assert(offsetof(Descriptor, rank) == 16 && offsetof(Descriptor, collective) == 24);
static_assert(offsetof(Descriptor, collective.algorithm) == 88 && offsetof(Descriptor, kernel.start) == 32);

// ncclProfilerEventStateArgs of the state below: the GPU's timer at the end of a channel's kernel.
union StateArguments {
  struct {
    std::uint64_t stop;
  } kernel;
};
inline constexpr int kKernelStopped = 22;

template <class Init>
struct Profiler {
  const char* name;
  Init init;
  int (*start_event)(void* context, void** handle, Descriptor* descriptor);
  int (*stop_event)(void* handle);
  int (*record_state)(void* handle, int state, StateArguments* arguments);
  int (*finalize)(void* context);
};
using Log = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);
using InitOfV4 = int (*)(void** context, int* mask, const char* name, std::uint64_t hash, int nodes,
                         int ranks, int rank, Log log);
using InitOfV5 = int (*)(void** context, std::uint64_t id, int* mask, const char* name, int nodes, int ranks,
                         int rank, Log log);

}  // namespace byteways::watch::nccl
