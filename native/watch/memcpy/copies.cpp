// Counts memcpy and memmove above a threshold (BYTEWAYS_WATCH_MEMCPY, in bytes), for a program into which
// this is preloaded. All copies are made by the C library's memmove: a program of before glibc 2.14 may rely
// on memcpy with overlaps.
#include <stdlib.h>

#include <cstddef>
#include <cstdint>

#include "watch/clock.hpp"
#include "watch/histogram.hpp"
#include "watch/host_buffers.hpp"
#include "watch/names.hpp"
#include "watch/output.hpp"
#include "watch/preloaded/next.hpp"
#include "watch/site.hpp"
#include "watch/snapshot.hpp"

using namespace byteways::watch;  // NOLINT: entries are names of the C library, in no namespace

namespace {

using Move = void* (*)(void*, const void*, std::size_t);
using CheckedMove = Next<void*(void*, const void*, std::size_t, std::size_t)>;

constexpr std::size_t kNever = SIZE_MAX;

// Set by the constructor. Until then functions of other libraries that the linker calls may copy, and nothing
// of this library is relocated yet.
constinit Move real = nullptr;
constinit Next<void*(void*, const void*, std::size_t)> next_move("memmove");
constinit CheckedMove next_memcpy_chk("__memcpy_chk"), next_memmove_chk("__memmove_chk");
constinit std::size_t threshold = kNever;
constinit std::uint16_t method_memcpy = 0, method_memmove = 0;
[[gnu::tls_model("initial-exec")]] constinit thread_local bool counting = false;

// No call of any function: of volatile bytes the compiler makes none.
[[gnu::noinline]] void* early_move(void* to, const void* from, std::size_t bytes) {
  auto* const into = static_cast<volatile char*>(to);
  const auto* const out_of = static_cast<const volatile char*>(from);
  if (into < out_of)
    for (std::size_t at = 0; at < bytes; ++at) into[at] = out_of[at];
  else
    for (std::size_t at = bytes; at > 0; --at) into[at - 1] = out_of[at - 1];
  return to;
}

[[gnu::noinline]] void* counted_move(void* to, const void* from, std::size_t bytes, std::uint16_t method,
                                     const void* caller) noexcept {
  if (is_in_this_library(caller)) return real(to, from, bytes);
  counting = true;
  const std::uint16_t site = is_watching() ? site_of(caller) : std::uint16_t{0};
  if (!is_watching() || is_ours(site)) {
    counting = false;
    return real(to, from, bytes);
  }
  const std::int64_t start = now();
  real(to, from, bytes);
  const std::int64_t end = now();
  Key key;
  key.what = What::kCopy;
  key.source = key.destination = memory_of_buffers();
  key.method = method;
  key.site = site;
  key.size = bytes;
  histogram().add(key, 1, {kUnknownTime, time_between(start, end)}, end);
  counting = false;
  return to;
}

inline void* move(void* to, const void* from, std::size_t bytes, const std::uint16_t& method,
                  const void* caller) {
  if (bytes < threshold || counting) [[likely]]
    return real != nullptr ? real(to, from, bytes) : early_move(to, from, bytes);
  return counted_move(to, from, bytes, method, caller);
}

[[gnu::constructor(101)]] void start() {
  next_move.resolve();
  next_memcpy_chk.resolve();
  next_memmove_chk.resolve();
  real = next_move.get();
  const char* const text = getenv("BYTEWAYS_WATCH_MEMCPY");
  const unsigned long long bytes = text == nullptr ? 0 : strtoull(text, nullptr, 10);
  if (real == nullptr || bytes == 0) return;
  name_library("memcpy");
  note_collector("memcpy");
  method_memcpy = number_of("memcpy");
  method_memmove = number_of("memmove");
  threshold = bytes;
}

// What a copy of more bytes than its destination has comes to: the C library ends the program.
void* checked(CheckedMove& next, void* to, const void* from, std::size_t bytes, std::size_t room) {
  const auto function = next.get();
  return function != nullptr ? function(to, from, bytes, room) : (abort(), nullptr);
}

}  // namespace

#define BYTEWAYS_SHOWN extern "C" [[gnu::visibility("default")]] void*

BYTEWAYS_SHOWN memcpy(void* to, const void* from, std::size_t bytes) {
  return move(to, from, bytes, method_memcpy, __builtin_return_address(0));
}

BYTEWAYS_SHOWN memmove(void* to, const void* from, std::size_t bytes) {
  return move(to, from, bytes, method_memmove, __builtin_return_address(0));
}

BYTEWAYS_SHOWN __memcpy_chk(void* to, const void* from, std::size_t bytes, std::size_t room) {
  if (bytes > room) return checked(next_memcpy_chk, to, from, bytes, room);
  return move(to, from, bytes, method_memcpy, __builtin_return_address(0));
}

BYTEWAYS_SHOWN __memmove_chk(void* to, const void* from, std::size_t bytes, std::size_t room) {
  if (bytes > room) return checked(next_memmove_chk, to, from, bytes, room);
  return move(to, from, bytes, method_memmove, __builtin_return_address(0));
}
