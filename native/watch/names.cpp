// See names.hpp.
#include "watch/names.hpp"

#include <sched.h>

#include <atomic>
#include <cstring>

#include "watch/forked.hpp"

namespace byteways::watch {
namespace {

// Texts lie here one behind the other: a hook may run inside malloc().
constexpr std::size_t kRoom = 256 * 1024;

struct Name {
  const char* text;
  std::size_t length;
};

constinit char texts[kRoom]{};
constinit std::size_t used = 0;
constinit Name names[kMostNames]{};
constinit std::atomic<std::uint16_t> given{1};

std::uint16_t found(std::string_view name) {
  const std::uint16_t end = given.load(std::memory_order_acquire);
  for (std::uint16_t number = 1; number < end; ++number)
    if (std::string_view(names[number].text, names[number].length) == name) return number;
  return 0;
}

}  // namespace

std::uint16_t number_of(std::string_view name) noexcept {
  if (name.empty()) return 0;
  if (const std::uint16_t number = found(name)) return number;
  while (across_fork.names.exchange(1, std::memory_order_acquire) != 0) sched_yield();
  std::uint16_t number = found(name);
  const std::uint16_t next = given.load(std::memory_order_relaxed);
  if (number == 0 && next < kMostNames && name.size() <= kRoom - used) {
    char* const copy = texts + used;
    std::memcpy(copy, name.data(), name.size());
    used += name.size();
    names[next] = {copy, name.size()};
    number = next;
    given.store(static_cast<std::uint16_t>(next + 1), std::memory_order_release);
  }
  across_fork.names.store(0, std::memory_order_release);
  return number;
}

std::string_view name_of(std::uint16_t number) noexcept {
  const bool known = number != 0 && number < given.load(std::memory_order_acquire);
  return known ? std::string_view(names[number].text, names[number].length) : std::string_view();
}

}  // namespace byteways::watch
