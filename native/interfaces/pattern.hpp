// Verification of transfers: sources hold a counter-based pattern, destinations are poisoned, and the device
// that owns a buffer checks every word of it. Nothing here is timed.
#pragma once
#include <cstdint>
#include <functional>

#include "interfaces/device/data_pattern.hpp"
#include "interfaces/device/geometry.hpp"
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

// Whether the option `blocks` limits the grid of a flow's kernel, or it leaves room for other flows of the
// executor.
bool has_limited_grid(const Flow& flow);
// Whether the grid of a kernel that stores is resident, no larger than the executor runs at a time: it is
// limited, or every block ends by a fence.
bool has_resident_grid(const Flow& flow);

// Returns the grid of a kernel that makes `accesses` of 16 bytes, with the options `blocks` and `threads` of
// the flow: a resident one without idle threads, or a covering one with a thread for every `per_thread` of
// them.
LaunchShape resident_shape(const Flow& flow, const char* kernel, std::uint64_t accesses);
LaunchShape covering_shape(const Flow& flow, const char* kernel, std::uint64_t accesses,
                           unsigned per_thread = 1, unsigned usual_threads = kCoverThreads);
// Returns a resident or a covering shape.
LaunchShape grid_shape(const Flow& flow, const char* kernel, std::uint64_t accesses, unsigned per_thread = 1,
                       unsigned usual_threads = kCoverThreads);

// Returns the shape of a CPU team: the option `threads` of the flow, or all cores. Throws Unsupported for
// `blocks`.
LaunchShape team_of(const Flow& flow);
// Returns a grid that fills the device and has no idle threads.
LaunchShape full_shape(Device& device, const char* kernel, std::uint64_t items);

}  // namespace byteways
