// What this library needs of rocprofiler-sdk, AMD's tracing library (0.4 of ROCm 6.2 to 1.0 of ROCm 7), which
// the machine brings: own declarations, from its documentation. Numbers of kinds and operations move between
// versions and are asked for by name; records say their size, by which the place of a field is known.
#pragma once
#include <cstddef>
#include <cstdint>

namespace byteways::watch::rocprofiler {

struct Id {
  std::uint64_t handle;
};

// How every record begins.
struct Beginning {
  std::uint64_t size;
  std::uint32_t kind;
  std::int32_t operation;
  std::uint64_t correlation;  // with the call of HIP that is its cause
  std::uint64_t external;
};
// From 1.0 on, records of calls and allocations have one more word behind it, which makes them as long as
// this.
inline constexpr std::size_t kNewCallBytes = 64, kNewAllocationBytes = 88;

struct CallTimes {
  std::uint64_t start, end;  // ns
};

// Behind the beginning of a copy's record. Before 0.5 there was no thread, and the record was this long.
struct Copy {
  std::uint64_t start, end, destination_agent, source_agent, bytes;
};
inline constexpr std::size_t kCopyWithoutThreadBytes = sizeof(Beginning) + sizeof(Copy);
struct Addresses {  // behind it, in records that are long enough
  std::uint64_t destination, source;
};

struct Allocation {  // behind the thread
  std::uint64_t start, end, agent, address, bytes;
};

struct RecordHeader {
  std::uint32_t category, kind;
  void* payload;
};
inline constexpr std::uint32_t kTracing = 1;

// How an agent is described, as far as it is read.
struct Agent {
  std::uint64_t size, id;
  std::uint32_t type;
};
inline constexpr std::uint32_t kCpuAgent = 1, kGpuAgent = 2, kAgentVersion = 1;
inline constexpr std::uint32_t kLossless = 2;  // a full buffer waits for its reader
inline constexpr int kSuccess = 0;

struct ClientId {
  const char* name;
  std::uint32_t handle;
};
struct Configured {
  std::size_t size;
  int (*initialize)(void (*finalize)(ClientId), void* data);
  void (*finalize)(void* data);
  void* data;
};

using Callback = void (*)(Id context, Id buffer, RecordHeader** headers, std::size_t count, void* data,
                          std::uint64_t dropped);

struct Functions {
  int (*get_timestamp)(std::uint64_t* time);
  int (*create_context)(Id* context);
  int (*start_context)(Id context);
  int (*create_buffer)(Id context, std::size_t bytes, std::size_t mark, std::uint32_t policy,
                       Callback callback, void* data, Id* buffer);
  int (*flush_buffer)(Id buffer);
  int (*trace)(Id context, std::uint32_t kind, const std::int32_t* operations, std::size_t count, Id buffer);
  int (*kind_name)(std::uint32_t kind, const char** name, std::uint64_t* length);
  int (*operation_name)(std::uint32_t kind, std::int32_t operation, const char** name, std::uint64_t* length);
  int (*each_kind)(int (*act)(std::uint32_t kind, void* data), void* data);
  int (*each_operation)(std::uint32_t kind,
                        int (*act)(std::uint32_t kind, std::int32_t operation, void* data), void* data);
  int (*agents)(std::uint32_t version,
                int (*act)(std::uint32_t version, const void** agents, std::size_t count, void* data),
                std::size_t agent_bytes, void* data);
};

}  // namespace byteways::watch::rocprofiler
