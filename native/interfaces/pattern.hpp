// Verification of transfers: sources hold a counter-based pattern, destinations are poisoned, and the device
// that owns a buffer checks every word of it. Nothing here is timed.
#pragma once
#include <cstdint>
#include <functional>

#include "interfaces/device/data_pattern.hpp"
#include "interfaces/device/geometry.hpp"
#include "interfaces/flow.hpp"
#include "interfaces/mover.hpp"
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

// Copies one word from memory of the device and compares it; `checked_bytes` is what the word proves.
Verification compare_word(Session& session, Device& by, const void* word, std::uint64_t expected,
                          std::uint64_t checked_bytes);

// Runs a check kernel and waits for its result. `launch` enqueues it on the device's service stream and
// passes it the address for the result.
CheckResult found_by(Session& session, Device& by, const std::function<void(CheckResult*)>& launch);

// Names of the forms of one kernel: a thread for each access, a thread for each tile of kTileAccesses, a loop
// in a grid of any size. nullptr: there is no such form. `stores`: whether it writes to the flow's
// destination. `host`: the kernel of CPUs, where it is not named
// as the first.
struct KernelForms {
  const char* single = nullptr;
  const char* tiled = nullptr;
  const char* resident = nullptr;
  bool stores = true;
  const char* host = nullptr;
};
struct KernelChoice {
  PreparedKernel kernel;
  LaunchShape shape;
};
// Returns the form, and its grid, for a GPU kernel that makes `accesses`, with the options `blocks` and
// `threads` of the flow. A resident grid is no larger than the executor runs at a time. It serves if the
// option `blocks` or other flows of the executor limit the grid, if every block ends by a fence, and if
// 32 bits cannot count the accesses, as HIP counts the threads of a grid. Throws Unsupported if the kernel is
// not available. On a CPU: its kernel, with the shape of team_of().
KernelChoice choose_kernel(const Flow& flow, const KernelForms& forms, std::uint64_t accesses,
                           unsigned per_thread = 1, unsigned usual_threads = kCoverThreads);

// Returns the shape of a CPU team: the option `threads` of the flow, or all cores. Throws Unsupported for
// `blocks`.
LaunchShape team_of(const Flow& flow);
// Returns a grid that fills the device and has no idle threads.
LaunchShape full_shape(Device& device, const char* kernel, std::uint64_t items);

}  // namespace byteways
