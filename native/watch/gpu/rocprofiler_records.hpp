// Records of rocprofiler-sdk as operations of the histogram.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "watch/gpu/rocprofiler.hpp"

namespace byteways::watch::rocprofiler {

// Operations of a kind have numbers below this; HIP has some 500 calls.
inline constexpr std::size_t kMostOperations = 4096;

// Numbers of the kinds of records.
struct Kinds {
  std::uint32_t calls = 0, copies = 0, allocations = 0;  // 0: the library has none
  std::int32_t allocate = -1, release = -1;              // operations of allocations
};

// `clock_offset`: the monotonic clock minus the library's, in ns.
void begin_records(const Kinds& kinds, std::int64_t clock_offset);
// In their order, which is that of GPUs' and NUMA domains' numbers.
void add_agent(std::uint64_t id, std::uint32_t type);
// Whether records of a call are wanted; then its operation is known from now on.
bool add_call(std::int32_t operation, std::string_view name);

void add_records(RecordHeader** headers, std::size_t count) noexcept;
// Adds what still waited for the record of its call.
void finish_records() noexcept;

}  // namespace byteways::watch::rocprofiler
