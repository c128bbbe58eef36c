// See call_sites.hpp.
#include "watch/gpu/call_sites.hpp"

#include <unwind.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string_view>

#include "watch/clock.hpp"
#include "watch/histogram.hpp"
#include "watch/names.hpp"
#include "watch/site.hpp"

namespace byteways::watch {
namespace {

// A word has the number of the call and that of the module.
constexpr std::size_t kCalls = 1 << 17;
constinit std::atomic<std::uint64_t> calls[kCalls]{};

// A word has the number of the call and its time in ns, at most some 4 s.
constinit std::atomic<std::uint64_t> durations[kCalls]{};
constexpr std::int64_t kMostDuration = UINT32_MAX;

// Calls of this thread that have begun: one of the runtime makes one of the driver.
struct Begun {
  std::uint32_t correlation = 0;
  std::int64_t at = 0;
};
constexpr std::size_t kNested = 4;
thread_local Begun begun[kNested];
thread_local std::size_t next_begun = 0;

// Frames that are looked at; CUDA's own are few.
constexpr int kMostFrames = 32;
// What looking may take: a part of the time since the first call, and some at the start. ns.
constexpr std::int64_t kShare = 200, kAtStart = 20'000'000;
std::atomic<std::int64_t> began{0}, spent{0};

// A place in the program, by the stack's depth at CUPTI's callback: the word of the stack that holds the
// return address into the program tells whether it is the same place again.
struct Place {
  std::uintptr_t stack = 0;
  const std::uintptr_t* word = nullptr;
  std::uintptr_t address = 0;
  std::uint16_t site = 0;
};
constexpr std::size_t kPlaces = 64;
constexpr std::uintptr_t kMostDepth = 1 << 16;  // bytes from the callback to that word
thread_local Place places[kPlaces];

bool is_of_driver(std::string_view module) {
  // Wheels may have a digest in the name: libcudart-9335f6a2.so.12.
  return module.starts_with("libcuda.so") || module.starts_with("libcudart") ||
         module.starts_with("libcupti");
}

struct Search {
  int frames = 0;
  Place found;
};

_Unwind_Reason_Code look_at(_Unwind_Context* context, void* data) {
  auto& search = *static_cast<Search*>(data);
  const auto address = static_cast<std::uintptr_t>(_Unwind_GetIP(context));
  if (address == 0 || ++search.frames > kMostFrames) return _URC_END_OF_STACK;
  // The address is that behind the call, which may be the first of the next function.
  const std::uint16_t site = site_of(reinterpret_cast<const void*>(address - 1));
  if (site == 0 || is_ours(site) || is_of_driver(name_of(site))) return _URC_NO_REASON;
  search.found.site = site;
  search.found.address = address;
  // Of the frame that was called from here, where its caller's begins.
  search.found.word = reinterpret_cast<const std::uintptr_t*>(_Unwind_GetCFA(context)) - 1;
  return _URC_END_OF_STACK;
}

bool may_look(std::int64_t time) {
  std::int64_t none = 0;
  began.compare_exchange_strong(none, time, std::memory_order_relaxed);
  const std::int64_t since = time - began.load(std::memory_order_relaxed);
  return spent.load(std::memory_order_relaxed) < kAtStart + since / kShare;
}

std::uint16_t site_of_caller(std::uintptr_t stack) {
  Place& place = places[(stack >> 4) % kPlaces];
  if (place.stack == stack && *place.word == place.address) return place.site;
  const std::int64_t start = now();
  if (!may_look(start)) return 0;
  Search search;
  _Unwind_Backtrace(look_at, &search);
  place = Place{};
#if defined(__x86_64__)
  const auto word = reinterpret_cast<std::uintptr_t>(search.found.word);
  // Elsewhere the return address need not be in that word.
  if (search.found.site != 0 && word > stack && word - stack < kMostDepth &&
      *search.found.word == search.found.address) {
    place = search.found;
    place.stack = stack;
  }
#endif
  spent.fetch_add(time_between(start, now()), std::memory_order_relaxed);
  return search.found.site;
}

}  // namespace

[[gnu::noinline]] void remember_call(std::uint32_t correlation) noexcept {
  const auto stack = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const std::uint64_t word = static_cast<std::uint64_t>(correlation) << 32 | site_of_caller(stack);
  calls[correlation % kCalls].store(word, std::memory_order_release);
  begun[next_begun++ % kNested] = {correlation, now()};
}

void remember_end(std::uint32_t correlation) noexcept {
  const std::int64_t end = now();
  for (std::size_t back = 0; back < std::min(kNested, next_begun); ++back) {
    const std::size_t place = next_begun - 1 - back;
    const Begun& call = begun[place % kNested];
    if (call.correlation != correlation) continue;
    const auto time = static_cast<std::uint64_t>(std::min(time_between(call.at, end), kMostDuration));
    const std::uint64_t word = static_cast<std::uint64_t>(correlation) << 32 | time;
    durations[correlation % kCalls].store(word, std::memory_order_release);
    next_begun = place;
    return;
  }
}

std::int64_t take_time_of_call(std::uint32_t correlation) noexcept {
  if (correlation == 0) return kUnknownTime;
  std::atomic<std::uint64_t>& known = durations[correlation % kCalls];
  std::uint64_t word = known.load(std::memory_order_acquire);
  if (word >> 32 != correlation || !known.compare_exchange_strong(word, 0)) return kUnknownTime;
  return static_cast<std::int64_t>(word & UINT32_MAX);
}

std::uint16_t site_of_call(std::uint32_t correlation) noexcept {
  const std::uint64_t word = calls[correlation % kCalls].load(std::memory_order_acquire);
  return correlation != 0 && word >> 32 == correlation ? static_cast<std::uint16_t>(word) : std::uint16_t{0};
}

}  // namespace byteways::watch
