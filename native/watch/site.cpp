// See site.hpp.
#include "watch/site.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <string_view>

#include "watch/clock.hpp"
#include "watch/forked.hpp"
#include "watch/names.hpp"
#include "watch/output.hpp"

// Of the linker: where the library begins and ends.
extern "C" {
[[gnu::visibility("hidden")]] extern const char __ehdr_start[], _end[];
}

namespace byteways::watch {
namespace {

// Addresses of a process have 47 or 48 bits: one word has the address and the number, so that no lock is
// needed. The last of two addresses in one place is remembered.
constexpr std::size_t kPlaces = 4096;
constexpr unsigned kNumberBits = 16;
constinit std::atomic<std::uint64_t> remembered[kPlaces]{};

// Code of a file in memory. Ranges are added and never changed: of two with an address the later one counts,
// as another library may take the place of one that was closed.
struct Range {
  std::uintptr_t begin, end;
  std::uint16_t site;
};
constexpr std::uint32_t kMostRanges = 4096;
constinit Range ranges[kMostRanges]{};
constinit std::atomic<std::uint32_t> known{0};

enum : std::uint8_t { kOurs = 1, kOfDriver = 2 };
constinit std::atomic<std::uint8_t> kinds[kMostNames]{};
constinit std::atomic<bool> driver_seen{false};

// What reading may take of the program's time: a part of the time since the first, and some at the start. ns.
constexpr std::int64_t kShare = 200, kAtStart = 20'000'000;
constinit std::atomic<std::int64_t> began{0}, spent{0};

// Without substr(), whose check would bring the C++ library's exceptions into the library.
std::string_view last_part(std::string_view path) {
  const auto slash = path.rfind('/');
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  return path;
}

const Range* range_of(std::uintptr_t address) {
  for (std::uint32_t at = known.load(std::memory_order_acquire); at-- > 0;)
    if (ranges[at].begin <= address && address < ranges[at].end) return &ranges[at];
  return nullptr;
}

std::uint8_t kind_of(std::string_view name) {
  constexpr std::string_view kDrivers[] = {"libcuda.so", "libamdhip64.so", "libbyteways_sim.so"};
  constexpr std::string_view kInside[] = {"libcupti.so", "libnvidia-", "libhsa-runtime64", "librocprofiler",
                                          "libamd_comgr.so"};
  const auto begins = [name](std::string_view file) { return name.starts_with(file); };
  if (name.starts_with("byteways_watch")) return kOurs;
  if (std::any_of(std::begin(kDrivers), std::end(kDrivers), begins)) {
    driver_seen.store(true, std::memory_order_relaxed);
    return kOfDriver;
  }
  return std::any_of(std::begin(kInside), std::end(kInside), begins) ? kOfDriver : 0;
}

// Adds the code of a file, unless it is known there; whether it was added.
bool add(std::uintptr_t begin, std::uintptr_t end, std::string_view name) {
  const Range* const there = range_of(begin);
  if (there != nullptr && there->begin == begin && there->end == end && name_of(there->site) == name)
    return false;
  const std::uint32_t next = known.load(std::memory_order_relaxed);
  if (next == kMostRanges) return false;
  const std::uint16_t site = number_of(name);
  kinds[site].store(site == 0 ? std::uint8_t{kOfDriver} : kind_of(name), std::memory_order_relaxed);
  ranges[next] = {begin, end, site};
  known.store(next + 1, std::memory_order_release);
  return true;
}

// A hexadecimal number, which is taken from the text together with the letter behind it.
std::uintptr_t number_in(std::string_view& line) {
  std::uintptr_t number = 0;
  while (!line.empty()) {
    const char letter = line.front();
    line.remove_prefix(1);
    if (letter >= '0' && letter <= '9')
      number = number << 4 | static_cast<std::uintptr_t>(letter - '0');
    else if (letter >= 'a' && letter <= 'f')
      number = number << 4 | static_cast<std::uintptr_t>(letter - 'a' + 10);
    else
      break;
  }
  return number;
}

// A line of /proc/PID/maps: begin-end, rights, offset, device, inode, path (proc_pid_maps(5)).
bool add_line(std::string_view line) {
  const std::uintptr_t begin = number_in(line), end = number_in(line);
  if (line.size() < 4 || line[2] != 'x' || line.find('/') == std::string_view::npos) return false;
  std::string_view name = last_part(line);
  constexpr std::string_view kDeleted = " (deleted)";
  if (name.ends_with(kDeleted)) name.remove_suffix(kDeleted.size());
  return add(begin, end, name);
}

// Reads all lines; whether any was new. Of a line that is longer than the room the rest is left out.
bool read_lines(int file) {
  static char room[8192];
  std::size_t filled = 0;
  bool is_new = false;
  while (true) {
    const ssize_t length = read(file, room + filled, sizeof room - filled);
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) return is_new;
    filled += static_cast<std::size_t>(length);
    std::string_view text(room, filled);
    for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
      is_new = add_line({text.data(), end}) || is_new;
      text.remove_prefix(end + 1);
    }
    if (text.size() == sizeof room) text = {};
    std::memmove(room, text.data(), text.size());
    filled = text.size();
  }
}

// Reads the mappings; false if that cannot be done now.
bool read_mappings() noexcept {
  const Unnoticed here;
  const auto self = static_cast<pid_t>(syscall(SYS_gettid));
  for (pid_t other = 0; !across_fork.reader.compare_exchange_weak(other, self); other = 0) {
    if (other == self) return false;  // in a handler of a signal, or in a copy that reading makes
    sched_yield();
  }
  const std::int64_t start = now();
  std::int64_t none = 0;
  began.compare_exchange_strong(none, start, std::memory_order_relaxed);
  const int file = open_apart("/proc/self/maps", O_RDONLY, 0);
  if (file >= 0) {
    if (read_lines(file))
      for (auto& place : remembered) place.store(0, std::memory_order_relaxed);
    close(file);
  }
  spent.fetch_add(time_between(start, now()), std::memory_order_relaxed);
  across_fork.reader.store(0, std::memory_order_release);
  return file >= 0;
}

bool may_read() {
  const std::int64_t first = began.load(std::memory_order_relaxed);
  return first == 0 || spent.load(std::memory_order_relaxed) < kAtStart + (now() - first) / kShare;
}

}  // namespace

std::uint16_t site_of(const void* address) noexcept {
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  auto& place = remembered[(number >> 2) % kPlaces];
  const std::uint64_t word = place.load(std::memory_order_relaxed);
  if (word >> kNumberBits == number && word != 0) return static_cast<std::uint16_t>(word);
  const Range* found = range_of(number);
  if (found == nullptr) {
    if (!may_read() || !read_mappings()) return 0;
    found = range_of(number);
  }
  const std::uint16_t site = found == nullptr ? std::uint16_t{0} : found->site;
  place.store(static_cast<std::uint64_t>(number) << kNumberBits | site, std::memory_order_relaxed);
  return site;
}

bool is_in_this_library(const void* address) noexcept {
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  return reinterpret_cast<std::uintptr_t>(__ehdr_start) <= number &&
         number < reinterpret_cast<std::uintptr_t>(_end);
}

bool is_ours(std::uint16_t site) noexcept {
  return site != 0 && kinds[site].load(std::memory_order_relaxed) == kOurs;
}

bool is_of_driver(std::uint16_t site) noexcept {
  return site == 0 || kinds[site].load(std::memory_order_relaxed) == kOfDriver;
}

bool has_driver() noexcept { return driver_seen.load(std::memory_order_relaxed); }

void read_modules() noexcept { read_mappings(); }

}  // namespace byteways::watch
