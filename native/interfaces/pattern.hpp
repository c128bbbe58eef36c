// Data that proves a transfer: sources hold a counter-based pattern, destinations are poisoned, and the
// device that owns a buffer checks every word of it. Nothing here is timed.
#pragma once
#include <cstdint>
#include <functional>

#include "interfaces/device/data_pattern.hpp"
#include "interfaces/flow.hpp"
#include "runtimes/session.hpp"

namespace byteways {

inline constexpr std::uint64_t kPoison = 0xBADC0FFEE0DDF00Dull;

// Enqueued on the device's service stream; the caller synchronises.
void fill(Session& session, Device& by, void* data, std::uint64_t words, std::uint64_t key);
// Overwrites every `stride`-th word.
void poison(Session& session, Device& by, void* data, std::uint64_t words, std::uint64_t stride);
// Every `stride`-th word is looked at. With a stride, the bits outside of `mask` must still be the poison's:
// nothing but what was to be moved was written.
struct Strided {
  std::uint64_t stride = 1;
  std::uint64_t mask = ~std::uint64_t{0};
};
// Compares with what fill(key) wrote; waits for the answer.
CheckResult check(Session& session, Device& by, void* data, std::uint64_t words, std::uint64_t key,
                  const Strided& strided = {});

// What a kernel found that is given where to leave it: `launch` enqueues it on the device's service stream.
// Waits for the answer.
CheckResult found_by(Session& session, Device& by, const std::function<void(CheckResult*)>& launch);

// A grid for a kernel that moves `bytes` as the interface `kernel` does, with the options `blocks` and
// `threads` of the flow: no more blocks than the bytes keep busy, nor than leave room for the other flows of
// the executor.
LaunchShape copying_shape(const Flow& flow, const char* kernel, std::uint64_t bytes);

// Of a CPU's team, as the option `threads` of the flow has it, or all cores. Throws Unsupported for `blocks`.
LaunchShape team_of(const Flow& flow);
// Either of them, as the executor is.
inline LaunchShape team_or_grid(const Flow& flow, const char* kernel) {
  return flow.executor->is_host() ? team_of(flow) : copying_shape(flow, kernel, flow.size_bytes);
}

// A grid that fills the device without leaving work items idle.
LaunchShape full_shape(Device& device, const char* kernel, std::uint64_t items);

}  // namespace byteways
