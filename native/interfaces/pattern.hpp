// Verification of transfers: sources hold a counter-based pattern, destinations are poisoned, and the device
// that owns a buffer checks every word of it. Nothing here is timed.
#pragma once
#include <cstdint>
#include <functional>

#include "interfaces/device/data_pattern.hpp"
#include "interfaces/flow.hpp"
#include "runtimes/session.hpp"

namespace byteways {

inline constexpr std::uint64_t kPoison = 0xBADC0FFEE0DDF00Dull;
inline constexpr std::uint64_t kSlotAlignment = 256;  // aligned starts of GPU memory transactions
// Before a sample one word per 64 KiB is poisoned: cheap; warm-up checks all words.
inline constexpr std::uint64_t kSpoilStrideWords = 8192;

// Returns the number of words that `bytes` fill, the last one perhaps in part.
constexpr std::uint64_t words_in(std::uint64_t bytes) { return (bytes + kWord - 1) / kWord; }

// Writes the pattern of `key`. Enqueued on the device's service stream; the caller synchronises.
void fill(Session& session, Device& by, void* data, std::uint64_t words, std::uint64_t key);
// Sets all words to 0.
void clear(Session& session, Device& by, void* data, std::uint64_t words);
// Overwrites every `stride`-th word with poison.
void poison(Session& session, Device& by, void* data, std::uint64_t words, std::uint64_t stride);
// Check every `stride`-th word only. The bits outside of `mask` must still be poison: the transfer must not
// write anything else.
struct Strided {
  std::uint64_t stride = 1;
  std::uint64_t mask = ~std::uint64_t{0};
};
// Compares words with the pattern of fill(key); waits for the result.
CheckResult check(Session& session, Device& by, void* data, std::uint64_t words, std::uint64_t key,
                  const Strided& strided = {});
// Compares every `stride`-th word with sums of patterns, as reductions leave them.
CheckResult check_sum(Session& session, Device& by, void* data, std::uint64_t words, const PatternSum& sum,
                      std::uint64_t stride);

// Runs a check kernel and waits for its result. `launch` enqueues it on the device's service stream and
// passes it the address for the result.
CheckResult found_by(Session& session, Device& by, const std::function<void(CheckResult*)>& launch);

// Returns a grid for a kernel that moves `bytes` as the interface `kernel` does, with the options `blocks`
// and `threads` of the flow. The grid has no idle blocks and leaves room for the other flows of the executor.
LaunchShape copying_shape(const Flow& flow, const char* kernel, std::uint64_t bytes);

// Returns the shape of a CPU team: the option `threads` of the flow, or all cores. Throws Unsupported for
// `blocks`.
LaunchShape team_of(const Flow& flow);
// Returns a team or a grid, depending on the executor.
inline LaunchShape team_or_grid(const Flow& flow, const char* kernel) {
  return flow.executor->is_host() ? team_of(flow) : copying_shape(flow, kernel, flow.size_bytes);
}

// Returns a grid that fills the device and has no idle threads.
LaunchShape full_shape(Device& device, const char* kernel, std::uint64_t items);

}  // namespace byteways
